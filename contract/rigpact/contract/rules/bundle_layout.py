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
from rigpact.contract.rules.family import Need, family
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


def _check_loaded_layouts(view: BundleView) -> Iterator[Finding]:
    for key, layout in (("state_layout", view.state), ("output_layout", view.output)):
        yield from _check_loaded(view, key, layout)


def _check_loaded(view: BundleView, key: str, layout: Layout | None) -> Iterator[Finding]:
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


def _check_length(
    rule: Rule, file: BundleView | Auxiliary, key: str, expected: int, **values: str
) -> Iterator[Finding]:
    found = file.numbers(key)
    if found is not None and len(found) != expected:
        yield rule.at(file.path, (key,), array=key, found=len(found), expected=expected, **values)


_ABOUT = "the slices and lengths without which an engine does not load a bundle"
LOADING = family(
    globals(), (Need.STATISTICS,), _check_loaded_layouts, _check_statistics, _check_auxiliary, about=_ABOUT
)


SLICES_OVERLAP = Rule.of("""RP053 error slices-overlap
    {name} [{start}, {stop}) overlaps {other} [{other_start}, {other_stop}) by {shared} channels
    hint: recompute the offsets from the sizes, in order
    why: two features share numbers: the engine writes one and reads it back as the other""")
LAYOUT_GAP = Rule.of("""RP054 warning layout-gap
    {count} channels [{start}, {stop}) of {layout} belong to no slice
    hint: name the slice, or close the gap
    why: nobody writes those channels in the engine: the network reads zeros where training had data""")
ARRAY_FORM_ENTRY = Rule.of("""RP056 error array-form-layout-entry
    {name} is the array [{first}, {second}], which four readers take in different ways: the engine as [start, end): {engine_size}
    channels from {first}; training as [start, size]: {second} channels from {first}; training elsewhere as [start, end] with the
    end included: {closed_size} channels; a third loader guesses: {guess}
    hint: write {"start": …, "size": …}
    why: the same two numbers mean different channels on the two sides (the training side alone has three readings)""")
OBJECT_ENTRY_DROPPED = Rule.of("""RP057 error object-entry-dropped
    {names} are objects beside array entries ({arrays}): the engine drops them silently
    hint: write every entry of the layout as an object
    why: one array entry switches the engine's reader to arrays for the whole layout""")
DECLARED_WIDTH_DIFFERS = Rule.of("""RP058 error declared-width-differs
    {key} is {declared}, the slices of {layout} end at {end}
    hint: remove the key (the engine then takes the layout's end), or correct it
    why: the engine believes the declared width: statistics, slices and the network's input no longer fit each other""")
SLICE_SIZE_WRONG = Rule.of("""RP059 error slice-size-wrong
    {layout}: {name} has {size} channels, the feature has {expected}
    hint: the slice's size is fixed by what the feature is; correct the layout or rename the slice
    why: the two sides no longer agree which number of the slice is which""")
CONTACTS_SLICE_ABSENT = Rule.of("""RP060 warning contacts-slice-absent
    the state has no Contacts slice: the network's Contacts input gets zeros in free-run
    hint: add a Contacts slice of 2 channels to the state, or train with the input at zero
    why: the engine writes foot contacts into that slice only; a network trained on contact scores then sees feet that never touch
    the ground, and skates""")
OUTPUT_NOT_WRITTEN_BACK = Rule.of("""RP062 error output-slice-not-written-back
    output slice {name} has {size} channels, the state {state}: it is not written back
    hint: give the slice the same name and size in both layouts
    why: free-run copies only slices whose name and size agree; the others stay frozen at the seed pose""")
UNKNOWN_SLICE = Rule.of("""RP063 warning unknown-slice-name
    {layout}: no side knows a slice {name!r}{meant}
    hint: spell it as the contract does, or leave it out
    why: slices are looked up by name: nobody writes this one, and the intended slice is missing""")

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


_ABOUT = "where each feature stands in the state and in the output"
FAMILY = family(globals(), (Need.BUNDLE,), _check_layout, about=_ABOUT)


def _check_forms(view: BundleView, key: str, declared: Mapping[str, Any]) -> Iterator[Finding]:
    arrays = [name for name, entry in declared.items() if isinstance(entry, list)]
    for name in arrays:
        if len(declared[name]) == 2 and all(type(value) is int for value in declared[name]):
            (first, second), size = declared[name], declared[name][1] - declared[name][0]
            # what the guessing loader takes: an end that lies behind the start, else a size
            guess = f"an end, {size} channels" if size > 0 else f"a size, {second} channels"
            values = {"first": first, "second": second, "guess": guess, "engine_size": size, "closed_size": size + 1}
            yield ARRAY_FORM_ENTRY.at(view.path, ("meta", key, name), name=name, **values)
    objects = [name for name, entry in declared.items() if isinstance(entry, Mapping)]
    if arrays and objects:
        names, place = listed(objects, shown=8), ("meta", key, objects[0])
        yield OBJECT_ENTRY_DROPPED.at(view.path, place, names=names, arrays=listed(arrays))


def _check_slices(view: BundleView, key: str, layout: Layout) -> Iterator[Finding]:
    for entry in layout:
        place, values = ("meta", key, entry.name), {"layout": key, "name": entry.name}
        if entry.name not in _KNOWN:
            close = get_close_matches(entry.name, _KNOWN, n=1)
            yield UNKNOWN_SLICE.at(view.path, place, meant=f"; {close[0]} was meant?" if close else "", **values)
        expected = _FIXED_SIZES.get(entry.name, entry.size)
        if entry.size > 0 and entry.size != expected:
            yield SLICE_SIZE_WRONG.at(view.path, place, size=entry.size, expected=expected, **values)


def _check_neighbours(view: BundleView, key: str, layout: Layout) -> Iterator[Finding]:
    furthest = Slice(0, 0, "the start")
    for entry in sorted(entry for entry in layout if entry.size > 0):
        values: dict[str, Any] = {"start": furthest.stop, "stop": entry.start, "count": entry.start - furthest.stop}
        if entry.start > furthest.stop:
            yield LAYOUT_GAP.at(view.path, ("meta", key), layout=key, **values)
        if entry.start < furthest.stop and furthest.size:
            values = {"name": entry.name, "start": entry.start, "stop": entry.stop, "other": furthest.name}
            values |= {"other_start": furthest.start, "other_stop": furthest.stop}
            shared = min(entry.stop, furthest.stop) - entry.start
            yield SLICES_OVERLAP.at(view.path, ("meta", key, entry.name), shared=shared, **values)
        furthest = max(furthest, entry, key=lambda candidate: candidate.stop)
    end, width_key = max(entry.stop for entry in layout), _WIDTH_KEYS[key]
    if layout.width != end:
        values = {"key": width_key, "declared": layout.width, "layout": key, "end": end}
        yield DECLARED_WIDTH_DIFFERS.at(view.path, (width_key,), **values)


def _check_across(view: BundleView, state: Layout) -> Iterator[Finding]:
    if CONTACTS not in state:
        yield CONTACTS_SLICE_ABSENT.at(view.path, ("meta", "state_layout"))
    for entry in view.output or ():
        size = state[entry.name].size if entry.name in state else 0
        if size != entry.size:
            said, place = f"has {size}" if size else "has no such slice", ("meta", "output_layout", entry.name)
            yield OUTPUT_NOT_WRITTEN_BACK.at(view.path, place, name=entry.name, size=entry.size, state=said)
