"""The artefacts of a system that is declared only by its stages: traces of named stages, and an ONNX model.

A system with its own artefacts, runs or checks derives from `DeclaredFiles` and overrides what differs:
`System.files`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import declared_changes
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.run import (
    Batch,
    Crowd,
    DeclaredClip,
    RecordedAnswers,
    Run,
    RunOptions,
    Stages,
    known_rows,
    refuse_mode,
)
from rigpact.reference_runtime.files.sentinel import Ordinary, RunBaseline, Watch, ordinary_of_rows
from rigpact.reference_runtime.graph.native_agreement import engine_for
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, bound_part
from rigpact.reference_runtime.graph.replayed import check_widths
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames, run_clip
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace


@dataclass(frozen=True)
class ContractFiles:
    """Sources of a contract: the bundle or contract file, a companion, settings (KNOB=VALUE), a TOML file."""

    bundle: Path | None = None
    companion: Path | None = None
    settings: Sequence[str] = ()
    conventions: Path | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The conventions that the settings declare."""
        return declared_changes(self.settings, self.conventions)

    def opened(self) -> Contract:
        """Read the contract. UnusableInput: no file, or no contract. ContractRefused: nothing can be computed from it."""
        if self.bundle is None:
            raise UnusableInput("--contract", "none", "a schema bundle or a contract")
        return open_contract(self.bundle, self.companion).with_conventions(self.changes)

    def opened_if_given(self) -> Contract | None:
        """The same; None if no bundle is given."""
        return None if self.bundle is None else self.opened()


KINDS: Mapping[str, type[LiveFrames]] = {"numpy": LiveFrames, "native": NativeFrames}
"""What computes the frames of a free run."""


