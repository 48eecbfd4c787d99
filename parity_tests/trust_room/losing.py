"""A network that loses axes of rotations, and scenes with it."""

from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.network import Network
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER
from rigpact.reference_runtime.operations.rot6d import Rot6d

from ..scene import Scene


class LosingNetwork:
    """A network that loses axes: in half of the frames, bone 1 has a short first axis, and bone 2 two parallel axes.

    Everything else is the answer of another network. The frames follow from the state, so any batch gives the same rows.
    What is left of a lost axis has half the length at which an engine keeps it, and points another way: training, which
    divides by it, gives another axis than a coordinate axis.
    """

    def __init__(self, network: Network, contract: Contract) -> None:
        """Find the y_norm that leads to such six numbers under the contract's output mode."""
        character = character_of(contract)
        self.name, self.bound_widths = f"{network.name}, losing axes", network.bound_widths
        self._network, self._channel = network, character.state[ROTATIONS].start
        is_residual = contract.conventions.output_mode == "residual"
        place, own = character.output[ROTATIONS].range, character.output_statistics
        start = Rot6d(contract.conventions).identity(character.bone_count) if is_residual else own.mean[place]
        codec, rest = Rot6d(contract.conventions), np.array([[0.0, KINDA_SMALL_NUMBER / 2.0, 0.0]])
        short, parallel = (
            codec.join(rest, np.array([[0.6, 0.0, 0.8]])),
            codec.join(np.eye(1, 3), 2.0 * np.eye(1, 3) + rest),
        )
        wanted = np.concatenate((short, parallel))
        self._place = slice(place.start + 6, place.start + 18)
        self._lost = ((wanted - start[6:18]) / own.std[self._place]).astype(np.float32)

    def run(self, inputs: Any, frame: int) -> FloatArray:
        """The other network's rows, with the lost axes."""
        rows = np.array(self._network.run(inputs, frame))
        loses = np.floor(64.0 * inputs[0][:, self._channel]).astype(np.int64) % 2 == 1
        rows[loses, self._place] = self._lost
        return rows


def losing_scene(scene: Scene, output_mode: str = "residual") -> Scene:
    """The scene under an output mode, with a network that loses axes: only there does what replaces them matter.

    A lost axis of ΔR becomes a coordinate axis. An axis of the pose before replaces one only where the network gives the
    pose itself, in output mode `absolute`: a composed pose never loses an axis.
    """
    contract = scene.contract.with_conventions({"output_mode": output_mode})
    losing = LosingNetwork(scene.network, contract)
    return replace(scene, name=f"{scene.name} losing axes", contract=contract, network=losing)
