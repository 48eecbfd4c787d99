"""`rigpact convert`: a recording in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rigpact.reports.command_line import options
from rigpact.reports.command_line.written import answer_written


def convert(
    recording: Annotated[
        Path, options.argument("IN", "A trace, .npz, .csv, JSON arrays, lines of JSON or a teacher file.")
    ],
    *,
    out: options.Out,
    bundle: options.Bundle = None,
    unnamed: Annotated[
        str | None, options.option("--as", "STAGE[,STAGE…]", "The stages of a file without names, in order.")
    ] = None,
    mode: options.Mode = None,
    fps: options.Fps = None,
    producer: Annotated[str | None, options.option("--producer", "NAME", "Who recorded it.")] = None,
    segment: options.Segment = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Write a recording in another format.

    The suffix of --out gives the format: a trace (.trace.jsonl, .trace.bin, …), .npz, .csv or .json. Columns are named
    `stage[i]` or `stage.field.component`. A trace needs no --contract and no --mode. Exit status 0; 2 for a file that is not
    a recording of the contract's system.
    """
    from rigpact.reference_runtime.recordings.trace import segments
    from rigpact.reports.running.converted import ConvertRequest, Says, convert_recording

    names = tuple(word.strip() for word in (unnamed or "").split(",") if word.strip())
    says = Says(None if mode is None else mode.value, fps, producer)
    files = options.contract_files(bundle, companion, settings, conventions)
    with segments(recording) as parts:
        answer = convert_recording(ConvertRequest(parts.at(segment, recording), out, files, names, says))
    lines = [f"{out} written: {answer.words}"]
    answer_written("convert", [out], output_format, lines=lines, facts=answer.facts, notes=answer.notes)
