"""The project of a gate: contract, clips, recordings and model of one system, each read once.

The bundle or contract file defines the system. The only system that this module names is that of a schema bundle.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of
from rigpact.contract.contract_files import open_contract, system_of
from rigpact.contract.declared.reading import sources_of
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.findings import Finding
from rigpact.contract.model.signature import ModelSignature, read_model
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.configuration import FILE_NAME
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.files.run import RunOptions, run_frames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, listed_endings, open_file
from rigpact.reference_runtime.recordings.recording import Recording, contract_of_side
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER, Trace
from rigpact.reports.file_lists import files_of_settings
from rigpact.reports.running import describe_run, record_run


def clip_endings() -> tuple[str, ...]:
    """Names of the files that are taken from a folder of clips."""
    return (".json", *TRACE_ENDINGS, *listed_endings())


class Project:
    """The files that `[gate]` names, relative to the working directory. Every property may raise UnusableInput."""

    def __init__(self, settings: GateSettings, asked: Path = Path(FILE_NAME), *, verdict_only: bool = False) -> None:
        """Find the project's system, and check the names in its settings.

        Raises UnusableInput without a bundle, for a pattern without a match, and for a stage or convention that the
        system does not have. asked: the file of settings. verdict_only: skip work that only explains a verdict.
        """
        if settings.bundle is None:
            raise UnusableInput("[gate]", "no bundle", 'bundle = "norm_template.json"', "`rigpact init` writes one")
        self.settings, self.asked, self.verdict_only = settings, asked, verdict_only
        self.bundle_path = Path(settings.bundle)
        self.companion_path = Path(settings.companion) if settings.companion else None
        self.model_path = Path(settings.model) if settings.model else None
        self.clip_paths = tuple(files_of_settings(settings.clips, clip_endings(), "[gate] clips"))
        self._clips: dict[Path, Any] = {}
        self._kept: dict[Hashable, Trace] = {}
        self.document = read_document(self.bundle_path)
        self.system = system_of(self.document)
        _check_names(settings, self.system)

    def files(self) -> list[Path]:
        """The files that the settings name."""
        runs, settings = (*self.settings.teacher, *self.settings.traces), self.settings
        names = [settings.free_run, settings.change_record, *(name for run in runs for name in (run.file, run.clip))]
        paths = (self.bundle_path, self.companion_path, self.model_path, *self.clip_paths)
        found = [path for path in paths if path is not None] + [Path(name) for name in names if name is not None]
        return list(dict.fromkeys(found))

    @cached_property
    def beside(self) -> tuple[Path, ...]:
        """The files that your own contract takes its numbers from, and its models, in its folder or below."""
        models = [network.path for network in self.system.networks.values() if network.path is not None]
        return tuple(dict.fromkeys([*sources_of(self.document), *models]))

    @cached_property
    def companion(self) -> Document | None:
        """The companion, if there is one."""
        return read_document(self.companion_path, Kind.COMPANION) if self.companion_path else None

    @property
    def contract_documents(self) -> tuple[Document, ...]:
        """The bundle or contract file, and the companion."""
        return (self.document, *(() if self.companion is None else (self.companion,)))

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Clips and teacher files that are JSON."""
        return tuple(file.document for file in map(open_file, self._given) if not file.is_recording)

    @property
    def recordings(self) -> tuple[Path, ...]:
        """Clips and teacher files that are recordings."""
        return tuple(path for path in self._given if open_file(path).is_recording)

    @property
    def _given(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((*self.clip_paths, *(Path(run.file) for run in self.settings.teacher))))

    @cached_property
    def contract(self) -> Contract:
        """The contract under the project's conventions."""
        opened = open_contract(self.bundle_path, self.companion_path)
        return opened.with_conventions(self.settings.conventions)

    @cached_property
    def model(self) -> ModelSignature:
        """The model's signature and its graph."""
        if len(self.models) != 1:
            found = f"{len(self.models)} models" if self.models else "no model"
            raise UnusableInput("[gate]", found, 'model = "model.onnx"')
        return read_model(self.models[0])

    @cached_property
    def models(self) -> tuple[Path, ...]:
        """The model of the settings, else those that the contract names; none where it names only some of its networks'."""
        if self.model_path is not None:
            return (self.model_path,)
        own = tuple(network.path for network in self.system.networks.values() if network.path is not None)
        return own if len(own) == len(self.system.networks) else ()

    @cached_property
    def network(self) -> Any:
        """The models, ready to run."""
        if not self.models:
            raise UnusableInput("[gate]", "no model", 'model = "model.onnx"')
        return network_of(self.contract, self.model_path)

    def recording_of(self, path: str | Path) -> Recording:
        """A file's recording, as the project's system reads it."""
        found: Recording = files_of(self.contract).recording(Path(path), self.contract)
        return found

    def drive(self, path: str | Path) -> Callable[[Any], Any]:
        """A clip's rows by stage; their layout follows the contract that reads them."""
        found: Callable[[Any], Any] = files_of(self.contract).drive_of(self.clip(Path(path)))
        return found

    def clip(self, path: Path) -> Any:
        """A clip to drive a run, read once."""
        if path not in self._clips:
            self._clips[path] = files_of(self.contract).clip(path, self.contract)
        return self._clips[path]

    def kept(self, run: Hashable, play: Callable[[], Trace]) -> Trace:
        """A run of the reference runtime, made once."""
        if run not in self._kept:
            self._kept[run] = play()
        return self._kept[run]


