"""Known findings: each has an owner, a reason and a day on which it ends.

The fingerprint of a finding (rule, file name, pointer) identifies it, so a changed number does not make it new. A known
finding is waived: it leaves the report, and the ledger counts it. After its day it stays in the report, and the waiver
itself becomes a finding too (hearing.py).
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile, read_json, write_bytes
from rigpact.contract.findings import Finding, fingerprint_of
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.contract.settings.days import LetBe, parse_day

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
