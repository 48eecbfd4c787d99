"""The mistakes that engine_loop.cpp can make, and what is true of each. Written by hand from the loop, not from any answer.

To add one: a value in the loop's `Defect`, its line there, and a row here in the same order.
"""

from __future__ import annotations

from dataclasses import replace

from ..planted import FREE, mistake

OTHER_STATISTICS = ("constants of its own in each channel, as with other statistics",)
CLIP_STAGES = "x_raw cond_raw contacts x_raw_next"
# fmt: off
_IN_ORDER = (
    mistake("previous_pose_next_bone", "next6d", ("x_raw read 6 channels too late",)),
    mistake("writeback_six_late", "x_raw_next", (r"\[12:288\] from (x_raw_next\[6:282\]|y_out\[0:276\])",),
            ("x_raw_next of pelvis is (stuck at|x_raw)",), mode=FREE),
    mistake("angvel_three_early", "angvel", ("x_raw read 3 channels too early",)),
    mistake("state_by_output_statistics", "state", OTHER_STATISTICS),
    mistake("history_statistics_of_oldest", "pose_hist", OTHER_STATISTICS),
    mistake("angvel_by_state_statistics", "angvel", "angvel_source=state_slice"),
    mistake("mean_added_to_residual", "y_raw", "output_mode=delta", "output_mode=absolute"),
    mistake("identity_in_xy_columns", "delta6d", "rot6d_columns=xy", (r"\(0, 0, 0, 0, \+1, -1\)",)),
    mistake("identity_forgotten", "delta6d", "output_mode=delta denorm=std_only", (r"\(-1, 0, 0, 0, 0, -1\)",)),
    mistake("sigma_floor", "state", ("state_statistics.std no smaller than", 0.05)),
    mistake("history_never_seeded", "pose_hist_raw", ("the number 0, wherever it differs",), "pose_history_start=zeros",
            mode=FREE),
    mistake("history_seeded_twice", "pose_hist_raw", ("began again at frame 1",)),
    mistake("history_identity_after_seed", "pose_hist_raw", "pose_history_start=identity_after_seed", mode=FREE),
    mistake("history_uninitialised", "pose_hist_raw", (r"memory that was never set \(0xCD",)),
    mistake("quats_turned", "quat", ("turned by -90° about z",)),
    mistake("quats_change_of_basis", "quat", ("in another basis", "120°"),
            ("quat is what it should be with z, x, y, w in place of x, y, z, w",)),
    mistake("root_turned_by_heading", "quat", (r"pelvis is turned about z by x_raw\[RootYaw\]",)),
    mistake("answer_one_frame_late", "y_norm", ("frame t-1",)),
    mistake("half_precision_inputs", "y_norm", ("inputs that were rounded to float16",)),
    mistake("yaw_in_degrees", "x_raw x_raw_next", (r"RootYaw\] is 180/π times",)),
    mistake("left_right_swapped", "y_out", "bone_order=left_right_swapped"),
    mistake("thirty_hertz", CLIP_STAGES, ("the clip's frame 2·t",), frames=44),
    mistake("stale_header", "state", OTHER_STATISTICS),
    mistake("missing_tanh", "state", "angvel_squash=linear"),
    mistake("squashed_twice", "pose_hist", (r"tanh\(pose_hist_raw", "squashed once more")),
    mistake("hysteresis_off_by_one", "contacts"),
    mistake("clamped_step", CLIP_STAGES, ("the clip's frame 3·t/4",)),
    mistake("float_accumulation", CLIP_STAGES, ("the clip's frame before or after its own in",),
            ("the answer of frame t-1 (in|from)",)),
    mistake("published_late", "quat", ("frame t-1",)),
    mistake("wrong_bone_subset", "quat", (r"the part \+1 places on, in 45 parts",)),
    mistake("previous_pose_transposed", "next6d", (r"the inverse \(transposed\) rotations of x_raw",)),
    mistake("quats_conjugated", "quat", (r"the inverse \(transposed, conjugated\)",)),
    mistake("component_space", "quat", ("in component space",)),
    mistake("doubled_scale", "state", ("angvel_scales", "doubled|twice|2 times")),
    mistake("state_clamped", "state", ("clipped", 1.5)),
    mistake("previous_pose_is_own", "next6d", (r"y_out\[BoneRotations6D\] of frame t-1 in place of x_raw",)),
)
# fmt: on
DEFECTS = tuple(replace(each, number=number) for number, each in enumerate(_IN_ORDER, start=1))
"""Every mistake, with its number in the loop."""
FEW = (
    "previous_pose_next_bone", "answer_one_frame_late", "yaw_in_degrees", "quats_change_of_basis", "sigma_floor",
    "angvel_three_early", "float_accumulation",
)  # fmt: skip
"""Those that the ordinary tests plant: one of each family."""