def _check_names(settings: GateSettings, system: System) -> None:
    for knob, value in settings.conventions.items():
        place = f"{settings.place}.conventions.{knob}"
        if knob not in system.knobs:
            hint = near(knob, system.knobs)
            raise UnusableInput(place, "an unknown knob", f"one of {', '.join(system.knobs)}", hint)
        try:
            system.knobs[knob].parsed(value)
        except UnusableInput as error:
            raise UnusableInput(place, error.found, error.expected, error.hint) from None
    names: tuple[str, ...] = system.graph.names
    for run in (*settings.teacher, *settings.traces):
        for stage in run.stages:
            if stage not in names:
                hint = near(stage, names)
                raise UnusableInput(f"{run.place}.stages", repr(stage), f"one of {', '.join(names)}", hint)


# The reference run for a recording: the reference runtime with the same clip, mode and frames.
REFERENCE = "reference run"


def reference_of(project: Project, run: RecordedRun, recording: Recording) -> Recording:
    """The reference run, with the declared number of frames, or as many as the clip has."""
    contract = contract_of_side(recording, project.contract)
    if is_without_model(project, run, recording):
        graph, drive = project.system.graph, project.drive(run.clip or run.file)
        frame = np.arange(expected_frames(project, run))
        is_answered = holds_answers(project.system, recording.trace)
        answers = _answers_at(frame, recording.trace, graph.answers) if is_answered else {}
        frames = ReplayedFrames(Evidence(frame, recording.trace.header.fps, "teacher", answers, drive), contract)
        names = [name for name in graph.names if name not in answers] if answers else run.stages
        stages = {name: rows for name in names if (rows := frames.computed(name)) is not None}
        trace = Trace(recording.trace.header, frame, frame / recording.trace.header.fps, stages)
    else:
        mode = recording.trace.header.mode
        trace = project.kept(
            (run, mode, contract.conventions),
            lambda: played(project, contract, network_for(project, mode), run, recording.trace),
        )
    return Recording(Path(REFERENCE), REFERENCE, trace, frozenset(trace.stages))


def expected_frames(project: Project, run: RecordedRun) -> int:
    """How many frames the project expects: as declared, else as many as the clip gives. The recording does not choose."""
    return run.frames or int(project.drive(run.clip or run.file)(project.contract).steps)


def network_for(project: Project, mode: str) -> Any:
    """The model; None in a playback of a pose and in a system without a network, where no model runs."""
    has_none = (mode == "playback" and project.system.posed) or not project.system.graph.answers
    return None if has_none else project.network


def is_without_model(project: Project, run: RecordedRun, recording: Recording) -> bool:
    """Whether a project without a model can judge a recording: the stages before the model, or all with the recorded answers."""
    graph = project.system.graph
    is_before = bool(run.stages) and graph.after(graph.answers).isdisjoint(run.stages)
    return not project.models and (is_before or holds_answers(project.system, recording.trace))


