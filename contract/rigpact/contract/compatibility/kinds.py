"""Every kind of change between two contracts, as data: whom it breaks, why, and its mirror image; and what follows for a version.

Swapping old and new turns each kind into its `mirror` (an addition into a removal); a test asks for that symmetry.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

from rigpact.contract.as_json import AsJson


class Consumer(StrEnum):
    """Whom a change breaks."""

    ENGINE_LAYOUT = "ENGINE_LAYOUT"
    ENGINE_MATH = "ENGINE_MATH"
    RETRAIN = "RETRAIN"
    TRACE = "TRACE"
    COSMETIC = "COSMETIC"


_TABLE = tomllib.loads(files(__package__).joinpath("kinds.toml").read_text(encoding="utf-8"))
MEANING, ADVICE = ({each: _TABLE["consumers"][each][said] for each in Consumer} for said in ("meaning", "advice"))


@dataclass(frozen=True)
class ChangeKind:
    """One kind of change: its name, the classes that it breaks, the reason, and its name when old and new are swapped."""

    name: str
    classes: tuple[Consumer, ...]
    why: str
    mirror: str = ""

    @property
    def advice(self) -> str:
        """What each class must do, in the order in which they do it."""
        return "; ".join(ADVICE[consumer] for consumer in self.classes)

    @property
    def mirrored(self) -> str:
        """The kind's name when old and new are swapped."""
        return self.mirror or self.name


_LETTERS = dict(zip("EMRTC", Consumer, strict=True))
KINDS: Mapping[str, ChangeKind] = {
    name: ChangeKind(name, tuple(_LETTERS[letter] for letter in said["breaks"]), said["why"], said.get("mirror", ""))
    for name, said in _TABLE["kinds"].items()
}
"""Every kind by name; kinds.toml has them."""


MAJOR, MINOR, PATCH, NONE = "major", "minor", "patch", "none"
_DEMANDS = (
    (MAJOR, (Consumer.ENGINE_LAYOUT, Consumer.RETRAIN), "the engine must be rebuilt or the network trained again"),
    (MINOR, (Consumer.ENGINE_MATH, Consumer.TRACE), "code and network stay, every reader needs the new file"),
    (PATCH, (Consumer.COSMETIC,), "nobody computes anything else"),
)


@dataclass(frozen=True)
class Change(AsJson):
    """One change: its kind, where it stands, both values, and a sentence with the numbers.

    pointer: RFC 6901, into the new bundle where it has the place, else into the old one.
    """

    KEYS = "kind: kind.name pointer old new classes message why: kind.why advice: kind.advice"
    kind: ChangeKind
    pointer: str
    old: Any
    new: Any
    message: str

    @property
    def classes(self) -> tuple[Consumer, ...]:
        """Whom it breaks."""
        return self.kind.classes


def change(kind: str, pointer: str, old: Any, new: Any, message: str) -> Change:
    """Make a change of a named kind."""
    return Change(KINDS[kind], pointer, old, new, message)


@dataclass(frozen=True)
class Compatibility(AsJson):
    """Everything that changed from one bundle to another, the most demanding first."""

    FORMAT = "rigpact-breaking"
    KEYS = (
        "verdict old.path: old old.sha256: old_sha256 new.path: new new.sha256: new_sha256 classes"
        " semver.step: version_step semver.reason: version_reason changes"
    )
    old: str
    new: str
    old_sha256: str
    new_sha256: str
    changes: tuple[Change, ...]

    @property
    def classes(self) -> tuple[Consumer, ...]:
        """Every class that some change has, in the order of `Consumer`."""
        return tuple(consumer for consumer in Consumer if any(consumer in each.classes for each in self.changes))

    @property
    def is_breaking(self) -> bool:
        """Whether the change demands work from anyone except a reader of notes."""
        return any(consumer is not Consumer.COSMETIC for consumer in self.classes)

    @property
    def version_step(self) -> str:
        """Which part of the contract's version must rise: major, minor, patch or none."""
        return next((step for step, demanding, _ in _DEMANDS if set(demanding) & set(self.classes)), NONE)

    @property
    def version_reason(self) -> str:
        """Why, with the first change that demands it."""
        for step, demanding, reason in _DEMANDS:
            if step == self.version_step:
                first = next(each for each in self.changes if set(each.classes) & set(demanding))
                return f"{reason} ({first.kind.name} at {first.pointer or 'the root'})"
        return "nothing changed"

    @property
    def verdict(self) -> str:
        """The answer in a word."""
        return "breaking" if self.is_breaking else "compatible"

    @property
    def record_key(self) -> str:
        """The identity of an entry in a change record: the beginnings of the hashes of both versions."""
        return f"{self.old_sha256[:12]} → {self.new_sha256[:12]}"

    @property
    def duties(self) -> dict[str, str]:
        """What is to be done, by class."""
        return {consumer.value: ADVICE[consumer] for consumer in self.classes}
