"""RP606-RP619, RP910: what the rows of a teacher batch or prediction mean, row against row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import CONDITION_WIDTH, INPUTS, json_to_layout
from rigpact.contract.model.edges import bound_clamps
from rigpact.contract.rotation6d import rot6d_defect, rot6d_to_matrix, rotation_angle_rad, transposed
from rigpact.contract.rules.clips.angular_velocity import Motion, check_motion
from rigpact.contract.rules.clips.clip_condition import angle_between_deg, is_one_hot
from rigpact.contract.rules.clips.clip_rotations import UNIT_TOLERANCE
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.views.bundle import member
from rigpact.contract.rules.views.rows import AUX_DIMS, COND, STATE, TARGET, Rows, TeacherView, lagged
from rigpact.contract.rules.wording import and_more, first_of
from rigpact.contract.statistics import FloatArray

# Between which numbers the network sees the state and the condition
_EXPORTERS = 16.0
"""The contract's exporter clamps state and condition to ±16."""


@dataclass(frozen=True)
class InputClamp:
    """The numbers between which the network sees one input, and who cuts the others off."""

    low: float
    high: float
    who: str

    def cuts(self, values: FloatArray) -> NDArray[np.bool_]:
        """Where a value is cut off."""
        found: NDArray[np.bool_] = (values < self.low) | (values > self.high)
        return found


def clamp_of(subject: Subject, name: str) -> InputClamp:
    """The clamp of an input; an infinite one where the graph cuts nothing."""
    graph = subject.graph
    if graph is None:
        return InputClamp(-_EXPORTERS, _EXPORTERS, "the contract's exporter clamps this input")
    found = bound_clamps(graph).get(INPUTS.index(name))
    if found is None:
        return InputClamp(-np.inf, np.inf, "")
    return InputClamp(found.low, found.high, "the graph clamps its input")


# The six numbers of each bone, held against the columns of a rotation
def not_poses(rule: Rule, rows: Rows, columns: FloatArray, path: tuple[str, ...]) -> Iterator[Finding]:
    """One finding of `rule` if some of the columns, (T, B, 6), are not those of a rotation: at the first such row and bone."""
    defects = rot6d_defect(columns)
    for (row, bone), more in first_of(defects > 2 * UNIT_TOLERANCE, "bones and rows"):
        values = {"row": row, "bone": rows.bundle.bone(bone), "defect": float(defects[row, bone])}
        yield rule.at(rows.path, (*path, row), more=more, **values)


