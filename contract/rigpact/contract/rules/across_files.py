"""RP621-RP624, RP900-RP911: files that belong together: a clip and its bundle, rows and their clip, a recorded output and poses.

An early recording holds the network's residuals where later ones hold poses. Without a model it is all that is known of the
network: composed onto the poses of its rows, it gives the poses that other files recorded.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding
from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.rules import teacher_rows
from rigpact.contract.rules.bundle_view import BundleView, json_to_names, known, member, need
from rigpact.contract.rules.family import Artefacts, Need, Rules, findings_of
from rigpact.contract.rules.motion_view import (
    COND,
    STATE,
    Y_NORM,
    ClipView,
    Rows,
    clip_features,
    condition_of,
    lagged,
    scaled_speeds,
)
from rigpact.contract.rules.prediction import SAME_DEG, miss_deg, readings
from rigpact.contract.rules.wording import at_first, first_unlike, json_value, listed, short
from rigpact.contract.skeleton import identity_rot6d, rot6d_to_matrix
from rigpact.contract.statistics import STD_FLOOR, FloatArray

rules = Rules("across_files")


Order = NDArray[np.intp] | slice
_AS_IT_IS = slice(None)
_OF_A_PREDICTION = ("model", "teacher_json", "diagnostics")
_SAME_STATE = 1e-4
"""States that were rounded to four decimals are those of one clip."""
_FURTHEST = 3
"""Frames: a delay of a ring buffer or a loop, not another part of the clip."""
_RELATED = 0.1
"""Outputs of two networks differ by about their own size; of one network, rounded or scaled by a percent, by far less."""
_FEWEST = 8
"""Fewer rows agree in another order by chance, or because the character hardly moves."""


def _check_recorded_outputs(subject: Artefacts) -> Iterator[Finding]:
    for file in subject.teachers:
        keys = [key for key in _OF_A_PREDICTION if key in file.root]
        if file.document.kind is Kind.TEACHER_BATCH and keys:
            near = [key for key in file.root if isinstance(member(file.root, key, "y_norm"), list)]
            guess = f"; it stands under {near[0]!r}" if near else ""
            yield rules.PREDICTION_ABSENT.at(file.path, "", keys=listed(keys), guess=guess)
    found = [(rows, known(partial(readings, rows))) for rows in subject.rows]
    outputs = [(rows, said) for rows, said in found if said is not None and said.holds_residuals]
    for rows, said in outputs:
        if rows.bundle.output_mode == "absolute":
            values = {"recording": rows.path.name, "residual_deg": said.residual_deg, "pose_deg": said.pose_deg}
            yield rules.MODE_AGAINST_RECORDING.at(rows.bundle.path, ("meta", "rot6d_spec", "output_mode"), **values)
    others = [rows for rows, said in found if said is None or not said.holds_residuals]
    for (output, _), poses in product(outputs, others):
        yield from findings_of((_check_pair,), output, poses)


RECORDED_OUTPUT = rules.family("RECORDED_OUTPUT", (Need.ROWS,), _check_recorded_outputs)


def _check_pair(output: Rows, poses: Rows) -> Iterator[Finding]:
    # The same rows in the same order agree, whether composed with the current pose or, by mistake, with the target
    turns, before, recorded = _turns(output), output.poses, poses.predicted
    ours, theirs = output.features, poses.features
    is_one_clip = ours.shape == theirs.shape and output.file.clip_name == poses.file.clip_name != ""
    need(ours, when=is_one_clip and float(np.abs(ours - theirs).max()) <= _SAME_STATE)
    count = len(turns)
    need(turns, when=len(before) == len(recorded) == count >= _FEWEST and turns.shape[1:] == recorded.shape[1:])
    pair = _Pair(output, poses, turns, (before, np.concatenate([before[1:], before[-1:]])), recorded)
    in_other_order = [] if 2 * pair.agreeing() >= count else list(_in_other_order(pair))
    yield from in_other_order
    if not in_other_order and pair.is_of_one_network:
        # each row may be composed with either pose; of the last row the target is not in the file
        misses_deg = np.minimum(*(pair.misses_deg(start) for start in pair.previous))
        values = {**pair.names, "bone": lambda _, bone: output.bundle.bone(bone), "miss_deg": misses_deg}
        bad, place = misses_deg[:-1] > SAME_DEG, (*Y_NORM, ...)
        yield from at_first(
            rules.OUTPUT_GIVES_OTHER_POSES, output.path, place, bad, "bones and rows", "row bone", **values
        )


@dataclass(frozen=True, eq=False)
class _Pair:
    """A recorded output and recorded poses of the same rows.

    turns: (T, B, 3, 3) what the output turns each bone by. previous: the poses that it may be composed with, (T, B, 3, 3):
    the current ones or, by mistake, the targets. recorded: the poses of the other file.
    """

    output: Rows
    poses: Rows
    turns: FloatArray
    previous: tuple[FloatArray, FloatArray]
    recorded: FloatArray

    @property
    def names(self) -> dict[str, Any]:
        return {"recording": self.output.path.name, "poses": self.poses.path.name}

    def agreeing(self, of_output: Order = _AS_IT_IS, of_poses: Order = _AS_IT_IS) -> int:
        """How many rows agree in every bone, with the rows of one file in another order."""
        found = [self.misses_deg(start, of_output, of_poses).max(axis=-1) for start in self.previous]
        return max(int((worst <= SAME_DEG).sum()) for worst in found)

    def misses_deg(self, start: FloatArray, of_output: Order = _AS_IT_IS, of_poses: Order = _AS_IT_IS) -> FloatArray:
        return miss_deg(self.turns[of_output] @ start, self.recorded[of_poses])

    @property
    def is_of_one_network(self) -> bool:
        """Whether the poses are those of this very output, if not to the last digit: over most bones and rows."""
        models = [member(rows.file.root, "model") for rows in (self.output, self.poses)]
        sizes = miss_deg(self.turns, np.broadcast_to(np.eye(3), self.turns.shape))
        nearest = min(float(np.median(self.misses_deg(start))) for start in self.previous)
        return models[0] == models[1] and nearest <= max(_RELATED * float(np.median(sizes)), SAME_DEG)


def _in_other_order(pair: _Pair) -> Iterator[Finding]:
    # Other orders of the rows, in words; rows beyond the ends are those of the other end
    count, rows = len(pair.turns), np.arange(len(pair.turns))
    shifts = [lag for size in range(1, _FURTHEST + 1) for lag in (size, -size)]
    for words, order in [
        ("in the reverse order", rows[::-1]),
        *((f"of the row {abs(lag)} {'later' if lag > 0 else 'earlier'}", np.roll(rows, -lag)) for lag in shifts),
    ]:
        of_output, of_poses = pair.agreeing(of_output=order), pair.agreeing(of_poses=order)
        if 2 * max(of_output, of_poses) >= count:
            spoilt = pair.output if of_output >= of_poses else pair.poses
            values = {**pair.names, "count": max(of_output, of_poses), "order": words, "straight": pair.agreeing()}
            yield rules.ROWS_IN_OTHER_ORDER.at(spoilt.path, (*Y_NORM,), limit=SAME_DEG, total=count, **values)
            return


def _turns(rows: Rows) -> FloatArray:
    """The rotations that the rows turn each bone by, read as residuals, (T, B, 3, 3)."""
    y_norm, std = rows.file.rows_at(Y_NORM), need(rows.bundle.statistic("StdY", rows.bundle.output))
    need(y_norm, when=y_norm.shape[1] == len(std.values))
    six, columns = rows.bundle.rotations_of(y_norm * std.values, std.layout), rows.bundle.columns
    return rot6d_to_matrix(six + identity_rot6d(columns), columns)


_SHARED_DECLARATIONS = (
    ("units",), ("handedness",), ("axes",), ("rot6d_spec", "columns"), ("rot6d_spec", "order"),
    ("rot6d_spec", "matrix_layout"), ("rot6d_spec", "handedness"), ("spaces", "bone_rotations"),
    ("spaces", "bone_angular_velocities"), ("root_motion", "root_yaw_units"), ("trajectory", "frame"),
)  # fmt: skip
_OFFSET_M = 1e-3
"""A millimetre: the finest that contacts are judged at is 5 mm."""
_SIGMAS = 10.0
"""A clip that makes up a hundredth of the training data lies at most sqrt(100) deviations from the mean (Chebyshev)."""
_MOVED = 1e-2
"""On a channel that hardly varies, deviations count only if the value itself differs by 0.6 degrees, or 1 cm."""
_SCALES = 3.0
"""Beyond three scales tanh leaves a hundredth of a change."""
_SKELETON = ("meta", "skeleton")


def _check_bones(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    names, expected = clip.bone_names, json_to_names(bundle.meta.get("bone_names")) or ()
    for index, more in first_unlike(names, expected, "bones differ"):
        values = {"index": index, "found": names[index], "expected": expected[index]}
        yield rules.CLIP_BONES_DIFFER.at(clip.path, (*_SKELETON, "bone_names", index), more=more, **values)
        return
    ours, theirs = need(clip.skeleton), need(bundle.skeleton)
    need(ours, when=len(ours.names) == len(theirs.names))
    for bone, more in first_unlike(ours.parents, theirs.parents, "bones"):
        values = {"bone": clip.bone(bone), "found": ours.parents[bone], "expected": theirs.parents[bone]}
        yield rules.CLIP_PARENTS_DIFFER.at(clip.path, (*_SKELETON, "parents", bone), more=more, **values)
    apart = np.linalg.norm(ours.offsets_m.astype(np.float64) - theirs.offsets_m, axis=-1)
    values, place = {"bone": clip.bone, "apart_mm": 1000 * apart}, (*_SKELETON, "ref_local_offsets_m", ...)
    yield from at_first(rules.CLIP_OFFSETS_DIFFER, clip.path, place, apart > _OFFSET_M, "bones", "bone", **values)


def _check_declarations(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    for path in _SHARED_DECLARATIONS:
        found, expected = member(clip.root, "meta", *path), member(bundle.meta, *path)
        if found is not None and expected is not None and found != expected:
            values = {"key": ".".join(path), "found": _shown(found), "expected": _shown(expected)}
            yield rules.CLIP_DECLARES_OTHERWISE.at(clip.path, ("meta", *path), **values)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | list) else json_value(value)


def _check_range(clip: ClipView, bundle: BundleView, subject: Artefacts) -> Iterator[Finding]:
    mean, std = bundle.finite("MuX", bundle.state), bundle.finite("StdX", bundle.state).values
    features, clamp = clip_features(clip, bundle), teacher_rows.clamp_of(subject, "state")
    off = np.abs(features.mean(axis=0) - mean.values)  # NaN where the clip has no such channel
    sigma = off / np.maximum(np.abs(std), STD_FLOOR)
    far = np.isfinite(sigma) & (sigma > _SIGMAS) & (off > _MOVED)
    if far.any():
        index = int(np.argmax(np.where(far, sigma, 0)))
        values = {"where": mean.where(index), "found": float(features[:, index].mean()), "sigma": float(sigma[index])}
        values |= {"mean": mean.values[index], "std": std[index], "count": int(far.sum()), "limit": _SIGMAS}
        yield rules.CLIP_FAR_FROM_STATISTICS.at(clip.path, "/Frames", **values)
    z = (features - mean.values) / np.maximum(np.abs(std), STD_FLOOR)
    # near-constant channels cross the clamp by rounding; the value itself must move too
    clipped = clamp.cuts(z) & (np.abs(features - mean.values) > _MOVED)
    shown = {"array": "the state of the clip", "value": z, "where": lambda _, column: f" ({mean.where(column)})"}
    rule, place = teacher_rows.rules.VALUE_CLIPPED, ("Frames", ...)
    yield from at_first(rule, clip.path, place, clipped, "in this clip", "row column", **shown, **asdict(clamp))


def _check_saturation(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    for array, key, scaled in scaled_speeds(clip, bundle):
        medians = np.median(np.abs(scaled), axis=0)
        beyond = int((medians > _SCALES).sum())
        if beyond:
            index = int(medians.argmax())
            values = {"where": array.where(index), "scales": float(medians[index]), "scale": array.values[index]}
            left = float(1 / np.cosh(min(medians[index], 300.0)) ** 2)
            yield rules.SPEED_SATURATES.at(
                clip.path, ("Frames", 0, key), left=left, count=beyond, limit=_SCALES, **values
            )


_CHECKS = (_check_bones, _check_declarations, _check_range, _check_saturation)

CLIP_OF_BUNDLE = rules.family("CLIP_OF_BUNDLE", (Need.CLIP, Need.BUNDLE), *_CHECKS)


_FEATURE = 1e-4
"""Rows and clip may differ by this in a component of a unit vector or in tanh: 0.006 degrees, rounding to four decimals."""
_CONDITION = 1e-4
"""Four decimals of a direction or a speed."""


def _check_rows_of_clips(subject: Artefacts) -> Iterator[Finding]:
    by_name = {clip.path.stem: clip for clip in subject.clips}
    for rows in subject.rows:
        if rows.file.clip_name in by_name:
            checks = (_check_count, _check_state_rows, _check_condition_rows, _check_contact_rows)
            yield from findings_of(checks, rows, by_name[rows.file.clip_name])


ROWS_OF_CLIP = rules.family("ROWS_OF_CLIP", (Need.CLIP, Need.ROWS, Need.BUNDLE), _check_rows_of_clips)


def _check_count(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, frames = len(need(rows.file.rows.get(STATE))), len(clip.frames)
    if found != frames - 1:
        values = {"found": found, "frames": frames, "clip": clip.path.name, "expected": frames - 1}
        yield rules.PAIRS_NOT_OF_CLIP.at(rows.path, (*STATE,), **values)


def _check_state_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, frames = rows.features, clip_features(clip, rows.bundle)
    mean = rows.bundle.finite("MuX", rows.bundle.state)
    wrong = _rows_off(found, need(frames, when=len(frames) > 1), 0)
    lags = [lag for lag in (1, -1) if not _rows_off(found, frames, lag)[1:-1].any()]
    bad = [entry.name for entry in mean.layout if wrong[:, entry.range].any()]
    guess = f": they are those of frame t{lags[0]:+d}" if lags else f" (all in {bad[0]})" if len(bad) == 1 else ""
    values: dict[str, Any] = {"clip": clip.path.name, "found": found, "expected": frames, "guess": guess}
    values |= {"where": lambda _, column: mean.where(column)}
    place = (*STATE, ..., ...)
    yield from at_first(rules.STATE_ROWS_DIFFER, rows.path, place, wrong, "numbers", "row column", **values)


def _rows_off(found: FloatArray, frames: FloatArray, lag: int) -> NDArray[np.bool_]:
    count = min(len(found), len(frames))
    shifted = frames[np.clip(np.arange(count) + lag, 0, len(frames) - 1)]
    return np.asarray(np.abs(found[:count] - shifted) > _FEATURE * np.maximum(1.0, np.abs(shifted)))  # NaN is unknown


def _check_condition_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, expected = rows.file.rows_at(COND), condition_of(clip)
    need(found, when=found.shape[1] == CONDITION_WIDTH and len(expected) > 1)
    worst = {lag: _furthest(*lagged(found, expected, lag)) for lag in {0, 1, *rows.condition_lags}}
    if min(worst.values()) <= _CONDITION:
        yield from _check_alignment(rows, clip, worst)
        return
    count = min(len(found), len(expected) - 1)
    found, expected, trajectory = found[:count], expected[:count], known(lambda: condition_of(clip, "trajectory"))
    readings = {"they follow TrajectoryDir": trajectory[:count] if trajectory is not None else None}
    readings["the direction is negated"] = expected * [1, 1, 1, 1, -1, -1, 1]
    readings["the speed is in cm/s"] = expected * [1, 1, 1, 1, 1, 1, 100]
    fits = (words for words, row in readings.items() if row is not None and np.abs(found - row).max() <= _CONDITION)
    values = {"found": found, "expected": expected, "clip": clip.path.name, "guess": next((f": {w}" for w in fits), "")}
    values |= {"what": lambda _, c: "action bit" if c < 4 else "direction" if c < 6 else "speed in m/s"}
    bad, place = np.abs(found - expected) > _CONDITION, (*COND, ..., ...)
    yield from at_first(rules.CONDITION_ROWS_DIFFER, rows.path, place, bad, "numbers", "row column", **values)


def _furthest(found: FloatArray, expected: FloatArray) -> float:
    return float(np.abs(found - expected).max()) if found.size else 0.0


def _check_alignment(rows: Rows, clip: ClipView, worst: dict[int, float]) -> Iterator[Finding]:
    """The declared offset counts frames from the state's: 0 with match_x, 1 with match_y, the target's frame."""
    spec = member(rows.bundle.meta, "alignment", "cond_to_y")
    mode, offset = member(spec, "mode"), member(spec, "offset")
    if type(offset) is not int or offset not in worst:
        return
    found = min(worst, key=lambda lag: worst[lag])
    if worst[offset] > _CONDITION:
        values = {"mode": repr(mode), "offset": offset, "declared": _frame(offset), "clip": clip.path.name}
        values |= {"found": _frame(found), "near": worst[found], "far": worst[offset]}
        yield rules.CONDITION_ALIGNMENT_DIFFERS.at(rows.path, (*COND,), **values)


def _frame(lag: int) -> str:
    return f"frame t{lag:+d}" if lag else "frame t"


def _check_contact_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    contacts, scores = rows.aux("contacts"), clip.feet("soft_contact_score")
    count = min(len(need(contacts, when=contacts.shape[1] == 2)), len(scores))
    found, expected = contacts[:count], scores[:count]
    swapped = np.abs(found - expected[:, ::-1]).max(initial=0.0) <= _FEATURE
    values: dict[str, Any] = {"found": lambda row: short(found[row]), "expected": lambda row: short(expected[row])}
    values |= {"clip": clip.path.name, "guess": ": left and right are swapped" if swapped else ""}
    bad, place = np.abs(found - expected).max(axis=1) > _FEATURE, (*rows.aux_path("contacts"), ...)
    yield from at_first(rules.CONTACT_ROWS_DIFFER, rows.path, place, bad, "rows", "row", **values)
