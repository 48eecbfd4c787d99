"""The subject of an investigation: a run of any system that can be started again and again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.runner import Runner, RunOptions
from rigpact.reference_runtime.native.library import Engine


@dataclass(frozen=True, eq=False)
class Subject:
    """A contract, a network, a clip and the injected faults.

    companion: the same contract with the companion statistics, if this contract was loaded without them.
    """

    contract: Contract
    network: Any
    clip: Any
    mode: str = "free"
    faults: tuple[Any, ...] = ()
    companion: Any = None
    on_floor: bool = False
    notes: tuple[str, ...] = field(default=())
    engine: Engine = "auto"

    @property
    def files(self) -> Any:
        """The reader and runner of the contract's system."""
        return files_of(self.contract)

    @property
    def acting_contract(self) -> Contract:
        """The effective contract of the faulty implementation."""
        acting: Contract = self.files.acting_contract(self.contract, self.faults)
        return acting

    def start(self, frames: int | None = None) -> Runner:
        """A new run at frame 0, for `frames` frames."""
        options = RunOptions(self.mode, frames, self.on_floor, self.faults, self.engine)
        runner: Runner = self.files.start(self.acting_contract, self.network, self.clip, options)
        return runner

    def rows(self) -> Any:
        """The clip laid out under the contract."""
        return self.files.drive_of(self.clip)(self.contract)

    def frames_of(self, runner: Runner, frames: int) -> int:
        """Number of available frames, at most `frames`: a clip or a recording may be shorter."""
        outputs: Any = getattr(self.network, "outputs", None)
        by_stage = outputs.values() if isinstance(outputs, Mapping) else [] if outputs is None else [outputs]
        return min(frames, runner.frame_limit or frames, *map(len, by_stage))
