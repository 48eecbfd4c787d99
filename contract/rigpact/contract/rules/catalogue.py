"""Every family of rules, listed once, and the check that runs them all.

A rule is a frozen `Rule` (its texts) next to the small generator that yields its findings. To add one:

 1. write the `Rule` in the module of its family, above its `FAMILY`;
 2. write the generator, and call it from the function that the module's `FAMILY` names.

To add a family: a module with a `FAMILY`, and its name in `FAMILIES`; with `TEXTS` and in `MEASURED` where its
findings come with a measurement. Codes are never reused: a rule that goes
leaves its code in `RETIRED`.

    RP0xx JSON text, structure, layout             RP5xx clips
    RP1xx statistics, and what is derived of them  RP6xx teacher batches and predictions
    RP2xx rotations, skeleton, declarations        RP7xx other systems' contracts and data
    RP3xx companion                                RP8xx runs, and two runs compared
                                                   RP85x to RP88x a training side's functions
    RP4xx model                                    RP9xx files that belong together; RP95x waivers;
                                                   RP96x to RP98x the gate

The modules named `view`, auxiliary.py, rows.py, clip_features.py and pose_readings.py hold no rules: they turn files into what
the rules judge.
"""

from collections.abc import Iterator

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding, FindingsReport, Rule, Severity
from rigpact.contract.rules.account import account
from rigpact.contract.rules.answers import baseline, comparison, gate, geometry, reading, run
from rigpact.contract.rules.bundle import (
    companion,
    condition,
    declaration,
    derived,
    layout,
    loading,
    rotation_means,
    rotation_spec,
    skeleton,
    statistics,
    statistics_meaning,
    symmetry,
    timing,
)
from rigpact.contract.rules.clips import (
    angular_velocity,
    clip_condition,
    clip_rotations,
    clips,
    feet,
    mean_pose,
    root_motion,
)
from rigpact.contract.rules.engine import findings
from rigpact.contract.rules.family import Family, Texts
from rigpact.contract.rules.files import json_text, structure
from rigpact.contract.rules.hosted import (
    declarations,
    declared_metadata,
    declared_models,
    declared_numbers,
    declared_orders,
    declared_profile,
    declared_stages,
    recorded_sizes,
    system_data,
    system_loading,
    systems,
)
from rigpact.contract.rules.model import canary, model, model_graph, model_weights, stamp
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.teacher import (
    across,
    history,
    prediction,
    recorded_output,
    rows_of_clip,
    teacher,
    teacher_rows,
)

FAMILIES: tuple[Family, ...] = tuple(
    module.FAMILY
    for module in (
        json_text, structure, loading, layout, timing, condition, statistics, statistics_meaning,
        rotation_means, derived, rotation_spec,
        skeleton, symmetry, declaration, companion, model, model_graph, model_weights, clips, clip_rotations,
        root_motion, clip_condition, feet, angular_velocity, teacher, teacher_rows, history, prediction, recorded_output, across,
        mean_pose, rows_of_clip, system_loading, systems, system_data, recorded_sizes,
        declarations, declared_profile, declared_orders, declared_numbers, declared_stages, declared_models, declared_metadata,
        stamp,
    )
)  # fmt: skip
"""In the order in which they are checked and shown."""
MEASURED: tuple[Texts, ...] = tuple(
    module.TEXTS for module in (comparison, run, canary, baseline, gate, reading, geometry)
)
"""Rules about no file: their findings come with a measurement."""
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in (*FAMILIES, *MEASURED) for rule in family.rules), key=lambda rule: rule.code)
)
"""Every rule, by code."""
RETIRED: tuple[str, ...] = ()
"""Codes of rules that are gone; never to be used again."""
_SEVERITIES = list(Severity)


def check(subject: Subject) -> FindingsReport:
    """Run every rule on what is given; `account` explains the ledger.

    Findings stand in the order of the files; within a file, the worst stand first.
    """
    found = list(findings(subject, FAMILIES))
    order = {file["path"]: place for place, file in enumerate(subject.files)}

    def rank(finding: Finding) -> tuple[int, int, str]:
        severity = _SEVERITIES.index(finding.rule.severity)
        return order.get(finding.file, len(order)), severity, finding.rule.code

    return FindingsReport(tuple(sorted(found, key=rank)), account(subject, found), {"files": subject.files})


def check_bundle(document: Document, companion: Document | None = None) -> Iterator[Finding]:
    """Yield every finding about a bundle (and its companion)."""
    return findings(Subject(document, companion), FAMILIES)
