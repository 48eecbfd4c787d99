"""RP600-RP619, RP910: teacher batches and predictions: their shapes, and what their rows mean, row against row."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import CONDITION_WIDTH, INPUTS, Layout, json_to_layout
from rigpact.contract.model.edges import bound_clamps
from rigpact.contract.rules.bundle_view import BundleView, NamedArray, json_to_rate, member, need, to_float32
from rigpact.contract.rules.clip_frames import angle_between_deg, is_one_hot
from rigpact.contract.rules.clip_motion import UNIT_TOLERANCE, RecordedTurns, check_motion
from rigpact.contract.rules.family import Artefacts, Need, Rules
from rigpact.contract.rules.motion_view import (
    ARRAYS,
    AUX_DIMS,
    COND,
    STATE,
    TARGET,
    Rows,
    TeacherView,
    lagged,
    same_rate,
)
from rigpact.contract.rules.wording import at_first, first_in, short
from rigpact.contract.skeleton import rot6d_defect, rot6d_to_matrix, rotation_angle_rad, transposed
from rigpact.contract.statistics import FloatArray

rules = Rules("teacher_rows")


def _check_row_counts(file: TeacherView) -> Iterator[Finding]:
    declared, source = member(file.root, "num_pairs"), "num_pairs is"
    if type(declared) not in (int, float):
        declared, source = len(need(file.rows.get(STATE))), "teacher.state_norm has"
    for path, rows in file.rows.items():
        if len(rows) != declared:
            values = {"array": ".".join(path), "found": len(rows), "source": source, "expected": declared}
            yield rules.ROW_COUNT_DIFFERS.at(file.path, (*path,), **values)


def _check_row_widths(file: TeacherView, bundle: BundleView | None) -> Iterator[Finding]:
    known_widths = bundle_widths(bundle)
    for path, dim in ARRAYS:
        rows = file.rows.get(path)
        if not rows:
            continue
        declared = member(file.root, "dims", dim)
        expected, source = known_widths.get(dim), "the bundle says"
        if expected is None:
            is_declared = type(declared) is int
            expected, source = (declared, f"dims.{dim} is") if is_declared else (len(rows[0]), "row 0 has")
        for row, more in first_in([place for place, each in enumerate(rows) if len(each) != expected], "rows"):
            values = {"array": ".".join(path), "row": row, "found": len(rows[row]), "source": source}
            yield rules.ROW_WIDTH_DIFFERS.at(file.path, (*path, row), expected=expected, more=more, **values)


def bundle_widths(bundle: BundleView | None) -> dict[str, int]:
    """The entries of `dims` that a bundle determines."""
    if bundle is None or bundle.state is None or bundle.output is None:
        return {}
    widths = {"Dx": bundle.state.width, "Dy": bundle.output.width, "Dc": CONDITION_WIDTH}
    return widths | ({"angvel": 3 * bundle.bone_count} if bundle.bone_count else {})


def _check_numbers(file: TeacherView) -> Iterator[Finding]:
    for path, array in file.arrays.items():
        bad, values = ~np.isfinite(to_float32(array)), {"array": ".".join(path)}
        yield from at_first(
            rules.TEACHER_VALUE_NOT_FINITE, file.path, (*path, ..., ...), bad, "in this array", "row column", **values
        )


def _check_layouts(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    for key, expected in bundle_widths(bundle).items():
        found = member(file.root, "dims", key)
        if type(found) is int and found != expected:
            yield rules.DIMS_DIFFER.at(file.path, ("dims", key), key=key, found=found, expected=expected)
    for side, layout in (("state", bundle.state), ("output", bundle.output)):
        declared = member(file.root, "layouts", side)
        what = _difference(json_to_layout(declared), layout) if isinstance(declared, dict) and layout else ""
        if what:
            yield rules.LAYOUT_DIFFERS.at(file.path, ("layouts", side), side=side, what=what)


def _difference(found: Layout, expected: Layout) -> str:
    for entry in expected:
        if entry.name not in found:
            return f"has no slice {entry.name}, the bundle has it at [{entry.start}, {entry.stop})"
        other = found[entry.name]
        if other != entry:
            return f"has {entry.name} at [{other.start}, {other.stop}), the bundle at [{entry.start}, {entry.stop})"
    extra = next((entry for entry in found if entry.name not in expected), None)
    return f"has a slice {extra.name} that the bundle has not" if extra else ""


def _check_rate(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    found, expected = need(json_to_rate(file.root.get("fps"))), bundle.fps
    if not same_rate(found, expected):
        yield rules.TEACHER_FPS_DIFFERS.at(file.path, "/fps", found=found, expected=expected)


def _check_place(file: TeacherView) -> Iterator[Finding]:
    aux = file.root.get("aux_inputs")
    if isinstance(aux, dict) and aux and not member(file.root, "teacher", "aux_inputs"):
        yield rules.AUX_INPUTS_AT_ROOT.at(file.path, "/aux_inputs", names=", ".join(aux))


_SHAPES = (_check_row_counts, _check_row_widths, _check_numbers, _check_layouts, _check_rate, _check_place)


_EXPORTERS = 16.0
"""The contract's exporter clamps state and condition to ±16."""
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


