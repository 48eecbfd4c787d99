"""What the plugin's items judge: a list of named judgements over the user's files. Knows nothing of pytest.

A judgement raises `Refuted` with a text for people, `NotJudged` with what is missing, or returns. To add one: a function,
and a row where its family is listed; `judgements` gives all of them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rigpact.contract.rules.catalogue import FAMILIES
from rigpact.contract.rules.family import Need
from rigpact.contract.rules.model import canary
from rigpact.testing.files import NotJudged, Refuted, UserFiles, short_names

if TYPE_CHECKING:
    from rigpact.contract.findings import Finding
    from rigpact.reference_runtime.recordings.recording import Recording
    from rigpact.reports.diagnosing.diagnose import Diagnosis, StageVerdict

FREE_RUN_FRAMES = 300
"""Five seconds at 60 frames a second: what diverges in a loop, shows."""


@dataclass(frozen=True)
class Judgement:
    """One thing to judge: the parts of its name, and how."""

    name: tuple[str, ...]
    judge: Callable[[], None]


def judgements(files: UserFiles, *, strict: bool, examples: int, seed: int | None) -> Iterator[Judgement]:
    """Every judgement on these files, in the order in which a defect would spread.

    strict: warnings refute too. examples, seed: how much the properties draw; without a seed always the same.
    """
    from rigpact.testing.hosted import hosted_judgements, is_hosted
    from rigpact.testing.properties import property_judgements

    if is_hosted(files.paths.bundle):
        yield from hosted_judgements(files.paths, strict=strict)
        return
    yield Judgement(("contract",), lambda: _contract(files))
    yield from _check_judgements(files, strict=strict)
    yield Judgement(("signature",), lambda: _signature(files))
    yield from _parity_judgements(files)
    yield from _trace_judgements(files)
    yield from property_judgements(files, examples, seed)
    yield from _free_runs(files)


def finding_text(finding: Finding) -> str:
    """One finding for people: place, code, message, hint."""
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    severity = finding.rule.severity.value
    return f"{place}: {finding.rule.code} {severity}: {finding.message}\n  hint: {finding.rule.hint}"


def _contract(files: UserFiles) -> None:
    """The engine loads the bundle; the declared conventions exist."""
    files.contract.bone_permutation  # noqa: B018 - raises for an order of other bones


# --- the rules --------------------------------------------------------------------------------------------------------


def _check_judgements(files: UserFiles, *, strict: bool) -> Iterator[Judgement]:
    """One judgement a rule; a family whose files are not given is one judgement that says so.

    Families that need something else, such as a project, have no judgements; the account catches what they find.
    """
    own: set[str] = set()
    for family in FAMILIES:
        if not set(family.needs) <= _MISSING.keys():
            continue
        missing = next(filter(None, (_MISSING[need](files) for need in family.needs)), "")
        if missing:
            yield Judgement(("check", family.name), partial(_not_judged, missing))
            continue
        judge = partial(_canary if family is canary.FAMILY else _rule, files, strict=strict)
        for rule in family.rules:
            own.add(rule.code)
            yield Judgement(("check", rule.code), partial(judge, rule.code))
    yield Judgement(("check", "account"), lambda: _account(files, own, strict=strict))


_ROWS = ("teacher_batch", "teacher_prediction")
_NO_MODEL = "no model: --rigpact-onnx FILE"
_NO_GRAPH = "the package onnx is not installed"
_NO_CLIP = "no raw clip: --rigpact-clip FILE"
_NO_ROWS = "no teacher batch or prediction: --rigpact-clip FILE"
_NO_PREDICTION = "no teacher prediction: --rigpact-clip FILE"
_NO_BASELINE = "no known findings: --rigpact-config FILE with a baseline"
_MISSING: Mapping[Need, Callable[[UserFiles], str]] = {
    Need.DOCUMENT: lambda _: "",
    Need.BUNDLE: lambda _: "",
    Need.STATISTICS: lambda _: "",
    Need.MODEL: lambda files: "" if files.paths.onnx is not None else _NO_MODEL,
    Need.GRAPH: lambda _: "" if find_spec("onnx") is not None else _NO_GRAPH,
    Need.CLIP: lambda files: "" if files.clips_of_kind("raw_clip") else _NO_CLIP,
    Need.ROWS: lambda files: "" if files.clips_of_kind(*_ROWS) else _NO_ROWS,
    Need.PREDICTION: lambda files: "" if files.clips_of_kind("teacher_prediction") else _NO_PREDICTION,
    Need.BASELINE: lambda files: "" if files.configuration and files.configuration.baseline else _NO_BASELINE,
}
"""What a family of rules may need here, and what the files lack of it: '' if nothing."""


def _not_judged(reason: str) -> None:
    raise NotJudged(reason)


def _rule(files: UserFiles, code: str, *, strict: bool) -> None:
    from rigpact.contract.findings import Severity

    own = [finding for finding in files.findings.findings if finding.rule.code == code]
    failing = [finding for finding in own if finding_fails(finding, strict=strict)]
    if failing:
        raise Refuted("\n".join(map(finding_text, failing)))
    configuration = files.configuration
    if configuration is not None and configuration.severity_of(code, str(files.paths.bundle), Severity.ERROR) is None:
        raise NotJudged(f"left out by {configuration.path.name}")


def _canary(files: UserFiles, code: str, *, strict: bool) -> None:
    summary = files.findings.summary.get("canary", {"not_probed": "no probe ran"})
    if "not_probed" in summary:
        raise Refuted(f"the model was not probed: {summary['not_probed']}")
    _rule(files, code, strict=strict)


def finding_fails(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding refutes: an error does, a warning where it is wanted so."""
    from rigpact.contract.findings import Severity

    return finding.rule.severity is Severity.ERROR or (strict and finding.rule.severity is Severity.WARNING)


