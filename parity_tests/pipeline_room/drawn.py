"""What a pipeline is drawn from: a contract of one to eighty bones, its clip, the network's answers; and how often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from rigpact.contract import Contract
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.testing import strategies

MOST_BONES, MOST_HISTORY = 80, 8
FRAMES = 4
FEW, SOME, MANY = 10, 30, 400
"""Examples of the ordinary tests, always the same ones (more where an example is quick), and of the long ones, which draw others
each time."""
each_profile = pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.nightly)])
each_quick_profile = pytest.mark.parametrize("examples", [SOME, pytest.param(MANY, marks=pytest.mark.nightly)])


@dataclass(frozen=True)
class Case:
    """A contract, a clip that fits it, and what the network answers in each frame, (T, Dy)."""

    contract: Contract
    clip: RawClip
    y_norm: Any


@st.composite
def cases(draw: st.DrawFn, *, knobs: Sequence[str] = (), history: int = MOST_HISTORY) -> Case:
    """Any contract with its clip and answers; knobs: the conventions that are drawn too."""
    past = draw(st.integers(1, history))  # a bundle of no history is refused
    contract = draw(strategies.contracts(max_bones=MOST_BONES, history=past, knobs=knobs))
    clip = draw(strategies.clips(contract, min_frames=FRAMES + 1, max_frames=FRAMES + 2))
    numbers = st.floats(-4.0, 4.0, width=32, allow_subnormal=False)
    shape = (FRAMES, contract.numbers.output.width)
    return Case(contract, clip, draw(st_numpy.arrays(np.float32, shape, elements=numbers, fill=st.just(0.0))))


def for_all(strategy: st.SearchStrategy[Any], examples: int, holds: Callable[[Any], None]) -> None:
    """Judge so many drawn values; a failure is shrunk and shown."""
    drawing = settings(
        max_examples=examples, derandomize=examples < MANY, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    drawing(given(strategy)(holds))()
