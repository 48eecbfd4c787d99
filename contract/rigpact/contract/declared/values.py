"""A choice between readings, the profile that makes it, and a parameter of numbers; and all numbers of a contract by path.

Profiles are the conventions of a stack, which a declaration takes over with `profile = "NAME"`: data, in profiles.toml. To add
one: a table there, with the source of every statement.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, Frames


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


@dataclass(frozen=True)
class Profile:
    """A stack's conventions: what is said of it, and the values of choices that a declaration leaves open."""

    name: str
    title: str
    source: str
    says: Mapping[str, Any]
    choices: Mapping[str, str] = field(default_factory=dict)

    def choice(self, operation: str, parameter: str) -> str | None:
        """The value of a parameter of an operation; None where the profile says nothing of it."""
        own = self.choices.get(f"{operation}.{parameter}")
        return self.choices.get(parameter.removeprefix("second_")) if own is None else own


@cache
def known_profiles() -> Mapping[str, Profile]:
    """Every profile, by name."""
    root = tomllib.loads(files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8"))
    return {name: Profile(name, **table) for name, table in root.items()}


def profile_facts(_contract: Contract, root: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What `rigpact show` says of a declared contract before its tables: its profile."""
    profile = known_profiles().get(root.get("profile", ""))
    if profile is None:
        return []
    says = ", ".join(f"{key} {value}" for key, value in profile.says.items())
    return [("profile", f"{profile.name}: {says}")]