def _account(files: UserFiles, own: Collection[str], *, strict: bool) -> None:
    """Everything that the files declare was judged, and no finding goes without its own test."""
    strays = [
        each for each in files.findings.findings if each.rule.code not in own and finding_fails(each, strict=strict)
    ]
    if strays:
        raise Refuted("\n".join(map(finding_text, strays)))
    ledger = files.findings.ledger
    if not ledger.complete:
        raise Refuted(f"{ledger.compared} of {ledger.declared} parts could be judged, {ledger.missing} could not")


# --- the model --------------------------------------------------------------------------------------------------------


def _signature(files: UserFiles) -> None:
    """Five inputs of the contract's widths in the contract's order, one finite row of the output's width."""
    import numpy as np

    network, contract = files.network, files.contract
    order, widths = contract.conventions.input_order, contract.input_widths
    wrong = [
        f"input {place} ({name}): the contract has {widths[name]} numbers, the model takes {bound}"
        for place, (name, bound) in enumerate(zip(order, network.bound_widths, strict=True))
        if None not in (bound, widths[name]) and bound != widths[name]
    ]
    if wrong:
        raise Refuted("\n".join(wrong))
    sizes = [bound or widths[name] or 0 for name, bound in zip(order, network.bound_widths, strict=True)]
    answer = network.run([np.zeros((1, size), np.float32) for size in sizes], 0)
    if answer.shape != (1, contract.output.width):
        raise Refuted(f"the model answers {list(answer.shape)}, the contract's output is [1, {contract.output.width}]")
    if not np.isfinite(answer).all():
        raise Refuted(f"the model answers {int((~np.isfinite(answer)).sum())} values that are not finite to zeros")


def _parity_judgements(files: UserFiles) -> Iterator[Judgement]:
    from rigpact.reference_runtime.recordings.recording import TEACHER_STAGES

    predictions = files.clips_of_kind("teacher_prediction")
    if not predictions:
        yield Judgement(("teacher-parity",), partial(_not_judged, _NO_PREDICTION))
    for path, name in short_names(predictions, suffix=False).items():
        runs: dict[Path, tuple[Recording, Path]] = {}
        for stage in TEACHER_STAGES:
            yield Judgement(("teacher-parity", name, stage), partial(_parity, files, path, stage, runs))


def _parity(files: UserFiles, prediction: Path, stage: str, runs: dict[Path, tuple[Recording, Path]]) -> None:
    """The reference loop, driven by the clip, computes what the training side recorded."""
    from rigpact.reference_runtime.recordings.recording import read_recording
    from rigpact.reports.comparing.compare import compare
    from rigpact.reports.comparing.judgement import judge

    if prediction not in runs:
        runs[prediction] = _teacher_run(files, prediction)
    run, driving = runs[prediction]
    if stage != "y_out" and driving == prediction:
        named = files.documents[prediction].data.get("source_json") or "its raw clip"
        raise NotJudged(f"rebuilt from {named} only: --rigpact-clip FILE")
    recorded = read_recording(prediction, files.contract)
    if stage not in recorded.trace.stages:
        raise NotJudged(f"the prediction does not record {stage}")
    _refute(judge(compare(recorded, run, files.contract, only=(stage,))).findings)


