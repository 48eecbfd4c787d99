"""docs/systems-defects-imu_pose.md: what `rigpact explain` says of upstream's IMU pose with one mistake.

`python -m parity_tests.measuring.scores.upstream.imu_pose docs/systems-defects-imu_pose.md` plants every mistake and writes the
page; without an argument it prints it. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..planted import MISTAKE, NUMBER, Answer, Planted, judged, page, publish, shortcomings
from .imu_pose_defects import DEFECTS
from .imu_pose_side import recorded, weights_of

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "imu_pose"
NAMED = 0.8
"""The bar: so many are named."""
_HEAD = """# IMU pose: mistakes in upstream's formulas

imu_pose_side.py under parity_tests/measuring/scores/upstream/ is upstream's network and what stands around it, written out in
torch. It shares no code with rigpact; it takes the committed model's weights. Without a mistake, every stage that it records
agrees with the contract. Each row plants one mistake of the kinds that real ports had, records one window, and asks `rigpact
explain`.

A mistake is *located* when the first divergence is in a stage where it shows first. It is *named* when a convention or a relation
says what it is. It would be *misleading* to say anything that is not true of it, and *silent* to see nothing.

This page is generated: `python -m parity_tests.measuring.scores.upstream.imu_pose docs/systems-defects-imu_pose.md`.
"""


@dataclass(frozen=True, eq=False)
class Upstream:
    """The committed contract and model, upstream's copy of the weights, and the window that is recorded."""

    contract: Any
    network: Any
    weights: dict[str, Any]
    imu: NDArray[np.float32]

    @classmethod
    def committed(cls) -> Upstream:
        """Read the committed files."""
        contract, model = open_contract(FOLDER / "imu_pose.json"), FOLDER / "model.onnx"
        imu = load_file(FOLDER / "clip.trace.safetensors")["imu"]
        return cls(contract, OnnxSystemNetwork(model, contract.system), weights_of(model), imu)

    def explained(self, defect: str = "") -> Diagnosis:
        """Record a window with one mistake and ask what differs."""
        rows = recorded(self.weights, self.imu, self.contract.constants["temperature"], defect)
        evidence = Evidence(np.arange(len(self.imu)), self.contract.fps, "teacher", rows, network=self.network)
        return diagnose(evidence, self.contract)


def every_answer(upstream: Upstream, chosen: Sequence[Planted] = DEFECTS) -> Iterator[Answer]:
    """The answer to each mistake."""
    for planted in chosen:
        yield judged(planted, upstream.explained(planted.name))


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    upstream = Upstream.committed()
    honest = upstream.explained().verdict
    answers = list(every_answer(upstream))
    text = page(_HEAD, answers, honest, (NUMBER, MISTAKE))
    return publish(arguments, text, shortcomings(answers, {"without a mistake": honest}, NAMED))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
