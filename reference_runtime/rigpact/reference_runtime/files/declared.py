"""The artefacts of a system that is declared by its stages alone: traces of named stages, and an ONNX model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import SystemContract
from rigpact.reference_runtime.graph.run import ClipDrive
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import read_trace
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork


class DeclaredFiles:
    """Reads what a declared system's project holds."""

    def recording(self, path: Path, contract: SystemContract) -> Recording:
        """A trace of this system; UnusableInput for one of another."""
        trace = read_trace(path)
        name = contract.system.name
        if trace.header.system != name:
            found = "no system in its header" if trace.header.system is None else f"a trace of {trace.header.system}"
            raise UnusableInput(f"{path}#/system", found, name, "is it the right --bundle?")
        return Recording(path, "trace", trace, frozenset(contract.system.graph.names))

    def drive(self, path: Path, contract: SystemContract) -> Callable[[Any], Any]:
        """What drives a run: the recorded rows of the stages that come from outside."""
        drive = ClipDrive(self.recording(path, contract).trace.stages)
        return lambda _contract: drive

    def network(self, path: Path, contract: SystemContract) -> OnnxSystemNetwork:
        """The model behind the system's answers."""
        return OnnxSystemNetwork(path, contract.system)

    def answers(self, path: Path, frame: NDArray[np.int64], contract: SystemContract) -> dict[str, FloatArray]:
        """Recorded answers of the network at some frames; UnusableInput where a frame is missing."""
        trace = self.recording(path, contract).trace
        if not set(frame.tolist()) <= set(trace.frame.tolist()):
            raise UnusableInput(path, f"{len(trace.frame)} frames", "every frame of the recording")
        rows = np.searchsorted(trace.frame, frame)
        answers = contract.system.graph.answers
        return {name: values[rows] for name, values in trace.stages.items() if name in answers}


def files_of(contract: Any) -> Any:
    """What reads the artefacts of a contract's system."""
    return contract.system.files or DeclaredFiles()