@dataclass(frozen=True)
class InputClamp:
    """The numbers between which the network sees one input, and who cuts the others off."""

    low: float
    high: float
    who: str

    def cuts(self, values: FloatArray) -> NDArray[np.bool_]:
        return np.asarray((values < self.low) | (values > self.high))


def clamp_of(subject: Artefacts, name: str) -> InputClamp:
    """The clamp of an input; an infinite one where the graph cuts nothing."""
    if subject.graph is None:
        return InputClamp(-_EXPORTERS, _EXPORTERS, "the contract's exporter clamps this input")
    found = bound_clamps(subject.graph).get(INPUTS.index(name))
    if found is None:
        return InputClamp(-np.inf, np.inf, "")
    return InputClamp(found.low, found.high, "the graph clamps its input")


def not_poses(rule: Rule, rows: Rows, columns: FloatArray, path: tuple[str, ...]) -> Iterator[Finding]:
    """One finding of `rule` if some of the columns, (T, B, 6), are not those of a rotation: at the first such row and bone."""
    defects, bones = rot6d_defect(columns), lambda _, bone: rows.bundle.bone(bone)
    bad = defects > 2 * UNIT_TOLERANCE
    yield from at_first(rule, rows.path, (*path, ...), bad, "bones and rows", "row bone", bone=bones, defect=defects)


def _check_dims(file: TeacherView) -> Iterator[Finding]:
    for side, key in (("state", "Dx"), ("output", "Dy")):
        layout, found = json_to_layout(member(file.root, "layouts", side)), member(file.root, "dims", key)
        if layout.slices and type(found) is int and found != layout.width:
            values = {"key": key, "found": found, "side": side, "expected": layout.width}
            yield rules.DIMS_CONTRADICT_LAYOUTS.at(file.path, ("dims", key), **values)


def _check_condition(file: TeacherView) -> Iterator[Finding]:
    cond, place = file.rows_at(COND), (*COND, ...)
    bits, heading = need(cond, when=cond.shape[1] == CONDITION_WIDTH)[:, :4], cond[:, 4:6]
    lengths = np.linalg.norm(heading, axis=-1)
    bent = (np.abs(lengths - 1) > _DIRECTION_LENGTH) & (lengths > _DIRECTION_LENGTH)
    mixed, shown = ~is_one_hot(bits), lambda row: short(bits[row])
    yield from at_first(rules.COND_NOT_ONE_HOT, file.path, place, mixed, "rows", "row", bits=shown)
    values = {"x": cond[:, 4], "y": cond[:, 5], "length": lengths}
    yield from at_first(rules.COND_DIRECTION_NOT_UNIT, file.path, place, bent, "rows", "row", **values)


def _check_copies(file: TeacherView) -> Iterator[Finding]:
    for key in AUX_DIMS:
        ours, theirs = file.arrays.get(("aux_inputs", key)), file.arrays.get(("teacher", "aux_inputs", key))
        if ours is not None and theirs is not None and ours.shape == theirs.shape:
            place = ("aux_inputs", key, ...)
            yield from at_first(rules.AUX_COPIES_DIFFER, file.path, place, ours != theirs, "", "row", key=key)


def _check_clipped(rows: Rows, subject: Artefacts) -> Iterator[Finding]:
    mean = rows.bundle.statistic("MuX", rows.bundle.state)
    for path, name in ((STATE, "state"), (COND, "cond")):
        if rows.file.has(path):
            array, clamp, named = rows.file.rows_at(path), clamp_of(subject, name), mean if path == STATE else None
            where = partial(_channel, named)
            values = {"array": ".".join(path), "value": array, "where": where, **asdict(clamp)}
            bad, place = clamp.cuts(array), (*path, ..., ...)
            yield from at_first(rules.VALUE_CLIPPED, rows.path, place, bad, "in this array", "row column", **values)


def _channel(mean: NamedArray | None, _: int, column: int) -> str:
    return f" ({mean.where(column)})" if mean is not None and column < len(mean.values) else ""


def _check_state(rows: Rows) -> Iterator[Finding]:
    yield from not_poses(rules.STATE_NOT_A_POSE, rows, rows.columns, STATE)


