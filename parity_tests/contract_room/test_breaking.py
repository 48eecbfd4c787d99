"""Changes between two bundles, and who must act: labelled pairs, symmetry, no lost change."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.compatibility import KINDS, Compatibility, Consumer, compare_contracts
from rigpact.contract.documents import Kind, read_document

from ..declared_room.declared_pairs import DECLARED_PAIRS
from ..every_case import every_case
from .bundle_edits import BEFORE, PAIRS, Pair, base
from .contract_edits import CONTRACT_PAIRS
from .test_damage import damage

LETTERS = {
    "E": Consumer.ENGINE_LAYOUT, "M": Consumer.ENGINE_MATH, "R": Consumer.RETRAIN, "T": Consumer.TRACE, "C": Consumer.COSMETIC,
}  # fmt: skip
MIRRORED = {
    "slice-added": "slice-removed", "bone-added": "bone-removed", "bone-names-added": "bone-names-removed",
    "skeleton-added": "skeleton-removed", "declaration-added": "declaration-removed", "array-repaired": "array-broken",
    "history-statistics-merged": "history-statistics-unmerged", "history-length-declared": "history-length-undeclared",
    "angvel-statistics-merged": "angvel-statistics-unmerged", "stage-added": "stage-removed", "field-added": "field-removed",
    "vector-repaired": "vector-broken", "constant-added": "constant-removed",
}  # fmt: skip
OPPOSITE = MIRRORED | {removed: added for added, removed in MIRRORED.items()}
Compare = Callable[[Any, Any], Compatibility]


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Write two bundles as files and compare them."""

    def written(name: str, value: Any) -> Any:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return read_document(path, Kind.BUNDLE)

    return lambda old, new: compare_contracts(written("old", old), written("new", new))


def own(value: Any) -> Any:
    return json.loads(json.dumps(value))


def versions(pair: Pair) -> tuple[Any, Any]:
    """The pair's two bundles."""
    old = base()
    BEFORE.get(pair.name, lambda _: None)(old)
    new = own(old)
    pair.edit(new)
    return own(old), new


def test_the_corpus_is_large_enough() -> None:
    """Sixty pairs were promised, and every one has its own name."""
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) >= 60


@every_case("pair", PAIRS, ids=lambda pair: pair.name)
def test_every_pair_is_classed_right(compare: Compare, pair: Pair) -> None:
    """A breaking change labelled cosmetic ships a broken character; a cosmetic one labelled breaking stops a team."""
    old, new = versions(pair)

    found = compare(old, new)

    assert Counter(each.kind.name for each in found.changes) == Counter(pair.kinds.split())
    assert set(found.classes) == {LETTERS[letter] for letter in pair.classes}
    assert found.is_breaking == (pair.classes != "C")


@every_case("pair", PAIRS, ids=lambda pair: pair.name)
def test_swapping_old_and_new_mirrors_every_change(compare: Compare, pair: Pair) -> None:
    """A rollback must be judged as severely as the step forward, and lose nothing."""
    old, new = versions(pair)

    forward, back = compare(old, new), compare(new, old)

    mirrored = Counter((OPPOSITE.get(each.kind.name, each.kind.name), each.classes) for each in forward.changes)
    assert Counter((each.kind.name, each.classes) for each in back.changes) == mirrored
    assert (back.classes, back.version_step) == (forward.classes, forward.version_step)
    swapped = Counter((str(each.new), str(each.old)) for each in forward.changes)
    assert Counter((str(each.old), str(each.new)) for each in back.changes) == swapped


