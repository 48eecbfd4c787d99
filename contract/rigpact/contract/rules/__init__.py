"""The rules: what can be wrong with an artefact, one family a file.

A rule is a frozen `Rule` (its texts) next to the small generator that yields its findings. To add one: write both in the
family's file, list the rule in that file's `RULES`, call the generator from the family's `check_…`. Codes are never
reused: a rule that goes leaves its code in `RETIRED`.

    RP0xx JSON text, structure, layout   RP3xx companion         RP6xx teacher batches and predictions
    RP1xx statistics                     RP4xx model signature   RP7xx traces
    RP2xx rotation spec and skeleton     RP5xx clips             RP8xx comparison of two runs   RP9xx cross-file

`engine_refuses` marks what `LoadSchemaAndStats` fails on, and what leaves nothing to compute with (a slice outside its
vector): `load_contract` refuses both.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules import (
    companion as companion_rules,
)
from rigpact.contract.rules import (
    condition,
    json_text,
    layout,
    rotation_spec,
    skeleton,
    statistics,
    structure,
    timing,
)
from rigpact.contract.rules.view import BundleView

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *json_text.RULES,
            *structure.RULES,
            *layout.RULES,
            *timing.RULES,
            *condition.RULES,
            *statistics.RULES,
            *rotation_spec.RULES,
            *skeleton.RULES,
            *companion_rules.RULES,
        ),
        key=lambda rule: rule.code,
    )
)
"""Every rule, by code."""
RETIRED: tuple[str, ...] = ()
"""Codes of rules that are gone; never to be used again."""


def check_bundle(document: Document, companion: Document | None = None) -> Iterator[Finding]:
    """Yield every finding about a bundle (and its companion)."""
    view = BundleView(document)
    for file in (document, companion):
        if file is not None:
            yield from json_text.check_json_text(file)
            yield from structure.check_structure(file)
    yield from layout.check_layout(view)
    yield from timing.check_timing(view)
    yield from condition.check_condition(view)
    yield from statistics.check_statistics(view)
    yield from rotation_spec.check_rotation_spec(view)
    yield from skeleton.check_skeleton(view)
    yield from companion_rules.check_companion(view, companion)
