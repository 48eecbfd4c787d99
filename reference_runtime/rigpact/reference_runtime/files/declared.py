"""The artefacts of a system that is declared by its stages alone: traces of named stages, and an ONNX model.

A system with artefacts, runs or checks of its own derives from `DeclaredFiles` and says only what differs: `System.files`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldKind
from rigpact.reference_runtime.files.declared_run import DeclaredClip, DeclaredLockstep, DeclaredRun, RecordedAnswers
from rigpact.reference_runtime.files.numbers import json_numbers, with_json_numbers
from rigpact.reference_runtime.files.runner import Runner, RunOptions
from rigpact.reference_runtime.files.sentinel import Watch
from rigpact.reference_runtime.graph.run import ClipDrive
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork


class DeclaredFiles:
    """Reads what a declared system's project holds, and runs it."""

    clip_endings: tuple[str, ...] = (".trace.safetensors", ".trace.jsonl", ".trace.jsonl.gz", ".trace.jsonl.zst")
    """How the names of clips end: what is taken of a folder."""
    probe: str | None = None
    """`module:function` that makes a short clip on which conventions look different (contract -> document); None for none."""
    guards: Mapping[str, Callable[[Any], Any]] = {}
    """Counterfactual runs of a system of its own, by name: see `rigpact.reports.nonfinite.guards`."""

    def recording(self, path: Path, contract: Any) -> Recording:
        """A trace of this system; UnusableInput for one of another."""
        trace = read_trace(path)
        name = contract.system.name
        if trace.header.system != name:
            found = "no system in its header" if trace.header.system is None else f"a trace of {trace.header.system}"
            raise UnusableInput(f"{path}#/system", found, name, "is it the right --bundle?")
        return Recording(path, "trace", trace, frozenset(contract.system.graph.names))

    def clip(self, path: Path, contract: Any) -> Any:
        """What drives a run: the recorded rows of a trace."""
        trace = self.recording(path, contract).trace
        return DeclaredClip(path, trace.header.fps, trace.stages)

    def drive_of(self, clip: Any) -> Callable[[Any], Any]:
        """A clip's rows by stage, laid out under whatever contract is looked at."""
        drive = ClipDrive(clip.stages)
        return lambda _contract: drive

    def drive(self, path: Path, contract: Any) -> Callable[[Any], Any]:
        """The same of a clip's file."""
        return self.drive_of(self.clip(path, contract))

    def network(self, path: Path, contract: Any) -> Any:
        """The model behind the system's answers."""
        return OnnxSystemNetwork(path, contract.system)

    def replay(self, path: Path, contract: Any) -> Any:
        """Recorded answers in place of a model."""
        return RecordedAnswers(path.name, self.recording(path, contract).trace.stages)

    def answers(self, path: Path, frame: NDArray[np.int64], contract: Any) -> dict[str, FloatArray]:
        """Recorded answers of the network at some frames; UnusableInput where a frame is missing."""
        trace = self.recording(path, contract).trace
        if not set(frame.tolist()) <= set(trace.frame.tolist()):
            raise UnusableInput(path, f"{len(trace.frame)} frames", "every frame of the recording")
        rows = np.searchsorted(trace.frame, frame)
        answers = contract.system.graph.answers
        return {name: values[rows] for name, values in trace.stages.items() if name in answers}

    def start(self, contract: Any, network: Any, clip: Any, options: RunOptions) -> Runner:
        """Begin a run; UnusableInput for one that the system cannot make."""
        return DeclaredRun(contract, network, clip, options)

    def lockstep(self, contract: Any, network: Any, clip: Any, starts: FloatArray, frames: int) -> Any:
        """Free runs from several starts (R, width) of the stage that is handed on; `step` gives stages (R, width)."""
        return DeclaredLockstep(contract, network, clip, starts, frames)

    def write(self, out: Path, trace: Trace, contract: Any, clip: Any, model: str) -> None:
        """Write a run in a format of the system's own; UnusableInput where it has none of that name."""
        raise UnusableInput(out, f"the name {out.name}", "a name ending in .trace.jsonl or .trace.safetensors")

    def measures(self, trace: Trace, contract: Any) -> dict[str, Any]:
        """What the system's own measures say of a run."""
        return {}

    def columns(self, clip: Any) -> dict[str, FloatArray]:
        """The numbers of a clip that drive a run, (N, width) by name; none where they cannot be taken apart."""
        return dict(clip.stages)

    def with_columns(self, clip: Any, columns: Mapping[str, FloatArray], rows: Any) -> Any:
        """The clip with other numbers, of which some rows are taken."""
        return replace(clip, stages={name: values[rows] for name, values in columns.items()})

    def seeded_columns(self, contract: Any) -> dict[str, slice]:
        """The channels, of the stage that is handed on, that each of the clip's columns seeds."""
        return {stage.name: slice(None) for stage in contract.system.stages if stage.carried is not None}

    def default_number(self, contract: Any, column: str, index: int) -> float:
        """What stands in a clip where a number does not matter: 0, and 1 for the w of a quaternion."""
        field = contract.fields(column).field_at(index)
        is_w = field is not None and field.kind is FieldKind.QUATERNION_XYZW and (index - field.start) % 4 == 3
        return 1.0 if is_w else 0.0

    def write_clip(self, clip: Any, folder: Path, contract: Any) -> Path:
        """Write a clip into a folder; returns the file."""
        path, frame = folder / "clip.trace.jsonl", np.arange(clip.steps)
        header = TraceHeader(clip.fps, "playback", bundle_sha256=contract.sha256, system=contract.system.name)
        write_trace(Trace(header, frame, frame / clip.fps, dict(clip.stages)), path)
        return path

    def next_poses(self, clip: Any, contract: Any) -> FloatArray | None:
        """The poses (N, 6·B) that a clip itself has, the seed first; None where a clip has none."""
        return None

    def judging_network(self, clip: Any, contract: Any) -> Any:
        """What answers when conventions are told apart on a clip; None for what the clip itself recorded."""
        return None

    def limits(self, clip: Any) -> Sequence[str]:
        """What a clip never shows, in words."""
        return ()

    def fault(self, word: str) -> Any:
        """A defect that is put into a run on purpose, as `--perturb` takes it."""
        raise UnusableInput("--perturb", word, "a system that has faults to put in")

    def acting_contract(self, contract: Any, faults: Sequence[Any]) -> Any:
        """The contract as an implementation with these faults acts on it."""
        return contract

    def numbers(self, contract: Any) -> dict[str, FloatArray]:
        """The contract's numbers, flat, by the names that its file has for them."""
        return json_numbers(contract)

    def with_numbers(self, contract: Any, name: str, values: FloatArray) -> Any:
        """The contract with other numbers of that name."""
        return with_json_numbers(contract, name, values)

    def watches(self, contract: Any) -> Sequence[Watch]:
        """What announces trouble in this system, besides values that leave the clip's range."""
        return ()

    def drift_notes(
        self, subject: Any, published: FloatArray, sampled: Mapping[int, Any]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """What else a long free run is measured by, as facts and in words.

        published: the watched stage at every frame, (T, width); sampled: every stage, (1, width), at some frames.
        """
        return {}, ()


def files_of(contract: Any) -> Any:
    """What reads the artefacts of a contract's system."""
    return contract.system.files or DeclaredFiles()
