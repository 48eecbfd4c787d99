"""What published programs share here: a committed contract and model, and the program's own recordings of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..planted import Answer, Planted, judged


class Program(Protocol):
    """The program, written again."""

    def record(self, mistake: str = "") -> Mapping[str, FloatArray]:
        """Its stages on the committed clip, (T, width) by name, with one mistake or none."""


class Scene:
    """A committed contract and model, and a program that records what they compute."""

    def __init__(self, folder: Path, upstream: Program, fps: float) -> None:
        """Read the contract and the model of a folder."""
        self.contract = open_contract(folder / f"{folder.name}.json")
        self.upstream, self._fps = upstream, fps
        self._network = OnnxSystemNetwork(folder / "model.onnx", self.contract.system)

    def explained(self, mistake: str = "") -> Diagnosis:
        """What `rigpact explain` says of a recording of the upstream."""
        rows = self.upstream.record(mistake)
        frame = np.arange(len(next(iter(rows.values()))))
        return diagnose(Evidence(frame, self._fps, "teacher", rows, network=self._network), self.contract)

    def answers(self, chosen: Sequence[Planted]) -> Iterator[Answer]:
        """The answer to each mistake."""
        for planted in chosen:
            yield judged(planted, self.explained(planted.name))
