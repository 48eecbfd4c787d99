"""What `rigpact selftest` plants: one thing wrong in a copy of the project's own files.

The defects themselves stand in rigpact.fixtures.mutants. To add a kind: a generator here, called from `plants`, and the parts
that read its files in `READERS`.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.graph import onnx_is_installed
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures.mutants.artefacts import BUNDLE, CLIP, COMPANION, EDITS, ArtefactEdit
from rigpact.fixtures.mutants.conventions import Changes, single_changes, words
from rigpact.fixtures.mutants.engine import slip
from rigpact.fixtures.mutants.model_files import MODEL_EDITS, ModelEdit, edited_model
from rigpact.fixtures.mutants.recordings import DAMAGES, Damage
from rigpact.fixtures.mutants.scene import Scene
from rigpact.fixtures.mutants.slips import SLIPS, Slip
from rigpact.fixtures.mutants.teacher_files import TEACHER_EDITS, TeacherEdit, edited_teacher
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.recordings.trace import Trace, read_trace, write_trace
from rigpact.reference_runtime.systems.enemy_animation.loop import MODES
from rigpact.reports.gate.enemy_case import EnemyCase

FILE_PARTS = ("files", "model", "teacher", "engine-trace", "free-run")
READERS: Mapping[str, tuple[str, ...]] = {
    BUNDLE: FILE_PARTS, COMPANION: FILE_PARTS, CLIP: FILE_PARTS, "model": FILE_PARTS[1:],
    "training": ("files", "teacher"), "engine": ("engine-trace",), "recording": ("engine-trace",),
}  # fmt: skip
"""The parts that can notice each kind, in the order in which they are asked."""
NO_TRACE = "no engine trace in [[gate.trace]]: an engine could do this unseen"
NO_TEACHER = "no prediction in [[gate.teacher]]: training could do this unseen"
SAME = 1e-5
"""Below this a planted convention changes nothing that the trace records: the same map on this clip."""
_CANNOT = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, UnusableInput)
"""What an edit raises on files that have nothing it could damage."""


class NotApplicable(Exception):
    """A defect that these files cannot have, and why."""


@dataclass(frozen=True, eq=False)
class Plant:
    """One defect; `make` plants it into the copied project in the working directory, or raises NotApplicable."""

    kind: str
    name: str
    make: Callable[[], None]


def plants(settings: GateSettings) -> Iterator[Plant]:
    """Every defect for a copied project."""
    for edit in EDITS:
        yield Plant(edit.document, edit.name, partial(_edit_document, settings, edit))
    for name, model_edit in MODEL_EDITS.items():
        yield Plant("model", name, partial(_edit_model, settings, model_edit))
    for name, teacher_edit in TEACHER_EDITS.items():
        yield Plant("training", name, partial(_edit_teacher, settings, teacher_edit))
    trace = settings.traces[0] if settings.traces else None
    yield from _of_engine(settings, trace)
    for name, damage in DAMAGES.items():
        yield Plant("recording", name, partial(_damage, trace, damage))


def _edit_document(settings: GateSettings, edit: ArtefactEdit) -> None:
    driven = [run.clip for run in (*settings.teacher, *settings.traces) if run.clip]
    clip = next(iter((*driven, *settings.clips)), None)
    name = {BUNDLE: settings.bundle, COMPANION: settings.companion, CLIP: clip}[edit.document]
    if name is None:
        raise NotApplicable(f"no {edit.document} in [gate]")
    _rewrite(Path(name), partial(_edited_json, edit=edit))


def _edited_json(content: bytes, edit: ArtefactEdit) -> bytes:
    document = json.loads(content)
    before = json.dumps(document)
    edit.edit(document)
    if json.dumps(document) == before:
        raise LookupError("the file is like that already")
    return json.dumps(document).encode("utf-8")


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    try:
        changed = change(path.read_bytes())
    except _CANNOT as error:
        raise NotApplicable(f"{path.name} has nothing like that ({type(error).__name__}: {error})") from None
    path.write_bytes(changed)


def _edit_model(settings: GateSettings, edit: ModelEdit) -> None:
    if settings.model is None:
        raise NotApplicable("no model in [gate]")
    if not onnx_is_installed():
        raise NotApplicable("the package onnx is not installed")
    _rewrite(Path(settings.model), lambda content: edited_model(content, edit))


def _edit_teacher(settings: GateSettings, edit: TeacherEdit) -> None:
    predictions = [run for run in settings.teacher if b'"prediction"' in Path(run.file).read_bytes()]
    if not predictions:
        raise NotApplicable(NO_TEACHER)
    _rewrite(Path(predictions[0].file), lambda content: edited_teacher(content, edit))


def _of_engine(settings: GateSettings, run: RecordedRun | None) -> Iterator[Plant]:
    if run is None:
        yield Plant("engine", "every convention and slip of an engine", _no_trace)
        return
    for changes in single_changes(EnemyCase(settings).contract):
        yield Plant("engine", words(changes), partial(_convention, settings, run, changes))
    for entry in SLIPS:
        yield Plant("engine", entry.name, partial(_slip, settings, run, entry))


def _no_trace() -> None:
    raise NotApplicable(NO_TRACE)


def _scene(settings: GateSettings, run: RecordedRun) -> Scene:
    """The run as an engine without a defect does it, as many frames as were recorded."""
    case, recorded = EnemyCase(settings), read_trace(run.file)
    clip = case.clip(str(run.clip))
    if not isinstance(clip, RawClip):
        raise NotApplicable("the trace is driven by a teacher file, not by a raw clip")
    mode = next(mode for mode in MODES if mode == recorded.header.mode)
    if mode == "playback":
        raise NotApplicable("the trace is a playback: no network runs in it")
    return Scene(run.name, case.contract, case.network, clip, mode, int(recorded.frame[-1]) + 1)


def _convention(settings: GateSettings, run: RecordedRun, changes: Changes) -> None:
    scene = _scene(settings, run)
    try:
        changed = scene.record(changes)
    except UnusableInput as error:
        raise NotApplicable(error.one_line()) from None
    _record(run, changed, scene.record())


def _slip(settings: GateSettings, run: RecordedRun, entry: Slip) -> None:
    scene = _scene(settings, run)
    if scene.mode != "teacher":
        raise NotApplicable("the trace is a free run, in which a slip feeds back")
    honest = scene.record()
    try:
        stages = slip(scene, honest.stages, entry.stage, entry.spoil)
    except _CANNOT as error:
        raise NotApplicable(f"this character has nothing like that ({type(error).__name__}: {error})") from None
    _record(run, replace(honest, stages=stages), honest)


def _record(run: RecordedRun, changed: Trace, honest: Trace) -> None:
    """Write what the engine with the defect would have recorded: the stages and frames that its trace has today."""
    recorded = read_trace(run.file)
    names, rows = list(recorded.stages), recorded.frame
    stages = {name: changed.stages[name][rows] for name in names if name in changed.stages}
    if all(_same(stages[name], honest.stages[name][rows]) for name in stages):
        raise NotApplicable("changes nothing that this trace records, on this clip")
    write_trace(replace(recorded, stages=stages, mapping=None), run.file)


def _same(changed: Any, honest: Any) -> bool:
    return changed.shape == honest.shape and bool(np.allclose(changed, honest, rtol=SAME, atol=SAME, equal_nan=True))


def _damage(run: RecordedRun | None, damage: Damage) -> None:
    if run is None:
        raise NotApplicable(NO_TRACE)
    trace = read_trace(run.file)
    whole = replace(trace, stages={name: np.array(rows) for name, rows in trace.stages.items()}, mapping=None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            damaged = damage(whole, Path(folder))
        except (*_CANNOT, AssertionError) as error:
            raise NotApplicable(f"the trace has nothing like that ({type(error).__name__}: {error})") from None
        _replace_trace(run, damaged)


def _replace_trace(run: RecordedRun, damaged: Path) -> None:
    """Put a damaged file of lines in the trace's place, whatever format that had."""
    target = Path(run.file)
    if target.name.endswith(".trace.jsonl"):
        target.write_bytes(damaged.read_bytes())
        return
    try:
        write_trace(read_trace(damaged), target)
    except UnusableInput:
        target.write_bytes(damaged.read_bytes())


def same_contract(settings: GateSettings, honest: Path) -> bool:
    """Whether the project in the working directory loads the very numbers of the honest one."""
    changed = EnemyCase(settings).contract
    with contextlib.chdir(honest):
        return _numbers(EnemyCase(settings).contract) == _numbers(changed)


def _numbers(contract: Contract) -> list[object]:
    """Everything that is computed with; arrays as their bytes."""
    squashed = [entry for entry in (contract.pose_history, contract.angular_velocity) if entry is not None]
    arrays = [
        contract.rootvel_scales, contract.angvel_scales,
        *(array for entry in squashed for array in (entry.scale, entry.statistics.mean, entry.statistics.std)),
        *(array for entry in (contract.state_statistics, contract.output_statistics) for array in (entry.mean, entry.std)),
    ]  # fmt: skip
    plain = (contract.fps, contract.bone_names, contract.pose_history_length, contract.conventions)
    layouts = ([vars(entry) for entry in layout] for layout in (contract.state, contract.output))
    skeleton = contract.skeleton
    bones = None if skeleton is None else (skeleton.parents, skeleton.offsets_m.tobytes())
    return [plain, *layouts, bones, len(squashed), *(array.tobytes() for array in arrays)]
