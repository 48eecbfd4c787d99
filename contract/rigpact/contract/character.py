"""The numbers of a character in a schema bundle: layouts, statistics, skeleton. The `numbers` of its contract."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONDITION_WIDTH, CONTACTS, CONTACTS_WIDTH, ROTATIONS, Layout
from rigpact.contract.skeleton import Skeleton, left_right_permutation
from rigpact.contract.statistics import SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract


@dataclass(frozen=True, eq=False)
class Character:
    """The numbers of a schema bundle, immutable.

    `pose_history` and `angular_velocity` are None when neither the bundle nor the companion has them;
    `pose_history_length` is then None too, and the network's own width gives it.
    """

    bone_names: tuple[str, ...]
    state: Layout
    output: Layout
    state_statistics: Statistics
    output_statistics: Statistics
    rootvel_scales: NDArray[np.float32]
    angvel_scales: NDArray[np.float32]
    pose_history_length: int | None
    pose_history: SquashedStatistics | None
    angular_velocity: SquashedStatistics | None
    skeleton: Skeleton | None

    @property
    def bone_count(self) -> int:
        """Number of tracked bones, from the output's rotation slice."""
        return self.output[ROTATIONS].size // 6

    @property
    def input_widths(self) -> dict[str, int | None]:
        """Width of each network input by name; None where only the network knows it."""
        length = self.pose_history_length
        return {
            "state": self.state.width,
            "cond": CONDITION_WIDTH,
            "contacts": self.state[CONTACTS].size if CONTACTS in self.state else CONTACTS_WIDTH,
            "angvel": self.state[ANGULAR_VELOCITIES].size,
            "pose_hist": None if length is None else length * self.bone_count * 6,
        }


def character_of(contract: Contract) -> Character:
    """The numbers of a schema bundle's contract; UnusableInput for a contract of another kind."""
    found = contract.read_numbers
    if not isinstance(found, Character):
        raise UnusableInput(contract.path, f"a contract of {contract.system.title}", "a schema bundle")
    return found


def bone_names_of(contract: Contract | None) -> tuple[str, ...]:
    """The bones of a schema bundle's contract; none for another contract."""
    return character_of(contract).bone_names if contract is not None and is_character(contract) else ()


def skeleton_of(contract: Contract | None) -> Skeleton | None:
    """The skeleton of a schema bundle's contract; None for another contract."""
    return character_of(contract).skeleton if contract is not None and is_character(contract) else None


def is_character(contract: Contract) -> bool:
    """Whether a contract comes from a schema bundle."""
    return isinstance(contract.read_numbers, Character)


def with_pose_history_length(contract: Contract, length: int) -> Contract:
    """The contract with a history of `length` frames, as the engine takes it from the network's width."""
    return contract.with_numbers(replace(character_of(contract), pose_history_length=length))


def bone_permutation(contract: Contract) -> tuple[int, ...] | None:
    """The published bone order as indices; None when it is as declared."""
    order, character = contract.conventions.bone_order, character_of(contract)
    if order == "as_declared":
        return None
    if order == "left_right_swapped":
        order = left_right_permutation(character.bone_names) or ()
    if len(order) != character.bone_count:
        raise UnusableInput("bone_order", f"{len(order)} bones", f"a permutation of {character.bone_count} bones")
    return tuple(int(index) for index in order)
