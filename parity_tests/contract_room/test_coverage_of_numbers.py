"""Every number of a bundle and of a companion is watched by some rule: broken in any way, it is found where it stands."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rigpact.contract.documents import Document, Kind
from rigpact.contract.files import JsonFile
from rigpact.contract.rules import Subject, check

from ..every_case import every_case
from .small_character import bundle_document, companion_document

NAN, HUGE = float("nan"), 1e30
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(pointer, damage) that no rule needs to see, each with its reason. There is none."""


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of every number, and of every array of numbers (or of rows of numbers) as a whole."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif is_number(value) or (isinstance(value, list) and value and all(is_numeric(child) for child in value)):
        yield path


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_numeric(value: Any) -> bool:
    return is_number(value) or (isinstance(value, list) and bool(value) and all(is_number(each) for each in value))


def filled(value: Any, number: float) -> Any:
    return [filled(child, number) for child in value] if isinstance(value, list) else number


def one_huge(value: Any, place: float) -> Any:
    """One number of an array, the first, the middle or the last, made huge."""
    made = copy.deepcopy(value)
    index = min(int(place * len(made)), len(made) - 1)
    made[index] = filled(made[index], HUGE)
    return made


DAMAGE: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda value: filled(value, NAN),
    "zero": lambda value: filled(value, 0),
    "huge": lambda value: filled(value, HUGE),
    "minus huge": lambda value: filled(value, -HUGE),
}
ARRAY_DAMAGE: dict[str, Callable[[Any], Any]] = {
    "one number short": lambda value: value[:-1],
    "one number long": lambda value: [*value, value[-1]],
    "first huge": lambda value: one_huge(value, 0.0),
    "middle huge": lambda value: one_huge(value, 0.5),
    "last huge": lambda value: one_huge(value, 1.0),
}


def read(kind: Kind) -> dict[str, Any]:
    """One file of the small character, sharing no list with itself."""
    document = bundle_document() if kind is Kind.BUNDLE else companion_document(bundle_document())
    data: dict[str, Any] = json.loads(json.dumps(document))
    return data


PLACES = [(kind, path) for kind in (Kind.BUNDLE, Kind.COMPANION) for path in leaves(read(kind))]


def report_pointers(data: dict[Kind, dict[str, Any]], kind: Kind) -> list[str]:
    """Check both files as they stand in memory; where the findings about one of them are."""
    documents = {
        each: Document(each, JsonFile(Path(f"{each}.json"), b"", content, standard=False))
        for each, content in data.items()
    }
    findings = check(Subject(documents[Kind.BUNDLE], documents[Kind.COMPANION])).findings
    real = [
        finding for finding in findings if finding.rule.code != "RP003"
    ]  # that the text is lenient JSON, which it is
    return [finding.pointer for finding in real if finding.file == f"{kind}.json"]


def whole(path: tuple[str, ...]) -> str:
    """The pointer at or below which a finding must be; of two overlapping slices, either one may be wrong."""
    is_layout = path[:2] in {("meta", "state_layout"), ("meta", "output_layout")}
    return "/" + "/".join(path[:2] if is_layout else path)


def undetected(kind: Kind, path: tuple[str, ...]) -> Iterator[str]:
    """Damage to one place that brings about no finding there."""
    root = read(kind)
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    before, pointer = holder[path[-1]], whole(path)
    for name, damage in {**DAMAGE, **(ARRAY_DAMAGE if isinstance(before, list) else {})}.items():
        holder[path[-1]] = damage(before)
        if holder[path[-1]] == before:
            continue
        others = {each: read(each) for each in (Kind.BUNDLE, Kind.COMPANION)}
        found = report_pointers({**others, kind: root}, kind)
        if not any(place == pointer or place.startswith(pointer + "/") for place in found):
            yield name


@every_case(
    ("kind", "path"), PLACES, ids=lambda value: ".".join(value) if isinstance(value, tuple) else str(value), by="kind"
)
def test_damage_to_any_number_is_found_where_it_is(kind: Kind, path: tuple[str, ...]) -> None:
    """Without a check of a number, a character trains for a day on a wrong one."""
    expected = {damage for pointer, damage in EXCEPTIONS if pointer == whole(path)}

    assert set(undetected(kind, path)) == expected
