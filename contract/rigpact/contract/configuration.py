"""What a project wants to hear: `rigpact.toml`, or `[tool.rigpact]` in pyproject.toml.

    select = ["RP1", "RP204"]        # only these; a code, or what codes begin with. Without it: all
    ignore = ["RP070"]
    baseline = "known-findings.json" # beside this file; see baseline.py

    [severity]
    RP526 = "error"

    [[per-path]]                     # for files that match one of the patterns; * goes across folders
    paths = ["clips/*"]
    ignore = ["RP533"]
    severity = {RP526 = "info"}

Nothing here knows how a finding comes about. To add a setting: a key in `_KEYS`, a field, a reader.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.findings import Severity

FILE_NAME = "rigpact.toml"
_PROJECT_FILE = "pyproject.toml"
_KEYS = ("select", "ignore", "severity", "baseline", "per-path")
_PATH_KEYS = ("paths", "ignore", "severity")


@dataclass(frozen=True)
class PathSettings:
    """What holds for some files only."""

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

    def severity_of(self, code: str, file: str, severity: Severity) -> Severity | None:
        """How bad a finding of that code in that file is; None if nobody wants to hear of it."""
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
    """The configuration that holds in a folder: the nearest one, going up; None if there is none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        project = folder / _PROJECT_FILE
        if project.is_file() and "rigpact" in _read_toml(project).get("tool", {}):
            return project
    return None


def read_configuration(path: Path) -> Configuration:
    """Read a configuration; UnusableInput names the key, what it holds, and what may stand there."""
    content = _read_toml(path)
    if path.name == _PROJECT_FILE:
        content = content.get("tool", {}).get("rigpact", {})
    _refuse_unknown(path, "", content, _KEYS)
    baseline = _text(path, "baseline", content["baseline"]) if "baseline" in content else None
    return Configuration(
        path=path,
        select=_codes(path, "select", content.get("select", [])),
        ignore=_codes(path, "ignore", content.get("ignore", [])),
        severity=_severities(path, "severity", content.get("severity", {})),
        baseline=path.resolve().parent / baseline if baseline is not None else None,
        per_path=_per_path(path, content.get("per-path", [])),
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableInput(path, f"text that is no TOML ({error})", "a TOML file") from None


def _per_path(path: Path, entries: Any) -> tuple[PathSettings, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise UnusableInput(_place(path, "per-path"), repr(entries), "tables, each headed [[per-path]]")
    read = []
    for index, entry in enumerate(entries):
        name = f"per-path[{index}]"
        _refuse_unknown(path, name, entry, _PATH_KEYS)
        patterns = entry.get("paths")
        if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) for each in patterns):
            raise UnusableInput(_place(path, f"{name}.paths"), repr(patterns), 'patterns, for example ["clips/*"]')
        ignore = _codes(path, f"{name}.ignore", entry.get("ignore", []))
        severity = _severities(path, f"{name}.severity", entry.get("severity", {}))
        read.append(PathSettings(tuple(patterns), ignore, severity))
    return tuple(read)


def _codes(path: Path, key: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise UnusableInput(_place(path, key), repr(values), 'codes, for example ["RP204", "RP1"]')
    for value in values:
        _refuse_unknown_code(path, key, value)
    return tuple(values)


def _severities(path: Path, key: str, table: Any) -> dict[str, Severity]:
    if not isinstance(table, Mapping):
        raise UnusableInput(_place(path, key), repr(table), 'a table, for example RP526 = "error"')
    known = [severity.value for severity in Severity]
    for code, value in table.items():
        _refuse_unknown_code(path, key, code)
        if value not in known:
            hint = _did_you_mean(str(value), known)
            raise UnusableInput(_place(path, f"{key}.{code}"), repr(value), f"one of {', '.join(known)}", hint)
    return {code: Severity(value) for code, value in table.items()}


def _refuse_unknown(path: Path, where: str, content: Mapping[str, Any], known: Iterable[str]) -> None:
    for key in content:
        if key not in known:
            place = _place(path, f"{where}.{key}" if where else key)
            raise UnusableInput(place, f"the key {key!r}", f"one of {', '.join(known)}", _did_you_mean(key, known))


def _refuse_unknown_code(path: Path, key: str, code: str) -> None:
    if not code or not any(known.startswith(code) for known in known_codes()):
        expected = "a rule's code, or what codes begin with"
        raise UnusableInput(_place(path, key), repr(code), expected, _did_you_mean(code, known_codes()))


@cache
def known_codes() -> tuple[str, ...]:
    """Every code; the rules are imported only when somebody names one."""
    from rigpact.contract.rules import ALL_RULES

    return tuple(rule.code for rule in ALL_RULES)


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UnusableInput(_place(path, key), repr(value), "a file name")
    return value


def _place(path: Path, key: str) -> str:
    return f"{path}: {key}"


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    spelt = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), spelt, n=9, cutoff=0.5)
    if not close:
        return ""
    # letters in their places count most: of all that is near RP07O, RP070 was meant
    best = max(close, key=lambda each: sum(a == b for a, b in zip(each, word.lower(), strict=False)))
    return f"{spelt[best]!r} was meant?"
