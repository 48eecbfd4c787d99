"""RP621-RP624: a recording of the network's own output: what it says of the bundle, and of the poses recorded beside it.

An early recording holds the network's residuals where later ones hold poses. Without a model it is all that is known of the
network: composed onto the poses of its rows, it gives the poses that other files recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Artefacts, Need, family, findings_of
from rigpact.contract.rules.teacher.prediction import SAME_DEG, readings
from rigpact.contract.rules.views.bundle import known, member, need
from rigpact.contract.rules.views.motion import Y_NORM, Rows
from rigpact.contract.rules.wording import at_first, listed
from rigpact.contract.skeleton import identity_rot6d, rot6d_to_matrix, rotation_angle_rad, transposed
from rigpact.contract.statistics import FloatArray

MODE_AGAINST_RECORDING = Rule.of("""RP621 error output-mode-contradicts-recording
    output_mode is 'absolute', but the network's output recorded in {recording} is a residual: composed onto the state it misses
    the next teacher pose by {residual_deg:.2f}° on average, read as a pose by {pose_deg:.2f}°
    hint: declare 'residual'; or the recording is of another network
    why: the engine plays the network's small corrections as poses: the character collapses to its mean pose""")
ROWS_IN_OTHER_ORDER = Rule.of("""RP622 error prediction-rows-in-other-order
    the network's output in {recording} gives the poses of {poses}, but {order}: {count} of {total} rows then agree within
    {limit:g}°, {straight} as they stand
    hint: one of the two files was written in another order, or from another frame on; export it again
    why: a row is compared with another moment's pose: a network that is right seems wrong, and a wrong one right""")
PREDICTION_ABSENT = Rule.of("""RP623 error prediction-absent
    the file has the keys of a prediction ({keys}), but no `prediction`{guess}
    hint: export the prediction again; a teacher batch has none of these
    why: readers take the file for a teacher batch: the network's answer is never compared""")
OUTPUT_GIVES_OTHER_POSES = Rule.of("""RP624 error recorded-output-gives-other-poses
    the network's output in {recording} gives the poses of {poses} only roughly: row {row}, {bone} is {miss_deg:.3g}° away{more}
    hint: one of the two was rounded, scaled or rearranged on its way into the file; export both again from one run
    why: a replay of the output computes another character than the recorded one""")

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
            yield PREDICTION_ABSENT.at(file.path, "", keys=listed(keys), guess=guess)
    found = [(rows, known(partial(readings, rows))) for rows in subject.rows]
    outputs = [(rows, said) for rows, said in found if said is not None and said.holds_residuals]
    for rows, said in outputs:
        if rows.bundle.output_mode == "absolute":
            values = {"recording": rows.path.name, "residual_deg": said.residual_deg, "pose_deg": said.pose_deg}
            yield MODE_AGAINST_RECORDING.at(rows.bundle.path, ("meta", "rot6d_spec", "output_mode"), **values)
    others = [rows for rows, said in found if said is None or not said.holds_residuals]
    for (output, _), poses in product(outputs, others):
        yield from findings_of((_check_pair,), output, poses)


FAMILY = family(globals(), (Need.ROWS,), _check_recorded_outputs)


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
        yield from at_first(OUTPUT_GIVES_OTHER_POSES, output.path, place, bad, "bones and rows", "row bone", **values)


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
        """The angle between composed and recorded pose, (T, B)."""
        return _angles_deg(self.turns[of_output] @ start, self.recorded[of_poses])

    @property
    def is_of_one_network(self) -> bool:
        """Whether the poses are those of this very output, if not to the last digit: over most bones and rows."""
        models = [member(rows.file.root, "model") for rows in (self.output, self.poses)]
        sizes = _angles_deg(self.turns, np.broadcast_to(np.eye(3), self.turns.shape))
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
            yield ROWS_IN_OTHER_ORDER.at(spoilt.path, (*Y_NORM,), limit=SAME_DEG, total=count, **values)
            return


def _turns(rows: Rows) -> FloatArray:
    """The rotations that the rows turn each bone by, read as residuals, (T, B, 3, 3)."""
    y_norm, std = rows.file.rows_at(Y_NORM), need(rows.bundle.statistic("StdY", rows.bundle.output))
    need(y_norm, when=y_norm.shape[1] == len(std.values))
    six, columns = rows.bundle.rotations_of(y_norm * std.values, std.layout), rows.bundle.columns
    return rot6d_to_matrix(six + identity_rot6d(columns), columns)


def _angles_deg(found: FloatArray, expected: FloatArray) -> FloatArray:
    """The angle of each bone and row, (T, B)."""
    return np.asarray(np.degrees(rotation_angle_rad(found @ transposed(expected))))
