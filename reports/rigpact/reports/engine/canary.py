"""The canary probe: run a model with all 120 orders of its inputs, and find the order that gives the recording.

An engine binds five vectors by position. Names and widths of the inputs may be wrong, so they do not prove the order.
The probe runs the model, pads and cuts as the engine does, and compares the output with a recording. There are three
kinds of reference:

    outputs   a trace with `y_norm`: the network's own answer to the recorded inputs
    poses     a teacher prediction: the pose composed from that answer
    targets   a clip: the next pose, which the model only approximates; this excludes orders but proves none

The texts of its rules are in rules.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.layout import INPUTS
from rigpact.contract.model.binding import ORDERS, Order, canary_inputs
from rigpact.contract.model.signature import ModelSignature, onnxruntime_errors, open_session, session_signature
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.skeleton import OUTPUT_MODES
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.scalars import QUIETLY
from rigpact.reference_runtime.recordings.clip import Clip, TeacherFile, document_to_clip, recorded_poses
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.pose import previous_pose
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, driven_frames
from rigpact.reports.terminal import Sentence

PROBE_ROWS = 16
"""Number of rows, spread over a recording; with more rows the errors of the orders become more alike."""
EXACT_SHARE = 5e-3
"""An order reproduces a recording when its error is below this share of the recording's own size.

The share is 1e-5 for float32 rounding, 1e-3 for half precision, and 5e-2 for the nearest wrong order of the demo model.
"""
PLAUSIBLE_RATIO = 1.5
"""No model reproduces a clip exactly, so a clip excludes only orders that are this much worse than the best."""
Inputs = Mapping[str, FloatArray]
Measure = Callable[[FloatArray], float]


@dataclass(frozen=True, eq=False)
class Probe:
    """Input rows for the model, and the error measure for its outputs.

    inputs: (rows, width) by input name. error: from outputs (rows, Dy) to a number in `unit`. size: the error of a
    model that does nothing. exact: whether the right order must reproduce the reference within rounding.
    """

    path: Path
    kind: str
    inputs: Inputs
    error: Measure
    size: float
    unit: str
    exact: bool


@dataclass(frozen=True)
class Binding:
    """The model's error with one order of its inputs; infinite where the model does not run."""

    error: float
    order: Order


class PositionalModel:
    """An ONNX model as an engine sees it: five inputs by position, without names."""

    def __init__(self, path: str | Path) -> None:
        """Open the model; UnusableInput unless it takes five float32 matrices."""
        self._session = open_session(path)
        signature = session_signature(self._session, path)
        if len(signature.inputs) != len(INPUTS) or any(
            entry.dtype != "float32" or len(entry.shape) != 2 for entry in signature.inputs
        ):
            raise UnusableInput(path, "other inputs", "five float32 inputs of the shape [1, width]")
        self.widths = tuple(entry.width for entry in signature.inputs)
        self._names = [entry.name for entry in signature.inputs]
        self._row_by_row = any(entry.shape[0] == 1 for entry in signature.inputs)
        self._failures = onnxruntime_errors()

    def run(self, vectors: Sequence[FloatArray]) -> FloatArray | None:
        """Bind by position, cutting and padding as the engine does; None where the graph fails on these widths."""
        bound = aligned(vectors, self.widths)
        starts = range(len(bound[0])) if self._row_by_row else (slice(None),)
        rows = [slice(start, start + 1) if isinstance(start, int) else start for start in starts]
        try:
            fed = [{name: vector[row] for name, vector in zip(self._names, bound, strict=True)} for row in rows]
            answers = [self._session.run(None, each)[0] for each in fed]
        except self._failures:
            return None
        return np.concatenate(answers)


def find_binding(model: PositionalModel, probe: Probe) -> list[Binding]:
    """Run the model in all 120 orders; the smallest error first, and of equal errors the contract's order first."""
    return sorted((_bind(model, probe, order) for order in ORDERS), key=lambda binding: binding.error)


def _bind(model: PositionalModel, probe: Probe, order: Order) -> Binding:
    output = model.run([probe.inputs[name] for name in order])
    error = float("inf") if output is None else probe.error(output)
    return Binding(error if np.isfinite(error) else float("inf"), order)


def matching(bindings: Sequence[Binding], probe: Probe) -> list[Binding]:
    """The orders that fit: those that reproduce an exact reference, or those that a clip does not exclude."""
    best = bindings[0].error
    if probe.exact:
        return [binding for binding in bindings if binding.error <= EXACT_SHARE * probe.size]
    limit = min(PLAUSIBLE_RATIO * best, probe.size)
    return [binding for binding in bindings if binding.error <= limit]


def other_mode(model: PositionalModel, contract: Contract, probe: Probe, own: Binding) -> tuple[str, float] | None:
    """The meaning of the output in which the model meets the recording, where the declared meaning does not; and its error.

    own: the contract's order under the declared meaning. A prediction must be met within rounding. A clip is met by what misses
    it little more than the unchanged pose does.
    """
    limit = EXACT_SHARE if probe.exact else PLAUSIBLE_RATIO
    errors: dict[str, float] = {}
    for mode in OUTPUT_MODES if own.error > limit * probe.size else ():
        other = read_probe(probe.path, contract.with_conventions({"output_mode": mode}))
        error = _bind(model, other, INPUTS).error
        if error <= limit * other.size:
            errors[mode] = error
    return min(errors.items(), key=lambda found: found[1]) if errors else None