class DeclaredFiles:
    """Reads the files of a declared system, and runs the system."""

    clip_endings: tuple[str, ...] = TRACE_ENDINGS
    """Suffixes of clip names: the files that are taken from a folder."""
    probe: str | None = None
    """`module:function` that makes a short clip which separates the conventions (contract -> document), or None."""
    guards: Mapping[str, Callable[[Any], Any]] = {}
    """The system's own counterfactual runs by name: see `rigpact.reports.nonfinite.investigation`."""

    def recording(self, path: Path, contract: Contract) -> Recording:
        """A trace of this system; UnusableInput for a trace of another system."""
        trace = opened_recording(path, contract)
        name = contract.system.name
        if trace.header.system != name:
            found = "no system in its header" if trace.header.system is None else f"a trace of {trace.header.system}"
            hint = near(trace.header.system or "", [name]) or "is it the right --contract?"
            raise UnusableInput(f"{path}#/system", found, name, hint)
        if trace.header.bones is not None:
            expected = "no `bones`: the vectors of this system are not a list of bones"
            raise UnusableInput(f"{path}#/bones", "a recording of some bones", expected)
        unknown = [stage for stage in trace.stages if stage not in contract.system.graph]
        if unknown:
            known = ", ".join(contract.system.graph.names)
            raise UnusableInput(f"{path}#/stages", f"the stage {unknown[0]!r}", f"one of {known}")
        check_widths(contract, trace.stages, path)
        return Recording(path, "trace", trace, frozenset(contract.system.graph.names))

    def clip(self, path: Path, contract: Contract) -> Any:
        """The clip of a run: the recorded rows of a trace."""
        trace = self.recording(path, contract).trace
        return DeclaredClip(path, trace.header.fps, trace.stages)

    def drive_of(self, clip: Any) -> Callable[[Any], Any]:
        """A function from a contract to the clip's rows by stage."""
        drive = ClipDrive(clip.stages)
        return lambda _contract: drive

    def drive(self, path: Path, contract: Contract) -> Callable[[Any], Any]:
        """The same for a clip's file."""
        return self.drive_of(self.clip(path, contract))

    def network(self, path: Path, contract: Contract) -> Any:
        """The model behind the system's answers."""
        return OnnxSystemNetwork(path, contract.system)

    def own_network(self, contract: Contract) -> Any:
        """The networks whose files the contract names; None where it names none."""
        networks = contract.system.networks
        opened = {
            name: OnnxSystemNetwork(each.path, bound_part(contract.system, each))
            for name, each in networks.items()
            if each.path is not None
        }
        return next(iter(opened.values())) if opened and len(networks) == 1 else opened or None

    def replay(self, path: Path, contract: Contract) -> Any:
        """Recorded answers in place of a model."""
        return RecordedAnswers(path.name, self.recording(path, contract).trace.stages)

    def answers(self, path: Path, frame: NDArray[np.int64], contract: Contract) -> dict[str, FloatArray]:
        """Recorded answers of the network at some frames; UnusableInput if a frame is missing."""
        trace = self.recording(path, contract).trace
        if not set(frame.tolist()) <= set(trace.frame.tolist()):
            raise UnusableInput(path, f"{len(trace.frame)} frames", "every frame of the recording")
        rows = np.searchsorted(trace.frame, frame)
        answers = contract.system.graph.answers
        return {name: values[rows] for name, values in trace.stages.items() if name in answers}

    def start(self, contract: Contract, network: Any, clip: Any, options: RunOptions) -> Run:
        """Begin a run. UnusableInput if the system does not have the mode, or if nothing gives the network's answers."""
        refuse_mode(contract, options)
        is_free, is_recorded = options.mode == "free", isinstance(network, RecordedAnswers)
        evaluate, known = None if is_recorded else network, known_rows(contract, network, clip)
        steps = min(map(len, known.values()))
        limit = None if is_free and evaluate is not None else steps  # recorded answers end, and do not start again
        engine = engine_for(contract, options.engine) if is_free else EngineUse()
        count = min(options.frames or steps, limit or options.frames or steps)

        def whole(frames: int) -> Stages:
            return dict(run_clip(contract, known, evaluate, frames).stages)

        rows: Batch | Crowd
        if is_free:
            rows = Crowd(KINDS[engine.name](contract, [ClipDrive(known)], evaluate, count), is_one=True)
        else:  # rows may be samples of a window, which is evaluated as a whole
            rows = Batch(whole, count, str(clip.path), is_one=True)
        return Run(contract, options.mode, contract.fps or clip.fps, rows, evaluate, limit, engine)

    def lockstep(
        self, contract: Contract, network: Any, clip: Any, starts: FloatArray, frames: int, engine: Engine = "auto"
    ) -> Crowd:
        """Free runs from several starts (R, width) of the fed-back stage; `step` returns stages (R, width)."""
        known = known_rows(contract, network, clip)
        carried = next(stage.name for stage in contract.system.stages if stage.carried is not None)
        drives, steps = [], min(map(len, known.values()))
        for start in starts:
            own = np.array(known.get(carried, np.zeros((steps, len(start)))), np.float32)
            own[0] = start
            drives.append(ClipDrive({**known, carried: own}))
        evaluate = None if isinstance(network, RecordedAnswers) else network
        return Crowd(KINDS[engine_for(contract, engine).name](contract, drives, evaluate, frames))

    def write(self, out: Path, trace: Trace, contract: Contract, clip: Any, model: str) -> None:
        """Write a run in the system's own format; UnusableInput if it has no format for that file name."""
        raise UnusableInput(out, f"the name {out.name}", f"a name ending in {', '.join(TRACE_ENDINGS)}")

    def measures(self, trace: Trace, contract: Contract) -> dict[str, Any]:
        """Results of the system's own measures on a run."""
        return {}

    def baseline(self, trace: Trace, contract: Contract) -> RunBaseline | None:
        """How a clip-driven run meets the clip's next frame, beside copying; None where a run has no next frame."""
        fed_back = next((stage for stage in contract.system.stages if stage.carried is not None), None)
        if fed_back is None or fed_back.carried is None or trace.header.mode != "teacher" or len(trace.frame) < 2:
            return None
        rows, answer = trace.stages.get(fed_back.name), trace.stages.get(fed_back.carried)
        if rows is None or answer is None:
            return None
        measure = contract.system.graph[fed_back.carried].measure
        names = fed_back.carried_fields or tuple(field.name for field in fed_back.fields(contract))
        places = np.concatenate([np.r_[fed_back.fields(contract)[name].range] for name in names])

        def mean_error(guess: FloatArray) -> float:
            if measure.sizes is not None:
                return float(measure.sizes(contract, rows[1:], guess).mean())
            return float(np.abs(guess.astype(np.float64) - rows[1:])[:, places].mean())

        return RunBaseline(fed_back.name, measure.unit, mean_error(answer[:-1]), mean_error(rows[:-1]))

    def next_poses(self, clip: Any, contract: Contract) -> FloatArray | None:
        """The clip's own poses (N, 6·B), the seed first; None if it has no poses."""
        return None

    def judging_network(self, clip: Any, contract: Contract) -> Any:
        """The network that shows what a clip can tell apart; None: the answers that the clip recorded."""
        return None

    def limits(self, clip: Any) -> Sequence[str]:
        """The limits of a clip in words: what it never contains."""
        return ()

    def fault(self, word: str) -> Any:
        """An injected defect, in the form that `--perturb` takes."""
        raise UnusableInput("--perturb", word, "a system with faults to inject")

    def acting_contract(self, contract: Contract, faults: Sequence[Any]) -> Contract:
        """The effective contract of an implementation with these faults."""
        return contract

    def numbers(self, contract: Contract) -> dict[str, FloatArray]:
        """Every number and list of numbers among a contract file's constants, flat, by its path."""
        return dict(_numbers(contract.constants, ""))

    def with_numbers(self, contract: Contract, name: str, values: FloatArray) -> Contract:
        """The contract with other numbers at that path."""
        return replace(contract, constants=_replaced(contract.constants, name.split("."), values))

    def watches(self, contract: Contract) -> Sequence[Watch]:
        """The watched quantities of this system, besides the range of the clip's values."""
        return ()

    def ordinary(self, clip: Any, contract: Contract) -> Ordinary | None:
        """The ordinary size of what a free run feeds back, by its clip; None without a clip that moves, or feedback."""
        fed_back = next((stage for stage in contract.system.stages if stage.carried is not None), None)
        if clip is None or fed_back is None or len(clip.stages.get(fed_back.name, ())) < 2:
            return None
        return ordinary_of_rows(fed_back, fed_back.fields(contract), clip.stages[fed_back.name])

    def drift_notes(
        self, subject: Any, published: FloatArray, sampled: Mapping[int, Any]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Further measures of a long free run, as data and as text.

        published: the watched stage at every frame, (T, width); sampled: every stage, (1, width), at some frames.
        """
        return {}, ()


def network_of(contract: Contract, onnx: Path | None) -> Any:
    """The model of an option, else the networks that the contract itself names, else None."""
    files = files_of(contract)
    if onnx is None:
        return files.own_network(contract)
    names = ", ".join(contract.system.networks)
    if len(contract.system.networks) > 1:
        raise UnusableInput(
            "--onnx",
            f"{onnx.name} for {names}",
            "a file for each network, in the contract",
            'file = "…" in [networks.NAME]',
        )
    return files.network(onnx, contract)


def files_of(contract: Contract) -> Any:
    """The reader of the artefacts of a contract's system."""
    return contract.system.files or DeclaredFiles()


def open_run(
    contract: Contract,
    network: Any,
    clip: Any,
    mode: str = "teacher",
    frames: int | None = None,
    engine: Engine = "auto",
) -> Run:
    """Begin a run of any system: `.step()` is one frame, `.record(60)` sixty.

    network: a model, recorded answers or a callable; None in a playback, or where the clip holds the answers. mode: `teacher`
    (the clip gives every frame's input), `free` (the run feeds itself) or `playback` (recorded poses are published). frames:
    how many will be asked for; None for as many as the clip has. UnusableInput if the system cannot make such a run.
    """
    runner: Run = files_of(contract).start(contract, network, clip, RunOptions(mode, frames, engine=engine))
    return runner


def _numbers(value: Any, path: str) -> Iterator[tuple[str, FloatArray]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _numbers(each, f"{path}.{name}" if path else str(name))
        return
    try:
        array = np.atleast_1d(np.array(value, np.float64))
    except (TypeError, ValueError):
        return  # words, or a list of several lengths
    if array.size and not isinstance(value, str | bool | None):
        yield path, array.reshape(-1)


def _replaced(value: Any, path: list[str], values: FloatArray) -> Any:
    if path:
        return {**value, path[0]: _replaced(value[path[0]], path[1:], values)}
    shape = np.shape(value)
    return values.reshape(shape).tolist() if shape else float(values[0])


@dataclass(frozen=True, eq=False)
class RunSetup:
    """A contract, a network, a clip and the injected faults.

    companion: the same contract with the companion statistics, if this contract was loaded without them.
    """

    contract: Contract
    network: Any
    clip: Any
    mode: str = "free"
    faults: tuple[Any, ...] = ()
    companion: Any = None
    on_floor: bool = False
    notes: tuple[str, ...] = field(default=())
    engine: Engine = "auto"

    @property
    def files(self) -> Any:
        """The reader and runner of the contract's system."""
        return files_of(self.contract)

    @property
    def acting_contract(self) -> Contract:
        """The effective contract of the faulty implementation."""
        acting: Contract = self.files.acting_contract(self.contract, self.faults)
        return acting

    def start(self, frames: int | None = None) -> Run:
        """A new run at frame 0, for `frames` frames."""
        options = RunOptions(self.mode, frames, self.on_floor, self.faults, self.engine)
        runner: Run = self.files.start(self.acting_contract, self.network, self.clip, options)
        return runner

    def rows(self) -> Any:
        """The clip laid out under the contract."""
        return self.files.drive_of(self.clip)(self.contract)

    def frames_of(self, runner: Run, frames: int) -> int:
        """Number of available frames, at most `frames`: a clip or a recording may be shorter."""
        outputs: Any = getattr(self.network, "outputs", None)
        by_stage = outputs.values() if isinstance(outputs, Mapping) else [] if outputs is None else [outputs]
        return min(frames, runner.frame_limit or frames, *map(len, by_stage))
