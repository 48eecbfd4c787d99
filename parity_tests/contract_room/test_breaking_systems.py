"""Changes between two contract files of a declared system: labelled pairs, symmetry, no lost change."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.compatibility import KINDS, Compatibility, compare_contracts
from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput

from ..every_case import every_case
from .bundle_edits import Pair
from .contract_edits import CONTRACT_BEFORE, CONTRACT_PAIRS, contract
from .test_breaking import LETTERS, OPPOSITE, Compare, leaves, other, own
from .test_damage import damage

EVERY_PAIR = every_case("pair", CONTRACT_PAIRS, ids=lambda pair: pair.name)
SIGHTED = {"constant-rounded", "spelled-differently", "declaration-added", "declaration-removed", "bookkeeping-changed"}


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Write two contract files and compare them."""

    def written(name: str, value: Any) -> Any:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return read_document(path)

    return lambda old, new: compare_contracts(written("old", old), written("new", new))


def versions(pair: Pair) -> tuple[Any, Any]:
    old = contract()
    CONTRACT_BEFORE.get(pair.name, lambda _: None)(old)
    new = own(old)
    pair.edit(new)
    return own(old), own(new)


def mirrored(found: Compatibility) -> Counter[str]:
    return Counter(OPPOSITE.get(each.kind.name, each.kind.name) for each in found.changes)


@EVERY_PAIR
def test_every_pair_is_classed_right(compare: Compare, pair: Pair) -> None:
    """A changed unit that is called cosmetic puts a character's feet a hundred times too far away."""
    found = compare(*versions(pair))

    assert Counter(each.kind.name for each in found.changes) == Counter(pair.kinds.split())
    assert set(found.classes) == {LETTERS[letter] for letter in pair.classes}


@EVERY_PAIR
def test_swapping_old_and_new_mirrors_every_change(compare: Compare, pair: Pair) -> None:
    """A rollback must be judged as severely as the step forward."""
    old, new = versions(pair)
    forward, back = compare(old, new), compare(new, old)

    assert Counter(each.kind.name for each in back.changes) == mirrored(forward)
    assert (back.classes, back.version_step) == (forward.classes, forward.version_step)
    assert not compare(new, new).changes


def test_a_stage_that_an_uninstalled_system_has_is_compared_too(compare: Compare) -> None:
    """The gate's machine may not have the studio's package: its file must not pass unread."""
    old = contract() | {"system": "of_a_studio"}
    new = own(old)
    new["vectors"]["packet"]["fields"][0]["unit"] = "m"
    del new["fps"]

    assert {each.kind.name for each in compare(old, new).changes} == {"field-unit-changed", "frame-rate-changed"}


def test_a_changed_constant_says_which_number_and_by_how_much(compare: Compare) -> None:
    """A reviewer needs the size of the change for a decision."""
    (change,) = compare(*versions(next(pair for pair in CONTRACT_PAIRS if "5 %" in pair.name))).changes

    assert change.pointer == "/constants/femur_cm/1"
    assert "femur_cm[1] goes from 45.75211 to 48.03971, by 4.762% of its size" in change.message


def test_two_systems_are_not_compared(compare: Compare) -> None:
    """Changes between two different systems mean nothing."""
    with pytest.raises(UnusableInput, match="a contract of imu_pose"):
        compare(contract(), contract() | {"system": "imu_pose"})


def test_no_difference_is_ever_lost(compare: Compare) -> None:
    """Change and remove every leaf: each time a change other than 'formatting' must be reported."""
    old = contract()
    paths = [path for path in leaves(old) if path[0] not in {"format", "system"}]
    assert len(paths) > 200
    for path in random.Random(0).sample(paths, 120):  # noqa: S311 - a sample of places
        for is_removed in (False, True):
            new = own(old)
            holder = new
            for key in path[:-1]:
                holder = holder[key]
            if is_removed:
                del holder[path[-1]]
            else:
                holder[path[-1]] = other(holder[path[-1]])
            found = {each.kind.name for each in compare(old, new).changes}
            assert found - {"formatting-changed"}, path
            assert is_removed or not found <= SIGHTED, (path, found)


@every_case("seed", range(40))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_damage_is_compared_never_crashed_on(compare: Compare, seed: int) -> None:
    """One file of a merge is often broken: the report must name it, whether it is the old or the new one."""
    chance = random.Random(seed)  # noqa: S311 - which key breaks is no secret
    good, bad = contract(), contract()
    for _ in range(4):
        damage(bad, chance)
        bad = own(bad)
    bad |= {key: good[key] for key in ("format", "system")}

    forward, back = compare(good, bad), compare(bad, good)

    assert Counter(each.kind.name for each in back.changes) == mirrored(forward)
    assert all(each.kind.name in KINDS for each in forward.changes)
    assert forward.changes or good == bad
    json.dumps(forward.to_json())