def holds_answers(system: System, recorded: Trace) -> bool:
    """Whether a run that a clip drove holds what its network answered: then every later stage follows from that."""
    answers = set(system.graph.answers)
    return recorded.header.mode == "teacher" and bool(answers) and answers <= set(recorded.stages)


def _answers_at(frame: NDArray[np.int64], recorded: Trace, answers: Collection[str]) -> dict[str, FloatArray]:
    """The recorded answers at some frames, NaN where a frame was not recorded."""
    shared, at, rows = np.intersect1d(frame, recorded.frame, assume_unique=True, return_indices=True)
    found = {name: np.full((len(frame), recorded.stages[name].shape[1]), np.nan, np.float32) for name in answers}
    for name, values in found.items():
        values[at] = recorded.stages[name][rows]
    return found if len(shared) else {}


def played(project: Project, contract: Contract, network: Any, run: RecordedRun, recorded: Trace) -> Trace:
    """A run under a contract, not necessarily the project's own; UnusableInput where it cannot run."""
    asked = run.mode or recorded.header.mode
    mode = asked if project.system.posed or asked == "free" else "teacher"
    driving, files = Path(run.clip or run.file), files_of(contract)
    until = run.frames if mode == "teacher" else expected_frames(project, run)
    runner = files.start(contract, network, files.clip(driving, contract), RunOptions(mode, until))
    return record_run(runner, driving, mode, until)


def free_report(project: Project, clip: Path, frames: int) -> Sequence[Finding]:
    """The problems of a free run: inputs that are cut or padded, and non-finite values."""
    files, contract = files_of(project.contract), project.contract
    runner = files.start(contract, project.network, files.clip(clip, contract), RunOptions("free", frames))
    trace = run_frames(runner, range(frames), clip.stem, "free")
    return describe_run(runner, trace, project.bundle_path, clip).findings


# The expectations of `[[gate.trace]]` about a recording, before a single number of it is compared. The project says how the
# run was made and who recorded it; else the judged file would choose its reference: a playback runs no model, and rigpact
# agrees with itself.
def about_recording(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
    """Findings about a recording that is not what the project expects; training files have no such expectation."""
    if run.mode is None:
        return
    header, name = recording.trace.header, recording.path.name
    if recording.title != "trace":
        found, expected = f"a {recording.title}", "a trace of the engine"
        yield rules.NOT_OF_THE_ENGINE.at(recording.path, "", recording=name, found=found, expected=expected)
    elif header.producer != run.producer if run.producer else header.producer == OWN_PRODUCER:
        found, expected = f"a recording by {header.producer}", f"one by {run.producer or 'the engine'}"
        yield rules.NOT_OF_THE_ENGINE.at(
            recording.path, "/producer/name", recording=name, found=found, expected=expected
        )
    if header.mode != run.mode and header.says_mode:
        yield rules.IN_ANOTHER_MODE.at(recording.path, "/mode", recording=name, found=header.mode, expected=run.mode)
    yield from _about_bones(run, recording, contract)


def _about_bones(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
    """A finding for bones that the project expects and the recording does not hold; all bones, if it names none."""
    known = bone_names_of(contract)
    for place, bone in enumerate(run.bones):
        if bone not in known:
            found, expected = repr(bone), f"one of the contract's {len(known)} bones"
            raise UnusableInput(f"{run.place}.bones/{place}", found, expected, near(bone, known))
    held = {known[bone] for bone in recording.bones} if recording.bones else set(known)
    missing = [bone for bone in run.bones or known if bone not in held]
    if missing:
        said = {"count": len(missing), "total": len(run.bones or known), "recording": recording.path.name}
        bones = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
        yield rules.BONES_MISSING.at(recording.path, "/bones", bones=bones, **said)


def as_expected(run: RecordedRun, recording: Recording) -> Recording:
    """The recording in the mode that the project expects, so that nothing after this follows the file's own word."""
    recording = recording.with_resolution(run.resolution, f"{run.place} resolution")
    header = recording.trace.header
    if run.mode is None or run.mode == header.mode:
        return recording
    return replace(recording, trace=replace(recording.trace, header=replace(header, mode=run.mode)))
