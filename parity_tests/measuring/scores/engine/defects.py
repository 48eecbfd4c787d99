"""The mistakes that engine_loop.cpp can make, and what is true of each. Written by hand from the loop, not from any answer.

To add one: a value in the loop's `Defect`, its line there, and a row here in the same order.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ..planted import FREE, Planted, knob, says

OTHER_STATISTICS = says("constants of its own in each channel, as with other statistics")
CLIP_STAGES = ("x_raw", "cond_raw", "contacts", "x_raw_next")
_IN_ORDER = (
    Planted(
        "previous_pose_next_bone",
        "the previous pose is read one bone too late",
        ("next6d",),
        says("x_raw read 6 channels too late"),
    ),
    Planted(
        "writeback_six_late",
        "the pose is written back six channels too late",
        ("x_raw_next",),
        says(r"\[12:288\] from (x_raw_next\[6:282\]|y_out\[0:276\])")
        + says("x_raw_next of pelvis is (stuck at|x_raw)"),  # nobody writes it: it keeps the pose of the first frame
        FREE,
    ),
    Planted(
        "angvel_three_early",
        "the AngVel input is copied from three channels before its slice",
        ("angvel",),
        says("x_raw read 3 channels too early"),
    ),
    Planted(
        "state_by_output_statistics",
        "the state's rotations are z-scored with MuY and StdY",
        ("state",),
        OTHER_STATISTICS,
    ),
    Planted(
        "history_statistics_of_oldest",
        "all history frames take the statistics of the oldest",
        ("pose_hist",),
        OTHER_STATISTICS,
    ),
    Planted(
        "angvel_by_state_statistics",
        "the AngVel input takes the state's statistics",
        ("angvel",),
        knob("angvel_source=state_slice"),
    ),
    Planted(
        "mean_added_to_residual",
        "MuY is added although the output is a residual",
        ("y_raw",),
        knob("output_mode=delta", "output_mode=absolute"),
    ),
    Planted(
        "identity_in_xy_columns",
        "the identity is added in columns X and Y",
        ("delta6d",),
        knob("rot6d_columns=xy") + says(r"\(0, 0, 0, 0, \+1, -1\)"),
    ),
    Planted(
        "identity_forgotten",
        "no identity is added to the residual",
        ("delta6d",),
        knob("output_mode=delta denorm=std_only") + says(r"\(-1, 0, 0, 0, 0, -1\)"),
    ),
    Planted(
        "sigma_floor",
        "StdX has a floor of 0.05 instead of 1e-6",
        ("state",),
        says("state_statistics.std no smaller than", 0.05),
    ),
    Planted(
        "history_never_seeded",
        "the history starts as zeros",
        ("pose_hist_raw",),
        says("the number 0, wherever it differs") + knob("pose_history_start=zeros"),
        FREE,
    ),
    Planted(
        "history_seeded_twice",
        "the history is seeded again at frame 1",
        ("pose_hist_raw",),
        says("began again at frame 1"),
    ),
    Planted(
        "history_identity_after_seed",
        "the history is reset to identity after the seed",
        ("pose_hist_raw",),
        knob("pose_history_start=identity_after_seed"),
        FREE,
    ),
    Planted(
        "history_uninitialised",
        "the history is memory that nobody set",
        ("pose_hist_raw",),
        says(r"memory that was never set \(0xCD"),
    ),
    Planted(
        "quats_turned", "published quaternions are turned by -90° about z", ("quat",), says("turned by -90° about z")
    ),
    Planted(
        "quats_change_of_basis",
        "published quaternions are in another basis",
        ("quat",),
        says("in another basis", "120°") + says("quat is what it should be with z, x, y, w in place of x, y, z, w"),
    ),
    Planted(
        "root_turned_by_heading",
        "the published root is turned by the heading",
        ("quat",),
        says(r"pelvis is turned about z by x_raw\[RootYaw\]"),
    ),
    Planted(
        "answer_one_frame_late", "the network's answer is that of the frame before", ("y_norm",), says("frame t-1")
    ),
    Planted(
        "half_precision_inputs",
        "the network is given float16",
        ("y_norm",),
        says("inputs that were rounded to float16"),
    ),
    Planted(
        "yaw_in_degrees", "the state's yaw is in degrees", ("x_raw", "x_raw_next"), says(r"RootYaw\] is 180/π times")
    ),
    Planted(
        "left_right_swapped",
        "left and right are swapped in the bone table",
        ("y_out",),
        knob("bone_order=left_right_swapped"),
    ),
    Planted(
        "thirty_hertz",
        "every second frame of the clip is played",
        CLIP_STAGES,
        says("the clip's frame 2·t"),
        frames=44,
    ),
    Planted(
        "stale_header",
        "MuX and StdX are those of an older export",
        ("state",),
        OTHER_STATISTICS,
    ),
    Planted(
        "missing_tanh", "the state's angular velocities are not squashed", ("state",), knob("angvel_squash=linear")
    ),
    Planted(
        "squashed_twice",
        "the history is squashed twice",
        ("pose_hist",),
        says(r"tanh\(pose_hist_raw", "squashed once more"),
    ),
    Planted("hysteresis_off_by_one", "contacts are flags that leave one frame too late", ("contacts",)),
    Planted("clamped_step", "the time step is clamped to 12.5 ms", CLIP_STAGES, says("the clip's frame 3·t/4")),
    Planted(
        "float_accumulation",
        "the play time is summed in float32",
        CLIP_STAGES,
        says("the clip's frame before or after its own in") + says("the answer of frame t-1 (in|from)"),
    ),
    Planted("published_late", "the published pose is that of the frame before", ("quat",), says("frame t-1")),
    Planted(
        "wrong_bone_subset",
        "the first bone is left out of the published ones",
        ("quat",),
        says(r"the part \+1 places on, in 45 parts"),
    ),
    Planted(
        "previous_pose_transposed",
        "the previous pose is transposed",
        ("next6d",),
        says(r"the inverse \(transposed\) rotations of x_raw"),
    ),
    Planted(
        "quats_conjugated",
        "published quaternions are conjugated",
        ("quat",),
        says(r"the inverse \(transposed, conjugated\)"),
    ),
    Planted("component_space", "published rotations are in component space", ("quat",), says("in component space")),
    Planted(
        "doubled_scale", "tanh_scales_angvel is doubled", ("state",), says("angvel_scales", "doubled|twice|2 times")
    ),
    Planted("state_clamped", "the state is clamped to ±1.5", ("state",), says("clipped", 1.5)),
    Planted(
        "previous_pose_is_own",
        "the previous pose is the loop's own although a clip drives",
        ("next6d",),
        says(r"y_out\[BoneRotations6D\] of frame t-1 in place of x_raw"),
    ),
)
DEFECTS = tuple(replace(each, number=number) for number, each in enumerate(_IN_ORDER, start=1))
"""Every mistake, with its number in the loop."""
FEW = (
    "previous_pose_next_bone",
    "answer_one_frame_late",
    "yaw_in_degrees",
    "quats_change_of_basis",
    "sigma_floor",
    "angvel_three_early",
    "float_accumulation",
)
"""Those that the ordinary tests plant: one of each family."""


def names_in(source: Path) -> list[str]:
    """The values of the loop's `Defect`, without `none` and the count: the table must have the same."""
    found = re.search(r"enum Defect : int \{(.*?)\}", source.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return [name.strip() for name in found[1].split(",")][1:-1]
