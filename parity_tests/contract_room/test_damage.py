"""Random damage to any artefact: the check gives findings; an artefact that passes can be loaded and used."""

import random
from typing import Any

import pytest

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.rules.catalogue import check

from ..every_case import every_case
from .edits import holder_of

JUNK = (
    None, True, 0, -1, 1.5, "x", "", [], {}, [[]], [1], [1, 2], {"a": 1}, 1e308, 1e39, 10**30, 10**400, [None], "1",
    float("nan"), float("inf"), {"start": 1}, {"start": 0, "size": -3}, {"start": 10**400, "size": 7},
)  # fmt: skip
"""Values that exporters, merges and editors left in real files, and worse ones."""


def places(value, path=()):
    """Every path below a JSON value; of an array the first, the middle and the last element."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list) and value:
        keys = sorted({0, len(value) // 2, len(value) - 1})
    return ([path] if path else []) + [place for key in keys for place in places(value[key], (*path, key))]


def damage(root, chance):
    """Remove, replace, repeat or rename what stands at one random place."""
    path = chance.choice(places(root))
    holder, kind = holder_of(root, path), chance.choice(("remove", "replace", "replace", "replace", "append"))
    if kind == "remove":
        del holder[path[-1]]
    elif kind == "append" and isinstance(holder, list):
        holder.append(chance.choice(JUNK))
    else:
        holder[path[-1]] = chance.choice(JUNK)


@every_case("seed", range(100))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_damage_is_answered_never_crashed_on(sample, seed):
    """The gate gets files that were merged by hand; a traceback there stops the whole team."""
    chance = random.Random(seed)  # noqa: S311 - which key breaks is no secret
    root = getattr(sample, chance.choice(("bundle", "bundle", "companion", "clip", "batch", "prediction")))
    for _ in range(chance.choice((1, 1, 2, 4))):
        damage(root, chance)
    try:
        subject = sample.subject()
        numbers = document_to_contract(subject.bundle, subject.companion).numbers
    except ContractRefused:
        assert check(subject).verdict == "fail"
        return
    except UnusableInput:  # no longer recognisable as what it was
        return
    assert [finding for finding in check(subject).findings if not finding.message] == []
    assert len(numbers.state_statistics.mean) == numbers.state.width
    assert numbers.skeleton is None or len(numbers.skeleton.depth_first) == numbers.bone_count