def _check_targets(rows: Rows) -> Iterator[Finding]:
    columns, poses = need(rows.target_columns), rows.poses
    targets = rot6d_to_matrix(need(columns, when=len(columns) == len(poses)), rows.bundle.columns)
    angles = rotation_angle_rad(targets[:-1] @ transposed(poses[1:]))
    own = float(rotation_angle_rad(targets @ transposed(poses)).max(initial=0.0))
    values: dict[str, Any] = {"next": lambda row, _: row + 1, "bone": lambda _, bone: rows.bundle.bone(bone)}
    values |= {"angle_deg": np.degrees(angles), "guess": ": it is the row's own pose" if own <= _SAME_POSE_RAD else ""}
    bad, place = angles > _SAME_POSE_RAD, (*TARGET, ...)
    yield from at_first(rules.TARGET_NOT_NEXT, rows.path, place, bad, "bones and rows", "row bone", **values)


def _speeds(cond: FloatArray, velocity: FloatArray) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """Root speeds of the state, where rounding does not change them, and where the condition says another."""
    speeds = np.asarray(np.linalg.norm(velocity, axis=-1))
    known = np.isfinite(speeds) & (speeds > _SLOWEST_M_S)
    return speeds, known, known & (np.abs(cond[:, 6] - speeds) > _SPEED * speeds)


def _check_against_velocity(rows: Rows) -> Iterator[Finding]:
    cond, velocity = rows.file.rows_at(COND), rows.root_velocity
    need(cond, when=len(cond) == len(velocity) and cond.shape[1] == CONDITION_WIDTH)
    pairs = [(lag, *lagged(cond, velocity, lag)) for lag in rows.condition_lags]
    lag, said, shown = min(pairs, key=lambda pair: int(_speeds(*pair[1:])[2].sum()))
    speeds, known, wrong = _speeds(said, shown)
    if not known.any():
        return
    first, said, shown = max(-lag, 0), said[known], shown[known]
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        slope = float(np.sum(said[:, 6] * speeds[known]) / np.sum(speeds[known] ** 2))
        guess = ": it is in cm/s" if abs(slope / 100 - 1) < _SPEED else ""
        row, values = first + place, {"expected": float(speeds[place]), "slope": slope, "guess": guess}
        yield rules.COND_SPEED_DIFFERS.at(rows.path, (*COND, row, 6), row=row, found=float(cond[row, 6]), **values)
    angle = float(np.median(angle_between_deg(said[:, 4:6], shown)))
    if angle > _NEXT_DIRECTION_DEG:
        readings = ((words, angle_between_deg(said[:, 4:6], turned(shown))) for words, turned in _DIRECTION_READINGS)
        guess = next((f": {words}" for words, angles in readings if float(np.median(angles)) < 1.0), "")
        row = first + int(np.flatnonzero(known)[0])
        yield rules.COND_DIRECTION_DIFFERS.at(rows.path, (*COND, row, 4), angle_deg=angle, count=len(said), guess=guess)


def _check_contacts(rows: Rows) -> Iterator[Finding]:
    contacts, place = rows.aux("contacts"), (*rows.aux_path("contacts"), ..., ...)
    bad = (contacts < 0) | (contacts > 1)
    yield from at_first(rules.CONTACT_ROW_OUT_OF_RANGE, rows.path, place, bad, "rows", "row foot", value=contacts)


def _check_angular_velocity(rows: Rows) -> Iterator[Finding]:
    (values, usable), poses, path = rows.angular_velocity, rows.poses, rows.aux_path("angvel_norm")
    need(values, when=values.shape == poses.shape[:3])
    yield from check_motion(
        RecordedTurns(rows.path, json_pointer(*path), ".".join(path), rows.fps, poses, values, usable)
    )


def _check_same_clip(subject: Artefacts) -> Iterator[Finding]:
    first: dict[str, TeacherView] = {}
    for file in subject.teachers:
        name, other = file.clip_name, first.setdefault(file.clip_name, file)
        for path in (STATE, COND) if name and other is not file else ():
            if file.has(path) and other.has(path) and file.arrays[path].shape == other.arrays[path].shape:
                apart = np.abs(file.arrays[path] - other.arrays[path]) > _SAME_VALUE
                values = {"array": ".".join(path), "clip": name, "other": other.path.name}
                yield from at_first(rules.TEACHER_ROWS_DIFFER, file.path, (*path, ...), apart, "", "row", **values)


_OF_A_FILE = (_check_dims, _check_condition, _check_copies)
_OF_ROWS = (
    _check_clipped,
    _check_state,
    _check_targets,
    _check_against_velocity,
    _check_contacts,
    _check_angular_velocity,
)
FAMILY = rules.family("FAMILY", (Need.ROWS,), *_SHAPES, *_OF_A_FILE, *_OF_ROWS, _check_same_clip)
