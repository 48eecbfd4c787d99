"""One change between two bundles, and all changes together with the version that they demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rigpact.contract.as_json import AsJson
from rigpact.contract.compatibility.kinds import ADVICE, KINDS, ChangeKind, Consumer

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
