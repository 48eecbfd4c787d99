"""Phrases that many messages share, so that all messages use the same words."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

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
