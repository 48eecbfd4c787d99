"""Changes between two bundles or two contract files, and who must act: labelled pairs, symmetry, no lost change."""

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rigpact.contract.compatibility import KINDS, Compatibility, Consumer, compare_contracts
from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput

from ..declared_room.declared_rule_cases import DECLARED_PAIRS
from ..every_case import every_case
from .bundle_edits import BEFORE, PAIRS, base
from .contract_edits import CONTRACT_BEFORE, CONTRACT_PAIRS, contract
from .edits import drop, holder_of, put
from .test_damage import damage

LETTERS = dict(zip("EMRTC", (Consumer.ENGINE_LAYOUT, Consumer.ENGINE_MATH, Consumer.RETRAIN, Consumer.TRACE,
                             Consumer.COSMETIC), strict=True))  # fmt: skip
MIRRORED = {
    "slice-added": "slice-removed", "bone-added": "bone-removed", "bone-names-added": "bone-names-removed",
    "skeleton-added": "skeleton-removed", "declaration-added": "declaration-removed", "array-repaired": "array-broken",
    "history-statistics-merged": "history-statistics-unmerged", "history-length-declared": "history-length-undeclared",
    "angvel-statistics-merged": "angvel-statistics-unmerged", "stage-added": "stage-removed", "field-added": "field-removed",
    "vector-repaired": "vector-broken", "constant-added": "constant-removed",
}  # fmt: skip
OPPOSITE = MIRRORED | {removed: added for added, removed in MIRRORED.items()}
SIGHTED = {"constant-rounded", "spelled-differently", "declaration-added", "declaration-removed", "bookkeeping-changed"}
Compare = Callable[[Any, Any], Compatibility]
EVERY_PAIR = every_case("pair", (*PAIRS, *CONTRACT_PAIRS), ids=lambda pair: pair.name)
BY_NAME = {pair.name: pair for pair in (*PAIRS, *CONTRACT_PAIRS)}


@pytest.fixture
def compare(tmp_path):
    """Write two files and compare them."""

    def written(name, value):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return read_document(path)

    return lambda old, new: compare_contracts(written("old", old), written("new", new))


def own(value):
    return json.loads(json.dumps(value))


def versions(pair):
    """The pair's two files."""
    old = base() if pair in PAIRS else contract()
    (BEFORE | CONTRACT_BEFORE).get(pair.name, lambda _: None)(old)
    new = own(old)
    pair.edit(new)
    return own(old), own(new)


def kinds(found):
    return Counter(each.kind.name for each in found.changes)


def mirrored(found):
    return Counter(OPPOSITE.get(each.kind.name, each.kind.name) for each in found.changes)


@EVERY_PAIR
def test_every_pair_is_classed_right_forward_and_back(compare, pair):
    """A breaking change called cosmetic ships a broken character; a rollback is judged as severely; no change is no change."""
    old, new = versions(pair)
    found, back, same = compare(old, new), compare(new, old), compare(new, new)
    assert kinds(found) == Counter(pair.kinds.split())
    assert set(found.classes) == {LETTERS[letter] for letter in pair.classes}
    assert found.is_breaking == (pair.classes != "C")
    assert kinds(back) == mirrored(found)
    assert (back.classes, back.version_step) == (found.classes, found.version_step)
    assert Counter((repr(e.old), repr(e.new)) for e in back.changes) == Counter(
        (repr(e.new), repr(e.old)) for e in found.changes
    )
    assert (same.changes, same.version_step, same.is_breaking) == ((), "none", False)


def test_every_kind_has_a_mirror_of_the_same_classes_and_a_pair():
    """If an addition breaks the engine but its removal does not, the gate misses one of the two."""
    for kind in KINDS.values():
        assert KINDS[kind.mirrored].mirrored == kind.name
        assert KINDS[kind.mirrored].classes == kind.classes != ()
        assert OPPOSITE.get(kind.name, kind.name) == kind.mirrored
        assert (Consumer.COSMETIC in kind.classes) == (kind.classes == (Consumer.COSMETIC,))
    shown = {kind for pair in (*PAIRS, *CONTRACT_PAIRS, *DECLARED_PAIRS) for kind in pair.kinds.split()}
    assert shown | {OPPOSITE[kind] for kind in shown & set(OPPOSITE)} == set(KINDS)
    assert len(BY_NAME) == len(PAIRS) + len(CONTRACT_PAIRS) >= 110


