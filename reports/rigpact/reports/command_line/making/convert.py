"""`rigpact convert`: a recording in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.making.run import RunMode
from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    contract_files,
)
from rigpact.reports.command_line.written import answer_written


def convert(
    recording: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="A trace, .npz, .csv, JSON arrays, lines of JSON with or without a header, a teacher file.",
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT", help="A trace (.trace.jsonl, .trace.bin, …), .npz, .csv or .json."),
    ],
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle", metavar="FILE", help="The schema bundle, or a contract; only a trace can do without it."
        ),
    ] = None,
    unnamed: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="STAGE[,STAGE…]", help="What the numbers of a file without names are, in their order."
        ),
    ] = None,
    mode: Annotated[
        RunMode | None, typer.Option("--mode", help="Who drove the run, where the file does not say it.")
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option("--fps", min=0.001, max=100_000, help="Frames a second, where the file does not say it."),
    ] = None,
    producer: Annotated[str | None, typer.Option("--producer", metavar="NAME", help="Who recorded it.")] = None,
    segment: Annotated[
        int | None,
        typer.Option("--segment", min=1, metavar="N", help="Of a recording that starts again: its Nth segment."),
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write a recording in another format. Columns are named `stage[i]` or `stage.field.component`.

    Every command takes such files as they are; a trace also says who recorded it, how, and under which contract.
    Exit status 0; 2 for a file that is no recording of the contract's system.
    """
    from rigpact.reference_runtime.recordings.trace import segments
    from rigpact.reports.running.converted import ConvertRequest, Says, convert_recording

    names = tuple(word.strip() for word in (unnamed or "").split(",") if word.strip())
    says = Says(None if mode is None else mode.value, fps, producer)
    files = contract_files(bundle, companion, settings, conventions)
    with segments(recording) as parts:
        answer = convert_recording(ConvertRequest(parts.at(segment, recording), out, files, names, says))
    lines = [f"{out} written: {answer.words}"]
    answer_written("convert", [out], output_format, lines=lines, facts=answer.facts, notes=answer.notes)
