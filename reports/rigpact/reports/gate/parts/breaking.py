"""Find what the change breaks for the engine's code, its numbers, training and recordings: `rigpact diff`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from rigpact.contract.compatibility import Change, Compatibility, Consumer, compare_contracts
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import GateSettings
from rigpact.reports.gate.guarding import governing
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.git_revision import opened_revision

NAME, TITLE = "breaking", "Changes since the base revision"


class BreakingMetrics(TypedDict):
    """What is kept of the part."""

    record_key: str
    base: str
    step: str
    bundle: str


def ask(project: Project) -> Iterator[NotAsked | Question]:
    """Compare the bundle or contract file, and the companion, with the base revision's."""
    if project.settings.base is None:
        yield NotAsked(NAME, "set `base` in [gate] or pass --base to check for breaking changes")
        return
    base = project.settings.base
    yield Question(NAME, TITLE, project.bundle_path, lambda: _measure(project, base), lambda: _compared(project, base))


def _compared(project: Project, base: str) -> Compatibility:
    """Against the contract, and the companion, that the settings of the base name there."""
    with opened_revision(base) as files:
        was, named, folder = governing(files, Path.cwd() / project.asked), project.settings, Path.cwd()
        if was is not None and was.gate is not None and was.gate.bundle is not None:
            named, folder = was.gate, files.root / was.path.relative_to(files.folder).parent
        old = files.document(folder / str(named.bundle), project.document.kind)
        companions = None
        if project.companion is not None and named.companion is not None:
            companions = (files.document(folder / named.companion, Kind.COMPANION), project.companion)
        return compare_contracts(old, project.document, companions)


def _measure(project: Project, base: str) -> Measured:
    found = _compared(project, base)
    breaking = [each for each in found.changes if set(each.classes) - {Consumer.COSMETIC}]
    findings = tuple(_finding(change, project.bundle_path, base) for change in breaking)
    metrics = {
        "record_key": found.record_key,
        "base": base,
        "step": found.version_step,
        "bundle": str(project.bundle_path),
    }
    return Measured(NAME, TITLE, findings, Ledger(1, 1), _summary(found, base), metrics)


def _finding(change: Change, bundle: Path, base: str) -> Finding:
    classes = ", ".join(consumer.value for consumer in change.classes)
    return rules.BREAKING_CHANGE.at(
        bundle, change.pointer, base=base, message=change.message, kind=change.kind.name, classes=classes
    )


def _summary(found: Compatibility, base: str) -> dict[str, object]:
    return {
        "base": base,
        "semver": {"step": found.version_step, "reason": found.version_reason},
        "classes": [consumer.value for consumer in found.classes],
        "changes": len(found.changes),
        "duties": found.duties,
    }


def judge(measured: Measured, settings: GateSettings) -> FindingsReport:
    """A breaking change fails, unless the change record has an entry for exactly this change."""
    record = settings.change_record
    if not measured.metrics or record is None or not measured.findings:
        return measured.report
    if measured.metrics["record_key"] not in _text(Path(record)):
        return measured.report
    said = {
        "count": len(measured.findings),
        "record": record,
        **{key: measured.metrics[key] for key in ("base", "step")},
    }
    finding = rules.CHANGE_ACKNOWLEDGED.at(measured.metrics["bundle"], "", **said)
    return FindingsReport((finding,), measured.ledger, measured.summary)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise UnusableInput(path, "bytes that are not text", "a change record in Markdown") from None
