"""The tables `[[lower]]` of rigpact.toml: one rule each that a project hears less of, for a while.

    [[lower]]
    rule = "RP533"
    to = "info"                  # warning, info, or ignore
    paths = ["clips/props/*"]    # only in these files; in all without it
    owner = "Ana"
    reason = "props turn faster than limbs"
    expires = "2027-03-31"

Each is a debt as a waiver is: it has an owner, a reason and a last day, and every answer shows it. A family of rules cannot be
lowered, nor can the rules that say what is lowered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.answers import baseline, gate
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.days import parse_day
from rigpact.contract.settings.table import SettingsTable, did_you_mean

IGNORE = "ignore"
GRADES = (Severity.WARNING.value, Severity.INFO.value, IGNORE)
KEYS: Mapping[str, str] = {
    "rule": "one rule's code; a family of rules cannot be lowered",
    "to": f"the severity of its findings: one of {', '.join(GRADES)}",
    "paths": "only in files that match a pattern, seen from this file; `*` goes across folders; all files if absent",
    "owner": "the owner",
    "reason": "why it may stay for now",
    "expires": "the last day on which it holds, YYYY-MM-DD, at most a year ahead",
}
"""Every key of `[[lower]]`, in words; docs/configuration.md is generated from it."""
ABOUT_THE_SETTINGS = frozenset(
    rule.code
    for rule in (
        *baseline.TEXTS.rules,
        gate.PART_WAIVED,
        gate.PART_WAIVER_EXPIRED,
        gate.PART_WAIVER_UNUSED,
        gate.LET_BE,
    )
)


@dataclass(frozen=True)
class Lowering(AsJson):
    """One rule that a project hears less of. paths: empty for all files; index: its place in the settings."""

    KEYS = "code: rule to paths owner reason expires"
    rule: str
    to: str
    paths: tuple[str, ...]
    owner: str
    reason: str
    expires: str
    index: int

    def holds(self, today: date) -> bool:
        """Whether its day has not passed."""
        return today <= date.fromisoformat(self.expires)

    def covers(self, finding: Finding, folder: Path) -> bool:
        """Whether it is about a finding; `folder` is the configuration's."""
        return finding.rule.code == self.rule and (not self.paths or self._matches(Path(finding.file), folder))

    def _matches(self, file: Path, folder: Path) -> bool:
        path, root = file.resolve(), folder.resolve()
        name = (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
        return any(fnmatchcase(name, pattern) for pattern in self.paths)

    @property
    def scope(self) -> str:
        """Where it holds, in words."""
        return ", ".join(self.paths) or "all files"


def read_lowerings(tables: tuple[SettingsTable, ...]) -> tuple[Lowering, ...]:
    """Read every table; UnusableInput names the key, its value and the allowed values."""
    return tuple(_lowering(table.refuse_unknown(KEYS), index) for index, table in enumerate(tables))


def _lowering(table: SettingsTable, index: int) -> Lowering:
    code, to, owner, reason, expires = (
        table.required_text(key, KEYS[key]) for key in ("rule", "to", "owner", "reason", "expires")
    )
    _refuse_other_rules(table.place("rule"), code)
    if to not in GRADES:
        raise UnusableInput(table.place("to"), repr(to), f"one of {', '.join(GRADES)}", did_you_mean(to, GRADES))
    parse_day(expires, table.place("expires"))
    paths = table.texts("paths", 'patterns, for example ["clips/*"]')
    for pattern in paths:
        if not set(pattern) - set("*?/."):
            raise UnusableInput(table.place("paths"), repr(pattern), "patterns of some files", "all files: no `paths`")
    return Lowering(code, to, paths, owner, reason, expires, index)


def _refuse_other_rules(place: str, code: str) -> None:
    known = [rule.code for rule in ALL_RULES]
    if code in ABOUT_THE_SETTINGS:
        raise UnusableInput(
            place, repr(code), "another rule", "this rule reports the exceptions of the project's settings"
        )
    if code in known:
        return
    is_family = any(each.startswith(code) for each in known)
    hint = "a family cannot be lowered: name each rule with its own reason" if is_family else did_you_mean(code, known)
    raise UnusableInput(place, repr(code), "one rule's code", hint)
