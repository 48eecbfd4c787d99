"""The injected defects of `rigpact gate --selftest`: each puts one defect into a copy of the project's own files.

The defects come from rigpact.fixtures.mutants. For a wrong convention, the reference runtime plays the engine. To add a kind:
add a generator here, call it from `plants`, and add the parts that read its files to `READERS`.
"""

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file, write_bytes
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures import mutants
from rigpact.fixtures.document_mutants import BUNDLE, CLIP, COMPANION, CONTRACT, DECLARATION, EDITS, TRAINING
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.opened import open_file, read_trace, write_trace
from rigpact.reference_runtime.recordings.recording import cut_to
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.diagnosing.evidence import recording_to_evidence
from rigpact.reports.gate.project import Project, played
from rigpact.reports.importing.draft import tables_to_toml

FILE_PARTS = ("files", "model", "teacher", "engine-trace", "free-run")
TRACE_PARTS = ("engine-trace",)
READERS: Mapping[str, tuple[str, ...]] = {
    BUNDLE: FILE_PARTS, COMPANION: FILE_PARTS, CLIP: FILE_PARTS, "model": FILE_PARTS[1:],
    TRAINING: ("files", "teacher"), "engine": TRACE_PARTS, "recording": TRACE_PARTS,
}  # fmt: skip
"""The parts that can notice each kind, in the order in which they run."""
NO_TRACE = "no engine trace in [[gate.trace]]: an engine could do this unseen"
NO_TEACHER = "no recording in [[gate.teacher]]: training could do this unseen"
SAME = 1e-5
"""Below this difference, an injected convention changes no recorded value on this clip."""
_CANNOT = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError, UnusableInput)
"""The errors of an edit on files that hold nothing to damage."""


class NotApplicable(Exception):
    """These files cannot have the defect; the text gives the reason."""


@dataclass(frozen=True, eq=False)
class Plant:
    """One defect. `make` injects it into the copied project in the working directory, or raises NotApplicable.

    path: the one file that it changes; None where there is none.
    """

    kind: str
    name: str
    make: Callable[[], None]
    path: Path | None = None


def plants(settings: GateSettings) -> Iterator[Plant]:
    """All defects for the copied project in the working directory."""
    project = Project(settings)
    yield from _of_documents(project)
    yield from _of_models(project)
    yield from _of_training(project)
    run = next(
        (run for run in settings.traces if open_file(run.file).kind is not Kind.ENGINE_LOG), None
    )  # a log holds too little to damage
    if run is None:
        yield Plant("engine", "every convention and slip of an engine", partial(_refuse, NO_TRACE))
        yield Plant("recording", "every damage of a recording", partial(_refuse, NO_TRACE))
        return
    yield from _of_engine(project, run)
    yield from _of_recording("recording", Path(run.file))


def _of_models(project: Project) -> Iterator[Plant]:
    for path in project.models or (None,):
        whose = f"{path.stem}: " if path is not None and len(project.models) > 1 else ""
        yield from _edited("model", path, mutants.MODEL_EDITS, mutants.edited_model, "no model in [gate]", whose)


def _refuse(reason: str) -> None:
    raise NotApplicable(reason)


def _of_documents(project: Project) -> Iterator[Plant]:
    settings = project.settings
    driven = [run.clip for run in (*settings.teacher, *settings.traces) if run.clip]
    clip = next((Path(name) for name in (*driven, *settings.clips)), None)
    if project.document.kind is Kind.BUNDLE:
        for kind, path in ((BUNDLE, project.bundle_path), (COMPANION, project.companion_path), (CLIP, clip)):
            yield from _edited(kind, path, EDITS[kind], _edited_json, f"no {kind} in [gate]")
        return
    is_own = project.document.kind is Kind.DECLARATION
    edits, change = (EDITS[DECLARATION], _edited_declaration) if is_own else (EDITS[CONTRACT], _edited_json)
    yield from _edited(BUNDLE, project.bundle_path, edits, change, "")
    if clip is None:
        yield Plant(CLIP, "every damage of a clip", partial(_refuse, "no clip in [gate]"))
    else:
        yield from _of_recording(CLIP, clip)


def _of_training(project: Project) -> Iterator[Plant]:
    """Defects of training files: JSON predictions have their own edits, traces are damaged as an engine's traces."""
    files = [Path(run.file) for run in project.settings.teacher]
    traces = [path for path in files if open_file(path).kind is Kind.TRACE]
    if traces:
        yield from _of_recording(TRAINING, traces[0])
        return
    prediction = next((path for path in files if b'"prediction"' in path.read_bytes()), None)
    yield from _edited(TRAINING, prediction, EDITS[TRAINING], _edited_json, NO_TEACHER)


def _edited(
    kind: str, path: Path | None, edits: Mapping[str, Any], change: Callable[..., bytes], missing: str, whose: str = ""
) -> Iterator[Plant]:
    for name, edit in edits.items():
        yield Plant(kind, whose + name, partial(_edit, path, partial(change, edit=edit), missing), path)


def _of_engine(project: Project, run: RecordedRun) -> Iterator[Plant]:
    engine = _Engine(project, run)
    for changes in mutants.single_changes(project.contract):
        yield Plant("engine", mutants.words(changes), partial(_convention, engine, changes), Path(run.file))
    for stage in engine.recorded.stages:
        for name in mutants.SLIPS:
            yield Plant("engine", f"{stage} {name}", partial(_slip, engine, stage, name), Path(run.file))


