"""`rigpact gate`: check everything that a change can break, with one command and one verdict."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.table import today
from rigpact.reports.command_line import options
from rigpact.reports.command_line import report_formats as formats

if TYPE_CHECKING:
    from rigpact.contract.settings.configuration import Configuration
    from rigpact.reports.gate.found_files import FoundFiles
    from rigpact.reports.gate.measured import GateMeasurement
    from rigpact.reports.gate.report import GateReport
    from rigpact.reports.gate.status import ProjectStatus
    from rigpact.reports.importing.values import ImportRequest


PlantKind = StrEnum("PlantKind", "BUNDLE COMPANION CLIP MODEL TRAINING ENGINE RECORDING")
"""The file in which the self-test injects a defect."""


def gate(
    *,
    config: options.ConfigFile = None,
    base: options.Base = None,
    selftest: Annotated[
        bool, typer.Option("--selftest", help="Plant defects in copies of your files: the gate must fail.")
    ] = False,
    only: Annotated[
        list[PlantKind] | None, typer.Option("--only", help="With --selftest: plant only there; may be repeated.")
    ] = None,
    output_format: formats.FormatOfReport = formats.TEXT,
    strict: options.Strict = False,
) -> None:
    """Judge everything that a change can break: one verdict.

    [gate] in rigpact.toml names the files; `rigpact init` writes one. --base wins over [gate]. Exit status 0: everything that
    was asked for was judged and is well, the gate noticed every planted defect; 1: findings; 2: something could not be judged.
    """
    from rigpact.contract.files import refuse_output
    from rigpact.contract.files.reading import as_reached, working_directory
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.reports.renderers.for_people import print_gate

    if selftest or only:
        files = formats.asked_formats()
        given: dict[str, object] = {"--base": base, "--strict": strict}
        given |= {"--report": set(files) - {"html"}, "--html": "html" in files}
        _refuse_beside_selftest([name for name, value in given.items() if value], output_format, is_asked=selftest)
    configuration = options.configuration_from_option(config)
    if configuration is None:
        raise UnusableInput(FILE_NAME, "nothing", "a configuration with a table [gate]", "`rigpact init` writes one")
    asked = as_reached(configuration.path) if config is not None else working_directory() / FILE_NAME
    found = as_reached(configuration.path)
    with contextlib.chdir(configuration.path.resolve().parent):
        settings = configuration.gate
        if settings is not None:  # options of the command line win
            settings = replace(settings, base=settings.base if base is None else base, strict=strict or settings.strict)
        configuration = replace(configuration, path=Path(configuration.path.name), gate=settings)
        if selftest:
            _selftest(configuration, only or (), output_format)
        measurement, answer = _answer(configuration, found, asked, base)
        for output in formats.ASKED.get():
            refuse_output(output.path)  # which files were read is known now, and nothing was said yet
        formats.print_found(answer, print_gate, output_format, partial(formats.print_rendered, answer))
    for part in measurement.parts:
        for remark in part.remarks:
            sys.stderr.write(f"{part.name}: {remark}\n")
    raise typer.Exit(answer.exit_code)


def _refuse_beside_selftest(words: Sequence[str], output_format: str, *, is_asked: bool) -> None:
    """UnusableInput for what the self-test does not have, all at once."""
    if not is_asked:
        raise UnusableInput("--only", "no --selftest", "--selftest beside it")
    others = [*words, *([f"--format {output_format}"] if output_format not in (formats.TEXT, formats.JSON) else [])]
    if others:
        raise UnusableInput("--selftest", f"{', '.join(others)} beside it", "--only, --config, --format text or json")


def _selftest(configuration: Configuration, only: Sequence[PlantKind], output_format: str) -> NoReturn:
    """Plant defects in copies of the project's files, and say which the gate notices."""
    from rigpact.reports.gate.selftest import answer_of_selftest, run_selftest

    found = run_selftest(configuration, today(), [kind.value for kind in only])
    formats.print_answer(found, answer_of_selftest(found), output_format)
    raise typer.Exit(found.exit_code)


def _answer(
    configuration: Configuration, found: Path, asked: Path, base: str | None
) -> tuple[GateMeasurement, GateReport]:
    """Measure and judge, under the eyes of the base revision."""
    from rigpact.reports.gate.guarding import guarded
    from rigpact.reports.gate.judging import judge_gate, measure_gate

    guard = guarded(configuration, found, asked, base)
    measured = configuration
    if guard.is_first and configuration.gate is not None:  # nothing there can break
        measured = replace(configuration, gate=replace(configuration.gate, base=None))
    measurement = measure_gate(measured, asked)
    return measurement, judge_gate(measurement, configuration, today(), guard.findings)


# `rigpact init`: a project's settings for the files that lie in a folder, and a contract where none is there.
_FROM = "Write a contract from another stack's file: deploy.yaml, env.yaml, config.json, .py, .onnx, .mcap."
_BASE = "The file that FILE builds on: legged_robot_config.py, base.yaml."