DIMS_CONTRADICT_LAYOUTS = Rule.titled(
    "RP606 error teacher-dims-contradict-layouts",
    message="dims.{key} is {found}, but layouts.{side} of the same file ends at {expected}",
    hint="export the file again; the two come from different runs",
    why="readers that trust one cut the rows, readers that trust the other pad them",
)
TARGET_NOT_NEXT = Rule.titled(
    "RP611 error target-not-next-state",
    message="target_norm of row {row} is {angle_deg:.3f}° from the pose of row {next} at {bone}{more}{guess}",
    hint="the target of a row is the pose of the next frame, whitened with MuY and StdY",
    why="the network is trained to reach another pose than the one that follows",
)
STATE_NOT_A_POSE = Rule.titled(
    "RP612 error state-row-not-a-pose",
    message="row {row}, {bone}: un-normalised with MuX and StdX, its columns are {defect:.3g} from those of a rotation{more}",
    hint="the rows were normalised with other statistics, or in another order of channels: export them again",
    why="the engine plays these rows: limbs are stretched onto the nearest rotation, which is another pose",
)
VALUE_CLIPPED = Rule.titled(
    "RP613 warning value-clipped-by-graph",
    message="{array}[{row}][{column}] = {value:.4g}: {who} to [{low:g}, {high:g}]{where}{more}",
    hint="raise the deviation's floor of that channel, or leave the clip out",
    why="the network answers for a value that it was not given: the frame's motion is cut off on this channel",
)
COND_NOT_ONE_HOT = Rule.titled(
    "RP614 error condition-action-not-one-hot",
    message="cond[{row}] starts with {bits}: one of the four action bits is 1 and the others are 0{more}",
    hint="write idle, walk, run, jump first, then direction and speed; raw, not normalised",
    why="the engine clamps the bits, and reads direction and speed from their places: in another order the character runs at the"
    " speed of a bit",
)
COND_DIRECTION_NOT_UNIT = Rule.titled(
    "RP615 error condition-direction-not-unit",
    message="cond[{row}]: the direction ({x:.4g}, {y:.4g}) is {length:.4g} long, not 1 (nor 0 at rest){more}",
    hint="divide the velocity by its length; zero below 1 mm/s",
    why="the engine clamps to ±1 and normalises in its own path: the stick's direction reaches the network in two lengths",
)
COND_SPEED_DIFFERS = Rule.titled(
    "RP616 error condition-speed-differs",
    message="cond[{row}] says {found:.4g} m/s, the state's root velocity {expected:.4g} m/s: {slope:.4g} times it on"
    " average{guess}",
    hint="the speed is |RootVelocityXY| in m/s; the engine's is cm/s times 0.01",
    why="the network is told one speed and shown another: in the game it walks at the wrong one",
)
COND_DIRECTION_DIFFERS = Rule.titled(
    "RP617 error condition-direction-differs",
    message="the condition's direction is {angle_deg:.1f}° from the state's root velocity (median over {count} moving"
    " rows){guess}",
    hint="take the unit direction of RootVelocityXY of the same frame",
    why="pushed forward, the character learned to go another way",
)
CONTACT_ROW_OUT_OF_RANGE = Rule.titled(
    "RP618 error contact-row-out-of-range",
    message="contacts[{row}][{foot}] = {value:.4g}: the Contacts input is the raw score, within 0 and 1{more}",
    hint="do not whiten the contacts of the rows; the engine's own slice is another thing",
    why="the network was trained on scores: a whitened one reads as a foot below the floor",
)
AUX_COPIES_DIFFER = Rule.titled(
    "RP619 error aux-inputs-differ-between-copies",
    message="aux_inputs.{key} at the root and under teacher differ in {count} of {total} numbers, first at row {row}",
    hint="write the same arrays in both places",
    why="training reads one copy and the engine the other: the two run on different inputs and are then compared",
)
TEACHER_ROWS_DIFFER = Rule.titled(
    "RP910 error teacher-rows-differ-between-files",
    message="{array} of {clip} differs from that in {other}: {count} of {total} numbers, first at row {row}",
    hint="run the prediction on the batch that is compared with it",
    why="two predictions on different inputs are compared as if only the network differed",
)

_SAME_POSE_RAD = np.radians(0.05)
"""Rows written with float32 agree to 1e-5°; with four decimals and a deviation of 0.25, to 0.01°."""
_SAME_VALUE = 1e-4
"""Two files that were rounded to four decimals may differ by this."""
_DIRECTION_LENGTH = 1e-3
_SPEED = 0.02
"""Two percent: the rounding of a slow walk to two decimals."""
_SLOWEST_M_S = 0.1
_NEXT_DIRECTION_DEG = 10.0
"""Direction and velocity come from the same two numbers; rounding does not make ten degrees."""
_DIRECTION_READINGS: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
    ("it is negated", lambda v: -v),
    ("the axes are swapped", lambda v: v[:, ::-1]),
    ("y is mirrored", lambda v: v * [1, -1]),
)


