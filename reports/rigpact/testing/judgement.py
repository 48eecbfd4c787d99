"""A judgement on the user's files: its name, how it is made, and the two ways in which it is not a yes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rigpact.contract.findings import Finding, Severity


class NotJudged(Exception):
    """The files do not allow this judgement; the text says what is missing."""


class Refuted(Exception):
    """The judgement is no: the text is what people read."""


@dataclass(frozen=True)
class Judgement:
    """One thing to judge: the parts of its name, and how."""

    name: tuple[str, ...]
    judge: Callable[[], None]


def not_judged(reason: str) -> None:
    """Raise `NotJudged`: the judgement of files that were not given."""
    raise NotJudged(reason)


def refute(findings: Iterable[Finding], *, strict: bool = False) -> None:
    """Raise `Refuted` if any of the findings is an error or, where that is wanted, a warning."""
    failing = [finding for finding in findings if finding_fails(finding, strict=strict)]
    if failing:
        raise Refuted("\n".join(map(finding_text, failing)))


def finding_fails(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding refutes: an error does, a warning where that is wanted."""
    return finding.rule.severity is Severity.ERROR or (strict and finding.rule.severity is Severity.WARNING)


def finding_text(finding: Finding) -> str:
    """One finding for people: place, code, message, hint."""
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    severity = finding.rule.severity.value
    return f"{place}: {finding.rule.code} {severity}: {finding.message}\n  hint: {finding.rule.hint}"