def init(
    paths: Annotated[
        list[Path] | None, options.argument("[FOLDER]", "The project's folder; or the files to draft a contract from.")
    ] = None,
    *,
    status: Annotated[
        bool, typer.Option("--status", help="Write nothing: say what can be judged here, and what is missing.")
    ] = False,
    source: Annotated[Path | None, options.option("--from", "FILE", _FROM)] = None,
    base: Annotated[Path | None, options.option("--builds-on", "FILE", _BASE)] = None,
    onnx: options.Model = None,
    recording: Annotated[
        Path | None, options.option("--recording", "FILE", "A recording: its columns are matched to the vectors.")
    ] = None,
    fps: options.Fps = None,
    out: Annotated[Path | None, options.OUT] = None,
    force: options.Force = False,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Write rigpact.toml for a folder, and a contract if none is there.

    A contract is drafted from models, a recording and statistics, or made --from another stack's file; a word that the
    files leave open stays open, with a comment. --out names it, else it is contract.toml in the folder. Exit status 0;
    2 where a file is there already or nothing can be written; with --status 2 where [gate] asks for what cannot be judged.
    """
    folder, files = _place(paths or [Path()])
    of_import = {"--builds-on": base, "--onnx": onnx, "--recording": recording}
    path = out or folder / "contract.toml"
    if status:
        options.refuse_beside(
            {"--from": source, **of_import, "--fps": fps, "--out": out}, "--status", "no other option"
        )
        _say_status(folder, output_format)
        return
    from rigpact.reports.importing.values import ImportRequest

    if source is None:
        options.refuse_beside(of_import, "no --from", "--from FILE beside it, the file of another stack")
        draft = ImportRequest(folder, path, fps=fps, files=tuple(files))
        _write_settings(draft, {"--fps": fps, "--out": out, "files": files or None}, output_format, is_forced=force)
    else:
        options.refuse_beside({"files": files or None}, f"--from {source}", "one folder, the project's")
        _write_imported(ImportRequest(source, path, onnx, recording, fps, base), output_format, is_forced=force)


def _place(paths: list[Path]) -> tuple[Path, list[Path]]:
    """The project's folder, and the files to draft from where files were named."""
    files = [path for path in paths if path.is_file()]
    folders = {path.parent for path in files} or set(paths)
    if len(folders) > 1 or len(files) not in (0, len(paths)):
        raise UnusableInput("FOLDER", ", ".join(map(str, paths)), "one folder, or files of one folder")
    folder = folders.pop()
    if not folder.is_dir():
        raise UnusableInput(
            folder, "nothing", "a project's folder, or files to draft a contract from", "check the spelling"
        )
    return folder, files


def _refuse_existing(path: Path, *, is_forced: bool) -> None:
    if path.exists() and not is_forced:
        raise UnusableInput(path, "a file", "none yet", "--force writes over it")


def _say_status(folder: Path, output_format: options.OutputFormat) -> None:
    from rigpact.contract.settings.configuration import FILE_NAME, find_configuration
    from rigpact.reports.gate.status import print_examination

    path = find_configuration(folder.resolve())
    found = _examined(path, folder)
    formats.print_found(found, partial(print_examination, place=path or folder / FILE_NAME), output_format)
    raise typer.Exit(found.exit_code)


def _examined(path: Path | None, folder: Path) -> ProjectStatus:
    """What the settings ask, and whether it can be judged; refused where the gate refuses them."""
    from rigpact.contract.settings.configuration import read_configuration
    from rigpact.contract.settings.hearing import Hearing
    from rigpact.reports.gate.status import examine

    configuration = None if path is None else read_configuration(path)
    if configuration is not None:
        Hearing(configuration, today())  # refuses what the gate refuses: known findings that cannot be read, far days
    with contextlib.chdir(folder if path is None else path.resolve().parent):
        return examine(None if configuration is None else configuration.gate, today())


def _write_imported(request: ImportRequest, output_format: options.OutputFormat, *, is_forced: bool) -> None:
    from rigpact.contract.files import write_bytes
    from rigpact.reports.importing.formats import import_contract

    _refuse_existing(request.out, is_forced=is_forced)
    imported = import_contract(request)
    write_bytes(request.out, imported.content)
    notes, ending = list(imported.notes), ".operation"
    missing = [name.removesuffix(ending) for name in imported.left_open if name.endswith(ending)]
    if missing:
        notes.append(f"nothing computes {', '.join(missing)}: write the stages that do")
    opened = [name for name in imported.left_open if not name.endswith(ending)]
    if opened:
        notes.append(f"left open: {', '.join(opened)}; `rigpact check` names each place")
    lines, facts = [f"{request.out} written from {request.source}"], {"left_open": list(imported.left_open)}
    formats.answer_written("init", [request.out], output_format, lines=lines, facts=facts, notes=notes)
    _say_next(f"rigpact check {request.out}", output_format)


def _write_settings(
    draft: ImportRequest, of_draft: Mapping[str, object], output_format: options.OutputFormat, *, is_forced: bool
) -> None:
    """rigpact.toml for what lies in a folder, after the draft of a contract where there is none. of_draft: its options."""
    from rigpact.contract.files import write_bytes
    from rigpact.contract.findings import number_of
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.reports.gate.found_files import find_files, project_files, settings_text
    from rigpact.reports.gate.status import print_examination
    from rigpact.reports.terminal import show

    folder, path = draft.source, draft.source / FILE_NAME
    _refuse_existing(path, is_forced=is_forced)
    there = find_files(folder)
    made: dict[Path, str] = {}
    said, step = list[str](), ""
    if there.bundles:
        options.refuse_beside(
            of_draft, f"{there.bundles[0]}, a contract", "a folder without one: move it away to draft another"
        )
    else:
        made, said, step = _contract_made(draft, there, is_forced=is_forced)
    found = project_files(folder)
    last_day, (parameters, size) = today() + timedelta(days=90), _figures(folder, found)
    base = _base_of(folder, found)
    text = settings_text(found, base=base, last_day=last_day, parameters=parameters, model_bytes=size)
    write_bytes(path, text.encode("utf-8"))
    examination, counts = _examined(path, folder), _counts(found)
    facts = {"bundle": str(found.bundles[0]), **counts, "examination": examination.to_json()}
    words = ", ".join(number_of(count, name) for name, count in counts.items() if count)
    lines = [*made.values(), f"{path} written for {found.bundles[0]}: {words or 'nothing else lies here'}"]
    formats.answer_written("init", [*made, path], output_format, lines=lines, facts=facts, notes=[*said, *found.notes])
    if output_format is options.OutputFormat.TEXT:
        show(partial(print_examination, examination, place=path, is_whole=False))
    _say_next(step or f"rigpact gate{'' if folder == Path() else f' --config {path}'}", output_format)


def _contract_made(
    draft: ImportRequest, there: FoundFiles, *, is_forced: bool
) -> tuple[dict[Path, str], list[str], str]:
    """The contract of a folder without one: its file with what to say of it, notes, and the next step.

    In a checkout of the project that a hosted system comes from, it is that system's; else a draft.
    """
    from rigpact.contract.files import write_bytes
    from rigpact.reports.gate.found_files import write_published_contract
    from rigpact.reports.importing.drafting import draft_folder

    published = None if draft.files else write_published_contract(draft.source, there.columns)
    if published is not None:
        path, data = published
        held = (
            f"{data.path.as_posix()} holds {', '.join(data.stages)} as the project of {data.system.title} writes them"
        )
        return {path: f"{path} written, with the published constants: {held}"}, [], ""
    _refuse_existing(draft.out, is_forced=is_forced)
    if not there.models and not draft.files:
        beside = "".join(f"; {note}" for note in there.notes[:3])
        foreign = next(
            (path for path in sorted(draft.source.iterdir()) if path.suffix in (".yaml", ".yml", ".py")), "FILE"
        )
        hint = f"`rigpact init --from {foreign}` reads another stack's file; `rigpact show NAME --write-contract FILE` starts one"
        raise UnusableInput(draft.source, f"no contract and no model{beside}", "one of them", hint)
    made = draft_folder(draft)
    write_bytes(draft.out, made.content)
    text = made.content.decode("utf-8")
    counts = ", ".join(f"{text.count(f'# {word}')} {word}" for word in ("CAUTION", "GUESSED", "LEFT OPEN"))
    said = f"{draft.out} drafted ({counts}): it states what the recording does, and so every mistake of who recorded it"
    step = f"compare what is marked with the training's settings, then rigpact check {draft.out}"
    return {draft.out: said}, list(made.notes), step


def _say_next(step: str, output_format: options.OutputFormat) -> None:
    from rigpact.reports.terminal import plain, say

    if output_format is options.OutputFormat.TEXT:
        say(plain(f"now: {step}"))


def _base_of(folder: Path, found: FoundFiles) -> str | None:
    """The revision of the working directory's repository to compare with: it has the contract. None without one, or git."""
    from rigpact.reports.file_lists import opened_revision

    compared = [folder / path for path in (*found.bundles[:1], *found.companions[:1])]
    for revision in ("origin/main", "origin/master") if found.has_revisions else ():
        with contextlib.suppress(UnusableInput), opened_revision(revision) as files:
            if all(map(files.has, compared)):
                return revision
    return None


def _figures(folder: Path, found: FoundFiles) -> tuple[int | None, int | None]:
    """Number of parameters and bytes of the model, where they can be read."""
    from rigpact.contract.model.signature import read_model

    if not found.models:
        return None, None
    path, graph = folder / found.models[0], None
    with contextlib.suppress(UnusableInput):
        graph = read_model(path).graph
    return graph.parameters if graph else None, path.stat().st_size


def _counts(found: FoundFiles) -> dict[str, int]:
    from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER

    engines = sum(trace.header.producer != OWN_PRODUCER for _, trace in found.traces)
    return {
        "clip": len(found.clips), "teacher file": len(found.predictions) + len(found.batches), "engine trace": engines,
        "model": len(found.models) + len(found.own_models), "companion": len(found.companions),
    }  # fmt: skip
