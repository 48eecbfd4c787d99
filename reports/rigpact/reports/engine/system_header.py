"""The C++ header of a declared system's contract: layout, numbers, conventions, conformance vectors and a self-test.

It needs only rigpact/sha256.hpp. The engine keeps its own loop, runs its stages on the given rows, and passes the
results in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.system import SystemContract
from rigpact.reports.engine.cpp_text import (
    comment,
    enumerator,
    float_lines,
    identifier,
    identifiers,
    lines,
    rounded_up,
    string_literal,
    template,
    type_name,
)
from rigpact.reports.engine.stage_vectors import FRAMES, stage_vectors

_INT32 = 2**31
_UNKNOWN = -1.0
"""The tolerance that marks a number as not compared."""


def system_header(contract: SystemContract, namespace: str, model_sha256: str | None = None) -> str:
    """The header of one contract file; UnusableInput for a number that is not finite."""
    system, vectors = contract.system, stage_vectors(contract)
    cpp = dict(zip(system.graph.names, identifiers(system.graph.names), strict=True))
    rendered: str = template("system.hpp.j2").render(
        namespace=namespace,
        file=comment(contract.path.name),
        system=string_literal(system.name),
        sha256=contract.sha256,
        model_sha256=model_sha256,
        meaning_sha256=contract.hashes["meaning_sha256"],
        conventions_sha256=contract.hashes["conventions_sha256"],
        fps=repr(float(contract.fps or 0.0)),
        frames=FRAMES,
        layouts=[_layout(cpp[name], name, contract.fields(name)) for name in system.graph.names],
        numbers=list(_numbers(contract.constants, str(contract.path))),
        conventions=[_convention(knob, contract.conventions[name]) for name, knob in system.knobs.items()],
        given=[_rows(cpp[name], name, rows) for name, rows in vectors.given.items()],
        expected=[
            _rows(cpp[name], name, rows)
            | {
                "tolerance": float_lines(np.where(np.isnan(bound), _UNKNOWN, rounded_up(bound))),
                "signless": system.graph[name].measure.has_signless_quaternions,
            }
            for (name, rows), bound in zip(vectors.expected.items(), vectors.tolerance.values(), strict=True)
        ],
        left_out=", ".join(name for name in system.graph.names if name not in {*vectors.given, *vectors.expected}),
    )
    return rendered


def system_asserts(contract: SystemContract) -> list[str]:
    """What engine code was written for, as expressions of the header: the width of each stage."""
    names = contract.system.graph.names
    pairs = zip(identifiers(names), names, strict=True)
    return [f"layout::{cpp}::kWidth == {contract.fields(name).width}" for cpp, name in pairs]


def _layout(cpp: str, name: str, layout: FieldLayout) -> dict[str, Any]:
    names = identifiers("_".join(filter(None, (field.name, field.bone))) for field in layout)
    return {
        "cpp": cpp,
        "name": comment(name),
        "width": layout.width,
        "hash": layout.layout_hash,
        "fields": [_field(own, field) for own, field in zip(names, layout, strict=True)],
    }


def _field(cpp: str, field: Field) -> dict[str, Any]:
    words = ("name", "bone", "kind", "unit", "space")
    said = ", ".join(filter(None, (field.kind.value, field.unit, field.space)))
    literals = {word: string_literal(str(getattr(field, word))) for word in words}
    return {"cpp": cpp, "start": field.start, "size": field.size, "comment": comment(said), **literals}


def _rows(cpp: str, name: str, rows: FloatArray) -> dict[str, Any]:
    return {"cpp": cpp, "literal": string_literal(name), "width": rows.shape[1], "lines": float_lines(rows)}


def _convention(knob: Knob, value: Any) -> dict[str, Any]:
    """A knob as an enumeration with the contract's choice; an order of parts becomes an array."""
    name = type_name(identifier(knob.name))
    own = {"cpp": f"k{name}", "type": name, "meaning": comment(knob.meaning)}
    if not isinstance(value, str):
        return {**own, "array": _declaration(f"k{name}", list(value), knob.name)}
    choices = identifiers(enumerator(each) for each in knob.values)
    return {**own, "array": None, "choices": choices, "value": choices[knob.values.index(value)]}


def _numbers(constants: Mapping[str, Any], place: str) -> Iterator[str]:
    """The lines that declare all constants; an object becomes a namespace."""
    for cpp, (name, value) in zip(identifiers(constants), constants.items(), strict=True):
        if isinstance(value, Mapping):
            yield f"namespace {cpp} {{"
            yield from _numbers(value, f"{place}#/{name}")
            yield f"}}  // namespace {cpp}"
        else:
            yield from _declaration(cpp, value, f"{place}#/{name}")


def _declaration(cpp: str, value: Any, place: str) -> list[str]:
    """The lines that declare one constant. Entries that form no table are declared one by one, numbered by place."""
    if value is None or value == []:
        return [f"// {cpp}: empty"]
    leaves, shape = list(_leaves(value)), _shape(value)
    kind = _type(leaves, place)
    if shape is None or kind is None:
        nested = {f"{cpp}_{index}": each for index, each in enumerate(value)}
        return list(_numbers(nested, place))
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