def leaves(value, path=()):
    """Every number, word and flag of a JSON value; of a long array the first, the middle and the last."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) // 2, len(value) - 1}):
            yield from leaves(value[place], (*path, place))
    else:
        yield path


def other(value):
    if isinstance(value, str | list | dict):
        return f"{value}!" if isinstance(value, str) else None
    return (not value) if isinstance(value, bool) else (value or 0) + 1


@pytest.mark.parametrize(("make", "count", "sample"), [(base, 90, 1000), (contract, 200, 60)], ids=["bundle", "system"])
def test_no_difference_is_ever_lost(compare, make, count, sample):
    """Change and remove every leaf of a bundle, 60 of a contract file: a change other than 'formatting' must be reported."""
    old = own(make())
    paths = [path for path in leaves(old) if path[0] not in {"format", "system"}]
    assert len(paths) > count
    containers = {path[:end] for path in paths for end in range(1, len(path))} if make is base else set()
    chosen = random.Random(0).sample(paths, min(sample, len(paths)))  # noqa: S311 - a sample of places
    for path in [*chosen, *sorted(containers, key=str)]:
        for edit in (put(other(holder_of(old, path)[path[-1]]), *path), drop(*path)):
            new = own(old)
            edit(new)
            found = set(kinds(compare(old, new)))
            assert found - {"formatting-changed"}, path
        if make is contract:
            put(other(holder_of(old, path)[path[-1]]), *path)(changed := own(old))
            assert not set(kinds(compare(old, changed))) <= SIGHTED, path


@every_case(("make", "seed"), [(make, seed) for make in (base, contract) for seed in range(30)], ids=repr)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_damage_is_compared_never_crashed_on(compare, make, seed):
    """One file of a merge is often broken: the report must name it, whether it is the old or the new one."""
    chance = random.Random(seed)  # noqa: S311 - which key breaks is no secret
    good, bad = own(make()), own(make())
    for _ in range(4):
        damage(bad, chance)
        bad = own(bad)  # what was put in belongs to the next damage too
    if make is contract:
        bad |= {key: good[key] for key in ("format", "system")}
    forward, back = compare(good, bad), compare(bad, good)
    assert (set(forward.classes), kinds(back)) == (set(back.classes), mirrored(forward))
    assert set(kinds(forward)) <= set(KINDS)
    assert forward.changes or good == bad
    json.dumps(forward.to_json())


@every_case(
    ("name", "step"),
    [("bone renamed", "major"), ("fps 30", "major"), ("MuX moved by a hundredth of a deviation", "minor"),
     ("offsets in centimetres", "minor"), ("MuX one float32 step off", "patch"), ("notes", "patch")],
)  # fmt: skip
def test_the_version_step_follows_from_who_has_to_do_what(compare, name, step):
    """Rebuilding or training again is major; handing out a new file is minor; the rest is a patch."""
    found = compare(*versions(BY_NAME[name]))
    assert found.version_step == step
    assert found.changes[0].kind.name in found.version_reason


def test_the_reason_of_the_step_is_a_change_that_demands_it(compare: Compare) -> None:
    """Reading the code again, which comes first in the list, is no reason to train again."""
    old, new = versions(BY_NAME["state slices as arrays"])
    BY_NAME["StdX two per cent off"].edit(new)
    assert "(layout-ambiguous at" in compare(old, new).version_reason


@every_case(
    ("name", "pointer", "message"),
    [("MuX moved by two deviations", "/MuX/9", "by 2 deviations (BoneRotations6D, pelvis)"),
     ("a thigh is 5 % longer", "/constants/femur_cm/1", "femur_cm[1] goes from 45.75211 to 48.03971, by 4.762% of its size")],
)  # fmt: skip
def test_the_numbers_are_in_the_message(compare, name, pointer, message):
    """'Statistics changed' does not identify the bone; the numbers in the message do."""
    old, new = versions(BY_NAME[name])
    (change,) = compare(old, new).changes
    path = [int(key) if key.isdigit() else key for key in pointer.split("/")[1:]]
    assert (change.pointer, message in change.message) == (pointer, True)
    assert (change.old, change.new) == tuple(holder_of(each, tuple(path))[path[-1]] for each in (old, new))


def test_systems_are_compared_by_their_files(compare):
    """A gate's machine may not have the studio's package: its file must not pass unread; two systems have no changes."""
    old = contract() | {"system": "of_a_studio"}
    new = own(old)
    new["vectors"]["packet"]["fields"][0]["unit"] = "m"
    del new["fps"]
    assert set(kinds(compare(old, new))) == {"field-unit-changed", "frame-rate-changed"}
    with pytest.raises(UnusableInput, match="a contract of imu_pose"):
        compare(contract(), contract() | {"system": "imu_pose"})
