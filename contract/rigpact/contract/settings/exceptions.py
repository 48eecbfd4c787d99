"""What a project lets be, each with an owner, a reason and a day on which it ends: known findings, and the tables `[[lower]]`.

The fingerprint of a finding (rule, file name, pointer) identifies it, so a changed number does not make it new. A known
finding is waived: it leaves the report, and the ledger counts it. After its day it stays in the report, and the waiver
itself becomes a finding too (hearing.py).

    [[lower]]
    rule = "RP533"
    to = "info"                  # warning, info, or ignore
    paths = ["clips/props/*"]    # only in these files; in all without it
    owner = "Ana"
    reason = "props turn faster than limbs"
    expires = "2027-03-31"

A family of rules cannot be lowered, nor can the rules that say what is lowered.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Annotated, Any

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.files import JsonFile, read_json, write_bytes
from rigpact.contract.findings import Finding, Severity, fingerprint_of
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.family import answers
from rigpact.contract.rules.structure import check_against_schema
from rigpact.contract.settings.table import TABLES, Expires, Key, LetBe, Owner, Reason, keys_of, parse_day, place_of

FORMAT, VERSION = "rigpact-baseline", 1


@dataclass(frozen=True)
class Waiver(LetBe):
    """One known finding. `expires`: the last day on which it holds, YYYY-MM-DD."""

    fingerprint: str
    code: str
    file: str
    pointer: str
    owner: str
    reason: str
    expires: str

    @property
    def place(self) -> str:
        """Where the finding is."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file


def read_baseline(path: Path) -> tuple[Waiver, ...]:
    """Read a file of known findings; UnusableInput where an entry lacks its owner, its reason or its day."""
    return waivers_of(read_json(path, is_updated=True), path)


def waivers_of(file: JsonFile, path: Path) -> tuple[Waiver, ...]:
    """The entries of a file that was read."""
    data = file.data
    for pointer, message in check_against_schema(data, "baseline"):
        raise UnusableInput(f"{path}#{pointer}", message, "a file that `rigpact check --write-baseline` writes")
    waivers = tuple(Waiver(**entry) for entry in data["findings"])
    for index, waiver in enumerate(waivers):
        place = f"{path}#{json_pointer('findings', index)}"
        parse_day(waiver.expires, f"{place}/expires")
        if waiver.fingerprint != fingerprint_of(waiver.code, waiver.file, waiver.pointer):
            found = f"the fingerprint of another finding than {waiver.code} at {waiver.place}"
            raise UnusableInput(f"{place}/fingerprint", found, "an entry that `rigpact check --write-baseline` writes")
    return waivers


def write_baseline(path: Path, findings: Iterable[Finding], owner: str, reason: str, expires: str) -> int:
    """Write findings as known; return how many. All get the same owner, reason and day; edit the file to change one."""
    waivers = {
        finding.fingerprint: Waiver(
            fingerprint=finding.fingerprint, code=finding.rule.code, file=PurePath(finding.file).name,
            pointer=finding.pointer, owner=owner, reason=reason, expires=expires,
        )
        for finding in findings
    }  # fmt: skip
    ordered = sorted(waivers.values(), key=lambda waiver: (waiver.file, waiver.code, waiver.pointer))
    document = {"format": FORMAT, "version": VERSION, "findings": [asdict(waiver) for waiver in ordered]}
    write_bytes(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    return len(ordered)


IGNORE = "ignore"
GRADES = (Severity.WARNING.value, Severity.INFO.value, IGNORE)
_ABOUT_PARTS = (answers.PART_WAIVED, answers.PART_WAIVER_EXPIRED, answers.PART_WAIVER_UNUSED, answers.LET_BE)
ABOUT_THE_SETTINGS = frozenset(rule.code for rule in (*answers.families["BASELINE"].rules, *_ABOUT_PARTS))


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