def _of_recording(kind: str, path: Path) -> Iterator[Plant]:
    """Damage in the last recorded stage; for a clip, only damage that no correct clip can contain."""
    trace = read_trace(path)
    stage, frames = list(trace.stages)[-1], len(trace.frame)
    found = mutants.broken_files(stage, frames) | ({} if kind == CLIP else mutants.wrong_rows(stage, frames))
    for name, damage in found.items():
        yield Plant(kind, name, partial(_damage, path, damage), path)


def _edited_json(content: bytes, edit: Callable[[Any], object]) -> bytes:
    document, (before, text_before) = json.loads(content), _sound_json(content)
    edit(document)
    text = json.dumps(document)
    if document == before or text == text_before:  # 0 is 0.0, and NaN never equals itself
        raise LookupError("the file is like that already")
    return text.encode("utf-8")


def _edited_declaration(content: bytes, edit: Callable[[Any], object]) -> bytes:
    """The text with one wrong edit; its comments are gone."""
    before, document = (tomllib.loads(content.decode("utf-8")) for _ in range(2))
    edit(document)
    text = tables_to_toml(document)
    if tomllib.loads(text) == before:
        raise LookupError("the file is like that already")
    return text.encode("utf-8")


@lru_cache(maxsize=3)
def _sound_json(content: bytes) -> tuple[Any, str]:
    document = json.loads(content)
    return document, json.dumps(document)


def _edit(path: Path | None, change: Callable[[bytes], bytes], missing: str) -> None:
    if path is None:
        raise NotApplicable(missing)
    try:
        changed = change(path.read_bytes())
    except _CANNOT as error:
        raise NotApplicable(f"{path.name} has nothing like that ({type(error).__name__}: {error})") from None
    write_bytes(path, changed)


@dataclass(frozen=True, eq=False)
class _Engine:
    """What an engine recorded, and what it would record without a defect: read and run once, for every defect of it."""

    project: Project
    run: RecordedRun

    @cached_property
    def recorded(self) -> Trace:
        return _read_whole(self.run.file)

    @cached_property
    def sound(self) -> Trace:
        return played(self.project, self.project.contract, self.project.network, self.run, self.recorded)

    @cached_property
    def evidence(self) -> Evidence:
        project = self.project
        recording = replace(project.recording_of(self.run.file), trace=self.sound, bones=(), whole={})
        return recording_to_evidence(recording, project.contract, project.drive(str(self.run.clip)), project.network)

    @cached_property
    def bones(self) -> tuple[int, ...]:
        return self.project.recording_of(self.run.file).bones

    def refuse_playback(self) -> None:
        if self.recorded.header.mode == "playback" and self.project.system.posed:
            raise NotApplicable("the trace is a playback: no network runs in it")

    def record(self, changed: Mapping[str, Any]) -> None:
        stages = {name: self._as_recorded(changed, name) for name in self.recorded.stages if name in changed}
        sound = {name: self._as_recorded(self.sound.stages, name) for name in stages}
        if all(rows.shape == sound[name].shape and np.allclose(rows, sound[name], SAME, SAME, equal_nan=True)
               for name, rows in stages.items()):  # fmt: skip
            raise NotApplicable("changes nothing that this trace records, on this clip")
        write_trace(replace(self.recorded, stages=stages), self.run.file)

    def _as_recorded(self, found: Mapping[str, Any], name: str) -> Any:
        values = np.asarray(found[name], np.float32)[self.recorded.frame]
        is_whole = values.shape[1] == self.recorded.stages[name].shape[1]
        return values if is_whole else cut_to({name: values}, self.project.contract, self.bones)[name]


def _read_whole(path: str | Path) -> Trace:
    trace = read_trace(path)
    return replace(trace, stages={name: np.array(rows) for name, rows in trace.stages.items()}, mapping=None)


def _convention(engine: _Engine, changes: mutants.Changes) -> None:
    """Record a run of the reference runtime under the changed convention, in place of the engine."""
    project = engine.project
    engine.refuse_playback()
    try:
        contract = project.contract.with_conventions(changes)
        changed = played(project, contract, project.network, engine.run, engine.recorded)
    except UnusableInput as error:
        raise NotApplicable(error.one_line()) from None
    engine.record(changed.stages)


def _slip(engine: _Engine, stage: str, name: str) -> None:
    if engine.recorded.header.mode == "free":
        raise NotApplicable("the trace is a free run, in which a slip feeds back")
    engine.refuse_playback()
    if stage not in engine.sound.stages:
        raise NotApplicable(f"the reference runtime does not compute {stage} here")
    with np.errstate(over="ignore", invalid="ignore"):
        spoilt = mutants.SLIPS[name](engine.sound.stages[stage])
    engine.record(mutants.slipped(engine.evidence, engine.project.contract, stage, spoilt))


def _damage(path: Path, damage: mutants.Damage) -> None:
    whole = _read_whole(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            damaged = damage(whole, Path(folder))
        except _CANNOT as error:
            raise NotApplicable(f"the trace has nothing like that ({type(error).__name__}: {error})") from None
        _replace_trace(path, damaged)


def _replace_trace(target: Path, damaged: Path) -> None:
    """Replace the trace, in any format, by a damaged file of lines."""
    try:
        trace = None if target.name.endswith(".trace.jsonl") else read_trace(damaged)
    except UnusableInput:
        trace = None
    if trace is None:
        copy_file(damaged, target)
    elif trace.truncation:
        whole = target.read_bytes()
        write_bytes(target, whole[: len(whole) * 3 // 4])
    else:
        write_trace(trace, target)
