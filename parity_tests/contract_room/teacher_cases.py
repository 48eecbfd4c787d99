"""Defects of teacher batches and predictions, alone, against the bundle and against the clip."""

import math

from .edits import META, SPEC, both, case, changed, more, only, put, scaled, shorter, times
from .model_cases import clipped
from .small_character import FRAMES, STD, angvel_row, history_row, pose, predicted_pose, swing_rad, whitened

OFFSET = (*META, "alignment", "cond_to_y", "offset")
AUX = ("batch", "teacher", "aux_inputs")


def residuals(learned):
    """The network's residual: a part of each bone's step about z, minus the identity, over the deviation."""
    rows = []
    for frame in range(FRAMES):
        steps = [learned * (swing_rad(bone, frame + 1) - swing_rad(bone, frame)) for bone in range(3)]
        columns = [[math.cos(step) - 1, math.sin(step), 0.0, 0.0, 0.0, 0.0] for step in steps]
        rows.append([number / STD for column in columns for number in column])
    return rows


def answered(rows):
    """A prediction that holds the network's output alone."""
    return put({"y_norm": rows, "y_raw": None}, "prediction", "prediction")


def recorded(change=lambda rows: rows):
    """Make a prediction file of the batch: the network's residuals for the poses of the sample's prediction."""
    answer = {"y_norm": change(residuals(0.9)), "y_raw": None}
    return lambda sample: sample.batch.update(model="demo", prediction=answer)


def rounded(rows):
    return [[round(number, 2) for number in row] for row in rows]


def predicting(answer):
    """An edit that lets the network have answered these poses."""
    rows = [answer(frame) for frame in range(FRAMES)]
    return put({"y_norm": [whitened(row) for row in rows], "y_raw": rows}, "prediction", "prediction")


LATE = both(*(
    changed(lambda rows: [rows[-1], *rows[:-1]], "prediction", "prediction", key) for key in ("y_norm", "y_raw")
))  # fmt: skip
"""The poses of the prediction come a frame late."""
STRETCHED = both(more(1.0, "prediction", "prediction", "y_norm", 3, 6), put(None, "prediction", "prediction", "y_raw"))
RESIDUAL = answered(residuals(1.0))


def condition(change):
    """An edit of every condition row of the batch."""
    return changed(lambda rows: [change(row) for row in rows], "batch", "teacher", "cond")


def remembered(frames):
    """An edit that lets the history of each row hold these frames."""
    return put([history_row(*frames(frame)) for frame in range(FRAMES)], *AUX, "pose_hist_norm")


def spin_rows(change, later=0):
    """An edit of the AngVel input: the clip's own vectors, changed, of the same frame or a later one."""

    def edit(sample):
        frames = sample.clip["Frames"][later : later + FRAMES]
        rows = [angvel_row([change(vector) for vector in frame["BoneAngularVelocities"]]) for frame in frames]
        sample.batch["teacher"]["aux_inputs"]["angvel_norm"] = rows

    return edit


def aux_at_root(sample):
    sample.prediction["aux_inputs"] = sample.prediction["teacher"].pop("aux_inputs")


def differing_copies(sample):
    copy = {key: [list(row) for row in rows] for key, rows in sample.prediction["teacher"]["aux_inputs"].items()}
    copy["contacts"][2][0] = 0.75
    sample.prediction["aux_inputs"] = copy


