"""Upstream's IMU pose on the committed files, right or with one of the mistakes of imu_pose_defects.py."""

from __future__ import annotations

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

from .imu_pose_side import recorded, weights_of

FOLDER = Path(__file__).parents[4] / "fixtures" / "bundles" / "imu_pose"


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
