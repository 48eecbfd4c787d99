"""`rigpact run`: drive the reference runtime and record every stage."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import answer_written, print_found

if TYPE_CHECKING:
    from rigpact.contract.systems.contract import Contract


def run(
    clip: Annotated[Path | None, options.argument("CLIP", "The clip that drives the run.")],
    *,
    out: Annotated[Path | None, options.OUT],
    probe: Annotated[
        Path | None, options.option("--probe", "FILE", "Write a short clip that shows all that one can; no CLIP.")
    ] = None,
    bundle: options.Bundle = None,
    onnx: options.Model = None,
    replay: options.Replay = None,
    mode: Annotated[options.RunMode, options.MODE] = options.RunMode.TEACHER,
    frames: options.Frames = None,
    floor_contacts: options.FloorContacts = False,
    engine: options.EngineOption = options.EngineChoice.AUTO,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
    strict: options.Strict = False,
) -> None:
    """Run a system on a clip and write every stage of every frame.

    The clip is a raw clip, a teacher file or a recording. --out takes the suffixes of a trace (.trace.jsonl, .trace.bin,
    .trace.safetensors, …); .json is a teacher prediction. A free run takes only those inputs from the clip that the system
    does not compute, and repeats the clip. --probe runs nothing: it makes a clip under which other conventions give other
    numbers. Exit status 0: no error (nor warning with --strict); 1: findings; 2: could not judge.
    """
    from rigpact.reports.diagnosing.adequacy import write_probe
    from rigpact.reports.running import print_run
    from rigpact.reports.running import run as run_files

    files = options.contract_files(bundle, companion, settings, conventions)
    if probe is not None:
        others = {"CLIP": clip, "-o": out, "--replay": replay, "--frames": frames}
        if given := ", ".join(name for name, value in others.items() if value is not None):
            raise UnusableInput("--probe", f"{given} beside it", "the contract alone", "run the probe afterwards")
        write_probe(files.opened(), probe)
        lines = [f"{probe} written: a clip that shows all that a clip can show"]
        answer_written("run", [probe], output_format, lines=lines)
        return
    if clip is None or out is None:  # `left_out` says what is missing
        return
    report = run_files(
        files,
        clip,
        out,
        onnx,
        replay,
        mode=mode.value,
        frames=frames,
        floor_contacts=floor_contacts,
        engine=engine.value,
    )
    print_found(report, print_run, output_format)
    raise typer.Exit(report.exit_code(strict=strict))


# `rigpact convert`: a recording in another format.
def convert(
    recording: Annotated[
        Path, options.argument("IN", "A trace, .npz, .csv, JSON, a teacher file, a bag (.mcap) or a data set.")
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
    from rigpact.reports.running import convert_recording, is_recording, write_arrays

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


# `rigpact codegen`: write a contract as a C++ header.
_NAMESPACE = "rigpact_contract"


def codegen(
    contract: options.ContractArgument,
    *,
    out: options.Out,
    namespace: Annotated[
        str, options.option("--namespace", "NAME", "C++ namespace; one for each character.")
    ] = _NAMESPACE,
    headers: Annotated[
        Path | None, options.option("--headers", "FOLDER", "Copy its headers to FOLDER/rigpact too.")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Write the loop too: step() computes every stage.")] = False,
    onnx: options.Model = None,
    unreal: Annotated[
        Path | None, options.option("--unreal", "FOLDER", "Copy the Unreal plug-in to FOLDER/RigpactTrace too.")
    ] = None,
    stamp: Annotated[
        Path | None, options.option("--stamp", "MODEL", "Write no header, but MODEL with the contract's hash in it.")
    ] = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Write a contract as a C++ header, or its hash into a model.

    The engine calls SelfTest() or SelfTestEngine() at its start. The test refuses other files, a stage that computes
    something else and, with --onnx, another model. The same contract gives the same bytes. The command prints the lines to
    paste into the engine's code. A stamped model is refused by `rigpact check` beside another contract.
    """
    from rigpact.contract.files import read_bytes, write_bytes
    from rigpact.reports.engine.cpp_text import copy_headers, copy_plugin
    from rigpact.reports.engine.header import contract_header, lines_to_paste

    if stamp is not None:
        of_header: dict[str, object] = {"--headers": headers, "--loop": loop, "--onnx": onnx, "--unreal": unreal}
        of_header["--namespace"] = namespace != _NAMESPACE
        options.refuse_beside(of_header, "--stamp beside it", "a header, which --stamp does not write")
    read = options.contract_files(contract, companion, settings, conventions).opened()
    if stamp is not None:
        _stamp(read, stamp, out, output_format)
        return
    model_sha256 = None if onnx is None else hashlib.sha256(read_bytes(onnx)).hexdigest()
    write_bytes(out, contract_header(read, namespace, model_sha256, with_loop=loop).encode())
    _say_errors(contract, companion)
    folders = [copy(folder) for copy, folder in ((copy_headers, headers), (copy_plugin, unreal)) if folder is not None]
    stages, paste = len(read.system.stages), lines_to_paste(read, namespace)
    said = [f"{out}: {read.system.name}, {stages} stages, contract {read.sha256[:12]}"]
    said += [f"{folder}: copied" for folder in folders]
    said += ["paste into the engine's code:", *(f"  {line}" for line in paste)]
    facts = {"system": read.system.name, "stages": stages}
    facts |= {"contract_sha256": read.sha256, "lines_to_paste": list(paste)}
    answer_written("codegen", [out, *folders], output_format, lines=said, facts=facts)


