"""RP050-RP063, RP100, RP305: the slices and lengths of a bundle: without which no engine loads it, and where features stand.

`load_contract` refuses what the first family finds, and runs nothing else. A rule belongs there if `LoadSchemaAndStats` fails on
the defect, or if the defect leaves nothing to compute with: a slice outside its vector.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONTACTS,
    ROOT_POSITION,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Layout,
    Slice,
)
from rigpact.contract.rules.bundle_view import ANGVEL_KEYS, POSE_HISTORY_KEYS, TARGET_KEYS, Auxiliary, BundleView
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.wording import listed

rules = Rules("bundle_layout")


_REQUIRED = {"state_layout": (ROOT_YAW, ROOT_VELOCITY, ANGULAR_VELOCITIES, ROTATIONS), "output_layout": (ROTATIONS,)}


def _check_loaded_layouts(view: BundleView) -> Iterator[Finding]:
    for key, layout in (("state_layout", view.state), ("output_layout", view.output)):
        yield from _check_loaded(view, key, layout)


def _check_loaded(view: BundleView, key: str, layout: Layout | None) -> Iterator[Finding]:
    declared, place = view.meta.get(key), ("meta", key)
    if not isinstance(declared, Mapping):
        return
    if layout is None:
        yield rules.LAYOUT_EMPTY.at(view.path, place, layout=key, entries=len(declared))
        return
    present = listed([entry.name for entry in layout], shown=8)
    for name in _REQUIRED[key]:
        if name not in layout:
            yield rules.REQUIRED_SLICE_MISSING.at(view.path, place, layout=key, missing=name, present=present)
    for entry in layout:
        values: dict[str, Any] = {"layout": key, "name": entry.name, "size": entry.size}
        if entry.size <= 0:
            yield rules.SLICE_EMPTY.at(view.path, (*place, entry.name), **values)
        elif entry.name == ROTATIONS and entry.size % 6:
            yield rules.ROTATIONS_NOT_SIXES.at(view.path, (*place, entry.name), **values)
        if entry.start < 0 or entry.stop > layout.width:
            values |= {"layout": key.partition("_")[0], "start": entry.start, "stop": entry.stop}
            yield rules.SLICE_OUT_OF_RANGE.at(view.path, (*place, entry.name), width=layout.width, **values)


def _check_statistics(view: BundleView) -> Iterator[Finding]:
    for letter, layout, owner in (("X", view.state, "the state"), ("Y", view.output, "the output")):
        if layout is not None:
            for key in (f"Mu{letter}", f"Std{letter}"):
                yield from _check_length(rules.LENGTH_DIFFERS, view, key, layout.width, owner=owner)
    for key, name in (("tanh_scales_rootvel", ROOT_VELOCITY), ("tanh_scales_angvel", ANGULAR_VELOCITIES)):
        if view.state is not None and name in view.state:
            yield from _check_length(
                rules.LENGTH_DIFFERS, view, key, view.state[name].size, owner=f"{name} of the state"
            )


def _check_auxiliary(file: Auxiliary) -> Iterator[Finding]:
    length, bones = file.history_length, file.bone_count
    threes = (*ANGVEL_KEYS, *(["tanh_scales_angvel"] if file.document.kind is Kind.COMPANION else []))
    expected = [(key, 3 * bones, f"{bones} bones of 3 numbers") for key in threes]
    expected += [(key, 6 * bones, f"{bones} bones of 6 numbers") for key in TARGET_KEYS]
    if length is not None:
        derivation = f"{length} frames of {bones} bones of 6 numbers"
        expected = [(key, length * 6 * bones, derivation) for key in POSE_HISTORY_KEYS] + expected
    for key, size, derivation in expected:
        yield from _check_length(rules.AUXILIARY_LENGTH_DIFFERS, file, key, size, derivation=derivation)


def _check_length(
    rule: Rule, file: BundleView | Auxiliary, key: str, expected: int, **values: str
) -> Iterator[Finding]:
    found = file.numbers(key)
    if found is not None and len(found) != expected:
        yield rule.at(file.path, (key,), array=key, found=len(found), expected=expected, **values)


LOADING = rules.family("LOADING", (Need.STATISTICS,), _check_loaded_layouts, _check_statistics, _check_auxiliary)


_KNOWN = (ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, ANGULAR_VELOCITIES, CONTACTS)
_FIXED_SIZES = {ROOT_POSITION: 3, ROOT_VELOCITY: 2, ROOT_YAW: 1, CONTACTS: 2}
_WIDTH_KEYS = {"state_layout": "input_dim", "output_layout": "output_dim"}


def _check_layout(view: BundleView) -> Iterator[Finding]:
    for key, layout in (("state_layout", view.state), ("output_layout", view.output)):
        declared = view.meta.get(key)
        if isinstance(declared, Mapping):
            yield from _check_forms(view, key, declared)
            if layout is not None:
                yield from _check_slices(view, key, layout)
                yield from _check_neighbours(view, key, layout)
    if view.state is not None:
        yield from _check_across(view, view.state)


FAMILY = rules.family("FAMILY", (Need.BUNDLE,), _check_layout)


def _check_forms(view: BundleView, key: str, declared: Mapping[str, Any]) -> Iterator[Finding]:
    arrays = [name for name, entry in declared.items() if isinstance(entry, list)]
    for name in arrays:
        if len(declared[name]) == 2 and all(type(value) is int for value in declared[name]):
            (first, second), size = declared[name], declared[name][1] - declared[name][0]
            # what the guessing loader takes: an end that lies behind the start, else a size
            guess = f"an end, {size} channels" if size > 0 else f"a size, {second} channels"
            values = {"first": first, "second": second, "guess": guess, "engine_size": size, "closed_size": size + 1}
            yield rules.ARRAY_FORM_ENTRY.at(view.path, ("meta", key, name), name=name, **values)
    objects = [name for name, entry in declared.items() if isinstance(entry, Mapping)]
    if arrays and objects:
        names, place = listed(objects, shown=8), ("meta", key, objects[0])
        yield rules.OBJECT_ENTRY_DROPPED.at(view.path, place, names=names, arrays=listed(arrays))


def _check_slices(view: BundleView, key: str, layout: Layout) -> Iterator[Finding]:
    for entry in layout:
        place, values = ("meta", key, entry.name), {"layout": key, "name": entry.name}
        if entry.name not in _KNOWN:
            close = get_close_matches(entry.name, _KNOWN, n=1)
            yield rules.UNKNOWN_SLICE.at(view.path, place, meant=f"; {close[0]} was meant?" if close else "", **values)
        expected = _FIXED_SIZES.get(entry.name, entry.size)
        if entry.size > 0 and entry.size != expected:
            yield rules.SLICE_SIZE_WRONG.at(view.path, place, size=entry.size, expected=expected, **values)


def _check_neighbours(view: BundleView, key: str, layout: Layout) -> Iterator[Finding]:
    furthest = Slice(0, 0, "the start")
    for entry in sorted(entry for entry in layout if entry.size > 0):
        values: dict[str, Any] = {"start": furthest.stop, "stop": entry.start, "count": entry.start - furthest.stop}
        if entry.start > furthest.stop:
            yield rules.LAYOUT_GAP.at(view.path, ("meta", key), layout=key, **values)
        if entry.start < furthest.stop and furthest.size:
            values = {"name": entry.name, "start": entry.start, "stop": entry.stop, "other": furthest.name}
            values |= {"other_start": furthest.start, "other_stop": furthest.stop}
            shared = min(entry.stop, furthest.stop) - entry.start
            yield rules.SLICES_OVERLAP.at(view.path, ("meta", key, entry.name), shared=shared, **values)
        furthest = max(furthest, entry, key=lambda candidate: candidate.stop)
    end, width_key = max(entry.stop for entry in layout), _WIDTH_KEYS[key]
    if layout.width != end:
        values = {"key": width_key, "declared": layout.width, "layout": key, "end": end}
        yield rules.DECLARED_WIDTH_DIFFERS.at(view.path, (width_key,), **values)


def _check_across(view: BundleView, state: Layout) -> Iterator[Finding]:
    if CONTACTS not in state:
        yield rules.CONTACTS_SLICE_ABSENT.at(view.path, ("meta", "state_layout"))
    for entry in view.output or ():
        size = state[entry.name].size if entry.name in state else 0
        if size != entry.size:
            said, place = f"has {size}" if size else "has no such slice", ("meta", "output_layout", entry.name)
            yield rules.OUTPUT_NOT_WRITTEN_BACK.at(view.path, place, name=entry.name, size=entry.size, state=said)
