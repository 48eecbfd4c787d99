"""Findings: what is wrong with an artefact, as data.

A `Rule` is the text, a `Finding` one occurrence with its place and its numbers, a `Ledger` the account of what was
looked at, a `FindingsReport` the whole answer with its verdict. Renderers (rigpact.reports) read these and nothing else;
nothing parses message text. The rules themselves stand in rules/rules.toml.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Any, Literal

from rigpact.contract.as_json import AsJson
from rigpact.contract.json_pointer import Token, json_pointer

Verdict = Literal["pass", "fail", "undetermined"]
EXIT_PASS, EXIT_FINDINGS, EXIT_CANNOT_JUDGE, EXIT_INTERNAL = 0, 1, 2, 3


class Severity(StrEnum):
    """How bad a finding is. An error fails the run; a warning fails it with `--strict`; information never fails it."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_COUNTED = re.compile(r"\{(\w+):([a-z]{2,})\}")


def number_of(count: int, word: str) -> str:
    """`1 cause`, `2 causes`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Rule:
    """One thing that can be wrong: its code, its name (the problem, not the check) and its texts.

    `message` and `about` are format strings over the finding's values. `engine_refuses` marks what `LoadSchemaAndStats` fails on.
    `about`: the one edit of a file that fixes what this and other rules find. `follows`: codes of rules from whose finding in the
    same file this one follows.
    """

    code: str
    name: str
    message: str
    hint: str
    why: str
    severity: Severity = field(default=Severity.ERROR, kw_only=True)
    engine_refuses: bool = False
    about: str = ""
    follows: tuple[str, ...] = ()

    def at(self, file: object, place: str | tuple[Token, ...] = "", /, **values: Any) -> Finding:
        """Make a finding of this rule at a place in a file: a JSON pointer, or its keys and indices."""
        return Finding(self, str(file), place if isinstance(place, str) else json_pointer(*place), values)


@dataclass(frozen=True)
class Finding(AsJson):
    """One occurrence of a rule: the file, the RFC 6901 pointer (or ONNX or trace location) and the numbers.

    A finding that amounts to an edit has it in its values: `says = {"angvel_angle": "half"}`, what is changed and to what.
    """

    KEYS = "code: rule.code name: rule.name severity: rule.severity file pointer message hint: rule.hint fingerprint"
    rule: Rule
    file: str
    pointer: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The rule's message with this finding's numbers in it; `{count:frame}` is a number with its noun."""
        whole = _COUNTED.sub(lambda found: number_of(self.values[found[1]], found[2]), self.rule.message)
        return whole.format_map(self.values)

    @property
    def place(self) -> str:
        """`file#pointer`, or the file alone."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file

    @property
    def about(self) -> str:
        """What its rule is about, with this finding's numbers in it."""
        return self.rule.about.format_map(self.values)

    @property
    def says(self) -> Mapping[str, Any]:
        """The edit that this finding amounts to; empty where it names none."""
        says = self.values.get("says")
        return says if isinstance(says, Mapping) else {}

    @property
    def fingerprint(self) -> str:
        """A name for this finding that stays the same under other paths and changed numbers."""
        return fingerprint_of(self.rule.code, self.file, self.pointer)


def fingerprint_of(code: str, file: str, pointer: str) -> str:
    """The fingerprint of a finding of that code at that place; of the file's path, only its name counts."""
    identity = "\0".join((code, PurePath(file).name, pointer))
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Ledger(AsJson):
    """The account behind a verdict: everything declared was compared, waived with a reason, or is missing."""

    KEYS = "* missing"
    declared: int
    compared: int
    waived: int = 0

    @property
    def missing(self) -> int:
        """How much was declared, but neither compared nor waived."""
        return self.declared - self.compared - self.waived

    @property
    def complete(self) -> bool:
        """True when something was compared and nothing is missing."""
        return self.compared > 0 and self.missing == 0


@dataclass(frozen=True)
class FindingsReport(AsJson):
    """Findings, the ledger and a summary: the whole basis of a verdict."""

    FORMAT = "rigpact-findings"
    KEYS = "verdict *"
    findings: tuple[Finding, ...]
    ledger: Ledger
    summary: Mapping[str, Any] = field(default_factory=dict)

    def count(self, severity: Severity) -> int:
        """Number of findings of one severity."""
        return sum(finding.rule.severity == severity for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """`undetermined` when nothing was compared; else `fail` on an error, `undetermined` where something is missing."""
        if self.ledger.compared and self.count(Severity.ERROR):
            return "fail"
        return "pass" if self.ledger.complete else "undetermined"

    def exit_code(self, *, strict: bool = False) -> int:
        """Exit status of the command: 0 pass, 1 findings, 2 something that was declared could not be judged."""
        if self.verdict == "fail" or (strict and self.ledger.compared and self.count(Severity.WARNING)):
            return EXIT_FINDINGS
        return EXIT_PASS if self.verdict == "pass" else EXIT_CANNOT_JUDGE
