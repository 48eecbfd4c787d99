"""RP050 to RP061, RP100, RP305: the slices and lengths without which an engine does not load a bundle.

`load_contract` refuses what `rules.engine.refusals` finds, and runs nothing else. A rule belongs here if `LoadSchemaAndStats`
fails on the defect, or if the defect leaves nothing to compute with: a slice outside its vector.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import (
    ANGVEL_KEYS,
    POSE_HISTORY_KEYS,
    TARGET_KEYS,
    Auxiliary,
    BundleView,
    FileView,
)
from rigpact.contract.rules.wording import listed

REQUIRED_SLICE_MISSING = Rule.of("""RP050 error required-slice-missing refused
    {layout} has no slice {missing} (it has {present})
    hint: re-export the bundle; slice names are part of the contract, so a renamed slice is a missing one
    why: the engine looks slices up by name and stops loading: the character stays in its reference pose""")
LAYOUT_EMPTY = Rule.of("""RP051 error layout-empty refused
    {layout} has {entries} entries, none that can be read as {{start, size}}
    hint: write every slice as an object with start and size
    why: without one readable slice the engine stops loading""")
ROTATIONS_NOT_SIXES = Rule.of("""RP052 error rotation-slice-not-multiple-of-six refused
    {layout}: BoneRotations6D has {size} channels, which is not a multiple of 6
    hint: each tracked bone has two columns of three numbers
    why: the engine stops loading; the last bone would read its neighbour's numbers""")
SLICE_OUT_OF_RANGE = Rule.of("""RP055 error slice-out-of-range refused
    {name} is [{start}, {stop}), the {layout} vector is [0, {width})
    hint: correct start and size, or the declared width
    why: the engine does not check it and reads past the end of its array""")
SLICE_EMPTY = Rule.of("""RP061 error slice-empty refused
    {layout}: {name} has {size} channels
    hint: give the slice its size, or remove it; [start, end] where [start, size] was meant gives this too
    why: a feature without channels is looked up, found, and never read""")
LENGTH_DIFFERS = Rule.of("""RP100 error statistic-length-differs refused
    {array} has {found} numbers, {owner} has {expected} channels
    hint: statistics and layout come from one export; re-run it
    why: the engine stops loading: the character stays in its reference pose""")
AUXILIARY_LENGTH_DIFFERS = Rule.of("""RP305 error auxiliary-length-differs refused
    {array} has {found} numbers, {expected} are expected ({derivation})
    hint: statistics of another character or another history length; re-run them
    why: numbers and channels are matched by index: from the first one too many or too few every bone is normalised with another
    bone's statistics""")

_REQUIRED = {"state_layout": (ROOT_YAW, ROOT_VELOCITY, ANGULAR_VELOCITIES, ROTATIONS), "output_layout": (ROTATIONS,)}


def _check_layouts(view: BundleView) -> Iterator[Finding]:
    for key, layout in (("state_layout", view.state), ("output_layout", view.output)):
        yield from _check_layout(view, key, layout)


def _check_layout(view: BundleView, key: str, layout: Layout | None) -> Iterator[Finding]:
    declared, place = view.meta.get(key), ("meta", key)
    if not isinstance(declared, Mapping):
        return
    if layout is None:
        yield LAYOUT_EMPTY.at(view.path, place, layout=key, entries=len(declared))
        return
    present = listed([entry.name for entry in layout], shown=8)
    for name in _REQUIRED[key]:
        if name not in layout:
            yield REQUIRED_SLICE_MISSING.at(view.path, place, layout=key, missing=name, present=present)
    for entry in layout:
        values: dict[str, Any] = {"layout": key, "name": entry.name, "size": entry.size}
        if entry.size <= 0:
            yield SLICE_EMPTY.at(view.path, (*place, entry.name), **values)
        elif entry.name == ROTATIONS and entry.size % 6:
            yield ROTATIONS_NOT_SIXES.at(view.path, (*place, entry.name), **values)
        if entry.start < 0 or entry.stop > layout.width:
            values |= {"layout": key.partition("_")[0], "start": entry.start, "stop": entry.stop}
            yield SLICE_OUT_OF_RANGE.at(view.path, (*place, entry.name), width=layout.width, **values)


def _check_statistics(view: BundleView) -> Iterator[Finding]:
    for letter, layout, owner in (("X", view.state, "the state"), ("Y", view.output, "the output")):
        if layout is not None:
            for key in (f"Mu{letter}", f"Std{letter}"):
                yield from _check_length(LENGTH_DIFFERS, view, key, layout.width, owner=owner)
    for key, name in (("tanh_scales_rootvel", ROOT_VELOCITY), ("tanh_scales_angvel", ANGULAR_VELOCITIES)):
        if view.state is not None and name in view.state:
            yield from _check_length(LENGTH_DIFFERS, view, key, view.state[name].size, owner=f"{name} of the state")


def _check_auxiliary(file: Auxiliary) -> Iterator[Finding]:
    length, bones = file.history_length, file.bone_count
    threes = (*ANGVEL_KEYS, *(["tanh_scales_angvel"] if file.document.kind is Kind.COMPANION else []))
    expected = [(key, 3 * bones, f"{bones} bones of 3 numbers") for key in threes]
    expected += [(key, 6 * bones, f"{bones} bones of 6 numbers") for key in TARGET_KEYS]
    if length is not None:
        derivation = f"{length} frames of {bones} bones of 6 numbers"
        expected = [(key, length * 6 * bones, derivation) for key in POSE_HISTORY_KEYS] + expected
    for key, size, derivation in expected:
        yield from _check_length(AUXILIARY_LENGTH_DIFFERS, file, key, size, derivation=derivation)


def _check_length(rule: Rule, file: FileView, key: str, expected: int, **values: str) -> Iterator[Finding]:
    found = file.numbers(key)
    if found is not None and len(found) != expected:
        yield rule.at(file.path, (key,), array=key, found=len(found), expected=expected, **values)


FAMILY = family(globals(), (Need.STATISTICS,), _check_layouts, _check_statistics, _check_auxiliary)
