"""The result of a canary probe: findings, the account, and one line for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.layout import INPUTS
from rigpact.contract.rules import Artefacts
from rigpact.contract.rules.model import canary as rules
from rigpact.reports.answer import Sentence

if TYPE_CHECKING:
    from rigpact.contract.model.signature import ModelSignature
    from rigpact.reports.engine.canary import Binding, Probe


def with_canary(
    report: FindingsReport, subject: Artefacts, recordings: Sequence[Path], beside: Sequence[Document] = ()
) -> FindingsReport:
    """Add what the probes find to a report of `check`, wherever a bundle, a model and something to run it on are given.

    Every recording of an engine is a probe of what that engine bound. The model's own order is shown by the first prediction;
    where there is neither, by the first clip. A probe that was possible but failed counts as missing in the account.
    """
    if subject.bundle is None or subject.model is None:
        return report
    findings, summaries = list(report.findings), []
    for source in (*recordings, *_shown_by((*subject.others, *beside), is_only=not recordings)):
        try:
            found, summary = _probe(subject.bundle, subject.companion, subject.model, source)
        except UnusableInput as error:
            found, summary = [], {"file": str(source), "not_probed": error.one_line()}
        findings += found
        summaries.append(summary)
    if not summaries:
        return report
    declared, judged = len(summaries), sum("not_probed" not in each for each in summaries)
    ledger = replace(
        report.ledger, declared=report.ledger.declared + declared, compared=report.ledger.compared + judged
    )
    return FindingsReport(tuple(findings), ledger, {**report.summary, "canary": summaries})


def _shown_by(documents: Sequence[Document], *, is_only: bool) -> list[Path]:
    """What shows the order of the model's inputs; a clip, which proves little, where it is the only thing."""
    kinds = (Kind.TEACHER_PREDICTION, Kind.TEACHER_BATCH, Kind.RAW_CLIP) if is_only else (Kind.TEACHER_PREDICTION,)
    found = sorted((each for each in documents if each.kind in kinds), key=lambda each: kinds.index(each.kind))
    return [each.path for each in found[:1]]


def _probe(
    bundle: Document, companion: Document | None, file: ModelSignature, source: Path
) -> tuple[list[Finding], dict[str, Any]]:
    # a check without a recording, as in a commit hook, does not load the runtime
    from rigpact.reports.engine import canary

    if file.graph is not None and not file.graph.is_contained:
        raise UnusableInput(file.path, "weights outside its folder or missing", "a model that can be opened")
    contract = document_to_contract(bundle, companion)
    model, probe = canary.PositionalModel(file.path), canary.read_probe(source, contract)
    bindings = canary.find_binding(model, probe)
    fitting = canary.matching(bindings, probe)
    nearest, own = (fitting or bindings)[0], next(binding for binding in bindings if binding.order == INPUTS)
    meant = None if probe.kind == "outputs" else canary.other_mode(model, contract, probe, own)
    reference = f"{_REFERENCE[probe.kind]} {probe.path.name}"
    if meant is not None:
        values = {"declared": contract.conventions.output_mode, "error": _amount(own.error, probe), "found": meant[0]}
        values |= {"reference": reference, "best": _amount(meant[1], probe)}
        findings = [rules.OUTPUT_MODE_CONTRADICTED.at(bundle.path, "/meta/rot6d_spec", **values)]
    else:
        values = {"reference": reference, "declared": _amount(own.error, probe), "best": _amount(nearest.error, probe)}
        findings = [*_judge(probe, own, fitting, file.path, values | {"found": ", ".join(nearest.order)})]
    for name in canary.inputs_without_effect(model, probe.inputs, nearest.order):
        index = INPUTS.index(name)
        place = ("graph", "input", index)
        findings.append(rules.INPUT_WITHOUT_EFFECT.at(file.path, place, index=index, name=name))
    return findings, _summary(probe, bindings, fitting, own)


_REFERENCE = {"outputs": "the outputs of", "poses": "the poses of", "targets": "the next poses of"}


def _judge(
    probe: Probe, own: Binding, fitting: Sequence[Binding], model: Path, values: dict[str, Any]
) -> Iterator[Finding]:
    if not fitting:
        yield rules.NO_ORDER_MATCHES.at(model, "/graph/input", **values)
    elif own not in fitting:
        rule = rules.ENGINE_BOUND_OTHERWISE if probe.kind == "outputs" else rules.INPUTS_WIRED_OTHERWISE
        place = (probe.path, "/stages/y_norm") if probe.kind == "outputs" else (model, "/graph/input")
        yield rule.at(*place, **values)
    elif len(fitting) > 1:
        other = next(binding for binding in fitting if binding is not own)
        values |= {"count": len(fitting), "found": ", ".join(other.order)}
        yield rules.ORDERS_ALIKE.at(model, "/graph/input", **values)


def _amount(error: float, probe: Probe) -> str:
    unit = "°" if probe.unit == "deg" else ""
    return f"{error:.3g}{unit}" if error < float("inf") else "any amount, for it does not run"


def _summary(probe: Probe, bindings: Sequence[Binding], fitting: Sequence[Binding], own: Binding) -> dict[str, Any]:
    finite = [binding for binding in bindings if binding.error < float("inf")]
    others = [binding.error for binding in finite if binding is not own]
    return {
        "file": str(probe.path), "kind": probe.kind, "rows": len(probe.inputs[INPUTS[0]]), "unit": probe.unit,
        "declared_error": own.error if own in finite else None, "nearest_other_error": min(others, default=None),
        "nothing_moves_error": probe.size, "fitting": [list(binding.order) for binding in fitting],
        "failing_orders": len(bindings) - len(finite), "confirmed": probe.exact and list(fitting) == [own],
    }  # fmt: skip


def canary_sentences(report: FindingsReport) -> Iterator[Sentence]:
    """Each probe's result in one line; nothing if no probe ran."""
    for summary in report.summary.get("canary", ()):
        name = Path(summary["file"]).name
        if "not_probed" in summary:
            yield Sentence(f"Input order: not probed with {name}: {summary['not_probed']}", "yellow")
            continue
        unit = " deg" if summary["unit"] == "deg" else ""
        errors = (summary["declared_error"], summary["nearest_other_error"])
        own, other = ("fails" if error is None else f"{error:.2g}{unit}" for error in errors)
        verdict = "confirmed by" if summary["confirmed"] else f"{len(summary['fitting'])} of 120 fit"
        found = f"{summary['rows']} rows; the contract's order {own}, the best other {other}"
        yield Sentence(f"Input order: {verdict} {name} ({found})")
