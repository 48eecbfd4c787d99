"""Defects of teacher batches and predictions, alone, against the bundle and against the clip."""

import math
from collections.abc import Callable
from typing import Any

from . import model_cases
from .clip_cases import Vector, add, times
from .rule_cases import META, SPEC, Case, Edit, aux_at_root, both, only, put, scaled
from .small_character import FRAMES, STD, angvel_row, history_row, pose, predicted_pose, swing_rad, whitened

AUX = "/teacher/aux_inputs"


def residual_prediction(sample: Any) -> None:
    """Record the network's residual: each bone's step about z, minus the identity, over the deviation."""
    answer = sample.prediction["prediction"]
    for frame in range(FRAMES):
        steps = [swing_rad(bone, frame + 1) - swing_rad(bone, frame) for bone in range(3)]
        columns = [[math.cos(step) - 1, math.sin(step), 0.0, 0.0, 0.0, 0.0] for step in steps]
        answer["y_norm"][frame] = [number / STD for column in columns for number in column]
    answer["y_raw"] = None


def recorded_output(sample: Any) -> None:
    """Make a prediction file of the batch: the network's residuals for the poses of the sample's prediction."""
    rows = []
    for frame in range(FRAMES):
        steps = [0.9 * (swing_rad(bone, frame + 1) - swing_rad(bone, frame)) for bone in range(3)]
        columns = [[math.cos(step) - 1, math.sin(step), 0.0, 0.0, 0.0, 0.0] for step in steps]
        rows.append([number / STD for column in columns for number in column])
    sample.batch |= {"model": "demo", "prediction": {"y_norm": rows, "y_raw": None}}


def reversed_output(sample: Any) -> None:
    recorded_output(sample)
    sample.batch["prediction"]["y_norm"].reverse()


def rounded_output(sample: Any) -> None:
    """The network's output with two decimals."""
    recorded_output(sample)
    answer = sample.batch["prediction"]
    answer["y_norm"] = [[round(number, 2) for number in row] for row in answer["y_norm"]]


def others_output(sample: Any) -> None:
    """The rounded output of another network than that of the poses beside it."""
    rounded_output(sample)
    sample.batch["model"] = "an earlier checkpoint"


def late_poses(sample: Any) -> None:
    """The poses of the prediction come a frame late, beside the network's own output."""
    recorded_output(sample)
    answer = sample.prediction["prediction"]
    for rows in (answer["y_norm"], answer["y_raw"]):
        rows.insert(0, rows.pop())


def predicting(answer: Callable[[int], Vector]) -> Edit:
    """An edit that lets the network have answered these poses."""

    def edit(sample: Any) -> None:
        rows = [answer(frame) for frame in range(FRAMES)]
        sample.prediction["prediction"] = {"y_norm": [whitened(row) for row in rows], "y_raw": rows}

    return edit


def pose_as_it_is(sample: Any) -> None:
    """Record the pose itself where its normalised form belongs."""
    answer = sample.prediction["prediction"]
    answer["y_norm"], answer["y_raw"] = [predicted_pose(frame) for frame in range(FRAMES)], None


def narrow_graph(sample: Any) -> None:
    """A graph that clamps the state to four deviations."""
    model_cases.clipped("state low high", low=-4.0, high=4.0)(sample)


def stretched_pose(sample: Any) -> None:
    row = sample.prediction["prediction"]["y_norm"][3]
    row[6] += 1.0
    sample.prediction["prediction"]["y_raw"] = None


def own_targets(sample: Any) -> None:
    sample.batch["teacher"]["target_norm"] = [whitened(pose(frame)) for frame in range(FRAMES)]


def condition(change: Callable[[Vector], Vector]) -> Edit:
    """An edit of every condition row of the batch."""
    return lambda sample: sample.batch["teacher"].update(cond=[change(row) for row in sample.batch["teacher"]["cond"]])


def trajectory_condition(sample: Any) -> None:
    """The engine's reading: the trajectory's middle entry, which is given in the facing frame."""
    condition(lambda row: [*row[:4], 1.0, 0.0, row[6]])(sample)


def remembered(frames: Callable[[int], tuple[int, ...]]) -> Edit:
    """An edit that lets the history of each row hold these frames."""
    rows = [history_row(*frames(frame)) for frame in range(FRAMES)]
    return lambda sample: sample.batch["teacher"]["aux_inputs"].update(pose_hist_norm=rows)


