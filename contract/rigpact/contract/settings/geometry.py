"""The table [geometry] of a project: what its own rotation functions are, for `rigpact check --module`.

This module reads the text. Whether a role or a shape exists is known where the functions are called
(rigpact.reports.geometry_parity.examination). To add a key: a row in `KEYS`, a field, a reader.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.table import SettingsTable

KEYS: Mapping[str, Mapping[str, str]] = {
    "geometry": {
        "conventions": "table of conventions that the functions follow, KNOB = VALUE; `--set` wins over it",
        "function": "tables, see below: the role of a function, and how it is called",
    },
    "geometry.function": {
        "name": "the function in its module, for example `rot6d_to_matrix` or `Rotations.log`; required",
        "module": "the module that it is in, as the command names it; every module if absent",
        "role": "its role, see docs/geometry.md; from its name if absent, `none` leaves it out",
        "reason": "why it is left out; required with role `none`",
        "shape": "how values stand in an array: `(N, *)`, `(N, J, *)`, `(N, J*)`, `(B, T, J, *)`, `(B, T, J*)` or `(*)`; a "
        "sequence `(T, J, *)`, `(B, T, J, *)`, `(B, T, *)`, `(T, J*)`, `(B, T, J*)` or `(T, *)`. Tried out if absent",
        "takes": "its arguments, where a value is split: `axis, angle`, `angle, axis`, `three angles` or `point, quat`",
        "bones": "how many bones it wants, if it wants a certain number",
        "order": "of Euler axes: `ZYX` about the moving axes, `zyx` about the fixed ones",
        "degrees": "`true` if its angles are degrees",
    },
}
"""Every key by table, in words."""


@dataclass(frozen=True)
class FunctionSettings:
    """What is declared of one function. place: where it stands in the settings, for error messages."""

    name: str
    module: str | None = None
    role: str | None = None
    shape: str | None = None
    takes: str | None = None
    bones: int | None = None
    order: str | None = None
    degrees: bool = False
    reason: str | None = None
    place: str = field(default="[[geometry.function]]", compare=False)


@dataclass(frozen=True)
class GeometrySettings:
    """What is declared of a training side's functions."""

    conventions: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[FunctionSettings, ...] = ()


def read_geometry_settings(table: SettingsTable) -> GeometrySettings:
    """Read the table; UnusableInput names the key, its value and the allowed values."""
    table.refuse_unknown(KEYS["geometry"])
    functions = tuple(_function(entry.refuse_unknown(KEYS["geometry.function"])) for entry in table.tables("function"))
    named = [(each.module, each.name) for each in functions]
    for each in functions:
        if named.count((each.module, each.name)) > 1:
            raise UnusableInput(each.place, f"{each.name!r} more than once", "one table for each function")
    return GeometrySettings(dict(table.table("conventions").content), functions)


LEFT_OUT = "none"
_TEXTS = {
    "module": "a module or a file", "role": "a role, or none", "shape": "a shape, for example (B, T, J, *)",
    "takes": "its arguments, for example axis, angle", "order": "an order, for example ZYX", "reason": "a reason",
}  # fmt: skip


def _function(entry: SettingsTable) -> FunctionSettings:
    if entry.content.get("role") == LEFT_OUT:
        entry.required_text("reason", KEYS["geometry.function"]["reason"])
    name = entry.required_text("name", KEYS["geometry.function"]["name"])
    said = {key: entry.text(key, expected) for key, expected in _TEXTS.items()}
    return FunctionSettings(
        name, **said, bones=entry.count("bones"), degrees=entry.flag("degrees"), place=entry.place()
    )
