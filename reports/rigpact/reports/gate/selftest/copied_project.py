"""Copy a project's files into another folder, where the self-test can damage them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.reports.gate.project import Project


def copied_project(project: Project, folder: Path) -> GateSettings:
    """Copy every file of a project into a folder and return settings that name the copies, relative to it.

    A copy has no git history, so breaking changes are not checked. UnusableInput for a file that does not exist.
    """
    names = dict(_copied(project, folder))
    settings = project.settings

    def named(path: str | Path | None) -> str | None:
        return None if path is None else names[Path(path)]

    def of_run(run: RecordedRun) -> RecordedRun:
        return replace(run, file=names[Path(run.file)], clip=named(run.clip))

    return replace(
        settings,
        bundle=named(project.bundle_path), companion=named(project.companion_path), model=named(project.model_path),
        clips=tuple(names[path] for path in project.clip_paths), free_run=named(settings.free_run),
        teacher=tuple(map(of_run, settings.teacher)), traces=tuple(map(of_run, settings.traces)),
        base=None, change_record=None,
    )  # fmt: skip


def _copied(project: Project, folder: Path) -> Iterator[tuple[Path, str]]:
    """Copy every file into its own folder: names stay the same and do not collide."""
    for index, path in enumerate(project.files()):
        if not path.is_file():
            raise UnusableInput(path, "nothing", "an existing file", "check the spelling of the path")
        name = f"{index}/{path.name}"
        target = folder / name
        target.parent.mkdir(parents=True)
        shutil.copyfile(path, target)
        yield path, name
    yield from _weights(project, folder)


def _weights(project: Project, folder: Path) -> Iterator[tuple[Path, str]]:
    """The files beside the model that hold its weights."""
    if project.model_path is None or project.model.graph is None:
        return
    index = project.files().index(project.model_path)
    for name in {weight.external.location for weight in project.model.graph.weights if weight.external}:
        shutil.copyfile(project.model_path.parent / name, folder / f"{index}/{name}")
        yield project.model_path.parent / name, f"{index}/{name}"
