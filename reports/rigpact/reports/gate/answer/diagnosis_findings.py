"""Turn a diagnosis into findings: each cause by name, or the first place without an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import gate as rules
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence
from rigpact.reports.diagnosing.diagnosis_text import changes_text, effect_text


def about_diagnosis(diagnosis: Diagnosis | None, file: Path) -> Iterator[Finding]:
    """Yield one finding for each cause, and one more where the causes do not explain everything."""
    if diagnosis is None or diagnosis.verdict in ("agrees", "undetermined"):
        return
    for cause in diagnosis.causes:
        yield _cause(cause, file)
    if diagnosis.verdict == "unexplained" and diagnosis.first_divergence is not None:
        yield _unexplained(diagnosis, diagnosis.first_divergence, file)


def _cause(cause: Cause, file: Path) -> Finding:
    hints = "; ".join(cause.code_hints)
    return rules.CONVENTION_DIFFERS.at(
        file, f"/stages/{cause.stage}", recording=file.name, changes=changes_text(cause.changes), stage=cause.stage,
        effect=effect_text(cause), code=f". {hints}" if hints else "",
    )  # fmt: skip


def _unexplained(diagnosis: Diagnosis, first: Divergence, file: Path) -> Finding:
    """The first place without an explanation, with what is known of it: a relation."""
    related = next((each.sentence for each in diagnosis.relations if each.stage == first.stage), "")
    size = "not finite" if first.error is None else f"{first.error:.3g} {first.unit}".removesuffix(" raw")
    return rules.NOT_EXPLAINED.at(
        file, f"/stages/{first.stage}", recording=file.name, frame=first.frame, stage=first.stage, address=first.address,
        size=size, relation=f", but {related}" if related else "",
    )  # fmt: skip
