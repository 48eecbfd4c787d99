"""The settings of a project: `rigpact.toml`, or `[tool.rigpact]` in pyproject.toml.

    baseline = "known-findings.json" # beside this file; see exceptions.py

    [severity]                       # rules that count more: a code, or the beginning of codes
    RP526 = "error"

    [[lower]]                        # what is heard less, with owner, reason and day; see exceptions.py

    [gate]                           # the questions of `rigpact gate`; see gate.py
    [geometry]                       # the functions that `rigpact check --module` calls

This module does not know how findings are made. To add a setting: a row in `KEYS`, a field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.files import bytes_to_toml, read_bytes, read_toml
from rigpact.contract.findings import Rule, Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.exceptions import KEY as LOWER
from rigpact.contract.settings.exceptions import Lowering, read_lowerings
from rigpact.contract.settings.gate import KEY as GATE
from rigpact.contract.settings.gate import GateSettings, gate_settings
from rigpact.contract.settings.table import FILE, TABLE, Key, Keys, keys_of, place_of, read_table

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


GEOMETRY = Key("functions of the training side", {}, inner=keys_of(GeometrySettings, {"functions": "function"}))


def geometry_settings(said: Mapping[str, Any], path: Path) -> GeometrySettings:
    """The settings of the values of a table; UnusableInput for a function that is left out without a reason, or stands twice."""
    functions = tuple(
        FunctionSettings(**each, place=place_of(path, "geometry", "function", number))
        for number, each in enumerate(said.get("function", ()))
    )
    named = [(each.module, each.name) for each in functions]
    for each in functions:
        if each.role == LEFT_OUT and each.reason is None:
            raise UnusableInput(each.place, "no reason", GEOMETRY.inner["function"].inner["reason"].words)
        if named.count((each.module, each.name)) > 1:
            raise UnusableInput(each.place, f"{each.name!r} more than once", "one table for each function")
    return GeometrySettings(said.get("conventions", {}), functions)


FILE_NAME = "rigpact.toml"
_PROJECT_FILE = "pyproject.toml"
FILE_NAMES = (FILE_NAME, _PROJECT_FILE)
KEYS: Keys = {
    "baseline": Key("the file of known findings, beside this one", FILE),
    "severity": Key("rules that count more: a code, or the beginning of codes", TABLE),
    "lower": LOWER,
    "gate": GATE,
    "geometry": GEOMETRY,
}
"""Every key of rigpact.toml."""
_DISARMING = ("select", "ignore", "per-path")
"""Keys that would silence errors without an owner and a day."""
_LOWER = "[[lower]] with rule, to, owner, reason and expires"
_GRAVEST_FIRST = tuple(Severity)


@dataclass(frozen=True)
class Configuration:
    """One configuration file. severity: what is heard more, by code or what codes begin with."""

    path: Path
    severity: Mapping[str, Severity] = field(default_factory=dict)
    lowerings: tuple[Lowering, ...] = ()
    baseline: Path | None = None
    gate: GateSettings | None = None
    geometry: GeometrySettings = field(default_factory=GeometrySettings)

    @property
    def says_anything(self) -> bool:
        """Whether it holds a setting: a pyproject.toml may say nothing to rigpact."""
        return self != Configuration(self.path)

    def raised(self, rule: Rule) -> Severity:
        """How bad a finding of a rule is here, before anything is lowered; the longest code that fits counts."""
        matching = [prefix for prefix in self.severity if rule.code.startswith(prefix)]
        wanted = self.severity[max(matching, key=len)] if matching else rule.severity
        return min(wanted, rule.severity, key=_GRAVEST_FIRST.index)


def find_configuration(start: Path) -> Path | None:
    """The nearest configuration in a folder, an absolute path, or above it; None if there is none."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        project = folder / _PROJECT_FILE
        if project.is_file() and _own_table(read_toml(project).data) is not None:
            return project
    return None


def read_configuration(path: Path) -> Configuration:
    """Read a configuration; UnusableInput names the key, its value and the allowed values."""
    if path.is_symlink():
        raise UnusableInput(path, "a link", "a file", "its paths are seen from its own folder: copy it here")
    return text_to_configuration(read_bytes(path), path)


def text_to_configuration(text: bytes, path: Path) -> Configuration:
    """Read the text of a configuration; `path` gives the name for errors and the folder for relative paths."""
    content = bytes_to_toml(text, path).data
    if path.name == _PROJECT_FILE:
        content = _own_table(content) or {}
    for key in _DISARMING:
        if key in content:
            hint = "an entry that silences an error needs an owner and a day"
            raise UnusableInput(place_of(path, key), f"the key {key!r}", _LOWER, hint)
    said = read_table(KEYS, content, path)
    severity = said.get("severity", {})
    return Configuration(
        path=path,
        severity={code: _severity(place_of(path, "severity", code), code, value) for code, value in severity.items()},
        lowerings=read_lowerings(said.get("lower", ()), path),
        baseline=path.resolve().parent / said["baseline"] if "baseline" in said else None,
        gate=gate_settings(said["gate"], path) if "gate" in said else None,
        geometry=geometry_settings(said.get("geometry", {}), path),
    )


def _own_table(project: dict[str, Any]) -> dict[str, Any] | None:
    """What a pyproject.toml says to rigpact; None where it says nothing."""
    tools = project.get("tool")
    own = tools.get("rigpact") if isinstance(tools, dict) else None
    return own if isinstance(own, dict) else None


def _severity(place: str, code: str, value: object) -> Severity:
    """The severity to which a code, or a family, is raised; UnusableInput if it raises nothing."""
    known = [severity.value for severity in Severity]
    if value not in known:
        raise UnusableInput(place, repr(value), f"one of {', '.join(known)}", near(str(value), known))
    rules = [rule for rule in ALL_RULES if code and rule.code.startswith(code)]
    if not rules:
        hint = near(code, [rule.code for rule in ALL_RULES])
        raise UnusableInput(place, repr(code), "a rule's code, or what codes begin with", hint)
    wanted = Severity(str(value))
    if all(_GRAVEST_FIRST.index(wanted) >= _GRAVEST_FIRST.index(rule.severity) for rule in rules):
        raise UnusableInput(
            place, f"{wanted.value!r}, which raises nothing", "a higher severity", f"lower with {_LOWER}"
        )
    return wanted