def inputs_without_effect(model: PositionalModel, inputs: Inputs, order: Order) -> list[str]:
    """The inputs without any effect: the output stays bit-identical whatever they hold."""
    usual = model.run([inputs[name] for name in order])
    rows = len(inputs[INPUTS[0]])
    widths = {name: inputs[name].shape[1] for name in INPUTS}
    # start one row later: the recording itself may hold the canary vectors
    strange = {name: values[1:] for name, values in canary_inputs(widths, rows + 1).items()}
    changed = {name: model.run([(strange if each == name else inputs)[each] for each in order]) for name in INPUTS}
    return [
        name for name, rows in changed.items() if not (usual is None or rows is None) and np.array_equal(usual, rows)
    ]


# --- inputs and references --------------------------------------------------------------------------------------------


def read_probe(path: str | Path, contract: Contract) -> Probe:
    """Make a probe of a trace with `y_norm`, a teacher prediction, a teacher batch or a raw clip."""
    file = open_file(path)
    return (
        _trace_probe(file.path, contract)
        if file.is_recording
        else _clip_probe(document_to_clip(file.document), contract)
    )


def _trace_probe(path: Path, contract: Contract) -> Probe:
    stages = read_recording(path, contract).trace.stages
    if "y_norm" not in stages:
        raise UnusableInput(f"{path}#/stages", ", ".join(stages), "y_norm, the network's output")
    rows = _spread(len(stages["y_norm"]))
    observed = stages["y_norm"][rows]
    recorded = [name for name in INPUTS if name in stages]
    if len(recorded) < len(INPUTS):
        found = f"only the inputs {', '.join(recorded)}" if recorded else "none of the network's inputs"
        raise UnusableInput(f"{path}#/stages", found, f"all of {', '.join(INPUTS)}")
    inputs, size = {name: stages[name][rows] for name in INPUTS}, _rms(observed)
    return Probe(path, "outputs", inputs, lambda y: _difference(y, observed), size, "z", exact=True)


def _clip_probe(clip: Clip, contract: Contract) -> Probe:
    frames = driven_frames(contract, clip_rows(clip, contract))
    rows = _spread(len(frames.frame))
    previous = previous_pose(frames)[rows]
    poses = recorded_poses(clip, contract)[rows]
    exact = isinstance(clip, TeacherFile) and (clip.y_raw is not None or clip.y_norm is not None)
    outputs = OutputStages(contract)
    expected, held = (outputs.codec.decode(six.astype(np.float64)) for six in (poses[:, outputs.rotations], previous))

    @QUIETLY
    def pose_error(y_norm: FloatArray) -> float:
        if y_norm.shape != poses.shape:
            return float("inf")
        y_out = outputs(y_norm, previous, previous)["y_out"]
        return _mean_angle_deg(outputs.codec.decode(y_out[:, outputs.rotations].astype(np.float64)), expected)

    inputs = {name: frames[name][rows] for name in INPUTS}
    size = _mean_angle_deg(held, expected)
    return Probe(clip.path, "poses" if exact else "targets", inputs, pose_error, size, "deg", exact=exact)


def _spread(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(np.linspace(0, count - 1, min(count, PROBE_ROWS)).astype(np.int64))


def _mean_angle_deg(a: FloatArray, b: FloatArray) -> float:
    return float(np.degrees(rotation_angle_rad(a, b).mean()))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def _difference(a: FloatArray, b: FloatArray) -> float:
    return _rms(a.astype(np.float64) - b) if a.shape == b.shape else float("inf")


# The result of a canary probe: findings, the account, and one line for people.
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
    kinds = (Kind.TEACHER_PREDICTION, Kind.TEACHER_BATCH, Kind.RAW_CLIP) if is_only else (Kind.TEACHER_PREDICTION,)
    found = sorted((each for each in documents if each.kind in kinds), key=lambda each: kinds.index(each.kind))
    return [each.path for each in found[:1]]


def _probe(
    bundle: Document, companion: Document | None, file: ModelSignature, source: Path
) -> tuple[list[Finding], dict[str, Any]]:
    if file.graph is not None and not file.graph.is_contained:
        raise UnusableInput(file.path, "weights outside its folder or missing", "a model that can be opened")
    contract = document_to_contract(bundle, companion)
    model, probe = PositionalModel(file.path), read_probe(source, contract)
    bindings = find_binding(model, probe)
    fitting = matching(bindings, probe)
    nearest, own = (fitting or bindings)[0], next(binding for binding in bindings if binding.order == INPUTS)
    meant = None if probe.kind == "outputs" else other_mode(model, contract, probe, own)
    reference = f"{_REFERENCE[probe.kind]} {probe.path.name}"
    if meant is not None:
        values = {"declared": contract.conventions.output_mode, "error": _amount(own.error, probe), "found": meant[0]}
        values |= {"reference": reference, "best": _amount(meant[1], probe)}
        findings = [rules.OUTPUT_MODE_CONTRADICTED.at(bundle.path, "/meta/rot6d_spec", **values)]
    else:
        values = {"reference": reference, "declared": _amount(own.error, probe), "best": _amount(nearest.error, probe)}
        findings = [*_judge(probe, own, fitting, file.path, values | {"found": ", ".join(nearest.order)})]
    for name in inputs_without_effect(model, probe.inputs, nearest.order):
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
