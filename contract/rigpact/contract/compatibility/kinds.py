"""Every kind of change between two contracts, as data: whom it breaks, why, and its mirror image; and what follows for a version.

Swapping old and new turns each kind into its `mirror` (an addition into a removal); a test asks for that symmetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rigpact.contract.as_json import AsJson


class Consumer(StrEnum):
    """Whom a change breaks."""

    ENGINE_LAYOUT = "ENGINE_LAYOUT"
    ENGINE_MATH = "ENGINE_MATH"
    RETRAIN = "RETRAIN"
    TRACE = "TRACE"
    COSMETIC = "COSMETIC"


MEANING: Mapping[Consumer, str] = {
    Consumer.ENGINE_LAYOUT: "the engine's tensors or bones are laid out otherwise: C++ and assets must be rebuilt",
    Consumer.ENGINE_MATH: "same layout, other numbers: an engine with the old contract runs and is wrong",
    Consumer.RETRAIN: "the network's inputs or outputs mean something else: it must be trained and exported again",
    Consumer.TRACE: "recordings of before and after can no longer be compared",
    Consumer.COSMETIC: "nothing that anybody computes with",
}
ADVICE: Mapping[Consumer, str] = {
    Consumer.ENGINE_LAYOUT: "rebuild the engine side against the new layout and look at the log of its loader (`[Schema OK]`)",
    Consumer.ENGINE_MATH: "hand out the new contract at the same time as the model and load it again (SchemaJsonPath)",
    Consumer.RETRAIN: "train and export again with the new contract",
    Consumer.TRACE: "record traces and teacher predictions again",
    Consumer.COSMETIC: "nothing to do",
}
_E, _M, _R, _T, _C = Consumer
_REBUILD, _RECOMPUTE, _DRIFT = (_E, _R, _T), (_M, _R, _T), (_M, _T)


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


def _pair(first: str, second: str, classes: tuple[Consumer, ...], why: str) -> tuple[ChangeKind, ChangeKind]:
    return ChangeKind(first, classes, why, second), ChangeKind(second, classes, why, first)


def _graded(what: str, classes: tuple[Consumer, ...], drift: tuple[Consumer, ...], why: str) -> tuple[ChangeKind, ...]:
    """A number that can move by a lot, by a little, or by rounding only."""
    return (
        ChangeKind(f"{what}-moved", classes, why),
        ChangeKind(
            f"{what}-drifted", drift, "within what re-measuring the same clips gives; a stale reader is off by it"
        ),
        ChangeKind(f"{what}-rounded", (_C,), "less than one float32 step, or below the floor that readers apply"),
    )


KINDS: Mapping[str, ChangeKind] = {
    kind.name: kind
    for kind in (
        *_pair("slice-added", "slice-removed", _REBUILD, "the vector holds other features, so every reader's offsets change"),
        ChangeKind("slice-moved", _REBUILD, "an old reader takes its neighbour's numbers from there"),
        ChangeKind("slice-resized", _REBUILD, "an old reader cuts it or reads into its neighbour"),
        ChangeKind("slice-renamed", (_E,), "the engine looks slices up by name; the numbers stay where they are"),
        ChangeKind("vector-width-changed", _REBUILD, "the model's tensor has another width; the engine pads or cuts in silence"),
        ChangeKind("layout-ambiguous", (_R,), "the engine reads the array as [start, end), training as [start, size]"),
        ChangeKind("layout-written-differently", (_C,), "every reader finds the same slices"),
        *_pair("bone-added", "bone-removed", _REBUILD, "rotations, velocities and history have channels for other bones"),
        ChangeKind("bone-renamed", (_E,), "the engine finds bones by name; the numbers stay the same"),
        ChangeKind("bones-reordered", _REBUILD, "every per-bone channel belongs to another bone"),
        ChangeKind("bones-relabelled", (_E, _T), "the numbers stayed and the names moved: they now drive other bones"),
        ChangeKind("bone-names-unreadable", (_E,), "the engine finds bones by name, and neither list can be read"),
        *_pair("bone-names-added", "bone-names-removed", (_E,), "the engine finds bones by name"),
        ChangeKind("root-bone-renamed", (_E,), "the engine finds the root by name"),
        ChangeKind("bone-reparented", _RECOMPUTE, "rotations are local to the parent: the same numbers are another pose"),
        *_pair("skeleton-added", "skeleton-removed", (_T,), "positions, and errors in centimetres, are computed from it"),
        ChangeKind("skeleton-bones-changed", (_T,), "the skeleton's own table no longer lists the same bones"),
        ChangeKind("skeleton-offsets-moved", (_T,), "the same rotations put joints elsewhere: centimetres change"),
        ChangeKind("skeleton-offsets-rounded", (_C,), "less than one float32 step"),
        *_graded("input-mean", _RECOMPUTE, _DRIFT, "an old reader feeds the network an input shifted by so many deviations"),
        *_graded("input-std", _RECOMPUTE, _DRIFT, "an old reader feeds the network an input scaled by this"),
        *_graded("output-mean", _RECOMPUTE, _DRIFT, "an old reader adds the old mean to every pose"),
        *_graded("output-std", _RECOMPUTE, _DRIFT, "an old reader scales every rotation by this"),
        *_graded("recorded-mean", (_T,), (_T,), "a residual does not add MuY; only recorded y_norm is measured from it"),
        *_graded("training-statistics", (_R, _T), (_T,), "training normalises an input with it; the engine does not read it"),
        *_graded("squash-scale", _RECOMPUTE, _DRIFT, "tanh bends elsewhere: fast motion reads as slower or faster"),
        *_pair("history-statistics-merged", "history-statistics-unmerged", _DRIFT,
               "without them the engine falls back to scale 1, mean 0, std 1 and says nothing"),
        *_pair("angvel-statistics-merged", "angvel-statistics-unmerged", (_T,),
               "tools that read this file alone normalise the AngVel input otherwise"),
        *_pair("history-length-declared", "history-length-undeclared", (_C,),
               "undeclared, it follows from the statistics of the history"),
        ChangeKind("history-length-changed", _REBUILD, "the input that holds the history has another width"),
        *_pair("array-repaired", "array-broken", _REBUILD, "one version of this array cannot be read against its layout"),
        ChangeKind("array-unreadable", _REBUILD, "neither version of this array can be read against its layout"),
        ChangeKind("rotation-columns-changed", _RECOMPUTE, "the same six numbers are another rotation"),
        ChangeKind("rotation-spec-changed", _RECOMPUTE, "the same six numbers are another rotation"),
        ChangeKind("output-mode-changed", _RECOMPUTE, "the same output is another pose: a step, a residual or the pose itself"),
        ChangeKind("frame-rate-changed", _RECOMPUTE, "steps and velocities are per frame: the character moves at another speed"),
        ChangeKind("units-changed", _RECOMPUTE, "the same number is another length"),
        ChangeKind("handedness-changed", _RECOMPUTE, "the same rotations are the mirror image"),
        ChangeKind("axes-changed", _RECOMPUTE, "forward, right and up are other axes"),
        ChangeKind("spaces-changed", _RECOMPUTE, "the same numbers are meant in another frame of reference"),
        ChangeKind("target-alignment-changed", _RECOMPUTE, "the output belongs to another frame of the clip"),
        ChangeKind("condition-alignment-changed", (_R, _T), "the condition belongs to another frame of the clip"),
        ChangeKind("writeback-map-changed", (_R, _T), "training feeds its outputs back into other channels of the state"),
        ChangeKind("condition-mode-changed", _RECOMPUTE, "the network is given other numbers for the same command"),
        ChangeKind("condition-width-changed", _REBUILD, "the Cond input has another width"),
        ChangeKind("root-motion-changed", _RECOMPUTE, "yaw, height or heading of the root is measured otherwise"),
        ChangeKind("basis-changed", _RECOMPUTE, "poses are turned into the engine's axes on one side and not on the other"),
        ChangeKind("trajectory-changed", (_R, _T), "the condition is taken from other points of the trajectory"),
        *_pair("declaration-added", "declaration-removed", (_C,), "it writes down what every reader assumes, or stops doing so"),
        ChangeKind("spelled-differently", (_C,), "another spelling of the same value"),
        ChangeKind("bookkeeping-changed", (_C,), "notes and by-products of training that neither side computes with"),
        *_pair("stage-added", "stage-removed", _REBUILD, "recordings hold other stages, and the computation takes another way"),
        ChangeKind("stage-renamed", (_E, _T), "engine code and recordings find a stage by name; the numbers stay the same"),
        *_pair("vector-repaired", "vector-broken", _REBUILD, "the fields of this vector cannot be read in one version"),
        ChangeKind("vector-unreadable", _REBUILD, "the fields of this vector cannot be read in either version"),
        *_pair("field-added", "field-removed", _REBUILD, "the vector holds other numbers, so every reader's offsets change"),
        ChangeKind("field-moved", _REBUILD, "an old reader takes its neighbour's numbers from there"),
        ChangeKind("field-resized", _REBUILD, "an old reader cuts it or reads into its neighbour"),
        ChangeKind("field-renamed", (_E,), "engine code finds a field by name; the numbers stay where they are"),
        ChangeKind("field-kind-changed", _RECOMPUTE, "the same numbers are another quantity"),
        ChangeKind("field-unit-changed", _RECOMPUTE, "the same number is another amount"),
        ChangeKind("field-space-changed", _RECOMPUTE, "the same numbers are meant in another frame of reference"),
        ChangeKind("field-range-changed", (_T,), "recordings are judged by another range; the computation stays"),
        ChangeKind("fields-reordered", _REBUILD, "every number belongs to another joint or bone"),
        ChangeKind("stage-computed-otherwise", _RECOMPUTE, "an old reader computes something else and calls it the same"),
        ChangeKind("recording-columns-changed", (_T,), "recordings of other formats are read under other names"),
        ChangeKind("convention-changed", _RECOMPUTE, "the same numbers are computed or read in another way"),
        *_pair("constant-added", "constant-removed", _RECOMPUTE, "one side computes with a number that the other does not have"),
        ChangeKind("constant-changed", _RECOMPUTE, "an old reader computes with the old number"),
        ChangeKind("constant-rounded", (_C,), "less than one float32 step"),
        ChangeKind("unjudged-change", _RECOMPUTE, "rigpact does not know the readers of this: it may be everybody"),
        ChangeKind("formatting-changed", (_C,), "spaces, digits or the order of keys; the values are the same"),
    )
}  # fmt: skip
"""Every kind by name."""


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
