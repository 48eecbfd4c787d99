"""Wrong edits of a system's contract file, such as merges and exporters make. To add one: a row in `CONTRACT_EDITS`.

An edit changes the document in place. It raises LookupError where the file holds nothing to damage.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

Document = dict[str, Any]


def _vectors(root: Document) -> list[Document]:
    return list(root["vectors"].values())


def _fields_exchanged(root: Document) -> None:
    """Exchange the names of two fields of one vector: the widths stay the same, the meaning changes."""
    for vector in _vectors(root):
        fields = vector["fields"]
        for first, second in pairwise(fields):
            if first["size"] == second["size"]:
                first["name"], second["name"] = second["name"], first["name"]
                return
    raise LookupError("no two fields of one size")


def _field_narrower(root: Document) -> None:
    _vectors(root)[0]["fields"][-1]["size"] -= 1


def _hash_stale(root: Document) -> None:
    vector = _vectors(root)[0]
    vector["layout_hash"] = "0" * len(str(vector["layout_hash"]))


def _vector_lost(root: Document) -> None:
    del root["vectors"][next(iter(root["vectors"]))]


def _convention_renamed(root: Document) -> None:
    name = next(iter(root["conventions"]))
    root["conventions"][f"{name}s"] = root["conventions"].pop(name)


def _convention_of_no_value(root: Document) -> None:
    root["conventions"][next(iter(root["conventions"]))] = "sideways"


def _convention_not_declared(root: Document) -> None:
    del root["conventions"][next(iter(root["conventions"]))]


def _constant_lost(root: Document) -> None:
    del root["constants"][next(iter(root["constants"]))]


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Container and key of every number in a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        if isinstance(each, float):
            yield value, key
        yield from _numbers(each)


def first_number(change: Callable[[float], Any], *sections: str) -> Callable[[Document], None]:
    """The edit of the first number with a fraction in some sections of a document."""

    def edit(root: Document) -> None:
        place = next(_numbers([root.get(section) for section in sections]), None)
        if place is None:
            raise LookupError(f"no number with a fraction in {', '.join(sections)}")
        container, key = place
        container[key] = change(container[key])

    return edit


CONTRACT_EDITS: Mapping[str, Callable[[Document], None]] = {
    "two fields exchanged": _fields_exchanged,
    "a field a number short": _field_narrower,
    "a layout hash of another layout": _hash_stale,
    "a vector lost": _vector_lost,
    "a convention renamed": _convention_renamed,
    "a convention with no such value": _convention_of_no_value,
    "a convention not declared": _convention_not_declared,
    "a constant lost": _constant_lost,
    "a constant not finite": first_number(lambda _value: float("nan"), "constants"),
    "a constant as a word": first_number(str, "constants"),
    "a constant doubled": first_number(lambda value: 2.0 * value + 1.0, "constants"),
    "another system's name": lambda root: root.__setitem__("system", "somebody_elses"),
    "fps = 0": lambda root: root.__setitem__("fps", 0),
}
"""All edits by name."""
