"""The add-on with one mistake in its formulas, and what is true of each. To add one: a line in blender_ik_side.py, a row here."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import load_file

from ..planted import mistake
from .blender_ik_side import Upstream
from .scene import Scene

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "blender_ik"
# fmt: off
MISTAKES = (
    mistake("root_transposed", "context", "root_relative=out_of_hips_axes"),
    mistake("not_turned", "context", "root_relative=translation_only"),
    mistake("posed_root", "context", "root_frame=posed_hips"),
    mistake("armature_axes", "context", "root_frame=armature"),
    mistake("left_handed", "context", (r"_position\[0\].* -1 times|with -x, y, z in place of x, y, z",)),
    mistake("up_first", "context", "root_axes=z_forward_y_up"),
    mistake("quaternion_w_first", "context", "effector_quaternion=wxyz"),
    mistake("euler_zyx", "context", "euler_order=zyx"),
    mistake("euler_one_triple", "context", "euler_triple=middle_within_90_deg"),
    mistake("euler_degrees", "context", ("180/π",)),
    mistake("euler_transposed", "context", "effector_rotation_sense=inverse"),
    mistake("rotation_in_root", "context", "effector_rotation_space=hips"),
    mistake("tails", "context", "effector_point=tail"),
    mistake("centimetres", "context", ("100 times",)),
    mistake("feet_first", "context", "effector_order=feet_hands_head"),
    mistake("right_first", "context", "effector_order=right_before_left"),
    mistake("ground_height", "context", "height=ground_height"),
    mistake("above_zero", "context", "height=above_zero"),
    mistake("feet_swapped", "context", "feet_order=right_left"),
    mistake("flags_swapped", "context", "contact_flags=desired_grounded"),
    mistake("tasks_sorted", "context", "task_numbers=sorted_by_name"),
    mistake("grab_is_reach", "context", "task_numbers=grab_is_reach"),
    mistake("context_late", "context", ("frame t-1",)),
    mistake("not_normalised", "model_input", "normalisation=missing"),
    mistake("angles_not_divided", "model_input", "rotation_scale=none"),
    mistake("heights_not_divided", "model_input", "height_scale=none"),
    mistake("phase_in_radians", "model_input", "phase_unit=radians"),
    mistake("task_to_one", "model_input", "task_scale=fifth"),
    mistake("relu", "rotations", ("Relu in place of Tanh",)),
    mistake("leaky_relu", "rotations", ("LeakyRelu of a slope of .* in place of Tanh", 0.1)),
    mistake("no_last_bias", "rotations", ("without the bias of the last layer",)),
    mistake("no_clamp", "limited", "clamp=none"),
    mistake("limits_in_degrees", "limited", "limit_set=in_degrees"),
    mistake("limits_y_z", "limited", "limit_set=y_and_z_swapped"),
    mistake("limits_not_mirrored", "limited", "limit_set=right_as_left"),
    mistake("wide_limits", "limited", ("limits", "0.2 (rad )?wider"), also=(("limited of .* from rotations",),)),
    mistake("pose_w_first", "pose", "quaternion_order=wxyz"),
    mistake("pose_inverse", "pose", (r"x, y, z, -w in place of x, y, z, w|the inverse \(transposed, conjugated\)",)),
    mistake("pose_late", "pose", ("frame t-1",)),
    mistake("whole_angle", "pose", "rotation_vector=norm_is_half_angle"),
    mistake("no_rest", "positions", "rest_orientation=ignored"),
    mistake("flat_offsets", "positions", "rest_orientation=ignored_in_offsets"),
    mistake("local_first", "positions", "local_order=local_then_rest"),
    mistake("local_first_below", "positions", "local_order=local_then_rest_below_root"),
    mistake("no_armature", "positions", "armature_rotation=ignored"),
    mistake("default_root", "positions", "fk_root=default"),
    mistake("rodrigues_sign", "positions", "kinematics_sense=clockwise"),
    mistake("clamped_late", "positions", "clamp_place=behind_kinematics"),
    mistake("own_offset", "positions", ("child",)),
    mistake("targets_in_root", "effector_error", "target_space=hips_relative"),
    mistake("squared_error", "effector_error", "error_measure=squared"),
)
# fmt: on
FEW = (
    "euler_one_triple",
    "no_armature",
    "tails",
    "feet_swapped",
    "tasks_sorted",
    "limits_in_degrees",
    "limits_y_z",
    "rodrigues_sign",
    "leaky_relu",
)  # fmt: skip
"""Mistakes of the small version in the ordinary suite: those that once had no name."""


def scene() -> Scene:
    """The committed contract, model and clip, and the add-on's formulas on them."""
    clip = load_file(FOLDER / "clip.trace.safetensors")
    return Scene(FOLDER, Upstream(FOLDER / "blender_ik.json", FOLDER / "model.onnx", clip), 30.0)
