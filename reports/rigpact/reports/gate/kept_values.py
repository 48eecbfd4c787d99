"""The program's own types as JSON values, and back. A value from a file is believed only where it has the type of its place.

The types are the annotations of the dataclasses and TypedDicts themselves. An array is a member of its own: its name stands in
its place. Where a place may hold anything, an object of one key that begins with $ says what JSON cannot: a tuple, an address;
any other object is its text there. So is a number that is not finite, in any place. A field with the metadata {"kept": False}
is left out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Rule
from rigpact.reports.comparing.stage_comparison import Address

Arrays = dict[str, NDArray[Any]]
"""The arrays of a value, by the name of their member."""
_TAGGED: Mapping[str, Any] = {"$Address": Address, "$tuple": tuple[Any, ...], "$float": float}
_NOT_FINITE = tuple({"$float": each} for each in ("nan", "inf", "-inf"))
_LARGEST = 1 << 63


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    kept = [each.name for each in fields(kind) if each.metadata.get("kept", True)] if is_dataclass(kind) else hints
    return {name: hints[name] for name in kept}


def _inside(hint: Any, count: int) -> Sequence[Any]:
    """The types of so many members of a list, tuple or mapping."""
    inside = get_args(hint) or (Any,)
    if get_origin(hint) is tuple and inside[1:] != (...,):
        return inside
    return [inside[0 if get_origin(hint) is tuple else -1]] * count


@cache
def _present(hint: Any) -> Any:
    is_optional = get_origin(hint) in (Union, UnionType)
    return next(each for each in get_args(hint) if each is not NoneType) if is_optional else hint


def to_plain(hint: Any, value: Any, arrays: Arrays) -> Any:
    """A value of a type, for JSON; its arrays are added to `arrays`. A finding's texts are written out."""
    if value is None or type(value) in (str, bool, int):
        return value
    hint, kind = _present(hint), type(value)
    if isinstance(value, Mapping):
        each_of = _inside(hint, 1)[0]
        return {str(key): to_plain(each_of, each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        members = [to_plain(*each, arrays) for each in zip(_inside(hint, len(value)), value, strict=True)]
        return {"$tuple": members} if hint is Any and kind is tuple else members
    if is_dataclass(kind) and (hint is not Any or f"${kind.__name__}" in _TAGGED):
        own = {name: to_plain(each, getattr(value, name), arrays) for name, each in _types(kind).items()}
        if isinstance(value, Finding):
            own["rule"] |= {"message": value.message, "about": value.about}
        return {f"${kind.__name__}": own} if hint is Any else own
    return _leaf(hint, value, arrays)


def _leaf(hint: Any, value: Any, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray) and hint is not Any:
        arrays[name := f"arrays/{len(arrays)}.npy"] = value
        return name
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value if isinstance(value, bool | int | float) else str(value)


def from_plain(hint: Any, plain: Any, arrays: Arrays, place: str = "archive") -> Any:
    """The value of a type from JSON; its arrays are taken out of `arrays`. UnusableInput for what `to_plain` does not give."""
    try:
        return _built(hint, plain, arrays)
    except (TypeError, ValueError, KeyError):
        raise UnusableInput(place, "a value that does not fit", "a file that rigpact wrote") from None


def _built(hint: Any, plain: Any, arrays: Arrays) -> Any:
    return _reader(hint)(hint, plain, arrays)


@cache
def _reader(hint: Any) -> Callable[[Any, Any, Arrays], Any]:
    """What reads the values of a type."""
    if is_dataclass(hint) or is_typeddict(hint):
        return _object
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda kind, plain, _arrays: kind(plain)
    return _anything if hint is Any else _OF_ORIGIN.get(get_origin(hint), _scalar)


def _optional(hint: Any, plain: Any, arrays: Arrays) -> Any:
    return None if plain is None else _built(_present(hint), plain, arrays)


def _mapping(hint: Any, plain: Any, arrays: Arrays) -> Any:
    each_of = _inside(hint, 1)[0]
    return {key: _built(each_of, each, arrays) for key, each in _of(dict, plain).items()}


def _sequence(hint: Any, plain: Any, arrays: Arrays) -> Any:
    hints = _inside(hint, len(_of(list | tuple, plain)))
    members = [_built(*each, arrays) for each in zip(hints, plain, strict=True)]
    return members if get_origin(hint) is list else tuple(members)


def _one_of(hint: Any, plain: Any, _arrays: Arrays) -> Any:
    if not any(type(plain) is type(each) and plain == each for each in get_args(hint)):
        raise TypeError
    return plain


def _scalar(hint: Any, plain: Any, _arrays: Arrays) -> Any:
    """A text, a truth value, or a number: one of 64 bits or not finite; true and false are none."""
    if hint is float:
        if plain in _NOT_FINITE:
            return float(plain["$float"])
        hint = int if type(plain) is int else float
    if hint is int and not (type(plain) is int and -_LARGEST <= plain < _LARGEST):
        raise TypeError
    return _of(hint, plain)


def _of(kind: Any, plain: Any) -> Any:
    if not isinstance(plain, kind):
        raise TypeError
    return plain


def _object(kind: Any, plain: Any, arrays: Arrays) -> Any:
    """A dataclass with all its fields, or a TypedDict. No text of a file is used as a format string: a rule's stay texts."""
    hints, is_whole = _types(kind), getattr(kind, "__total__", True)
    needed = kind.__required_keys__ if is_typeddict(kind) else hints.keys()
    if not isinstance(plain, dict) or not needed <= plain.keys() or (is_whole and not plain.keys() <= hints.keys()):
        raise TypeError
    members = {key: _built(hints[key], each, arrays) if key in hints else each for key, each in plain.items()}
    if kind is Rule:
        members |= {key: members[key].replace("{", "{{").replace("}", "}}") for key in ("message", "about")}
    return members if is_typeddict(kind) else kind(**members)


def _anything(_hint: Any, plain: Any, arrays: Arrays) -> Any:
    if isinstance(plain, (list, tuple)):
        return type(plain)(_anything(Any, each, arrays) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1 and (tag := next(iter(plain))).startswith("$"):
        return _built(_TAGGED[tag], plain if tag == "$float" else plain[tag], arrays)
    return {key: _anything(Any, each, arrays) for key, each in plain.items()}


_OF_ORIGIN: Mapping[Any, Callable[[Any, Any, Arrays], Any]] = {
    Union: _optional, UnionType: _optional, dict: _mapping, Mapping: _mapping, list: _sequence, tuple: _sequence,
    Sequence: _sequence, Literal: _one_of, np.ndarray: lambda _hint, plain, arrays: arrays.pop(plain),
}  # fmt: skip
