"""A stage as a step of a plan: an operation by name, what it reads, and numbers.

The native executor runs plans; `rigpact codegen --loop` writes them as C++. A stage without one is computed by numpy, and so is
the whole run that it is part of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray

STARTS = ("unknown", "first", "zeros")
"""What stands before frame 0, as in `Frames.at`."""
_HEADERS = {
    "arranging": "move constant",
    "scaling": "affine normalise denormalise clip squash wrap blend norm threshold",
    "turning": "rotate relative compose",
    "converting": "convert joint_positions",
    "timing": "difference held integrate integrate_rotation",
    "character": "state_features bone_rates over_a_window pose_history squashed_zscore",
    "posing": "denormalised_output turn composed_pose published_pose pose_quaternions write_back",
}
CPP_OPERATIONS = {name: header for header, names in _HEADERS.items() for name in names.split()}
"""The operations of rigpact's own headers, each with the one of `cpp/include/rigpact/vocabulary` that it stands in."""


TARGET = "target"
"""In place of what stands before frame 0, for a lag above 0: a free run takes the row behind the clip's own of its frame."""


@dataclass(frozen=True)
class Read:
    """A vector that a step reads: a stage `lag` frames later; start: one of `STARTS`, `TARGET`, or the executor's own."""

    stage: str
    lag: int = 0
    start: str = "unknown"


@dataclass(frozen=True)
class Chosen:
    """A word of a step: the reading of a convention that operations share, and its place among the readings."""

    knob: str
    reading: str
    number: int


@dataclass(frozen=True)
class Cpp:
    """The C++ of an operation of your own, for generated loops.

    function: its whole name, as in `studio::spring`; it takes a `const rigpact::vocabulary::Call&`. code: C++17 that declares it,
    with its includes.
    """

    function: str
    code: str


@dataclass(frozen=True, eq=False)
class Step:
    """One of `CPP_OPERATIONS`, or one with a `Cpp`, with its words and its numbers; a word in letters is a reading of it.

    cpp: of a declared stage, whose operation brings it; it needs no other.
    """

    operation: str
    reads: tuple[Read, ...]
    words: tuple[int | str | Chosen, ...] = ()
    numbers: FloatArray | Sequence[float] = ()
    cpp: Cpp | None = None


Planned = Callable[[Any], Step]
"""What `Frames` have without any stage (the contract, its numbers and conventions) -> the step under these conventions.

`NotKnown` where these conventions have no such stage."""


def chosen(frames: Any, *knobs: Knob) -> tuple[Chosen, ...]:
    """The readings of shared conventions, as words of a step."""
    values = [str(frames.contract.conventions[knob.name]) for knob in knobs]
    return tuple(Chosen(knob.name, value, knob.values.index(value)) for knob, value in zip(knobs, values, strict=True))


def moved(reads: Sequence[Read], widths: Sequence[int], places: Sequence[int]) -> Step:
    """Numbers that are only moved; places: of each number of the result, its place among the vectors laid end to end."""
    starts = np.cumsum([0, *widths])
    runs: list[list[int]] = []
    for place in places:
        read = int(np.searchsorted(starts, place, side="right")) - 1
        channel = int(place - starts[read])
        if runs and runs[-1][0] == read and sum(runs[-1][1:]) == channel:
            runs[-1][2] += 1
        else:
            runs.append([read, channel, 1])
    return Step("move", tuple(reads), (len(runs), *(word for run in runs for word in run)))
