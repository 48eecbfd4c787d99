"""The published scripts with one mistake in them, and what is true of each. To add one: a line in rig_inversion_side.py and a row
here.
"""

from __future__ import annotations

import math
from pathlib import Path

from safetensors.numpy import load_file

from rigpact.contract.pages.registry import find_system

from .rig_inversion_side import Upstream, encoder_weights
from .scene import Scene, named_by_knob, named_by_relation

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "rig_inversion"
MISTAKES = (
    named_by_knob("column_major", "the mesh is flattened by axes", "model_input", "flattening=axis_by_axis"),
    named_by_knob("x_fastest", "the mesh comes with x as the fastest axis", "model_input", "vertex_order=x_fastest"),
    named_by_knob("centred", "the mesh's centre is subtracted", "model_input", "mesh_origin=centroid"),
    named_by_knob(
        "layer_norm", "a layer norm on the centred mesh", "model_input", "mesh_origin=centroid_and_unit_deviation"
    ),
    named_by_knob("from_neutral", "offsets from the neutral mesh are given", "model_input", "mesh_origin=neutral_mesh"),
    named_by_relation("centimetres", "the mesh is given in centimetres", "model_input", "100 times"),
    named_by_relation("half_precision", "the mesh goes through half precision", "model_input", "float16"),
    named_by_relation("mesh_late", "the mesh of the frame before is given", "model_input", "frame t-1"),
    named_by_relation("relu", "ReLU for LeakyReLU", "rig_parameters", "Relu in place of LeakyRelu"),
    named_by_relation(
        "slope_of_tensorflow",
        "the slope of LeakyReLU is 0.2",
        "rig_parameters",
        "a slope of .* in LeakyRelu",
        0.2,
        0.01,
    ),
    named_by_relation("tanh", "tanh for the sigmoid", "rig_parameters", "Tanh in place of Sigmoid"),
    named_by_relation("no_sigmoid", "the sigmoid is left out", "rig_parameters", "without Sigmoid"),
    named_by_knob(
        "second_sigmoid", "a second sigmoid behind the model", "transform", "output_activation=applied_again"
    ),
    named_by_knob("scales_swapped", "the scales of x and y are swapped", "transform", "parameter_order=scales_y_x_z"),
    named_by_knob(
        "angles_swapped", "the angles about y and z are swapped", "transform", "parameter_order=angles_x_z_y"
    ),
    named_by_knob("one_origin", "no rotation about x is taken for p = 0", "transform", "angle_origin=zero_about_x"),
    named_by_knob("whole_range", "the range of angles is 180 degrees", "transform", "angle_range=180_deg"),
    named_by_knob("degrees", "sine and cosine get degrees", "transform", "angle_unit=degrees"),
    named_by_relation("limited_turns", "turns stop at 20 degrees", "transform", "clipped", math.radians(20.0)),
    named_by_knob("scale_without_offset", "scale = 2.5 p", "transform", "scale_mapping=zero_to_two_and_a_half"),
    named_by_knob("no_negative_scale", "a negative scale becomes zero", "transform", "scale_limit=not_below_zero"),
    named_by_knob(
        "capital_letters", "the turns are made in the order z, y, x", "reconstruction", "rotation_order=z_y_x"
    ),
    named_by_knob("one_inverse", "the turn about y is inverted", "reconstruction", "rotation_sense=clockwise_about_y"),
    named_by_knob("left_handed", "every turn is inverted", "reconstruction", "rotation_sense=clockwise"),
    named_by_knob("row_vectors", "vertices are rows beside R = Rz Ry Rx", "reconstruction", "vertex_side=row"),
    named_by_knob(
        "scaled_last", "the mesh is turned first, then scaled", "reconstruction", "scale_place=behind_rotations"
    ),
    named_by_knob(
        "mended_cube", "the missing corner is put back", "reconstruction", "vertex_table=missing_corner_repaired"
    ),
    named_by_knob("y_up", "the rebuilt mesh is y up", "reconstruction", "reconstruction_axes=y_up"),
    named_by_knob("squared_error", "the error is the squared distance", "vertex_error", "error_measure=squared"),
    named_by_relation(
        "error_late", "the error against the mesh of the frame before", "vertex_error", "mesh of frame t-1"
    ),
)
FEW = ("layer_norm", "relu", "tanh", "scales_swapped", "one_origin", "no_negative_scale", "one_inverse", "y_up")
"""Mistakes of the small version in the ordinary suite: those that once had no name."""


def scene() -> Scene:
    """The committed contract, model and clip, and the published scripts on them."""
    anim = load_file(FOLDER / "clip.trace.safetensors")["mesh"].reshape(-1, 8, 3)
    return Scene(
        FOLDER, Upstream(encoder_weights(FOLDER / "model.onnx"), anim), find_system("rig_inversion").fps or 1.0
    )