OWN_POSES = [whitened(pose(frame)) for frame in range(FRAMES)]
SHORTER_CLIP = both(shorter("clip", "Frames"), put(12, "clip", "NumFrames"), only("bundle", "clip", "batch"))
CASES = (
    case("RP600 batch/teacher/cond", shorter("batch", "teacher", "cond")),
    case("RP601 batch/teacher/cond/1", [0, 1, 0, 0, 1.0, 0.0]),
    case("RP602 batch/dims/Dx", 34),
    case("RP603 batch/layouts/state", put({"start": 24, "size": 18}, "batch", "layouts", "state", "BoneRotations6D")),
    case("RP604 batch/fps", 30),
    case("RP605 batch/teacher/state_norm/2/7", -1e39),
    case("RP606 batch/dims/Dx", 34),
    case("RP610 prediction/aux_inputs", aux_at_root),
    case("RP611 batch/teacher/target_norm/0", put(OWN_POSES, "batch", "teacher", "target_norm")),
    case("RP612 batch/teacher/state_norm/3", more(2.0, "batch", "teacher", "state_norm", 3, 6)),
    case("RP613 batch/teacher/state_norm/5/0", 17.0),
    case("RP613 batch/teacher/state_norm/5/0",
         both(clipped("state low high", low=-4.0, high=4.0), put(5.0, "batch", "teacher", "state_norm", 5, 0))),
    case("RP614 batch/teacher/cond/2", put([0.5, 0.5, 0, 0], "batch", "teacher", "cond", 2, slice(0, 4))),
    case("RP615 batch/teacher/cond/4", put([2.0, 0.0], "batch", "teacher", "cond", 4, slice(4, 6))),
    case("RP616 batch/teacher/cond/0/6", condition(lambda c: [*c[:6], 100 * c[6]])),
    case("RP617 batch/teacher/cond/0/4", condition(lambda c: [*c[:4], -c[4], -c[5], c[6]])),
    case("RP618 batch/teacher/aux_inputs/contacts/1/0", -0.2),
    case("RP619 prediction/aux_inputs/contacts/2", differing_copies),
    case("RP620 prediction/prediction/y_norm", answered([predicted_pose(frame) for frame in range(FRAMES)])),
    case("RP621 bundle/meta/rot6d_spec/output_mode", both(RESIDUAL, put("absolute", *SPEC, "output_mode"))),
    case("RP622 batch/prediction/y_norm", recorded(lambda rows: rows[::-1])),
    case("RP622 prediction/prediction/y_norm", both(recorded(), LATE)),
    case("RP623 batch", put("demo", "batch", "model")),
    case("RP624 batch/prediction/y_norm/0", recorded(rounded)),
    case("RP630 prediction/prediction/y_raw/1/6", 0.5),
    case("RP631 prediction/prediction/y_norm", RESIDUAL),
    case("RP632 prediction/prediction/y_norm/3", STRETCHED),
    case("RP633 prediction/prediction/y_norm", predicting(lambda f: predicted_pose(f, start=1))),
    case("RP634 prediction/diagnostics/GeoDeg", 3.0),
    case("RP634 prediction/diagnostics/MSEnormY", 3.0),
    case("RP635 prediction/prediction/y_norm", predicting(lambda f: predicted_pose(f, -0.5))),
    case("RP636 prediction/prediction/y_norm", predicting(lambda f: predicted_pose(3))),
    case("RP637 prediction/prediction/y_norm", predicting(lambda f: pose(f + 1))),
    case("RP550 batch/teacher/aux_inputs/angvel_norm", spin_rows(lambda v: times(2.0, v))),
    case("RP553 batch/teacher/aux_inputs/angvel_norm", spin_rows(lambda v: v, later=1)),
    case("RP640 batch/teacher/aux_inputs/pose_hist_norm", scaled(-3.0, *AUX, "pose_hist_norm")),
    case("RP641 batch/teacher/aux_inputs/pose_hist_norm", remembered(lambda f: (f, max(f - 1, 0)))),
    case("RP642 batch/teacher/aux_inputs/pose_hist_norm", remembered(lambda f: (max(f - 2, 0), max(f - 1, 0)))),
    case("RP643 batch/teacher/aux_inputs/pose_hist_norm/0", remembered(lambda f: (f, f + 1))),
    case("RP643 batch/teacher/aux_inputs/pose_hist_norm/0", remembered(lambda f: (max(f - 1, 1), max(f, 1)))),
    case("RP644 batch/teacher/aux_inputs/pose_hist_norm/0", remembered(lambda f: (max(f - 1, 1), f))),
    case("RP906 batch/teacher/state_norm/4/8", more(0.1, "batch", "teacher", "state_norm", 4, 8)),
    case("RP906 batch/teacher/state_norm/0/0",
         changed(lambda rows: [*rows[1:], rows[-1]], "batch", "teacher", "state_norm")),  # a frame late
    case("RP907 batch/teacher/cond/3/1", put([0, 0, 1, 0], "batch", "teacher", "cond", 3, slice(0, 4))),
    # the engine's reading: the trajectory's middle entry, which is given in the facing frame
    case("RP907 batch/teacher/cond/0/4", condition(lambda row: [*row[:4], 1.0, 0.0, row[6]])),
    case("RP908 batch/teacher/cond", both(only("bundle", "clip", "batch"), put(1, *OFFSET))),
    case("RP909 batch/teacher/aux_inputs/contacts/0", changed(lambda rows: [row[::-1] for row in rows], *AUX, "contacts")),
    case("RP910 prediction/teacher/state_norm/2", more(0.1, "prediction", "teacher", "state_norm", 2, 7)),
    case("RP911 batch/teacher/state_norm", SHORTER_CLIP),
)  # fmt: skip
