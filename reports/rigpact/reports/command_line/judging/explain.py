"""`rigpact explain`: why a recording differs from the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Settings,
)
from rigpact.reports.command_line.report_formats import JSON, TEXT, FormatOfAnswer, print_comment


def explain(
    recording: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace, a teacher prediction, a raw clip, or a pasted engine log.")
    ],
    *,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle", metavar="FILE", help="The schema bundle, or a contract; only a log can do without it."
        ),
    ] = None,
    companion: Companion = None,
    clip: Annotated[
        Path | None,
        typer.Option("--clip", metavar="FILE", help="The clip that drove it: the input stages are rebuilt from it."),
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option("--onnx", metavar="FILE", help="The model: the network's own output is judged too.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="FILE", help="Recorded network outputs, where the trace has none."),
    ] = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    allow_unjudged: Annotated[
        list[str] | None,
        typer.Option("--allow-unjudged", metavar="STAGE", help="A recorded stage that may stay unjudged; repeatable."),
    ] = None,
    singles_only: Annotated[bool, typer.Option("--singles-only", help="Do not search pairs of changes.")] = False,
    output_format: FormatOfAnswer = TEXT,
) -> None:
    """Name the convention that differs, or say that none does.

    Each recorded stage is recomputed from the engine's own recorded inputs to it; where one differs, the knobs that can
    change it are searched, all singles and all pairs. Exit status 0: agrees; 1: explained or unexplained; 2: undetermined.
    """
    from rigpact.reference_runtime.files.contracts import ContractFiles
    from rigpact.reports.commenting.of_diagnosis import comment_on_diagnosis
    from rigpact.reports.diagnosing.diagnosis_text import print_diagnosis
    from rigpact.reports.diagnosing.evidence import EvidenceFiles
    from rigpact.reports.diagnosing.explain import ExplainRequest
    from rigpact.reports.diagnosing.explain import explain as explain_recording
    from rigpact.reports.terminal import print_json, stdout

    files, given = ContractFiles(bundle, companion, settings or (), conventions), EvidenceFiles(clip, onnx, replay)
    request = ExplainRequest(
        recording, files, given, with_pairs=not singles_only, allow_unjudged=tuple(allow_unjudged or ())
    )
    diagnosis, notes = explain_recording(request)
    if output_format == JSON:
        print_json(diagnosis.to_json())
    elif output_format != TEXT:
        print_comment(comment_on_diagnosis(diagnosis, notes), output_format)
    else:
        console = stdout()
        for note in notes:
            console.print(f"note: {note}", style="yellow", markup=False)
        print_diagnosis(diagnosis, console)
    raise typer.Exit(diagnosis.exit_code)
