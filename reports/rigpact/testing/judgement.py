"""A judgement on the user's files: its name, its function, and its two exceptions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rigpact.contract.findings import Finding, Severity


class NotJudged(Exception):
    """The files do not allow this judgement; the text names what is missing."""


class Refuted(Exception):
    """The judgement failed; the text is for people."""


@dataclass(frozen=True)
class Judgement:
    """One judgement: the parts of its name, and its function."""

    name: tuple[str, ...]
    judge: Callable[[], None]


def not_judged(reason: str) -> None:
    """Raise `NotJudged`, for files that were not given."""
    raise NotJudged(reason)


def refute(findings: Iterable[Finding], *, strict: bool = False) -> None:
    """Raise `Refuted` if a finding is an error or, if strict, a warning."""
    failing = [finding for finding in findings if finding_fails(finding, strict=strict)]
    if failing:
        raise Refuted("\n".join(map(finding_text, failing)))


def finding_fails(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding refutes: an error always, a warning if strict."""
    return finding.rule.severity is Severity.ERROR or (strict and finding.rule.severity is Severity.WARNING)


def finding_text(finding: Finding) -> str:
    """One finding for people: place, code, message, hint."""
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    severity = finding.rule.severity.value
    return f"{place}: {finding.rule.code} {severity}: {finding.message}\n  hint: {finding.rule.hint}"
