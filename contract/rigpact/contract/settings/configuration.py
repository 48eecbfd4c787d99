"""The settings of a project: `rigpact.toml`, or `[tool.rigpact]` in pyproject.toml.

    select = ["RP1", "RP204"]        # only these; a code, or what codes begin with. Without it: all
    ignore = ["RP070"]
    baseline = "known-findings.json" # beside this file; see baseline.py

    [severity]
    RP526 = "error"

    [[per-path]]                     # for files that match one of the patterns; * goes across folders
    paths = ["clips/*"]
    ignore = ["RP533"]
    severity = {RP526 = "info"}

    [gate]                           # the questions of `rigpact gate`; see gate.py
    [geometry]                       # the functions that `rigpact geometry` calls; see geometry.py

This module does not know how findings are made. To add a setting: a key in `_KEYS`, a field, a reader.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.findings import Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.gate import GateSettings, read_gate_settings
from rigpact.contract.settings.geometry import GeometrySettings, read_geometry_settings
from rigpact.contract.settings.table import SettingsTable, did_you_mean

FILE_NAME = "rigpact.toml"
_PROJECT_FILE = "pyproject.toml"
_KEYS = ("select", "ignore", "severity", "baseline", "per-path", "gate", "geometry")
_PATH_KEYS = ("paths", "ignore", "severity")


@dataclass(frozen=True)
class PathSettings:
    """Settings for some files only."""

    paths: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)

    def covers(self, name: str) -> bool:
        """Whether a file, named relative to the configuration, matches one of the patterns."""
        return any(fnmatchcase(name, pattern) for pattern in self.paths)


@dataclass(frozen=True)
class Configuration:
    """One configuration file; `select` empty means all rules."""

    path: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    baseline: Path | None = None
    per_path: tuple[PathSettings, ...] = ()
    gate: GateSettings | None = None
    geometry: GeometrySettings = field(default_factory=GeometrySettings)

    def severity_of(self, code: str, file: str, severity: Severity) -> Severity | None:
        """How bad a finding of that code in that file is; None if the project ignores it."""
        name = self._relative(file)
        local = [settings for settings in self.per_path if settings.covers(name)]
        ignored = (*self.ignore, *(prefix for settings in local for prefix in settings.ignore))
        if (self.select and not code.startswith(self.select)) or code.startswith(ignored):
            return None
        for overrides in (*(settings.severity for settings in reversed(local)), self.severity):
            severity_here = _longest_match(overrides, code)
            if severity_here is not None:
                return severity_here
        return severity

    def _relative(self, file: str) -> str:
        folder, path = self.path.resolve().parent, Path(file).resolve()
        return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def _longest_match(overrides: Mapping[str, Severity], code: str) -> Severity | None:
    matching = [prefix for prefix in overrides if code.startswith(prefix)]
    return overrides[max(matching, key=len)] if matching else None


def find_configuration(start: Path) -> Path | None:
    """The nearest configuration in a folder or above it; None if there is none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        project = folder / _PROJECT_FILE
        if project.is_file() and "rigpact" in _read_toml(project).get("tool", {}):
            return project
    return None


def read_configuration(path: Path) -> Configuration:
    """Read a configuration; UnusableInput names the key, its value and the allowed values."""
    return text_to_configuration(read_bytes(path), path)


def text_to_configuration(text: bytes, path: Path) -> Configuration:
    """Read the text of a configuration; `path` gives the name for errors and the folder for relative paths."""
    content = _parse_toml(text, path)
    if path.name == _PROJECT_FILE:
        content = content.get("tool", {}).get("rigpact", {})
    table = SettingsTable(path, "", content).refuse_unknown(_KEYS)
    baseline = table.text("baseline")
    return Configuration(
        path=path,
        select=_codes(table, "select"),
        ignore=_codes(table, "ignore"),
        severity=_severities(table, "severity"),
        baseline=path.resolve().parent / baseline if baseline is not None else None,
        per_path=tuple(_per_path(entry) for entry in table.tables("per-path")),
        gate=read_gate_settings(table.table("gate")) if "gate" in content else None,
        geometry=read_geometry_settings(table.table("geometry")),
    )


def _read_toml(path: Path) -> dict[str, Any]:
    return _parse_toml(read_bytes(path), path)


def _parse_toml(text: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableInput(path, f"text that is no TOML ({error})", "a TOML file") from None


def _per_path(entry: SettingsTable) -> PathSettings:
    entry.refuse_unknown(_PATH_KEYS)
    patterns = entry.content.get("paths")
    if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) for each in patterns):
        raise UnusableInput(entry.place("paths"), repr(patterns), 'patterns, for example ["clips/*"]')
    return PathSettings(tuple(patterns), _codes(entry, "ignore"), _severities(entry, "severity"))


def _codes(table: SettingsTable, key: str) -> tuple[str, ...]:
    values = table.content.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise UnusableInput(table.place(key), repr(values), 'codes, for example ["RP204", "RP1"]')
    for value in values:
        _refuse_unknown_code(table.place(key), value)
    return tuple(values)


def _severities(table: SettingsTable, key: str) -> dict[str, Severity]:
    overrides = table.content.get(key, {})
    if not isinstance(overrides, Mapping):
        raise UnusableInput(table.place(key), repr(overrides), 'a table, for example RP526 = "error"')
    known = [severity.value for severity in Severity]
    for code, value in overrides.items():
        _refuse_unknown_code(table.place(key), code)
        if value not in known:
            hint = did_you_mean(str(value), known)
            place = table.place(f"{key}.{code}")
            raise UnusableInput(place, repr(value), f"one of {', '.join(known)}", hint)
    return {code: Severity(value) for code, value in overrides.items()}


def _refuse_unknown_code(place: str, code: str) -> None:
    if not code or not any(known.startswith(code) for known in known_codes()):
        expected = "a rule's code, or what codes begin with"
        raise UnusableInput(place, repr(code), expected, did_you_mean(code, known_codes()))


def known_codes() -> tuple[str, ...]:
    """Every code."""
    return tuple(rule.code for rule in ALL_RULES)
