"""The rules: what can be wrong with an artefact, one family a file.

A rule is a frozen `Rule` (its texts) next to the small generator that yields its findings. To add one: write both in
the family's file, list the rule in that file's `RULES`, call the generator from the family's `check_…`. Codes are never
reused: a rule that goes leaves its code in `RETIRED`.

    RP0xx JSON text, structure, layout   RP3xx companion         RP6xx teacher batches and predictions
    RP1xx statistics                     RP4xx model signature   RP7xx traces
    RP2xx rotation spec and skeleton     RP5xx clips             RP8xx comparison of two runs   RP9xx cross-file

`engine_refuses` marks what `LoadSchemaAndStats` fails on, and what leaves nothing to compute with (a slice outside its
vector): `load_contract` refuses both.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, FindingsReport, Rule, Severity
from rigpact.contract.rules import (
    clips,
    companion,
    condition,
    json_text,
    layout,
    model,
    prediction,
    rotation_spec,
    skeleton,
    statistics,
    structure,
    teacher,
    timing,
)
from rigpact.contract.rules.subject import Subject, account
from rigpact.contract.rules.view import BundleView

__all__ = ["ALL_RULES", "RETIRED", "Subject", "check", "check_bundle"]

_FAMILIES = (
    json_text, structure, layout, timing, condition, statistics, rotation_spec, skeleton, companion, model, clips,
    teacher, prediction,
)  # fmt: skip
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
)
"""Every rule, by code."""
RETIRED: tuple[str, ...] = ()
"""Codes of rules that are gone; never to be used again."""


def check(subject: Subject) -> FindingsReport:
    """Run every rule on what is given; the ledger is explained at `account`.

    Findings stand in the order of the files, the worst first in each.
    """
    found = [*_check_texts(subject), *_check_meaning(subject)]
    order = [str(document.path) for document in subject.documents]
    severities = list(Severity)
    findings = sorted(
        found,
        key=lambda finding: (
            order.index(finding.file) if finding.file in order else len(order),
            severities.index(finding.rule.severity),
            finding.rule.code,
        ),
    )
    return FindingsReport(tuple(findings), account(subject, found), {"files": _files(subject)})


def check_bundle(document: Document, companion: Document | None = None) -> Iterator[Finding]:
    """Yield every finding about a bundle (and its companion)."""
    subject = Subject(document, companion)
    yield from _check_texts(subject)
    yield from _check_meaning(subject)


def _check_texts(subject: Subject) -> Iterator[Finding]:
    for document in subject.documents:
        yield from json_text.check_json_text(document)
        yield from structure.check_structure(document)


def _check_meaning(subject: Subject) -> Iterator[Finding]:
    view = BundleView(subject.bundle) if subject.bundle else None
    if view is not None:
        for check_part in (
            layout.check_layout,
            timing.check_timing,
            condition.check_condition,
            statistics.check_statistics,
            rotation_spec.check_rotation_spec,
            skeleton.check_skeleton,
        ):
            yield from check_part(view)
        yield from companion.check_companion(view, subject.companion)
    elif subject.companion is not None:
        yield from companion.check_companion_alone(subject.companion)
    for document in subject.others:
        yield from _check_other(document, view)
    if subject.model is not None:
        yield from model.check_model(subject.model, view, subject.companion)


def _check_other(document: Document, view: BundleView | None) -> Iterator[Finding]:
    if document.kind is Kind.RAW_CLIP:
        yield from clips.check_clip(clips.ClipView(document), view)
        return
    file = teacher.TeacherView(document)
    yield from teacher.check_teacher(file, view)
    if document.kind is Kind.TEACHER_PREDICTION and view is not None:
        yield from prediction.check_prediction(file, view)


def _files(subject: Subject) -> list[dict[str, str]]:
    listed = [
        {"path": str(document.path), "kind": document.kind.value, "sha256": document.file.sha256}
        for document in subject.documents
    ]
    if subject.model is not None:
        listed.append({"path": str(subject.model.path), "kind": "model", "sha256": subject.model.sha256})
    return listed
