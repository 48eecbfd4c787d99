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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.answers import baseline, gate
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.days import LetBe
from rigpact.contract.settings.table import TABLES, Expires, Key, Owner, Reason, keys_of, place_of

IGNORE = "ignore"
GRADES = (Severity.WARNING.value, Severity.INFO.value, IGNORE)
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
class Lowering(LetBe, AsJson):
    """One rule that a project hears less of. paths: empty for all files; index: its place in the settings."""

    KEYS = "code: rule to paths owner reason expires"
    rule: Annotated[str, "one rule's code; a family of rules cannot be lowered"]
    to: Annotated[str, {"enum": list(GRADES)}, f"the severity of its findings: one of {', '.join(GRADES)}"]
    owner: Owner
    reason: Reason
    expires: Expires
    index: int
    paths: Annotated[
        tuple[str, ...],
        "only in files that match a pattern, seen from this file; `*` goes across folders; all files if absent",
    ] = ()

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


KEY = Key("rules that count less, until a day", TABLES, inner=keys_of(Lowering))


def read_lowerings(said: Sequence[Mapping[str, Any]], path: Path) -> tuple[Lowering, ...]:
    """The lowered rules of the values of the tables; UnusableInput for a code of no rule, and for patterns of all files."""
    found = tuple(Lowering(index=index, **each) for index, each in enumerate(said))
    for each in found:
        _refuse_other_rules(place_of(path, "lower", each.index, "rule"), each.rule)
        for pattern in each.paths:
            if not set(pattern) - set("*?/."):
                place = place_of(path, "lower", each.index, "paths")
                raise UnusableInput(place, repr(pattern), "patterns of some files", "all files: no `paths`")
    return found


def _refuse_other_rules(place: str, code: str) -> None:
    known = [rule.code for rule in ALL_RULES]
    if code in ABOUT_THE_SETTINGS:
        raise UnusableInput(
            place, repr(code), "another rule", "this rule reports the exceptions of the project's settings"
        )
    if code in known:
        return
    is_family = any(each.startswith(code) for each in known)
    hint = "a family cannot be lowered: name each rule with its own reason" if is_family else near(code, known)
    raise UnusableInput(place, repr(code), "one rule's code", hint)