@every_case("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_version_is_like_itself(compare: Compare, pair: Pair) -> None:
    """Users switch off a gate that fails without a change."""
    _, new = versions(pair)

    same = compare(new, new)

    assert (same.changes, same.version_step, same.is_breaking) == ((), "none", False)


def test_every_kind_has_a_mirror_of_the_same_classes() -> None:
    """If an addition breaks the engine but its removal does not, the gate misses one of the two."""
    for kind in KINDS.values():
        assert KINDS[kind.mirrored].mirrored == kind.name
        assert KINDS[kind.mirrored].classes == kind.classes
        assert OPPOSITE.get(kind.name, kind.name) == kind.mirrored
        assert kind.classes
        assert (Consumer.COSMETIC in kind.classes) == (kind.classes == (Consumer.COSMETIC,))


def test_every_kind_is_in_the_corpus() -> None:
    """A kind of change without a pair has no hand-written label to test against."""
    shown = {kind for pair in (*PAIRS, *CONTRACT_PAIRS, *DECLARED_PAIRS) for kind in pair.kinds.split()}

    assert shown | {OPPOSITE[kind] for kind in shown & set(OPPOSITE)} == set(KINDS)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every number, word and flag of a JSON value; of a long array the first, the middle and the last."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) // 2, len(value) - 1}):
            yield from leaves(value[place], (*path, place))
    else:
        yield path


def other(value: Any) -> Any:
    if isinstance(value, str | list | dict):
        return f"{value}!" if isinstance(value, str) else None
    return (not value) if isinstance(value, bool) else (value or 0) + 1


def test_no_difference_is_ever_lost(compare: Compare) -> None:
    """Change and remove every leaf of the bundle: each time a change other than 'formatting' must be reported."""
    old = own(base())
    paths = list(leaves(old))
    containers = {path[:end] for path in paths for end in range(1, len(path))}
    assert len(paths) > 90
    for path in [*paths, *sorted(containers, key=str)]:
        for change in ("changed", "removed"):
            new = own(old)
            holder = new
            for key in path[:-1]:
                holder = holder[key]
            if change == "changed":
                holder[path[-1]] = other(holder[path[-1]])
            else:
                del holder[path[-1]]
            found = {each.kind.name for each in compare(old, new).changes}
            assert found - {"formatting-changed"}, (path, change)


@pytest.mark.parametrize("broken", [None, [], {}, "x", 5, True, [[]], {"BoneRotations6D": 7}], ids=repr)
def test_broken_parts_are_compared_as_far_as_they_can_be_read(compare: Compare, broken: Any) -> None:
    """The old bundle may be one that the engine refuses: that is often why there is a new one."""
    good = own(base())
    for path in [(key,) for key in good] + [("meta", key) for key in good["meta"]]:
        bad = own(good)
        holder = bad["meta"] if len(path) > 1 else bad
        holder[path[-1]] = broken

        forward, back = compare(good, bad), compare(bad, good)

        assert len(forward.changes) == len(back.changes) > 0
        assert set(forward.classes) == set(back.classes)
        json.dumps(forward.to_json(), allow_nan=True)


@every_case("seed", range(60))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_damage_is_compared_never_crashed_on(compare: Compare, seed: int) -> None:
    """One file of a merge is often broken: the report must name it, whether it is the old or the new one."""
    chance = random.Random(seed)  # noqa: S311 - which key breaks is no secret
    good, bad = own(base()), own(base())
    for _ in range(4):
        damage(bad, chance)
        bad = own(bad)  # what was put in belongs to the next damage too

    forward, back = compare(good, bad), compare(bad, good)

    assert set(forward.classes) == set(back.classes)
    assert Counter(OPPOSITE.get(each.kind.name, each.kind.name) for each in forward.changes) == Counter(
        each.kind.name for each in back.changes
    )
    assert forward.changes or good == bad


def test_the_real_bundle_against_itself_with_one_bone_renamed(real_data: Path, compare: Compare) -> None:
    """On the deployed character: one changed word gives one reported change."""
    old = json.loads((real_data / "norm_template.json").read_text(encoding="utf-8"))
    new = own(old)
    for names in (new["meta"]["bone_names"], new["meta"]["skeleton"]["bone_names"]):
        names[names.index("thigh_l")] = "upperleg_l"

    found = compare(old, new)

    assert [each.message for each in found.changes] == ["thigh_l is called upperleg_l"]
    assert found.version_step == "major"


@pytest.mark.parametrize(
    ("name", "step"),
    [("bone renamed", "major"), ("fps 30", "major"), ("MuX moved by a hundredth of a deviation", "minor"),
     ("offsets in centimetres", "minor"), ("MuX one float32 step off", "patch"), ("notes", "patch")],
)  # fmt: skip
def test_the_version_step_follows_from_who_has_to_do_what(compare: Compare, name: str, step: str) -> None:
    """Rebuilding or training again is major; handing out a new file is minor; the rest is a patch."""
    old, new = versions(next(pair for pair in PAIRS if pair.name == name))

    found = compare(old, new)

    assert found.version_step == step
    assert found.changes[0].kind.name in found.version_reason


def test_the_numbers_are_in_the_message(compare: Compare) -> None:
    """'Statistics changed' does not identify the bone; the numbers in the message do."""
    old, new = versions(next(pair for pair in PAIRS if pair.name == "MuX moved by two deviations"))

    (change,) = compare(old, new).changes

    assert change.pointer == "/MuX/9"
    assert "by 2 deviations (BoneRotations6D, pelvis)" in change.message
    assert (change.old, change.new) == (old["MuX"][9], new["MuX"][9])
