"""What is investigated: a loop that can be started as often as needed."""

from __future__ import annotations

from dataclasses import dataclass, field

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.network import Network, ReplayNetwork
from rigpact.reference_runtime.recordings.clip import Clip
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, clip_rows
from rigpact.reference_runtime.systems.enemy_animation.faults import Fault, faulty_contract, faulty_parts
from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import GroundedInputs
from rigpact.reference_runtime.systems.enemy_animation.loop import Loop, LoopParts, Mode


@dataclass(frozen=True, eq=False)
class Subject:
    """A contract, a network, a clip and the faults that were put in.

    companion: a contract that also holds the companion's statistics, where this one was loaded without them.
    """

    contract: Contract
    network: Network
    clip: Clip
    mode: Mode = "free"
    faults: tuple[Fault, ...] = ()
    companion: Contract | None = None
    on_floor: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def acting_contract(self) -> Contract:
        """The contract as the faulty implementation acts on it."""
        return faulty_contract(self.contract, self.faults)

    def start(self) -> Loop:
        """A new loop at frame 0."""
        if self.faults and self.mode != "free":
            raise UnusableInput("--perturb", f"a {self.mode} run", "a free run")
        if self.faults and self.on_floor:
            raise UnusableInput("--perturb with --floor-contacts", "both", "one of them")
        parts = LoopParts(GroundedInputs) if self.on_floor else faulty_parts(self.faults)
        return Loop(self.acting_contract, self.network, self.clip, self.mode, parts if self.mode == "free" else None)

    def rows(self) -> ClipRows:
        """The clip laid out under the contract."""
        return clip_rows(self.clip, self.contract)

    def frames_of(self, loop: Loop, frames: int) -> int:
        """How many of `frames` frames there are: a clip or a recording may end before."""
        recorded = len(self.network.outputs) if isinstance(self.network, ReplayNetwork) else frames
        return min(frames, loop.frame_limit or frames, recorded)
