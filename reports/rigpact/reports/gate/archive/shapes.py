"""Whether a value that was read has the type that its place declares: what comes from a file is believed only after this.

The types are those of the program itself: the annotations of its dataclasses, and a TypedDict for each object of an archive.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_LARGEST = 1 << 63
Counts = Annotated[list[int], int, int, int]
"""A list of exactly these: declared, compared, waived."""


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. `Annotated[list[X], A, B]` is a list of exactly an A and a B.

    A TypedDict has its keys and no others; one with total=False may lack some of them, and have others.
    """
    if hint is Any:
        return True
    if is_typeddict(hint):
        return _fits_keys(value, hint)
    check = _OF_ORIGIN.get(get_origin(hint))
    return check(value, get_args(hint)) if check is not None else _is_of(value, hint)


@cache
def fields_of(kind: Any) -> Mapping[str, Any]:
    """The annotations of a dataclass or a TypedDict."""
    return get_type_hints(kind, include_extras=True)


def _is_of(value: Any, kind: Any) -> bool:
    """A number is one of 64 bits; true and false are none."""
    if kind in (int, float):
        is_whole = isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST
        return is_whole or (kind is float and isinstance(value, float))
    return isinstance(value, type(None) if kind is None else kind)


def _fits_keys(value: Any, kind: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    known, is_whole = fields_of(kind), kind.__total__
    for name, hint in known.items():
        may_lack = not is_whole or get_origin(hint) is NotRequired
        if name in value and not fits(value[name], get_args(hint)[0] if get_origin(hint) is NotRequired else hint):
            return False
        if name not in value and not may_lack:
            return False
    return not is_whole or value.keys() <= known.keys()


def _fits_all(values: Sequence[Any], hints: Sequence[Any]) -> bool:
    return len(values) == len(hints) and all(fits(each, hint) for each, hint in zip(values, hints, strict=True))


def _fits_tuple(value: Any, inside: Sequence[Any]) -> bool:
    if not isinstance(value, tuple):
        return False
    if inside[1:] == (...,):
        return all(fits(each, inside[0]) for each in value)
    return _fits_all(value, inside)


def _fits_list(value: Any, inside: Sequence[Any]) -> bool:
    return isinstance(value, list) and all(fits(each, inside[0]) for each in value)


def _fits_mapping(value: Any, inside: Sequence[Any]) -> bool:
    return isinstance(value, Mapping) and all(
        fits(key, inside[0]) and fits(each, inside[1]) for key, each in value.items()
    )


def _fits_one(value: Any, inside: Sequence[Any]) -> bool:
    return any(fits(value, hint) for hint in inside)


def _is_literal(value: Any, inside: Sequence[Any]) -> bool:
    return any(type(value) is type(each) and value == each for each in inside)


def _fits_row(value: Any, inside: Sequence[Any]) -> bool:
    return isinstance(value, list) and _fits_all(value, inside[1:])


_OF_ORIGIN: Mapping[Any, Callable[[Any, Sequence[Any]], bool]] = {
    tuple: _fits_tuple, list: _fits_list, dict: _fits_mapping, Mapping: _fits_mapping, Literal: _is_literal,
    Union: _fits_one, types.UnionType: _fits_one, Annotated: _fits_row,
}  # fmt: skip
