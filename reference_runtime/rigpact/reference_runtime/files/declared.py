"""The artefacts of a system that is declared by its stages alone: traces of named stages, and an ONNX model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import SystemContract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace, read_trace
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork


@dataclass(frozen=True, eq=False)
class TraceRows:
    """A recording as what drives a run: the rows of each stage from frame 0 on."""

    trace: Trace

    @property
    def steps(self) -> int:
        """Number of frames."""
        return len(self.trace.frame)

    def rows(self, stage: str) -> FloatArray | None:
        """Rows of a stage, (N, width); None where it was not recorded."""
        return self.trace.stages.get(stage)


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
        rows = TraceRows(self.recording(path, contract).trace)
        return lambda _contract: rows

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
