"""`rigpact init`: write a commented configuration for the files in this folder."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.options import Force, Format, Fps, OutputFormat, argument
from rigpact.reports.command_line.written import answer_written

if TYPE_CHECKING:
    from rigpact.reports.gate.setup.doctor import Examination
    from rigpact.reports.gate.setup.found_files import FoundFiles


def init(
    folder: Annotated[Path, argument("FOLDER", "The project's folder.")] = Path(),
    *,
    contract: Annotated[
        bool, typer.Option("--contract", help="Draft contract.toml from models, a recording and statistics.")
    ] = False,
    fps: Fps = None,
    force: Force = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write rigpact.toml for the files in a folder.

    It ends with what `rigpact gate` can judge, as `rigpact doctor` says it. With --contract it writes contract.toml, the
    draft of your own contract. Exit status 0; 2 if the file is there, or there are no files to write it from.
    """
    if contract:
        _draft_contract(folder, output_format, fps, is_forced=force)
        return
    from datetime import timedelta

    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.contract.settings.days import today
    from rigpact.reports.gate.setup.doctor import print_examination
    from rigpact.reports.gate.setup.found_files import find_files, project_files
    from rigpact.reports.gate.setup.written_settings import budget_text, settings_text
    from rigpact.reports.terminal import say, show

    path = folder / FILE_NAME
    if path.exists() and not force:
        raise UnusableInput(path, "a configuration", "none yet", "--force writes over it")
    started = [] if find_files(folder).bundles else _start_from_published(folder)
    found = project_files(folder)
    found.notes[:0] = started
    revisions = ("origin/main", "origin/master") if found.has_revisions else ()
    compared = [folder / path for path in (*found.bundles[:1], *found.companions[:1])]
    base = next((name for name in revisions if _are_at(compared, name)), None)
    budget = budget_text(*_figures(folder, found))
    text = settings_text(found, base=base, last_day=today() + timedelta(days=90), budget=budget)
    write_bytes(path, text.encode("utf-8"))
    examination, counts = _what_can_be_judged(path), _counts(found)
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    facts = {"bundle": str(found.bundles[0]), **counts, "examination": examination.to_json()}
    lines = [f"{path} written for {found.bundles[0]}: {words}"]
    answer_written("init", [path], output_format, lines=lines, facts=facts, notes=found.notes)
    if output_format is OutputFormat.TEXT:
        show(partial(print_examination, examination, place=path))
        say("now: rigpact gate")


def _are_at(paths: list[Path], revision: str) -> bool:
    """Whether a revision of the repository of the working directory has all the files; False without a repository or git."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.git_revision import opened_revision

    with suppress(UnusableInput), opened_revision(revision) as files:
        return all(map(files.has, paths))
    return False


def _start_from_published(folder: Path) -> list[str]:
    """In a checkout of the project that a hosted system comes from: write that system's contract; what was written, in words."""
    from rigpact.reports.gate.setup.found_files import find_files
    from rigpact.reports.gate.setup.published_files import write_published_contract

    written = write_published_contract(folder, find_files(folder).columns)
    if written is None:
        return []
    path, data = written
    said = f"{data.path.as_posix()} holds {', '.join(data.stages)} as the project of {data.system.title} writes them"
    return [f"{path} written, with the published constants: {said}"]


def _what_can_be_judged(path: Path) -> Examination:
    import contextlib

    from rigpact.contract.settings.configuration import read_configuration
    from rigpact.contract.settings.days import today
    from rigpact.reports.gate.setup.doctor import examine

    configuration = read_configuration(path)
    with contextlib.chdir(path.resolve().parent):
        return examine(configuration.gate, today())


def _draft_contract(folder: Path, output_format: OutputFormat, fps: float | None, *, is_forced: bool) -> None:
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.reports.importing.drafted_folder import draft_folder
    from rigpact.reports.terminal import plain, say

    path = folder / "contract.toml"
    if path.exists() and not is_forced:
        raise UnusableInput(path, "a contract", "none yet", "--force writes over it")
    made = draft_folder(folder, path, fps)
    write_bytes(path, made.content)
    text = made.content.decode("utf-8")
    counts = ", ".join(f"{text.count(f'# {word}')} {word}" for word in ("CAUTION", "GUESSED", "LEFT OPEN"))
    lines = [f"{path} drafted ({counts}): it states what the recording does, and so every mistake of who recorded it"]
    answer_written("init", [path], output_format, lines=lines, notes=made.notes)
    if output_format is OutputFormat.TEXT:
        say(f"now: compare what is marked with the training's settings, then rigpact check {plain(str(path))}")


def _figures(folder: Path, found: FoundFiles) -> tuple[int | None, int | None]:
    """Number of parameters and bytes of the model, where they can be read."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.model.file import read_model

    if not found.models:
        return None, None
    path, graph = folder / found.models[0], None
    with suppress(UnusableInput):
        graph = read_model(path).graph
    return graph.parameters if graph else None, path.stat().st_size


def _counts(found: FoundFiles) -> dict[str, int]:
    models = (*found.models, *found.own_models)
    return {
        "clips": len(found.clips), "teacher files": len(found.predictions) + len(found.batches),
        "engine traces": len(found.engine_traces), "models": len(models), "companions": len(found.companions),
    }  # fmt: skip
