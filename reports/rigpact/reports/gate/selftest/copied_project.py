"""Copy a project's files into another folder, where the self-test can damage them."""

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file
from rigpact.contract.model.file import read_model
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reference_runtime.recordings.trace import write_trace
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
        (folder / str(index)).mkdir(parents=True)
        yield path, _copy(project, path, folder, index)
        if path == project.bundle_path:
            _copy_beside(project, folder / str(index))
    if project.model_path is not None:
        _copy_weights(project.model_path, folder / str(project.files().index(project.model_path)))


def _copy(project: Project, path: Path, folder: Path, index: int) -> str:
    """Copy one file and return its new name. Named columns become a trace of the same numbers: its rows can be damaged."""
    if open_file(path).kind is Kind.COLUMNS:
        name = f"{index}/{path.stem}.trace.jsonl"
        write_trace(project.recording_of(path).trace, folder / name)
    else:
        name = f"{index}/{path.name}"
        copy_file(path, folder / name)
    return name


def _copy_beside(project: Project, folder: Path) -> None:
    """The files that the contract itself names, where the copy of the contract looks for them."""
    for path in project.beside:
        target = folder / path.relative_to(project.bundle_path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(path, target)
        if path.suffix == ".onnx":
            _copy_weights(path, target.parent)


def _copy_weights(model: Path, folder: Path) -> None:
    """The files beside a model that hold its weights."""
    graph = read_model(model).graph
    for name in {weight.external.location for weight in graph.weights if weight.external} if graph else ():
        copy_file(model.parent / name, folder / name)


class RestoredCopy:
    """A copy of a folder that is damaged again and again; what was not touched is not copied again."""

    def __init__(self, sound: Path, folder: Path) -> None:
        """Copy `sound` to `folder`, which must not exist."""
        self.sound, self.folder = sound, folder
        shutil.copytree(sound, folder, copy_function=copy_file)
        self._sound = dict(self._files())

    def restore(self) -> None:
        """Bring back every file that was written or removed, and remove what was added."""
        found = dict(self._files())
        for name in found.keys() - self._sound.keys():
            (self.folder / name).unlink()
        for name, identity in self._sound.items():
            if found.get(name) != identity:
                copy_file(self.sound / name, self.folder / name)
                self._sound[name] = _identity((self.folder / name).stat())

    def _files(self) -> Iterator[tuple[Path, tuple[int, int, int]]]:
        for path in self.folder.rglob("*"):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                yield path.relative_to(self.folder), _identity(status)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    """Changes when a file is written in place or replaced."""
    return status.st_ino, status.st_mtime_ns, status.st_size