def spin_rows(change: Callable[[Vector], Vector], later: int = 0) -> Edit:
    """An edit of the AngVel input: the clip's own vectors, changed, of the same frame or a later one."""

    def edit(sample: Any) -> None:
        frames = sample.clip["Frames"][later : later + FRAMES]
        rows = [angvel_row([change(vector) for vector in frame["BoneAngularVelocities"]]) for frame in frames]
        sample.batch["teacher"]["aux_inputs"]["angvel_norm"] = rows

    return edit


def differing_copies(sample: Any) -> None:
    copy = {key: [list(row) for row in rows] for key, rows in sample.prediction["teacher"]["aux_inputs"].items()}
    copy["contacts"][2][0] = 0.75
    sample.prediction["aux_inputs"] = copy


def swapped_contacts(sample: Any) -> None:
    for row in sample.batch["teacher"]["aux_inputs"]["contacts"]:
        row.reverse()


def later_rows(sample: Any) -> None:
    """Rows that start a frame late; the last one is repeated."""
    rows = sample.batch["teacher"]["state_norm"]
    sample.batch["teacher"]["state_norm"] = [*rows[1:], rows[-1]]


def shorter_clip(sample: Any) -> None:
    sample.clip["Frames"].pop()
    sample.clip["NumFrames"] = 12


