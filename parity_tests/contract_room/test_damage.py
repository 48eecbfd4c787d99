"""Damage to any artefact: every number is watched by some rule; the check gives findings; what passes can be loaded and used."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.files import JsonFile
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts

from ..every_case import every_case
from .edits import holder_of, put
from .small_character import bundle_document, companion_document

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


HUGE = 1e30
FILES = {Kind.BUNDLE: bundle_document(), Kind.COMPANION: companion_document(bundle_document())}


def is_numeric(value):
    """A number, an array of numbers, or of rows of numbers."""
    if isinstance(value, list):
        return bool(value) and all(map(is_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def leaves(value, path=()):
    """Paths of every number, and of every array of numbers as a whole."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif is_numeric(value):
        yield path


def filled(value, number):
    return [filled(child, number) for child in value] if isinstance(value, list) else number


def one_huge(place):
    """One number of an array, the first, the middle or the last, made huge."""

    def damage(value):
        index = min(int(place * len(value)), len(value) - 1)
        return [*value[:index], filled(value[index], HUGE), *value[index + 1 :]]

    return damage


DAMAGE: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda value: filled(value, float("nan")), "zero": lambda value: filled(value, 0),
    "huge": lambda value: filled(value, HUGE), "minus huge": lambda value: filled(value, -HUGE),
}  # fmt: skip
ARRAY_DAMAGE: dict[str, Callable[[Any], Any]] = DAMAGE | {
    "one number short": lambda value: value[:-1], "one number long": lambda value: [*value, value[-1]],
    "first huge": one_huge(0.0), "middle huge": one_huge(0.5), "last huge": one_huge(1.0),
}  # fmt: skip
PLACES = [(kind, path) for kind, content in FILES.items() for path in leaves(content)]


def pointers(data, kind):
    """Check both files as they stand in memory; where the findings about one of them are."""
    files = {each: JsonFile(Path(f"{each}.json"), b"", content, standard=False) for each, content in data.items()}
    documents = [Document(each, file) for each, file in files.items()]
    found = [
        each for each in check(Artefacts(*documents)).findings if each.rule.code != "RP003"
    ]  # lenient JSON, which it is
    return [each.pointer for each in found if each.file == f"{kind}.json"]


@every_case(
    ("kind", "path"), PLACES, ids=lambda value: ".".join(value) if isinstance(value, tuple) else str(value), by="kind"
)
def test_damage_to_any_number_is_found_where_it_is(kind, path):
    """Without a check of a number, a character trains for a day on a wrong one."""
    # of two overlapping slices, either one may be wrong
    pointer = "/" + "/".join(path[:2] if path[:2] in {("meta", "state_layout"), ("meta", "output_layout")} else path)
    before, missed = holder_of(FILES[kind], path)[path[-1]], []
    for name, damage in (ARRAY_DAMAGE if isinstance(before, list) else DAMAGE).items():
        root = json.loads(json.dumps(FILES[kind]))
        put(damage(before), *path)(root)
        found = pointers({**FILES, kind: root}, kind) if damage(before) != before else [pointer]
        missed += [] if any(place == pointer or place.startswith(f"{pointer}/") for place in found) else [name]
    assert missed == []