def _teacher_run(files: UserFiles, prediction: Path) -> tuple[Recording, Path]:
    from rigpact.reference_runtime.files.runner import run_frames
    from rigpact.reference_runtime.recordings.recording import Recording
    from rigpact.reference_runtime.systems.enemy_animation.loop import start_run
    from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

    data = files.documents[prediction].data
    driving = files.raw_clip_of([data.get("source_json"), data.get("clip")]) or prediction
    runner = start_run(files.contract, files.network, files.clip(driving), "teacher")
    trace = run_frames(runner, range(runner.frame_limit or 0), driving.stem, "teacher")
    return Recording(driving, "run", trace, frozenset(STAGE_NAMES)), driving


def _refute(findings: Sequence[Finding]) -> None:
    failing = [finding for finding in findings if finding_fails(finding, strict=False)]
    if failing:
        raise Refuted("\n".join(map(finding_text, failing)))


# --- engine traces ----------------------------------------------------------------------------------------------------


def _trace_judgements(files: UserFiles) -> Iterator[Judgement]:
    from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

    if not files.paths.traces:
        yield Judgement(("engine-trace",), partial(_not_judged, "no recording of the engine: --rigpact-trace FILE"))
    for path, name in short_names(files.paths.traces, suffix=True).items():
        diagnoses: dict[Path, Diagnosis] = {}
        for stage in STAGE_NAMES:
            yield Judgement(("engine-trace", name, stage), partial(_engine_stage, files, path, stage, diagnoses))


def _engine_stage(files: UserFiles, path: Path, stage: str, diagnoses: dict[Path, Diagnosis]) -> None:
    """The engine's own stage follows from the engine's own inputs to it."""
    if path not in diagnoses:
        diagnoses[path] = _diagnosis(files, path)
    diagnosis = diagnoses[path]
    verdict = next((each for each in diagnosis.stages if each.stage == stage), None)
    first = diagnosis.first_divergence
    if first is not None and first.stage == stage and first.unit == "not finite":
        raise Refuted(f"{stage} holds a value that is not finite at frame {first.frame}, {first.address}")
    if verdict is None:
        raise NotJudged(f"{stage} was not recorded")
    if verdict.ok is None:
        raise NotJudged(f"{stage} cannot be recomputed: {verdict.needs}")
    if not verdict.ok:
        raise Refuted(_stage_text(diagnosis, verdict, path))


def _stage_text(diagnosis: Diagnosis, verdict: StageVerdict, path: Path) -> str:
    from rigpact.reports.gate.answer.diagnosis_findings import about_diagnosis

    lines = [
        f"{verdict.stage} is off by {verdict.local_error:.3g} {verdict.unit} (tolerance {verdict.tolerance or 0.0:.3g})"
    ]
    first = diagnosis.first_divergence
    if first is not None:
        lines.append(f"the recording first differs at frame {first.frame} in {first.stage}, {first.address}")
    return "\n".join([*lines, *map(finding_text, about_diagnosis(diagnosis, path))])


def _diagnosis(files: UserFiles, path: Path) -> Diagnosis:
    from rigpact.reference_runtime.recordings.recording import read_recording
    from rigpact.reports.diagnosing.diagnose import diagnose
    from rigpact.reports.diagnosing.evidence import recording_to_evidence

    recording = read_recording(path, files.contract)
    driving = files.raw_clip_of([recording.trace.header.clip])
    clip = None if driving is None else files.clip(driving)
    network = None if files.paths.onnx is None else files.network
    return diagnose(recording_to_evidence(recording, files.contract, clip, network), files.contract)


# --- free run ---------------------------------------------------------------------------------------------------------


def _free_runs(files: UserFiles) -> Iterator[Judgement]:
    clips = files.clips_of_kind("raw_clip")
    if not clips:
        yield Judgement(("free-run",), partial(_not_judged, _NO_CLIP))
    for path, name in short_names(clips, suffix=False).items():
        yield Judgement(("free-run", name), partial(_free_run, files, path))


def _free_run(files: UserFiles, path: Path) -> None:
    """Five seconds on the loop's own output stay finite, and no input is cut or padded."""
    from rigpact.reference_runtime.files.runner import run_frames
    from rigpact.reference_runtime.systems.enemy_animation.loop import start_run
    from rigpact.reports.running.run import describe_run

    runner = start_run(files.contract, files.network, files.clip(path), "free")
    trace = run_frames(runner, range(FREE_RUN_FRAMES), path.stem, "free")
    _refute(describe_run(runner, trace, files.paths.bundle, path).findings)
