"""The frames at which a stage is computed, as its functions see them."""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract


class Frames(Protocol):
    """What a stage's functions look at: the other stages at N frames, and the contract under which they are computed.

    A stage that is not known raises `NotKnown`: then nothing that needs it can be computed either.
    """

    frame: NDArray[Any]
    fps: float
    mode: str

    @property
    def contract(self) -> Contract:
        """The contract, under the conventions of this evaluation."""
        ...

    @property
    def numbers(self) -> Any:
        """What the contract computes with."""
        ...

    @property
    def network(self) -> Any:
        """The network; `NotKnown` where there is none."""
        ...

    @property
    def drive(self) -> Any:
        """The rows of the clip that drove the run; `NotKnown` where there is none."""
        ...

    def __getitem__(self, stage: str) -> FloatArray:
        """The stage at these frames, (N, width)."""
        ...

    def get(self, stage: str) -> FloatArray | None:
        """The same; None where it is not known."""
        ...

    def at(self, stage: str, lag: int, start: str = "unknown") -> FloatArray:
        """The stage `lag` frames later, (N, width); NaN where that is not known.

        start: what stands before frame 0: `unknown` (NaN), `first` (frame 0 again) or `zeros`.
        """
        ...

    def rows_at(self, stage: str, wanted: NDArray[Any]) -> FloatArray:
        """The stage at frames of the run, (N, …) to (N, …, width); NaN where that is not known."""
        ...

    def left_before(self, stage: str) -> FloatArray:
        """What the frame before left of a stage, (N, width); NaN where that is not known. Nothing is computed for it."""
        ...

    @property
    def has_drive(self) -> bool:
        """Whether there is a clip."""
        ...

    def last(self, stage: str) -> int:
        """Where a clip drives: the last frame at which a stage may be known."""
        ...

    def driven(self, stage: str) -> FloatArray:
        """The clip's rows of a stage at these frames, (N, width); a free run loops over the clip."""
        ...

    def of_clip(self, stage: str, choose: Callable[[FloatArray, NDArray[Any]], FloatArray]) -> FloatArray:
        """`choose(rows, frame)` of each clip's rows of a stage: other rows of it than those of these frames."""
        ...

    def pick(self, knob: Knob) -> Any:
        """The effect of the value that the conventions choose for a knob."""
        ...

    def built(self, part: Callable[[Any], Any]) -> Any:
        """`part(contract)`, built once for each contract."""
        ...
