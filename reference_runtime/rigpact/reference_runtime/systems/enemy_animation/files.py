"""The artefacts of the enemy animation: traces, teacher files and raw clips, and a model of five inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import OnnxNetwork, read_replay
from rigpact.reference_runtime.recordings.clip import read_clip
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of


class EnemyFiles:
    """Reads what an enemy animation's project holds."""

    def recording(self, path: Path, contract: Contract | None) -> Recording:
        """A trace, a teacher batch or prediction, or a raw clip."""
        return read_recording(path, contract)

    def drive(self, path: Path, contract: Contract) -> Callable[[Any], Any]:
        """What drives a run: a clip, laid out under whatever contract is looked at."""
        return drive_of(read_clip(path))

    def network(self, path: Path, contract: Contract) -> OnnxNetwork:
        """The model of five inputs."""
        return OnnxNetwork(path, contract)

    def answers(self, path: Path, frame: NDArray[np.int64], contract: Contract) -> dict[str, FloatArray]:
        """Recorded answers of the network at some frames; UnusableInput where a frame is missing."""
        outputs = read_replay(path).outputs
        if frame[-1] >= len(outputs):
            raise UnusableInput(path, f"{len(outputs)} recorded outputs", f"one for frame {frame[-1]}")
        return {"y_norm": outputs[frame]}
