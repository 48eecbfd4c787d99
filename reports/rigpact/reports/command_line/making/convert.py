"""`rigpact convert`: a recording in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import answer_written

if TYPE_CHECKING:
    from rigpact.reports.running.converted import ArraysRequest


def convert(
    recording: Annotated[
        Path, options.argument("IN", "A trace, .npz, .csv, JSON, a teacher file, a bag (.mcap), a data set or BVH.")
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
    below: Annotated[str, options.option("--below", "PATH", "Of arrays: those below this path, as sequences[0].")] = "",
    tick: Annotated[str | None, options.option("--tick", "TOPIC", "Of a bag: the topic that gives the frames.")] = None,
    episode: Annotated[
        int | None, options.option("--episode", "N", "Of a data set: the episode to take.", min=0)
    ] = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Write a recording in another format.

    The suffix of --out gives the format: a trace (.trace.jsonl, .trace.bin, …), .npz, .csv or .json. Columns are named
    `stage[i]` or `stage.field.component`. A trace needs no --contract and no --mode; any other file without --contract gives its
    arrays, as .npz. Exit status 0; 2 for a file that is not a recording of the contract's system.
    """
    from rigpact.reference_runtime.recordings.trace_bytes import segments
    from rigpact.reports.running.converted import ArraysRequest, ConvertRequest, Says, convert_recording, is_recording

    names = tuple(word.strip() for word in (unnamed or "").split(",") if word.strip())
    says = Says(None if mode is None else mode.value, fps, producer)
    arrays = ArraysRequest(recording, out, below, tick, episode)
    files = options.contract_files(bundle, companion, settings, conventions)
    if arrays.options or (bundle is None and not is_recording(recording)):
        given = {"--as": unnamed, "--mode": mode, "--fps": fps, "--producer": producer, "--segment": segment}
        found = f"{', '.join(arrays.options)} beside it" if arrays.options else "no --contract"
        options.refuse_beside(given, found, "a recording of a contract, or its arrays without one")
        _write_arrays(arrays, output_format, contract=bundle)
        return
    with segments(recording) as parts:
        answer = convert_recording(ConvertRequest(parts.at(segment, recording), out, files, names, says))
    lines = [f"{out} written: {answer.words}"]
    answer_written("convert", [out], output_format, lines=lines, facts=answer.facts, notes=answer.notes)


def _write_arrays(request: ArraysRequest, output_format: options.OutputFormat, *, contract: Path | None) -> None:
    """The arrays of a file that no contract names."""
    from rigpact.reports.running.converted import write_arrays

    table = write_arrays(request)
    shapes = {name: list(rows.shape) for name, rows in table.columns.items()}
    said = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in list(shapes.items())[:6])
    lines = [f"{request.out} written: {len(shapes)} arrays: {said}"]
    aside = [] if contract is None else [f"{contract} was not asked: the arrays have the file's own names"]
    notes = [*table.notes, *aside]
    answer_written("convert", [request.out], output_format, lines=lines, facts={"arrays": shapes}, notes=notes)
