"""`rigpact check`: judge files against the contract's rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.known_findings import (
    ConfigFile,
    Expires,
    Owner,
    Reason,
    WriteBaseline,
    configuration_from_option,
    configured,
    save_baseline,
)
from rigpact.reports.command_line.options import Companion, Format, OutputFormat, Strict

if TYPE_CHECKING:
    from rigpact.contract.documents import Document
    from rigpact.contract.rules import Subject

_MODEL_SUFFIX = ".onnx"


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH…",
            help="Bundle, companion, clips, teacher batches and predictions, told apart by their content.",
        ),
    ] = None,
    companion: Companion = None,
    onnx: Annotated[Path | None, typer.Option("--onnx", metavar="FILE", help="Model to check too.")] = None,
    canary: Annotated[
        Path | None,
        typer.Option(
            "--canary", metavar="FILE", help="Prediction, clip or trace: run the model on it in all 120 input orders."
        ),
    ] = None,
    config: ConfigFile = None,
    write_baseline: WriteBaseline = None,
    owner: Owner = None,
    reason: Reason = None,
    expires: Expires = None,
    *,
    strict: Strict = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Say what is wrong with a bundle, and with files and a model that belong to it.

    Exit status 0: no error (nor warning with --strict); 1: findings; 2: nothing could be judged.
    """
    from rigpact.contract.rules import check as check_subject
    from rigpact.reports.canary_report import print_canary, with_canary
    from rigpact.reports.terminal import print_json, print_report, stdout

    subject = _read_subject(paths or [], companion, onnx)
    configuration = configuration_from_option(config)
    report = with_canary(check_subject(subject), subject, canary)
    if write_baseline is not None:
        save_baseline(write_baseline, report, configuration, {"owner": owner, "reason": reason, "expires": expires})
        raise typer.Exit
    report = configured(report, configuration)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        print_canary(report, stdout())
        print_report(report)
    raise typer.Exit(report.exit_code(strict=strict))


def _read_subject(paths: list[Path], companion: Path | None, onnx: Path | None) -> Subject:
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.model_file import read_model
    from rigpact.contract.rules import Subject

    models = [path for path in paths if path.suffix.lower() == _MODEL_SUFFIX] + ([onnx] if onnx else [])
    documents = [read_document(path) for path in paths if path.suffix.lower() != _MODEL_SUFFIX]
    companions = [document for document in documents if document.kind is Kind.COMPANION]
    if companion is not None:
        companions.append(read_document(companion, Kind.COMPANION))
    if not documents and not models and not companions:
        raise _nothing_given()
    _refuse_second(models, "models")
    return Subject(
        bundle=_only([document for document in documents if document.kind is Kind.BUNDLE], "bundles"),
        companion=_only(companions, "companions"),
        others=tuple(document for document in documents if document.kind not in {Kind.BUNDLE, Kind.COMPANION}),
        model=read_model(models[0]) if models else None,
    )


def _only(documents: list[Document], what: str) -> Document | None:
    _refuse_second([document.path for document in documents], what)
    return documents[0] if documents else None


def _refuse_second(paths: list[Path], what: str) -> None:
    from rigpact.contract.errors import UnusableInput

    if len(paths) > 1:
        raise UnusableInput(paths[1], f"{len(paths)} {what}", "one", "check each with the files that belong to it")


def _nothing_given() -> Exception:
    from rigpact.contract.errors import UnusableInput

    return UnusableInput(
        "PATH", "no file", "at least one file to check", "for example rigpact check norm_template.json"
    )
