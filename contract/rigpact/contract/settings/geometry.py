"""The table [geometry] of a project: what its own rotation functions are, for `rigpact check --module`.

Whether a role or a shape exists is known where the functions are called (rigpact.reports.geometry_parity.examination). To add a
key: a field with its words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.table import Key, keys_of, place_of, tables_of

LEFT_OUT = "none"


@dataclass(frozen=True)
class FunctionSettings:
    """What is declared of one function. place: where it stands in the settings, for error messages."""

    name: Annotated[str, "the function in its module, for example `rot6d_to_matrix` or `Rotations.log`; required"]
    module: Annotated[str | None, "the module that it is in, as the command names it; every module if absent"] = None
    role: Annotated[str | None, "its role, see docs/geometry.md; from its name if absent, `none` leaves it out"] = None
    reason: Annotated[str | None, "why it is left out; required with role `none`"] = None
    shape: Annotated[
        str | None,
        "how values stand in an array: `(N, *)`, `(N, J, *)`, `(N, J*)`, `(B, T, J, *)`, `(B, T, J*)` or `(*)`; a sequence "
        "`(T, J, *)`, `(B, T, J, *)`, `(B, T, *)`, `(T, J*)`, `(B, T, J*)` or `(T, *)`. Tried out if absent",
    ] = None
    takes: Annotated[
        str | None,
        "its arguments, where a value is split: `axis, angle`, `angle, axis`, `three angles` or `point, quat`",
    ] = None
    bones: Annotated[int | None, "how many bones it wants, if it wants a certain number"] = None
    order: Annotated[str | None, "of Euler axes: `ZYX` about the moving axes, `zyx` about the fixed ones"] = None
    degrees: Annotated[bool, "`true` if its angles are degrees"] = False
    place: str = field(default="[[geometry.function]]", compare=False)


@dataclass(frozen=True)
class GeometrySettings:
    """What is declared of a training side's functions."""

    conventions: Annotated[
        Mapping[str, Any], "table of conventions that the functions follow, KNOB = VALUE; `--set` wins over it"
    ] = field(default_factory=dict)
    functions: Annotated[
        tuple[FunctionSettings, ...], "tables, see below: the role of a function, and how it is called"
    ] = ()


KEY = Key("functions of the training side", {}, inner=keys_of(GeometrySettings, {"functions": "function"}))
KEYS = dict(tables_of("geometry", KEY.inner))
"""The keys of every table by its dotted name."""


def geometry_settings(said: Mapping[str, Any], path: Path) -> GeometrySettings:
    """The settings of the values of a table; UnusableInput for a function that is left out without a reason, or stands twice."""
    functions = tuple(
        FunctionSettings(**each, place=place_of(path, "geometry", "function", number))
        for number, each in enumerate(said.get("function", ()))
    )
    named = [(each.module, each.name) for each in functions]
    for each in functions:
        if each.role == LEFT_OUT and each.reason is None:
            raise UnusableInput(each.place, "no reason", KEYS["geometry.function"]["reason"].words)
        if named.count((each.module, each.name)) > 1:
            raise UnusableInput(each.place, f"{each.name!r} more than once", "one table for each function")
    return GeometrySettings(said.get("conventions", {}), functions)
