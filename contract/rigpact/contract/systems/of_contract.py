"""What all kinds of frames have of the contract that they are computed under; `Frames` says the rest."""

from collections.abc import Callable
from typing import Any, TypeVar

from rigpact.contract.conventions import Knob
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import NotKnown

Part = TypeVar("Part")


class FramesOfContract:
    """The contract's numbers, the effects that its conventions choose, what is built of it once; the network, if there is one."""

    def __init__(self, contract: Contract, network: Any = None) -> None:
        """Nothing is built yet."""
        self.contract, self._network = contract, network
        self._parts: dict[Any, Any] = {}

    @property
    def numbers(self) -> Any:
        """The contract's constants as the system reads them."""
        return self.contract.numbers

    @property
    def network(self) -> Any:
        """The network; `NotKnown` if there is none."""
        if self._network is None:
            raise NotKnown("network")
        return self._network

    def pick(self, knob: Knob) -> Any:
        """The effect of the value that the conventions choose for a knob."""
        return knob.effects[self.contract.conventions[knob.name]]

    def built(self, part: Callable[[Any], Part]) -> Part:
        """`part(contract)`, built once."""
        if part not in self._parts:
            self._parts[part] = part(self.contract)
        found: Part = self._parts[part]
        return found