def _stamp(contract: Contract, model: Path, out: Path, output_format: options.OutputFormat) -> None:
    """Write a model with the contract's hash, which covers the files that its numbers and operations come from."""
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.model.copies import write_stamped

    document = read_document(contract.path)
    if document.kind is Kind.DECLARATION:
        from rigpact.contract.declared.reading import declaration_of

        own = model.resolve()
        if any((document.path.parent / name).resolve() == own for name in declaration_of(document).read):
            found = f"numbers that come from {model.name} itself"
            hint = "the hash would change with the stamp: write the numbers into the contract"
            raise UnusableInput(contract.path, found, "numbers from other files", hint)
    write_stamped(model, contract.sha256, out)
    lines = [f"{out}: belongs to {contract.path.name}, {contract.sha256[:12]}"]
    answer_written("codegen", [out], output_format, lines=lines, facts={"contract_sha256": contract.sha256})


def _say_errors(contract: Path, companion: Path | None) -> None:
    """A header of a contract with errors compiles, and agrees with itself: who generates it must know."""
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.findings import Severity, number_of
    from rigpact.reports.checking.check import CheckRequest, check_files
    from rigpact.reports.terminal import say_aside

    documents = (read_document(contract), *(() if companion is None else (read_document(companion, Kind.COMPANION),)))
    report = check_files(CheckRequest(documents, with_own_models=False))
    errors = [finding for finding in report.findings if finding.rule.severity is Severity.ERROR]
    if errors:
        codes = ", ".join(dict.fromkeys(finding.rule.code for finding in errors))
        said = f"{contract} has {number_of(len(errors), 'error')} ({codes}): `rigpact check` explains them"
        say_aside(f"warning: {said}")


# `rigpact sweep`: measure many clips, checkpoints and conventions, in processes of this machine.
SweepMode = StrEnum("SweepMode", "TEACHER FREE BOTH")
"""Whether the clip or the system's own output drives the run of a cell."""


Clips = Annotated[list[str], options.argument("CLIPS…", "Clips, folders of clips, or patterns.")]
Models = Annotated[list[str], options.option("--onnx", "PATH", "Checkpoint, folder or pattern; may be repeated.")]
Folder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results and journal are written.")]
Knobs = Annotated[list[str] | None, options.option("--set", "KNOB=V1,V2", "Values of a convention; may be repeated.")]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Processes of this machine; else one for each core.")
]


def sweep(
    clip: Clips,
    *,
    onnx: Models,
    out: Folder,
    bundle: options.Bundle = None,
    mode: Annotated[SweepMode, options.MODE] = SweepMode.BOTH,
    engine: options.EngineOption = options.EngineChoice.NUMPY,
    frames: options.Frames = None,
    settings: Knobs = None,
    companion: options.Companion = None,
    conventions: options.ConventionsFile = None,
    processes: Processes = None,
    output_format: options.Format = options.OutputFormat.TEXT,
    strict: options.Strict = False,
) -> None:
    """Measure every clip under every checkpoint and convention.

    Results go to FOLDER/results.parquet; a second call goes on where the first one stopped. Exit status 0: every cell was
    measured and is finite; 1: some are not; 2: none was measured. With --strict a cell that is worse than copying the last
    pose fails too.
    """
    from rigpact.contract.conventions import declared_changes
    from rigpact.reports.beside import processors
    from rigpact.reports.sweep.plan import MODES, plan_sweep
    from rigpact.reports.sweep.sweep import in_processes, in_this_process, print_summary, run_sweep
    from rigpact.reports.terminal import print_json, show

    contract, base = options.contract_files(bundle, companion, None, None).opened(), declared_changes((), conventions)
    modes, knobs = MODES if mode is SweepMode.BOTH else (mode.value,), settings or ()
    plan = plan_sweep(
        contract, companion, onnx, clip, knobs, base=base, modes=modes, frames=frames, engine=engine.value
    )
    count = min(processes or processors(), len(plan))
    runner = in_this_process if count == 1 else partial(in_processes, processes=count)
    found = run_sweep(plan, out, runner)
    if output_format is options.OutputFormat.JSON:
        print_json(found.to_json())
    else:
        show(partial(print_summary, found))
    raise typer.Exit(found.exit_code(strict=strict))
