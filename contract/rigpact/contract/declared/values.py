"""A choice between readings and a parameter of numbers, as an operation asks for them; and all numbers of a contract by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames


def as_declared(declared: FloatArray) -> FloatArray:
    """The numbers as the contract has them."""
    return declared


def always(value: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Other numbers, whatever the contract has."""
    return lambda _declared: value


def reordered(order: list[int]) -> Callable[[FloatArray], FloatArray]:
    """As many numbers in another order."""
    return lambda declared: declared[order] if declared.size == len(order) else declared


@dataclass(frozen=True, eq=False)
class Choice:
    """A place where sides differ; without a knob where only one reading is left: `word` is its name.

    readings: value of the knob -> the operation's own name of the reading, where the contract calls it otherwise.
    """

    only: Any = None
    knob: Knob | None = None
    word: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)

    def of(self, frames: Frames) -> Any:
        """What the reading does that the conventions of an evaluation choose."""
        return self.only if self.knob is None else frames.pick(self.knob)

    def word_of(self, frames: Frames) -> str:
        """The name of that reading."""
        if self.knob is None:
            return self.word
        value = str(frames.contract.conventions[self.knob.name])
        return self.readings.get(value, value)


@dataclass(frozen=True, eq=False)
class Number:
    """A parameter of numbers: where it stands among the contract's numbers, and how sides misread it: or whose path they take."""

    path: str
    reading: Choice

    def of(self, frames: Frames) -> FloatArray:
        """The numbers under the conventions of an evaluation, float64."""
        reading = self.reading.of(frames)
        return np.asarray(frames.numbers[reading] if isinstance(reading, str) else reading(frames.numbers[self.path]))

    def row(self, frames: Frames, width: int) -> FloatArray:
        """The same, one for each of `width` channels."""
        return np.broadcast_to(self.of(frames).reshape(-1), (width,))


@dataclass(frozen=True)
class NamedNumbers:
    """Numbers that a declaration gives a name, with the names of their entries if it says them."""

    path: str
    value: FloatArray
    names: tuple[str, ...] = ()


def flat_numbers(constants: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Every number of a declared contract by its path, `joint_pos.scale`, in its own shape."""
    flat: dict[str, FloatArray] = {}
    for owner, entries in constants.items():
        flat |= {f"{owner}.{key}": np.array(value, np.float64) for key, value in entries.items()}
    return flat
