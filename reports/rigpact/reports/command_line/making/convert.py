"""`rigpact convert`: a recording in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Bundle,
    Companion,
    ConventionsFile,
    Format,
    Fps,
    Mode,
    Out,
    OutputFormat,
    Segment,
    Settings,
    contract_files,
)
from rigpact.reports.command_line.written import answer_written


def convert(
    recording: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="A trace, .npz, .csv, JSON arrays, lines of JSON or a teacher file.",
        ),
    ],
    *,
    out: Out,
    bundle: Bundle = None,
    unnamed: Annotated[
        str | None,
        typer.Option("--as", metavar="STAGE[,STAGE…]", help="The stages of a file without names, in order."),
    ] = None,
    mode: Mode = None,
    fps: Fps = None,
    producer: Annotated[str | None, typer.Option("--producer", metavar="NAME", help="Who recorded it.")] = None,
    segment: Segment = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write a recording in another format.

    The suffix of --out gives the format: a trace (.trace.jsonl, .trace.bin, …), .npz, .csv or .json. Columns are named
    `stage[i]` or `stage.field.component`. A trace needs no --bundle and no --mode. Exit status 0; 2 for a file that is not
    a recording of the contract's system.
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
