"""The published scripts with one mistake, and what is true of each. To add one: a line in rig_inversion_side.py, a row."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import load_file

from rigpact.contract.pages.registry import find_system

from ..planted import mistake
from .rig_inversion_side import Upstream, encoder_weights
from .scene import Scene

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "rig_inversion"
# fmt: off
MISTAKES = (
    mistake("column_major", "model_input", "flattening=axis_by_axis"),
    mistake("x_fastest", "model_input", "vertex_order=x_fastest"),
    mistake("centred", "model_input", "mesh_origin=centroid"),
    mistake("layer_norm", "model_input", "mesh_origin=centroid_and_unit_deviation"),
    mistake("from_neutral", "model_input", "mesh_origin=neutral_mesh"),
    mistake("centimetres", "model_input", ("100 times",)),
    mistake("half_precision", "model_input", ("float16",)),
    mistake("mesh_late", "model_input", ("frame t-1",)),
    mistake("relu", "rig_parameters", ("Relu in place of LeakyRelu",)),
    mistake("slope_of_tensorflow", "rig_parameters", ("a slope of .* in LeakyRelu", 0.2, 0.01)),
    mistake("tanh", "rig_parameters", ("Tanh in place of Sigmoid",)),
    mistake("no_sigmoid", "rig_parameters", ("without Sigmoid",)),
    mistake("second_sigmoid", "transform", "output_activation=applied_again"),
    mistake("scales_swapped", "transform", "parameter_order=scales_y_x_z"),
    mistake("angles_swapped", "transform", "parameter_order=angles_x_z_y"),
    mistake("one_origin", "transform", "angle_origin=zero_about_x"),
    mistake("whole_range", "transform", "angle_range=180_deg"),
    mistake("degrees", "transform", "angle_unit=degrees"),
    mistake("limited_turns", "transform", ("clipped", 0.3490658503988659)),
    mistake("scale_without_offset", "transform", "scale_mapping=zero_to_two_and_a_half"),
    mistake("no_negative_scale", "transform", "scale_limit=not_below_zero"),
    mistake("capital_letters", "reconstruction", "rotation_order=z_y_x"),
    mistake("one_inverse", "reconstruction", "rotation_sense=clockwise_about_y"),
    mistake("left_handed", "reconstruction", "rotation_sense=clockwise"),
    mistake("row_vectors", "reconstruction", "vertex_side=row"),
    mistake("scaled_last", "reconstruction", "scale_place=behind_rotations"),
    mistake("mended_cube", "reconstruction", "vertex_table=missing_corner_repaired"),
    mistake("y_up", "reconstruction", "reconstruction_axes=y_up"),
    mistake("squared_error", "vertex_error", "error_measure=squared"),
    mistake("error_late", "vertex_error", ("mesh of frame t-1",)),
)
# fmt: on
FEW = ("layer_norm", "relu", "tanh", "scales_swapped", "one_origin", "no_negative_scale", "one_inverse", "y_up")
"""Mistakes of the small version in the ordinary suite: those that once had no name."""


def scene() -> Scene:
    """The committed contract, model and clip, and the published scripts on them."""
    anim = load_file(FOLDER / "clip.trace.safetensors")["mesh"].reshape(-1, 8, 3)
    return Scene(
        FOLDER, Upstream(encoder_weights(FOLDER / "model.onnx"), anim), find_system("rig_inversion").fps or 1.0
    )
