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
from rigpact.contract.rules.family import Artefacts, Need, family
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

ROW_COUNT_DIFFERS = Rule.of("""RP600 error teacher-row-count-differs
    {array} has {found} rows, {source} {expected}
    hint: export the file again; every array has one row for each pair of frames
    why: rows are matched by index: the network is fed one frame's state with another frame's condition""")
ROW_WIDTH_DIFFERS = Rule.of("""RP601 error teacher-row-width-differs
    {array}[{row}] has {found} numbers, {source} {expected}{more}
    hint: export the file again with the bundle it belongs to
    why: the engine fills short rows with zeros and skips frames with a short condition""")
DIMS_DIFFER = Rule.of("""RP602 error teacher-dims-differ
    dims.{key} is {found}, the bundle says {expected}
    hint: export the file again with this bundle
    why: the file was made for another layout: its rows would be cut or padded""")
LAYOUT_DIFFERS = Rule.of("""RP603 error teacher-layout-differs
    layouts.{side} {what}
    hint: export the file again with this bundle
    why: equal widths hide it: the rows would be read with the bundle's slices, bones from velocities""")
TEACHER_FPS_DIFFERS = Rule.of("""RP604 error teacher-fps-differs
    the file has {found:g} frames a second, the bundle {expected:g}
    hint: resample the clip, or write the right fps at the root of the bundle
    why: playback steps through the rows at the bundle's rate
    about: a file of {found:g} frames a second""")
TEACHER_VALUE_NOT_FINITE = Rule.of("""RP605 error teacher-value-not-finite
    {array}[{row}][{column}] is not finite in float32{more}
    hint: find the frame in the clip, or the statistic that is zero
    why: the engine feeds it to the network as it is: the pose becomes NaN""")
AUX_INPUTS_AT_ROOT = Rule.of("""RP610 error aux-inputs-at-root
    aux_inputs ({names}) stand at the root of the file only; the engine looks under teacher.aux_inputs
    hint: write them under teacher as well
    why: the engine finds none and silently takes contacts, angular velocities and history from its own state: the comparison with
    the prediction compares other inputs""")


def _check_row_counts(file: TeacherView) -> Iterator[Finding]:
    declared, source = member(file.root, "num_pairs"), "num_pairs is"
    if type(declared) not in (int, float):
        declared, source = len(need(file.rows.get(STATE))), "teacher.state_norm has"
    for path, rows in file.rows.items():
        if len(rows) != declared:
            values = {"array": ".".join(path), "found": len(rows), "source": source, "expected": declared}
            yield ROW_COUNT_DIFFERS.at(file.path, (*path,), **values)


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
            yield ROW_WIDTH_DIFFERS.at(file.path, (*path, row), expected=expected, more=more, **values)


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
            TEACHER_VALUE_NOT_FINITE, file.path, (*path, ..., ...), bad, "in this array", "row column", **values
        )