CASES = (
    Case("RP600", "batch", "/teacher/cond", lambda s: s.batch["teacher"]["cond"].pop(), "11 rows, num_pairs is 12"),
    Case("RP601", "batch", "/teacher/cond/1", put([0, 1, 0, 0, 1.0, 0.0], "batch", "teacher", "cond", 1), "6 numbers"),
    Case("RP602", "batch", "/dims/Dx", put(34, "batch", "dims", "Dx"), "34"),
    Case("RP603", "batch", "/layouts/state",
         put({"start": 24, "size": 18}, "batch", "layouts", "state", "BoneRotations6D"), "[24, 42)"),
    Case("RP604", "batch", "/fps", put(30, "batch", "fps"), "30"),
    Case("RP605", "batch", "/teacher/state_norm/2/7", put(-1e39, "batch", "teacher", "state_norm", 2, 7), "[2][7]"),
    Case("RP610", "prediction", "/aux_inputs", aux_at_root, "pose_hist_norm"),
    Case("RP630", "prediction", "/prediction/y_raw/1/6", put(0.5, "prediction", "prediction", "y_raw", 1, 6), "thigh_l"),
    Case("RP631", "prediction", "/prediction/y_norm", residual_prediction, "misses the next teacher pose by 0.00°"),
    Case("RP620", "prediction", "/prediction/y_norm", pose_as_it_is, "as it stands it misses the next teacher pose by 0."),
    Case("RP621", "bundle", "/meta/rot6d_spec/output_mode", both(residual_prediction, put("absolute", *SPEC, "output_mode")),
         "recorded in prediction.json is a residual"),
    Case("RP622", "batch", "/prediction/y_norm", reversed_output, "in the reverse order: 12 of 12 rows"),
    Case("RP622", "prediction", "/prediction/y_norm", late_poses, "of the row 1 later: 12 of 12 rows"),
    Case("RP624", "batch", "/prediction/y_norm/0", rounded_output, "only roughly: row 0, pelvis is 0.0"),
    Case("RP623", "batch", "", put("demo", "batch", "model"), "(model)"),
    Case("RP606", "batch", "/dims/Dx", put(34, "batch", "dims", "Dx"), "ends at 35"),
    Case("RP611", "batch", "/teacher/target_norm/0", own_targets, "the row's own pose"),
    Case("RP612", "batch", "/teacher/state_norm/3", lambda s: add(2.0, s.batch["teacher"]["state_norm"][3], 6), "pelvis"),
    Case("RP613", "batch", "/teacher/state_norm/5/0", put(17.0, "batch", "teacher", "state_norm", 5, 0), "RootPosition"),
    Case("RP613", "batch", "/teacher/state_norm/5/0",
         both(narrow_graph, put(5.0, "batch", "teacher", "state_norm", 5, 0)), "the graph clamps its input to [-4, 4]"),
    Case("RP614", "batch", "/teacher/cond/2", put([0.5, 0.5, 0, 0], "batch", "teacher", "cond", 2, slice(0, 4)), "0.5"),
    Case("RP615", "batch", "/teacher/cond/4", put([2.0, 0.0], "batch", "teacher", "cond", 4, slice(4, 6)), "is 2 long"),
    Case("RP616", "batch", "/teacher/cond/0/6", condition(lambda c: [*c[:6], 100 * c[6]]), "it is in cm/s"),
    Case("RP617", "batch", "/teacher/cond/0/4", condition(lambda c: [*c[:4], -c[4], -c[5], c[6]]), "it is negated"),
    Case("RP618", "batch", AUX + "/contacts/1/0", put(-0.2, "batch", "teacher", "aux_inputs", "contacts", 1, 0), "-0.2"),
    Case("RP619", "prediction", "/aux_inputs/contacts/2", differing_copies, "1 of 24"),
    Case("RP550", "batch", AUX + "/angvel_norm", spin_rows(lambda v: times(2.0, v)), "twice the angle"),
    Case("RP553", "batch", AUX + "/angvel_norm", spin_rows(lambda v: v, later=1), "the next frame"),
    Case("RP640", "batch", AUX + "/pose_hist_norm", scaled(-3.0, "batch", "teacher", "aux_inputs", "pose_hist_norm"), "no entry"),
    Case("RP641", "batch", AUX + "/pose_hist_norm", remembered(lambda f: (f, max(f - 1, 0))), "100% of the"),
    Case("RP642", "batch", AUX + "/pose_hist_norm", remembered(lambda f: (max(f - 2, 0), max(f - 1, 0))), "frame t-1"),
    Case("RP643", "batch", AUX + "/pose_hist_norm/0", remembered(lambda f: (f, f + 1)), "the row's own target"),
    Case("RP643", "batch", AUX + "/pose_hist_norm/0", remembered(lambda f: (max(f - 1, 1), max(f, 1))), "0.0000° away"),
    Case("RP644", "batch", AUX + "/pose_hist_norm/0", remembered(lambda f: (max(f - 1, 1), f)), "row 0 entry 0"),
    Case("RP632", "prediction", "/prediction/y_norm/3", stretched_pose, "thigh_l"),
    Case("RP633", "prediction", "/prediction/y_norm", predicting(lambda f: predicted_pose(f, start=1)), "times the true"),
    Case("RP634", "prediction", "/diagnostics/GeoDeg", put(3.0, "prediction", "diagnostics", "GeoDeg"), "GeoDeg is 3"),
    Case("RP634", "prediction", "/diagnostics/MSEnormY", put(3.0, "prediction", "diagnostics", "MSEnormY"), "is 3"),
    Case("RP635", "prediction", "/prediction/y_norm", predicting(lambda f: predicted_pose(f, -0.5)), "by 5.6485°"),
    Case("RP636", "prediction", "/prediction/y_norm", predicting(lambda f: predicted_pose(3)), "12 rows"),
    Case("RP637", "prediction", "/prediction/y_norm", predicting(lambda f: pose(f + 1)), "its own target"),

    Case("RP906", "batch", "/teacher/state_norm/4/8", lambda s: add(0.1, s.batch["teacher"]["state_norm"][4], 8),
         "BoneRotations6D, pelvis"),
    Case("RP906", "batch", "/teacher/state_norm/0/0", later_rows, "they are those of frame t+1"),
    Case("RP907", "batch", "/teacher/cond/3/1", put([0, 0, 1, 0], "batch", "teacher", "cond", 3, slice(0, 4)), "action bit"),
    Case("RP907", "batch", "/teacher/cond/0/4", trajectory_condition, "they follow TrajectoryDir"),
    Case("RP908", "batch", "/teacher/cond",
         both(only("bundle", "clip", "batch"), put(1, *META, "alignment", "cond_to_y", "offset")), "those of frame t of"),
    Case("RP909", "batch", "/teacher/aux_inputs/contacts/0", swapped_contacts, "left and right are swapped"),
    Case("RP910", "prediction", "/teacher/state_norm/2", lambda s: add(0.1, s.prediction["teacher"]["state_norm"][2], 7),
         "1 of 420 numbers"),
    Case("RP911", "batch", "/teacher/state_norm", both(only("bundle", "clip", "batch"), shorter_clip), "12 rows for the 12"),
)  # fmt: skip
