"""`rigpact check`: judge files against the contract's rules."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.making import known_findings as known
from rigpact.reports.command_line.options import Companion, Model, Settings, Strict, argument, option, print_found
from rigpact.reports.command_line.report_formats import JSON, TEXT, FormatOfReport, print_rendered

if TYPE_CHECKING:
    from rich.console import Console

    from rigpact.contract.findings import FindingsReport
    from rigpact.reports.checking.bare_model import ModelFacts
    from rigpact.reports.checking.check import CheckRequest

_MODEL_SUFFIX = ".onnx"


def check(
    paths: Annotated[
        list[Path] | None,
        argument(
            "PATH…",
            "Bundle, companion, clips, teacher files, model; or a contract with recordings. Folders and patterns too.",
        ),
    ] = None,
    companion: Companion = None,
    onnx: Model = None,
    canary: Annotated[
        Path | None,
        option("--canary", "FILE", "Prediction, clip or trace: run the model on it in all 120 input orders."),
    ] = None,
    settings: Settings = None,
    config: known.ConfigFile = None,
    write_baseline: known.WriteBaseline = None,
    owner: known.Owner = None,
    reason: known.Reason = None,
    expires: known.Expires = None,
    *,
    strict: Strict = False,
    output_format: FormatOfReport = TEXT,
) -> None:
    """Judge a bundle, its files and its model by the rules.

    The content of a file says what it is. Exit status 0: no error (nor warning with --strict); 1: findings; 2: something
    could not be judged.
    """
    from rigpact.contract.conventions import split_settings
    from rigpact.reports.checking.check import check_files

    configuration = known.configuration_from_option(config)
    gate = configuration.gate if configuration is not None else None
    declared = {**(gate.conventions if gate is not None else {}), **split_settings(settings or ())}
    request = replace(_read_request(paths or [], companion, onnx, canary), declared=declared)
    report = check_files(request)
    if write_baseline is not None:
        about = {"owner": owner, "reason": reason, "expires": expires}
        known.save_baseline(write_baseline, report, configuration, about)
        raise typer.Exit
    report = known.configured(report, configuration)
    facts = _facts(request)
    rendered = partial(print_rendered, report, "check", "Files against the rules", strict=strict)
    if facts is not None and output_format == JSON:
        model = {"facts": list(facts.lines), "next": facts.next_step}
        report = replace(report, summary={**report.summary, "model": model})
    print_found(report, partial(_print, facts), output_format, rendered)
    raise typer.Exit(report.exit_code(strict=strict))


def _facts(request: CheckRequest) -> ModelFacts | None:
    """What a model says of itself, where it is all that was given."""
    if request.model is None or request.documents or request.recordings or request.companion:
        return None
    from rigpact.contract.model.signature import read_model_signature
    from rigpact.reports.checking.bare_model import facts_of

    return None if read_model_signature(request.model).refusal else facts_of(request.model)


def _print(facts: ModelFacts | None, report: FindingsReport, console: Console) -> None:
    from rigpact.reports.checking.as_declared import declared_text
    from rigpact.reports.engine.canary_report import print_canary
    from rigpact.reports.terminal import plain, print_report

    for line in () if facts is None else facts.lines:
        console.print(plain(line), markup=False, highlight=False)
    print_canary(report, console)
    print_report(report, console)
    if facts is not None:
        console.print(f"now: {plain(facts.next_step)}", markup=False, highlight=False)
    if said := declared_text(report):
        console.print(plain(said), markup=False, highlight=False)


def _read_request(paths: list[Path], companion: Path | None, onnx: Path | None, canary: Path | None) -> CheckRequest:
    from rigpact.contract.documents import read_document
    from rigpact.contract.processed_clip import is_processed_clip, read_processed_clip
    from rigpact.reference_runtime.recordings.named_columns import is_recording_path
    from rigpact.reports.checking.artefacts import artefacts_of
    from rigpact.reports.checking.check import CheckRequest, refuse_second

    paths = artefacts_of(paths)
    models = [path for path in paths if path.suffix.lower() == _MODEL_SUFFIX] + ([onnx] if onnx else [])
    recordings = [path for path in paths if is_recording_path(path)]
    others = [path for path in paths if path.suffix.lower() != _MODEL_SUFFIX and path not in recordings]
    refuse_second(models, "models")
    documents = [read_document(path) for path in others]
    if not any(document.kind.is_of_a_system for document in documents):  # there an array may have any name
        processed = [path for path in recordings if is_processed_clip(path)]
        recordings = [path for path in recordings if path not in processed]
        documents += [read_processed_clip(path) for path in processed]
    return CheckRequest(documents, tuple(recordings), models[0] if models else None, companion, canary)