def _check_layouts(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    for key, expected in bundle_widths(bundle).items():
        found = member(file.root, "dims", key)
        if type(found) is int and found != expected:
            yield DIMS_DIFFER.at(file.path, ("dims", key), key=key, found=found, expected=expected)
    for side, layout in (("state", bundle.state), ("output", bundle.output)):
        declared = member(file.root, "layouts", side)
        what = _difference(json_to_layout(declared), layout) if isinstance(declared, dict) and layout else ""
        if what:
            yield LAYOUT_DIFFERS.at(file.path, ("layouts", side), side=side, what=what)


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
        yield TEACHER_FPS_DIFFERS.at(file.path, "/fps", found=found, expected=expected)


def _check_place(file: TeacherView) -> Iterator[Finding]:
    aux = file.root.get("aux_inputs")
    if isinstance(aux, dict) and aux and not member(file.root, "teacher", "aux_inputs"):
        yield AUX_INPUTS_AT_ROOT.at(file.path, "/aux_inputs", names=", ".join(aux))


_SHAPES = (_check_row_counts, _check_row_widths, _check_numbers, _check_layouts, _check_rate, _check_place)


DIMS_CONTRADICT_LAYOUTS = Rule.of("""RP606 error teacher-dims-contradict-layouts
    dims.{key} is {found}, but layouts.{side} of the same file ends at {expected}
    hint: export the file again; the two come from different runs
    why: readers that trust one cut the rows, readers that trust the other pad them""")
TARGET_NOT_NEXT = Rule.of("""RP611 error target-not-next-state
    target_norm of row {row} is {angle_deg:.3f}° from the pose of row {next} at {bone}{more}{guess}
    hint: the target of a row is the pose of the next frame, whitened with MuY and StdY
    why: the network is trained to reach another pose than the one that follows""")
STATE_NOT_A_POSE = Rule.of("""RP612 error state-row-not-a-pose
    row {row}, {bone}: un-normalised with MuX and StdX, its columns are {defect:.3g} from those of a rotation{more}
    hint: the rows were normalised with other statistics, or in another order of channels: export them again
    why: the engine plays these rows: limbs are stretched onto the nearest rotation, which is another pose""")
VALUE_CLIPPED = Rule.of("""RP613 warning value-clipped-by-graph
    {array}[{row}][{column}] = {value:.4g}: {who} to [{low:g}, {high:g}]{where}{more}
    hint: raise the deviation's floor of that channel, or leave the clip out
    why: the network answers for a value that it was not given: the frame's motion is cut off on this channel""")
COND_NOT_ONE_HOT = Rule.of("""RP614 error condition-action-not-one-hot
    cond[{row}] starts with {bits}: one of the four action bits is 1 and the others are 0{more}
    hint: write idle, walk, run, jump first, then direction and speed; raw, not normalised
    why: the engine clamps the bits, and reads direction and speed from their places: in another order the character runs at the
    speed of a bit""")
COND_DIRECTION_NOT_UNIT = Rule.of("""RP615 error condition-direction-not-unit
    cond[{row}]: the direction ({x:.4g}, {y:.4g}) is {length:.4g} long, not 1 (nor 0 at rest){more}
    hint: divide the velocity by its length; zero below 1 mm/s
    why: the engine clamps to ±1 and normalises in its own path: the stick's direction reaches the network in two lengths""")
COND_SPEED_DIFFERS = Rule.of("""RP616 error condition-speed-differs
    cond[{row}] says {found:.4g} m/s, the state's root velocity {expected:.4g} m/s: {slope:.4g} times it on average{guess}
    hint: the speed is |RootVelocityXY| in m/s; the engine's is cm/s times 0.01
    why: the network is told one speed and shown another: in the game it walks at the wrong one""")
COND_DIRECTION_DIFFERS = Rule.of("""RP617 error condition-direction-differs
    the condition's direction is {angle_deg:.1f}° from the state's root velocity (median over {count} moving rows){guess}
    hint: take the unit direction of RootVelocityXY of the same frame
    why: pushed forward, the character learned to go another way""")
CONTACT_ROW_OUT_OF_RANGE = Rule.of("""RP618 error contact-row-out-of-range
    contacts[{row}][{foot}] = {value:.4g}: the Contacts input is the raw score, within 0 and 1{more}
    hint: do not whiten the contacts of the rows; the engine's own slice is another thing
    why: the network was trained on scores: a whitened one reads as a foot below the floor""")
AUX_COPIES_DIFFER = Rule.of("""RP619 error aux-inputs-differ-between-copies
    aux_inputs.{key} at the root and under teacher differ in {count} of {total} numbers, first at row {row}
    hint: write the same arrays in both places
    why: training reads one copy and the engine the other: the two run on different inputs and are then compared""")
TEACHER_ROWS_DIFFER = Rule.of("""RP910 error teacher-rows-differ-between-files
    {array} of {clip} differs from that in {other}: {count} of {total} numbers, first at row {row}
    hint: run the prediction on the batch that is compared with it
    why: two predictions on different inputs are compared as if only the network differed""")

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
            yield DIMS_CONTRADICT_LAYOUTS.at(file.path, ("dims", key), **values)


def _check_condition(file: TeacherView) -> Iterator[Finding]:
    cond, place = file.rows_at(COND), (*COND, ...)
    bits, heading = need(cond, when=cond.shape[1] == CONDITION_WIDTH)[:, :4], cond[:, 4:6]
    lengths = np.linalg.norm(heading, axis=-1)
    bent = (np.abs(lengths - 1) > _DIRECTION_LENGTH) & (lengths > _DIRECTION_LENGTH)
    mixed, shown = ~is_one_hot(bits), lambda row: short(bits[row])
    yield from at_first(COND_NOT_ONE_HOT, file.path, place, mixed, "rows", "row", bits=shown)
    values = {"x": cond[:, 4], "y": cond[:, 5], "length": lengths}
    yield from at_first(COND_DIRECTION_NOT_UNIT, file.path, place, bent, "rows", "row", **values)


def _check_copies(file: TeacherView) -> Iterator[Finding]:
    for key in AUX_DIMS:
        ours, theirs = file.arrays.get(("aux_inputs", key)), file.arrays.get(("teacher", "aux_inputs", key))
        if ours is not None and theirs is not None and ours.shape == theirs.shape:
            place = ("aux_inputs", key, ...)
            yield from at_first(AUX_COPIES_DIFFER, file.path, place, ours != theirs, "", "row", key=key)


def _check_clipped(rows: Rows, subject: Artefacts) -> Iterator[Finding]:
    mean = rows.bundle.statistic("MuX", rows.bundle.state)
    for path, name in ((STATE, "state"), (COND, "cond")):
        if rows.file.has(path):
            array, clamp, named = rows.file.rows_at(path), clamp_of(subject, name), mean if path == STATE else None
            where = partial(_channel, named)
            values = {"array": ".".join(path), "value": array, "where": where, **asdict(clamp)}
            bad, place = clamp.cuts(array), (*path, ..., ...)
            yield from at_first(VALUE_CLIPPED, rows.path, place, bad, "in this array", "row column", **values)


def _channel(mean: NamedArray | None, _: int, column: int) -> str:
    return f" ({mean.where(column)})" if mean is not None and column < len(mean.values) else ""


def _check_state(rows: Rows) -> Iterator[Finding]:
    yield from not_poses(STATE_NOT_A_POSE, rows, rows.columns, STATE)


def _check_targets(rows: Rows) -> Iterator[Finding]:
    columns, poses = need(rows.target_columns), rows.poses
    targets = rot6d_to_matrix(need(columns, when=len(columns) == len(poses)), rows.bundle.columns)
    angles = rotation_angle_rad(targets[:-1] @ transposed(poses[1:]))
    own = float(rotation_angle_rad(targets @ transposed(poses)).max(initial=0.0))
    values: dict[str, Any] = {"next": lambda row, _: row + 1, "bone": lambda _, bone: rows.bundle.bone(bone)}
    values |= {"angle_deg": np.degrees(angles), "guess": ": it is the row's own pose" if own <= _SAME_POSE_RAD else ""}
    bad, place = angles > _SAME_POSE_RAD, (*TARGET, ...)
    yield from at_first(TARGET_NOT_NEXT, rows.path, place, bad, "bones and rows", "row bone", **values)


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
        yield COND_SPEED_DIFFERS.at(rows.path, (*COND, row, 6), row=row, found=float(cond[row, 6]), **values)
    angle = float(np.median(angle_between_deg(said[:, 4:6], shown)))
    if angle > _NEXT_DIRECTION_DEG:
        readings = ((words, angle_between_deg(said[:, 4:6], turned(shown))) for words, turned in _DIRECTION_READINGS)
        guess = next((f": {words}" for words, angles in readings if float(np.median(angles)) < 1.0), "")
        row = first + int(np.flatnonzero(known)[0])
        yield COND_DIRECTION_DIFFERS.at(rows.path, (*COND, row, 4), angle_deg=angle, count=len(said), guess=guess)


def _check_contacts(rows: Rows) -> Iterator[Finding]:
    contacts, place = rows.aux("contacts"), (*rows.aux_path("contacts"), ..., ...)
    bad = (contacts < 0) | (contacts > 1)
    yield from at_first(CONTACT_ROW_OUT_OF_RANGE, rows.path, place, bad, "rows", "row foot", value=contacts)


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
                yield from at_first(TEACHER_ROWS_DIFFER, file.path, (*path, ...), apart, "", "row", **values)


_OF_A_FILE = (_check_dims, _check_condition, _check_copies)
_OF_ROWS = (
    _check_clipped,
    _check_state,
    _check_targets,
    _check_against_velocity,
    _check_contacts,
    _check_angular_velocity,
)
FAMILY = family(globals(), (Need.ROWS,), *_SHAPES, *_OF_A_FILE, *_OF_ROWS, _check_same_clip)
