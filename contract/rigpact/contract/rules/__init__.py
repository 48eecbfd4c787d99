"""The rules: what can be wrong with an artefact, one family a file.

A rule is a frozen `Rule` (its texts) next to the small generator that yields its findings. To add one: write both in
the family's file, list the rule in that file's `RULES`, call the generator from the family's `check_…`. Codes are never
reused: a rule that goes leaves its code in `RETIRED`.

    RP0xx JSON text, structure, layout             RP5xx clips
    RP1xx statistics, and what is derived of them  RP6xx teacher batches and predictions
    RP2xx rotations, skeleton, declarations        RP7xx other systems' contracts and data
    RP3xx companion                                RP8xx comparison of two runs
                                                   RP85x to RP88x a training side's functions
    RP4xx model                                    RP9xx files that belong together; RP95x waivers;
                                                   RP96x and RP97x the gate

rows.py, clip_features.py and view.py hold no rules: they turn files into what the rules judge.

`engine_refuses` marks what `LoadSchemaAndStats` fails on, and what leaves nothing to compute with (a slice outside its
vector): `load_contract` refuses both.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, FindingsReport, Rule, Severity
from rigpact.contract.rules import json_text
from rigpact.contract.rules.answers import baseline, comparison, gate, geometry
from rigpact.contract.rules.bundle import (
    companion,
    condition,
    declaration,
    derived,
    layout,
    rotation_spec,
    skeleton,
    statistics,
    statistics_meaning,
    structure,
    symmetry,
    timing,
)
from rigpact.contract.rules.bundle.view import BundleView
from rigpact.contract.rules.clips import angular_velocity, clip_condition, clip_rotations, clips, feet, root_motion
from rigpact.contract.rules.hosted import system_data, systems
from rigpact.contract.rules.model import canary, model, model_graph, model_weights
from rigpact.contract.rules.subject import Subject, account
from rigpact.contract.rules.teacher import across, history, prediction, rows_of_clip, teacher, teacher_rows
from rigpact.contract.rules.teacher.rows import Rows

__all__ = ["ALL_RULES", "FAMILIES", "RETIRED", "Subject", "check", "check_bundle"]

FAMILIES = (
    json_text, structure, layout, timing, condition, statistics, statistics_meaning, derived, rotation_spec,
    skeleton, symmetry, declaration, companion, model, model_graph, model_weights, clips, clip_rotations,
    root_motion, clip_condition, feet, angular_velocity, teacher, teacher_rows, history, prediction, across, rows_of_clip,
    comparison, canary, baseline, gate, geometry, systems, system_data,
)  # fmt: skip
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
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
            statistics_meaning.check_statistics_meaning,
            derived.check_derived,
            rotation_spec.check_rotation_spec,
            skeleton.check_skeleton,
            symmetry.check_symmetry,
            declaration.check_declaration,
        ):
            yield from check_part(view)
        yield from companion.check_companion(view, subject.companion)
        for file in companion.auxiliaries(view, subject.companion):
            yield from statistics_meaning.check_auxiliary_meaning(file, view.fps)
    elif subject.companion is not None:
        yield from companion.check_companion_alone(subject.companion)
    yield from _check_others(subject, view)
    if subject.model is not None:
        yield from model.check_model(subject.model, view, subject.companion)


def _check_others(subject: Subject, view: BundleView | None) -> Iterator[Finding]:
    seen = tuple(companion.auxiliaries(view, subject.companion)) if view is not None else ()
    clips_seen = [clips.ClipView(document) for document in subject.others if document.kind is Kind.RAW_CLIP]
    teachers = [teacher.TeacherView(document) for document in subject.others if document.kind is not Kind.RAW_CLIP]
    for clip in clips_seen:
        for check_part in (clips.check_clip, feet.check_feet):
            yield from check_part(clip, view)
        for check_alone in _CLIP_CHECKS:
            yield from check_alone(clip)
        if view is not None:
            yield from across.check_clip_against_bundle(clip, view)
    for file in teachers:
        yield from teacher.check_teacher(file, view)
        yield from teacher_rows.check_rows_alone(file)
    if view is not None:
        yield from _check_rows(clips_seen, [Rows(file, view, seen) for file in teachers])


_CLIP_CHECKS = (
    clip_rotations.check_clip_rotations, root_motion.check_root_motion, clip_condition.check_clip_condition,
    angular_velocity.check_clip_velocities,
)  # fmt: skip


def _check_rows(clips_seen: list[clips.ClipView], files: list[Rows]) -> Iterator[Finding]:
    for rows in files:
        yield from teacher_rows.check_rows(rows)
        yield from history.check_history(rows)
        if rows.file.document.kind is Kind.TEACHER_PREDICTION:
            yield from prediction.check_prediction(rows)
    yield from rows_of_clip.check_rows_of_clips(clips_seen, files)


def _files(subject: Subject) -> list[dict[str, str]]:
    listed = [
        {"path": str(document.path), "kind": document.kind.value, "sha256": document.file.sha256}
        for document in subject.documents
    ]
    if subject.model is not None:
        listed.append({"path": str(subject.model.path), "kind": "model", "sha256": subject.model.sha256})
    return listed
