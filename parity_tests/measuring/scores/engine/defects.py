"""The mistakes that engine_loop.cpp can make, and what is true of each. Written by hand from the loop, not from any answer.

To add one: a value in the loop's `Defect`, its line there, and a row here in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..grading import Right, right

OTHER_STATISTICS = ("constants of its own in each channel, as with other statistics",)
CLIP_STAGES = "x_raw cond_raw contacts x_raw_next"
# fmt: off
DEFECTS: Mapping[str, Right] = {
    "previous_pose_next_bone": right("next6d", ("x_raw read 6 channels too late",)),
    "writeback_six_late": right("x_raw_next", (r"\[12:288\] from (x_raw_next\[6:282\]|y_out\[0:276\])",),
        ("x_raw_next of pelvis is (stuck at|x_raw)",)),
    "angvel_three_early": right("angvel", ("x_raw read 3 channels too early",)),
    "state_by_output_statistics": right("state", OTHER_STATISTICS),
    "history_statistics_of_oldest": right("pose_hist", OTHER_STATISTICS),
    "angvel_by_state_statistics": right("angvel", "angvel_source=state_slice"),
    "mean_added_to_residual": right("y_raw", "output_mode=delta", "output_mode=absolute"),
    "identity_in_xy_columns": right("delta6d", "rot6d_columns=xy", (r"\(0, 0, 0, 0, \+1, -1\)",)),
    "identity_forgotten": right("delta6d", "output_mode=delta denorm=std_only", (r"\(-1, 0, 0, 0, 0, -1\)",)),
    "sigma_floor": right("state", ("state_statistics.std no smaller than", 0.05)),
    "history_never_seeded": right("pose_hist_raw", ("the number 0, wherever it differs",), "pose_history_start=zeros"),
    "history_seeded_twice": right("pose_hist_raw", ("began again at frame 1",)),
    "history_identity_after_seed": right("pose_hist_raw", "pose_history_start=identity_after_seed"),
    "history_uninitialised": right("pose_hist_raw", (r"memory that was never set \(0xCD",)),
    "quats_turned": right("quat", ("turned by -90° about z",)),
    "quats_change_of_basis": right("quat", ("in another basis", "120°"),
        ("quat is what it should be with z, x, y, w in place of x, y, z, w",)),
    "root_turned_by_heading": right("quat", (r"pelvis is turned about z by x_raw\[RootYaw\]",)),
    "answer_one_frame_late": right("y_norm", ("frame t-1",)),
    "half_precision_inputs": right("y_norm", ("inputs that were rounded to float16",)),
    "yaw_in_degrees": right("x_raw x_raw_next", (r"RootYaw\] is 180/π times",)),
    "left_right_swapped": right("y_out", "bone_order=left_right_swapped"),
    "thirty_hertz": right(CLIP_STAGES, ("the clip's frame 2·t",)),
    "stale_header": right("state", OTHER_STATISTICS),
    "missing_tanh": right("state", "angvel_squash=linear"),
    "squashed_twice": right("pose_hist", (r"tanh\(pose_hist_raw", "squashed once more")),
    "hysteresis_off_by_one": right("contacts"),
    "clamped_step": right(CLIP_STAGES, ("the clip's frame 3·t/4",)),
    "float_accumulation": right(CLIP_STAGES, ("the clip's frame before or after its own in",),
        ("the answer of frame t-1 (in|from)",)),
    "published_late": right("quat", ("frame t-1",)),
    "wrong_bone_subset": right("quat", (r"the part \+1 places on, in 45 parts",)),
    "previous_pose_transposed": right("next6d", (r"the inverse \(transposed\) rotations of x_raw",)),
    "quats_conjugated": right("quat", (r"the inverse \(transposed, conjugated\)",)),
    "component_space": right("quat", ("in component space",)),
    "doubled_scale": right("state", ("angvel_scales", "doubled|twice|2 times")),
    "state_clamped": right("state", ("clipped", 1.5)),
    "previous_pose_is_own": right("next6d", (r"y_out\[BoneRotations6D\] of frame t-1 in place of x_raw",)),
}
# fmt: on
NUMBERS = {name: number for number, name in enumerate(DEFECTS, start=1)}
"""Of every mistake in the loop."""
FREE_RUNS = ("writeback_six_late", "history_never_seeded", "history_identity_after_seed")
"""Those that show in a free run only."""
FRAMES = {"thirty_hertz": 44}
