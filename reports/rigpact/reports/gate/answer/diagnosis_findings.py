"""Turn a diagnosis into findings: each cause by name, each relation, or the first place without an explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence
from rigpact.reports.diagnosing.diagnosis_text import changes_text, effect_text, shown_value
from rigpact.reports.diagnosing.relations.relation import Relation


@dataclass(frozen=True, eq=False)
class Recorded:
    """What was diagnosed, and the side that wrote it. effect_of: what changes do to the character, as values of a finding."""

    file: Path
    side: Literal["cpp", "python"]
    contract: Contract
    effect_of: Callable[[Mapping[str, Any]], Mapping[str, Any]]


def about_diagnosis(diagnosis: Diagnosis | None, of: Recorded) -> Iterator[Finding]:
    """Yield one finding for each cause and each relation that explains a stage, and one more for what remains."""
    if diagnosis is None or diagnosis.verdict in ("agrees", "undetermined"):
        return
    for cause in diagnosis.causes:
        yield _cause(cause, of)
    if diagnosis.is_open:
        first = diagnosis.first_unexplained or diagnosis.first_divergence
        if first is not None:
            yield _unexplained(diagnosis, first, of.file)
    left = {each.stage for each in diagnosis.stages if each.remains is not None}
    yield from (_related(each, of.file) for each in diagnosis.relations if each.stage not in left)


def _related(relation: Relation, file: Path) -> Finding:
    said = {"stage": relation.stage, "relation": relation.sentence, "says": {relation.place: relation.words}}
    return rules.RELATION_DIFFERS.at(file, f"/stages/{relation.stage}", recording=file.name, **said)


def _cause(cause: Cause, of: Recorded) -> Finding:
    hints, says = "; ".join(cause.code_hints), {knob: shown_value(value) for knob, value in cause.changes.items()}
    return rules.CONVENTION_DIFFERS.at(
        of.file, f"/stages/{cause.stage}", recording=of.file.name, changes=changes_text(cause.changes), stage=cause.stage,
        effect=effect_text(cause), code=f". {hints}" if hints else "", error=cause.error_before, says=says,
        patch=[_patch(knob, value, of) for knob, value in cause.changes.items()], **of.effect_of(cause.changes),
    )  # fmt: skip


def _patch(knob: str, value: Any, of: Recorded) -> str:
    """What to change on the side that wrote the recording, as its own line of code where there is one."""
    own = of.contract.conventions[knob]
    of_system = of.contract.system.knobs[knob]
    wrong, right = (of_system.code(each, of.side) for each in (value, own))
    words = f"{knob} = {shown_value(value)} there, {shown_value(own)} in the contract"
    return f"{words}: change `{wrong}` to `{right}`" if wrong and right else f"{words}: {of_system.hint(value)}"


def _unexplained(diagnosis: Diagnosis, first: Divergence, file: Path) -> Finding:
    """The first place without an explanation, with what is known of it: a relation."""
    related = next((each.sentence for each in diagnosis.relations if each.stage == first.stage), "")
    size = "not finite" if first.error is None else f"{first.error:.3g} {first.unit}".removesuffix(" raw")
    return rules.NOT_EXPLAINED.at(
        file, f"/stages/{first.stage}", recording=file.name, frame=first.frame, stage=first.stage, address=first.address,
        size=size, relation=f", but {related}" if related else "",
    )  # fmt: skip
