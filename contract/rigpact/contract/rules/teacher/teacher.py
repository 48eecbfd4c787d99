"""RP600-RP606, RP610: teacher batches and predictions: shapes, and whether they belong to the bundle."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import CONDITION_WIDTH, Layout, json_to_layout
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import BundleView, json_to_rate, member, need, to_float32
from rigpact.contract.rules.views.motion import ARRAYS, STATE, TeacherView, same_rate
from rigpact.contract.rules.wording import at_first, first_in

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
    """Describe the first slice that differs between two layouts; empty if none does."""
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


_CHECKS = (_check_row_counts, _check_row_widths, _check_numbers, _check_layouts, _check_rate, _check_place)
FAMILY = family(globals(), (Need.ROWS,), *_CHECKS)