def check_teacher_rows(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with rows: by themselves, under the bundle's statistics, and between files of one clip."""
    for file in subject.teachers:
        for side, key in (("state", "Dx"), ("output", "Dy")):
            declared, found = member(file.document.data, "layouts", side), member(file.document.data, "dims", key)
            layout = json_to_layout(declared)
            if layout.slices and type(found) is int and found != layout.width:
                values = {"key": key, "found": found, "side": side, "expected": layout.width}
                yield DIMS_CONTRADICT_LAYOUTS.at(file.path, ("dims", key), **values)
        yield from _check_condition(file)
        yield from _check_copies(file)
    for rows in subject.rows:
        yield from _check_clipped(rows, subject)
        yield from _check_rows(rows)
    yield from _check_same_clip(subject.teachers)


FAMILY = Family(__name__, rules_in(globals()), (Need.ROWS,), check_teacher_rows)


def _check_rows(rows: Rows) -> Iterator[Finding]:
    yield from _check_state(rows)
    yield from _check_targets(rows)
    yield from _check_against_velocity(rows)
    contacts = rows.aux("contacts")
    if contacts is not None:
        bad = np.argwhere((contacts < 0) | (contacts > 1))
        for row, foot in bad[:1].tolist():
            values = {"row": row, "foot": foot, "value": float(contacts[row, foot])}
            pointer = json_pointer(*rows.aux_path("contacts"), row, foot)
            yield CONTACT_ROW_OUT_OF_RANGE.at(rows.path, pointer, more=and_more(len(bad) - 1, "rows"), **values)
    yield from _check_angular_velocity(rows)


def _check_condition(file: TeacherView) -> Iterator[Finding]:
    cond = file.finite(COND)
    if cond is None or cond.shape[1] != CONDITION_WIDTH:
        return
    for (row,), more in first_of(~is_one_hot(cond[:, :4]), "rows"):
        bits = [float(f"{bit:.4g}") for bit in cond[row, :4]]
        yield COND_NOT_ONE_HOT.at(file.path, (*COND, row), row=row, bits=bits, more=more)
    lengths = np.linalg.norm(cond[:, 4:6], axis=-1)
    for (row,), more in first_of((np.abs(lengths - 1) > _DIRECTION_LENGTH) & (lengths > _DIRECTION_LENGTH), "rows"):
        values = {"row": row, "x": float(cond[row, 4]), "y": float(cond[row, 5]), "length": float(lengths[row])}
        yield COND_DIRECTION_NOT_UNIT.at(file.path, (*COND, row), more=more, **values)


def _check_copies(file: TeacherView) -> Iterator[Finding]:
    for key in AUX_DIMS:
        ours, theirs = file.arrays.get(("aux_inputs", key)), file.arrays.get(("teacher", "aux_inputs", key))
        if ours is None or theirs is None or ours.shape != theirs.shape:
            continue
        different = np.argwhere(ours != theirs)
        if len(different):
            row = int(different[0][0])
            values = {"key": key, "count": len(different), "total": ours.size, "row": row}
            yield AUX_COPIES_DIFFER.at(file.path, ("aux_inputs", key, row), **values)


def _check_clipped(rows: Rows, subject: Subject) -> Iterator[Finding]:
    for path, name in ((STATE, "state"), (COND, "cond")):
        array, clamp = rows.file.finite(path), clamp_of(subject, name)
        if array is None:
            continue
        for (row, column), more in first_of(clamp.cuts(array), "in this array"):
            mean = rows.bundle.statistic("MuX", rows.bundle.state) if path == STATE else None
            fits = mean is not None and column < len(mean.values)
            where = f" ({mean.where(column)})" if mean is not None and fits else ""
            values = {"array": ".".join(path), "row": row, "column": column, "value": float(array[row, column])}
            yield VALUE_CLIPPED.at(rows.path, (*path, row, column), where=where, more=more, **asdict(clamp), **values)


def _check_state(rows: Rows) -> Iterator[Finding]:
    if rows.columns is None:
        return
    yield from not_poses(STATE_NOT_A_POSE, rows, rows.columns, STATE)


def _check_targets(rows: Rows) -> Iterator[Finding]:
    if rows.target_columns is None or rows.poses is None or len(rows.target_columns) != len(rows.poses):
        return
    targets = rot6d_to_matrix(rows.target_columns, rows.bundle.columns)
    angles = rotation_angle_rad(targets[:-1] @ transposed(rows.poses[1:]))
    for (row, bone), more in first_of(angles > _SAME_POSE_RAD, "bones and rows"):
        own = rotation_angle_rad(targets @ transposed(rows.poses))
        guess = ": it is the row's own pose" if float(own.max()) <= _SAME_POSE_RAD else ""
        values = {"row": row, "next": row + 1, "bone": rows.bundle.bone(bone)}
        values |= {"angle_deg": float(np.degrees(angles[row, bone])), "guess": guess}
        yield TARGET_NOT_NEXT.at(rows.path, (*TARGET, row), more=more, **values)


def _check_against_velocity(rows: Rows) -> Iterator[Finding]:
    cond, velocity = rows.file.finite(COND), rows.root_velocity
    if cond is None or velocity is None or len(cond) != len(velocity) or cond.shape[1] != CONDITION_WIDTH:
        return
    told = [_Told(lag, *lagged(cond, velocity, lag)) for lag in rows.condition_lags]
    best = min(told, key=lambda each: int(each.wrong.sum()))
    if not best.known.any():
        return
    first = max(-best.lag, 0)
    said, shown = best.cond[best.known, 6], best.speeds[best.known]
    if best.wrong.any():
        place, slope = int(np.flatnonzero(best.wrong)[0]), float(np.sum(said * shown) / np.sum(shown**2))
        guess = ": it is in cm/s" if abs(slope / 100 - 1) < _SPEED else ""
        row, expected = first + place, float(best.speeds[place])
        values = {"row": row, "found": float(cond[row, 6]), "expected": expected, "slope": slope}
        yield COND_SPEED_DIFFERS.at(rows.path, (*COND, row, 6), guess=guess, **values)
    row = first + int(np.flatnonzero(best.known)[0])
    yield from _check_direction(rows, best.cond[best.known, 4:6], best.velocity[best.known], row)


@dataclass(frozen=True, eq=False)
class _Told:
    """Condition rows beside the state's root velocities of the frame that they may be of, `lag` frames later."""

    lag: int
    cond: FloatArray
    velocity: FloatArray

    @cached_property
    def speeds(self) -> FloatArray:
        """The state's speed, m/s."""
        speeds: FloatArray = np.linalg.norm(self.velocity, axis=-1)
        return speeds

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Where the state tells a speed that rounding does not change."""
        found: NDArray[np.bool_] = np.isfinite(self.speeds) & (self.speeds > _SLOWEST_M_S)
        return found

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Where the condition says another speed."""
        found: NDArray[np.bool_] = self.known & (np.abs(self.cond[:, 6] - self.speeds) > _SPEED * self.speeds)
        return found


def _check_direction(rows: Rows, said: FloatArray, shown: FloatArray, row: int) -> Iterator[Finding]:
    angle = float(np.median(angle_between_deg(said, shown)))
    if angle <= _NEXT_DIRECTION_DEG:
        return
    fits = (
        words for words, turned in _DIRECTION_READINGS if float(np.median(angle_between_deg(said, turned(shown)))) < 1.0
    )
    guess = "".join(f": {words}" for words in list(fits)[:1])
    yield COND_DIRECTION_DIFFERS.at(rows.path, (*COND, row, 4), angle_deg=angle, count=len(said), guess=guess)


def _check_angular_velocity(rows: Rows) -> Iterator[Finding]:
    raw, poses, path = rows.angular_velocity, rows.poses, rows.aux_path("angvel_norm")
    if raw is None or poses is None or raw[0].shape != poses.shape[:3]:
        return
    values, usable = raw
    motion = Motion(rows.path, json_pointer(*path), ".".join(path), rows.fps, poses, values, usable)
    yield from check_motion(motion)


def _check_same_clip(files: Sequence[TeacherView]) -> Iterator[Finding]:
    first: dict[str, TeacherView] = {}
    for file in files:
        name = file.clip_name
        other = first.setdefault(name, file)
        for path in (STATE, COND) if name and other is not file else ():
            ours, theirs = file.finite(path), other.finite(path)
            if ours is not None and theirs is not None and ours.shape == theirs.shape:
                different = np.argwhere(np.abs(ours - theirs) > _SAME_VALUE)
                if len(different):
                    values = {"array": ".".join(path), "clip": name, "other": other.path.name, "total": ours.size}
                    values |= {"count": len(different), "row": int(different[0][0])}
                    yield TEACHER_ROWS_DIFFER.at(file.path, (*path, int(different[0][0])), **values)
