"""The add-on with one mistake in its formulas, and what is true of each. To add one: a line in blender_ik_side.py and a row
here.
"""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import load_file

from ..planted import Planted, says
from .blender_ik_side import Upstream
from .scene import Scene, named_by_knob, named_by_relation

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "blender_ik"
MISTAKES = (
    named_by_knob(
        "root_transposed", "positions are multiplied by the root's axes", "context", "root_relative=out_of_hips_axes"
    ),
    named_by_knob("not_turned", "positions are only moved to the hips", "context", "root_relative=translation_only"),
    named_by_knob("posed_root", "the root's axes are those of the posed hips", "context", "root_frame=posed_hips"),
    named_by_knob("armature_axes", "the root's axes are the armature's", "context", "root_frame=armature"),
    named_by_relation(
        "left_handed",
        "right is up x forward",
        "context",
        r"_position\[0\].* -1 times|with -x, y, z in place of x, y, z",
    ),
    named_by_knob("up_first", "up comes before forward", "context", "root_axes=z_forward_y_up"),
    named_by_knob(
        "quaternion_w_first", "a quaternion with w last is read w first", "context", "effector_quaternion=wxyz"
    ),
    named_by_knob("euler_zyx", "angles of Rx Ry Rz", "context", "euler_order=zyx"),
    named_by_knob(
        "euler_one_triple", "the middle angle within 90 degrees", "context", "euler_triple=middle_within_90_deg"
    ),
    named_by_relation("euler_degrees", "angles in degrees", "context", "180/π"),
    named_by_knob("euler_transposed", "angles of the transposed matrix", "context", "effector_rotation_sense=inverse"),
    named_by_knob("rotation_in_root", "rotations are relative to the root", "context", "effector_rotation_space=hips"),
    named_by_knob("tails", "tails of bones for heads", "context", "effector_point=tail"),
    named_by_relation("centimetres", "positions in centimetres", "context", "100 times"),
    named_by_knob("feet_first", "feet before hands", "context", "effector_order=feet_hands_head"),
    named_by_knob("right_first", "right before left", "context", "effector_order=right_before_left"),
    named_by_knob("ground_height", "the ground's height for the foot's", "context", "height=ground_height"),
    named_by_knob("above_zero", "the foot's height above zero", "context", "height=above_zero"),
    named_by_knob("feet_swapped", "the feet swapped in the ground's block", "context", "feet_order=right_left"),
    named_by_knob("flags_swapped", "grounded and desired contact swapped", "context", "contact_flags=desired_grounded"),
    named_by_knob("tasks_sorted", "tasks numbered by the alphabet", "context", "task_numbers=sorted_by_name"),
    named_by_knob("grab_is_reach", "grab is labelled reach", "context", "task_numbers=grab_is_reach"),
    named_by_relation("context_late", "the context is a frame late", "context", "frame t-1"),
    named_by_knob("not_normalised", "inputs are not normalised", "model_input", "normalisation=missing"),
    named_by_knob("angles_not_divided", "angles are not divided by pi", "model_input", "rotation_scale=none"),
    named_by_knob("heights_not_divided", "heights are not divided", "model_input", "height_scale=none"),
    named_by_knob("phase_in_radians", "the phase in radians", "model_input", "phase_unit=radians"),
    named_by_knob("task_to_one", "the task scaled to one", "model_input", "task_scale=fifth"),
    named_by_relation("relu", "ReLU for tanh", "rotations", "Relu in place of Tanh"),
    named_by_relation(
        "leaky_relu",
        "the LeakyReLU of the later network for tanh",
        "rotations",
        "LeakyRelu of a slope of .* in place of Tanh",
        0.1,
    ),
    named_by_relation("no_last_bias", "the last layer has no bias", "rotations", "without the bias of the last layer"),
    named_by_knob("no_clamp", "no clamp", "limited", "clamp=none"),
    named_by_knob("limits_in_degrees", "limits in degrees", "limited", "limit_set=in_degrees"),
    named_by_knob("limits_y_z", "limits of y and z swapped", "limited", "limit_set=y_and_z_swapped"),
    named_by_knob(
        "limits_not_mirrored", "the right side has the left side's limits", "limited", "limit_set=right_as_left"
    ),
    Planted(
        "wide_limits",
        "limits 0.2 rad wider",
        ("limited",),
        says("limits", "0.2 (rad )?wider"),
        also=says("limited of .* from rotations"),  # joints that reach the declared limits, and not the wider ones
    ),
    named_by_knob("pose_w_first", "quaternions with w first", "pose", "quaternion_order=wxyz"),
    named_by_relation(
        "pose_inverse",
        "quaternions turned around",
        "pose",
        r"x, y, z, -w in place of x, y, z, w|the inverse \(transposed, conjugated\)",
    ),
    named_by_relation("pose_late", "the pose is a frame late", "pose", "frame t-1"),
    named_by_knob(
        "whole_angle", "the length of a rotation vector is half the angle", "pose", "rotation_vector=norm_is_half_angle"
    ),
    named_by_knob("no_rest", "kinematics without rest orientations", "positions", "rest_orientation=ignored"),
    named_by_knob(
        "flat_offsets", "offsets without rest orientations", "positions", "rest_orientation=ignored_in_offsets"
    ),
    named_by_knob("local_first", "A B for B A", "positions", "local_order=local_then_rest"),
    named_by_knob(
        "local_first_below", "A B for B A, but in the root", "positions", "local_order=local_then_rest_below_root"
    ),
    named_by_knob("no_armature", "kinematics without the armature", "positions", "armature_rotation=ignored"),
    named_by_knob("default_root", "the hips at (0, 0, 1)", "positions", "fk_root=default"),
    named_by_knob("rodrigues_sign", "the signs of Rodrigues' sine", "positions", "kinematics_sense=clockwise"),
    named_by_knob("clamped_late", "kinematics of unclamped rotations", "positions", "clamp_place=behind_kinematics"),
    named_by_relation("own_offset", "an offset turned by the child", "positions", "child"),
    named_by_knob("targets_in_root", "targets relative to the root", "effector_error", "target_space=hips_relative"),
    named_by_knob("squared_error", "the error is the squared distance", "effector_error", "error_measure=squared"),
)
FEW = (
    "euler_one_triple", "no_armature", "tails", "feet_swapped", "tasks_sorted", "limits_in_degrees", "limits_y_z",
    "rodrigues_sign", "leaky_relu",
)  # fmt: skip
"""Mistakes of the small version in the ordinary suite: those that once had no name."""


def scene() -> Scene:
    """The committed contract, model and clip, and the add-on's formulas on them."""
    clip = load_file(FOLDER / "clip.trace.safetensors")
    return Scene(FOLDER, Upstream(FOLDER / "blender_ik.json", FOLDER / "model.onnx", clip), 30.0)
