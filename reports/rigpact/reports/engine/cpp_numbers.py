"""A contract's constants as C++ constants: objects as namespaces, tables as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.engine.cpp_text import identifiers, lines, string_literal

_INT32 = 2**31


def declarations(constants: Mapping[str, Any], place: str) -> Iterator[str]:
    """The lines that declare all constants; an object becomes a namespace."""
    for cpp, (name, value) in zip(identifiers(constants), constants.items(), strict=True):
        if isinstance(value, Mapping):
            yield f"namespace {cpp} {{"
            yield from declarations(value, f"{place}#/{name}")
            yield f"}}  // namespace {cpp}"
        else:
            yield from declaration(cpp, value, f"{place}#/{name}")


def declaration(cpp: str, value: Any, place: str) -> list[str]:
    """The lines that declare one constant. Entries that form no table are declared one by one, numbered by place."""
    if value is None or value == []:
        return [f"// {cpp}: empty"]
    leaves, shape = list(_leaves(value)), _shape(value)
    kind = _type(leaves, place)
    if shape is None or kind is None:
        nested = {f"{cpp}_{index}": each for index, each in enumerate(value)}
        return list(declarations(nested, place))
    if not shape:
        return [f"inline constexpr {kind} {cpp}{'[]' if kind == 'char' else ''} = {_literal(value)};"]
    sizes = "".join(f"[{size}]" for size in shape)
    return [f"inline constexpr {'const char*' if kind == 'char' else kind} {cpp}{sizes} = {{", *_table(value), "};"]


def _table(value: Sequence[Any]) -> list[str]:
    """The lines between the braces of an array."""
    if not isinstance(value[0], list | tuple):
        return [f"    {line}," for line in lines([_literal(each) for each in value])]
    return [line for row in value for line in ("    {", *(f"    {each}" for each in _table(row)), "    },")]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _shape(value: Any) -> tuple[int, ...] | None:
    """The sizes of a table, () for a single value; None if rows differ in length."""
    if not isinstance(value, list | tuple):
        return ()
    inner = {_shape(each) for each in value}
    only = inner.pop() if len(inner) == 1 else None
    return None if only is None or 0 in (len(value), *only) else (len(value), *only)


def _type(leaves: Sequence[Any], place: str) -> str | None:
    """The common C++ type of all leaves; None if there is none."""
    if all(isinstance(leaf, bool) for leaf in leaves):
        return "bool"
    if all(isinstance(leaf, str) for leaf in leaves):
        return "char"
    if any(isinstance(leaf, bool) or not isinstance(leaf, int | float) for leaf in leaves):
        return None
    if not all(math.isfinite(leaf) for leaf in leaves):
        raise UnusableInput(place, "a number that is not finite", "finite numbers")
    is_whole = all(isinstance(leaf, int) and -_INT32 < leaf < _INT32 for leaf in leaves)
    return "int" if is_whole else "double"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_literal(value)
    return str(value) if isinstance(value, int) and -_INT32 < value < _INT32 else repr(float(value))
