"""`rigpact convert`: a recording in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import answer_written


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
    from rigpact.reports.running.converted import convert_recording, is_recording, write_arrays

    of_arrays = {"--below": below, "--tick": tick, "--episode": None if episode is None else str(episode)}
    asked = ", ".join(name for name, value in of_arrays.items() if value)
    if asked or (bundle is None and not is_recording(recording)):
        given = {"--as": unnamed, "--mode": mode, "--fps": fps, "--producer": producer, "--segment": segment}
        found = f"{asked} beside it" if asked else "no --contract"
        options.refuse_beside(given, found, "a recording of a contract, or its arrays without one")
        table = write_arrays(recording, out, below, tick=tick, episode=episode)
        shapes = {name: list(rows.shape) for name, rows in table.columns.items()}
        said = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in list(shapes.items())[:6])
        lines, facts = [f"{out} written: {len(shapes)} arrays: {said}"], {"arrays": shapes}
        aside = [] if bundle is None else [f"{bundle} was not asked: the arrays have the file's own names"]
        answer_written("convert", [out], output_format, lines=lines, facts=facts, notes=[*table.notes, *aside])
        return
    says = {"mode": None if mode is None else mode.value, "fps": fps, "producer": producer}
    names = [word.strip() for word in (unnamed or "").split(",") if word.strip()]
    files = options.contract_files(bundle, companion, settings, conventions)
    with segments(recording) as parts:
        trace, notes = convert_recording(parts.at(segment, recording), out, files, unnamed=names, says=says)
    header, stages = trace.header, ", ".join(f"{name} ({width})" for name, width in trace.widths.items())
    lines = [f"{out} written: {len(trace.frame)} frames, {header.mode}, of {stages}"]
    known = {"frames": len(trace.frame), "fps": header.fps, "mode": header.mode, "system": header.system}
    answer_written("convert", [out], output_format, lines=lines, facts=known | {"stages": trace.widths}, notes=notes)
