"""Phrases that many messages share, so that all messages use the same words, and findings at the first of many places."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule

T = TypeVar("T")
_SHOWN_CHARACTERS = 32
_FLOAT64_BITS = 1023
"""Whole numbers of so many bits are certainly within float64, whose largest is just below 2^1024."""
_TYPES = {
    dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number",
    type(None): "null",
}  # fmt: skip


def and_more(count: int, where: str) -> str:
    """The text after the first of several: ' (and 3 more in the same array)', or nothing."""
    return f" (and {count} more {where})" if count > 0 else ""


def first_of(bad: NDArray[np.bool_], where: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the first place of a mask and the text after it, as of `and_more`; nothing where no place is marked."""
    places = np.argwhere(bad)
    if len(places):
        yield tuple(places[0].tolist()), and_more(len(places) - 1, where)


def first_in(places: Sequence[T], where: str) -> Iterator[tuple[T, str]]:
    """Yield the first of some places and the text after it, as of `and_more`; nothing where there is none."""
    yield from ((place, and_more(len(places) - 1, where)) for place in places[:1])


def first_unlike(found: Sequence[Any], expected: Sequence[Any], where: str) -> Iterator[tuple[int, str]]:
    """Yield the first place at which two sequences differ, as `first_in`, as far as both reach."""
    pairs = enumerate(zip(found, expected, strict=False))
    yield from first_in([place for place, (one, other) in pairs if one != other], where)


def at_first(
    rule: Rule, path: object, place: tuple[object, ...], bad: NDArray[np.bool_], where: str, axes: str, /, **values: Any
) -> Iterator[Finding]:
    """Yield one finding of a rule at the first marked place of a mask; nothing where no place is marked.

    place: each `...` is the next index of the marked place, and of a function of the indices what it gives. axes: the names of
    the indices among the finding's values, apart by blanks. values: of an array, and of a function of the indices, what it gives
    there; they are beside `count` and `total`, the places that are marked and all. where: as of `and_more`.
    """
    for index, more in first_of(bad, where):
        steps = iter(index)
        keys: tuple[Any, ...] = tuple(next(steps) if key is ... else _value_at(key, index) for key in place)
        here = {name: _value_at(value, index) for name, value in values.items()}
        sizes = {"count": int(bad.sum()), "total": bad.size, "more": more}
        yield rule.at(path, keys, **{**dict(zip(axes.split(), index, strict=False)), **sizes, **here})


def _value_at(value: Any, index: tuple[int, ...]) -> Any:
    made: Callable[..., Any] | None = value if callable(value) else None
    if made is not None:
        return made(*index)
    return value[index].item() if isinstance(value, np.ndarray) else value


def short(values: NDArray[Any]) -> list[float]:
    """Numbers with four digits."""
    return [float(f"{value:.4g}") for value in values]


def json_value(value: Any) -> str:
    """Show a JSON value in a message: its type, and the value itself where it is short."""
    kind = _TYPES.get(type(value), "a value")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if value is None or isinstance(value, dict):
        return kind
    text = repr(value) if isinstance(value, str) else str(value)
    return f"{kind} {text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + '…'}"


def number_text(value: float) -> str:
    """Show a JSON number of any size; a whole number beyond float64 by its length."""
    return f"a whole number of {value.bit_length()} bits" if is_beyond_float64(value) else f"{value:g}"


def is_beyond_float64(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number that float64 does not hold, as only Python's parser makes them."""
    return type(value) is int and value.bit_length() > _FLOAT64_BITS


def json_type(name: str) -> str:
    """A type word of JSON Schema with its article."""
    return {"null": "null", "integer": "a whole number"}.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")


def listed(names: list[str] | tuple[str, ...], shown: int = 4) -> str:
    """Name a few and count the others."""
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
