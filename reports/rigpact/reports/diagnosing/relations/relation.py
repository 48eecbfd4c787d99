"""A relation as data, a reading: the same before it is judged, and the places of a vector that they are said of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.as_json import AsJson
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reports.diagnosing.extent import frames_in_words

Channels = NDArray[np.intp]
CLAMPED = "clamped"
"""The kind of a relation that says which limits act."""
CONSTANT = "constant"
"""The kind of a relation that says which numbers stand somewhere, whatever should."""
FRAME = "frame"
"""The kind of a relation that says of which other frame the numbers are."""
GLITCH = "glitch"
"""The kind of a relation that tells where, and not by which rule."""
SIMPLE = 2
"""A reading that says no more ends the search: two limits, two channels that are exchanged."""
ENDS_NO_SEARCH = SIMPLE + 1
"""What is added to a reading that another may say in a better way."""
IN_SOME_FRAMES = ENDS_NO_SEARCH
"""What it costs to say in which frames."""
FRAMES_LISTED = 6
"""More frames than these are counted, not listed, and are no few."""
WORDS_LISTED = 4
"""More names or numbers than these are counted, not listed."""


MadeBy = tuple[str, str]
"""Who made a reading: a family by name, and the vector that it was asked about."""


@dataclass(frozen=True, eq=False)
class ChannelSet:
    """Some channels of a stage, by a name. is_whole: all of them."""

    name: str
    channels: Channels
    is_whole: bool = False


@dataclass(frozen=True, eq=False)
class CandidateEdit:
    """What a stage would hold if a simple relation were true: rows and their bound, both (T, width).

    kind: of the relation, for programs; words: after "`place` is …", for people. fitted: how many numbers were taken from the
    recording itself: so many of its values prove nothing. place: of it; None where the rows say it. source: the input that is
    changed, where it is said of one, and in which of its channels. pieces: how many parts its words have beside those numbers.
    is_rule: False where it tells what was there, and nothing of how that came about.
    family: who made it.
    """

    kind: str
    words: str
    rows: FloatArray
    bound: FloatArray
    fitted: int = 0
    place: ChannelSet | None = None
    source: ChannelSet | None = None
    pieces: int = 0
    is_rule: bool = True
    family: MadeBy = ("", "")

    @property
    def cost(self) -> int:
        """How much is said: of two readings that tell the same, the shorter one is right."""
        return self.fitted + self.pieces


@dataclass(frozen=True, eq=False)
class Relation(AsJson):
    """A relation that holds in `frames_explained` of the `frames` frames in which `place` of a stage was judged.

    ratio: the largest error that is left in those frames, in tolerances. source: the input that it is said of, else empty;
    channels: those of it, or of the vector that `place` names. excess: (T, width) of the stage, the error under the relation in
    tolerances, and rows and bound, what the stage would hold; NaN where it says nothing. A diagnosis that was made keeps none of
    them. cost, fitted, is_rule, family: those of its
    reading; what is no rule explains nothing. frames_left: the numbers of the judged frames in which it does not hold.
    """

    KEYS = "stage place kind words frames_explained frames ratio source channels is_rule frames_left sentence"
    stage: str
    place: str
    kind: str
    words: str
    frames_explained: int
    frames: int
    ratio: float
    source: str = ""
    channels: tuple[int, ...] = ()
    excess: Any = None
    rows: Any = None
    bound: Any = None
    cost: int = 0
    fitted: int = 0
    is_rule: bool = True
    frames_left: tuple[int, ...] = ()
    family: MadeBy = ("", "")

    @property
    def without_rows(self) -> Relation:
        """The relation as it is said."""
        return replace(self, excess=None, rows=None, bound=None)

    @property
    def is_whole(self) -> bool:
        """Whether it is one of the whole stage, in every frame."""
        return self.place == self.stage and self.frames_explained == self.frames

    @property
    def sentence(self) -> str:
        """The relation in words, with its fit."""
        if self.kind == GLITCH:
            return f"{self.place} is {self.words}; the other {self.frames_explained} frames are as they should be"
        fit = f"{self.frames_explained} of {self.frames} frames"
        if not self.is_rule:
            return f"{self.place} is {self.words}: so in {fit}, and what makes it so is not known"
        left = f", all but {frames_words(self.frames_left)}" if self.frames_left else ""
        return f"{self.place} is {self.words}: explains {fit}{left}"


def frames_words(frames: Sequence[int]) -> str:
    """Some frame numbers in words: `frames 3, 4 and 5`, or `12 frames, the first 43`."""
    if len(frames) > FRAMES_LISTED:
        return f"{len(frames)} frames, the first of them {frames[0]}"
    words = [str(frame) for frame in frames]
    return f"frame {words[0]}" if len(words) == 1 else f"frames {', '.join(words[:-1])} and {words[-1]}"


def in_some_frames(words: str, differs: NDArray[np.bool_], frame: NDArray[np.int64]) -> str:
    """What is said of a place, in the frames that differ, (T,), only."""
    few = f" ({', '.join(map(str, frame[differs]))})" if 1 < np.count_nonzero(differs) <= FRAMES_LISTED else ""
    return f"{words} {frames_in_words(differs, frame)}{few}, and of its own elsewhere"


def is_one_number(held: FloatArray, bound: FloatArray, differs: NDArray[np.bool_]) -> bool:
    """Whether one number may stand wherever values, (T, W), differ."""
    return bool(differs.any() and (held - bound)[differs].max() <= (held + bound)[differs].min())


def listed(words: Sequence[str], most: int = WORDS_LISTED) -> str:
    """The first of some words, and how many more there are."""
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


NUMBERS_OF_A_ROTATION = {
    FieldKind.QUATERNION_XYZW: 4,
    FieldKind.QUATERNION_WXYZ: 4,
    FieldKind.ROT6D: 6,
    FieldKind.MATRIX: 9,
}
_LISTED = 3
"""More names than these in a row are said by the first and the last."""


@dataclass(frozen=True)
class Group:
    """Neighbouring fields of one name and one kind: a slice of an engine's vector. part: numbers of one bone, or of one field."""

    name: str
    start: int
    stop: int
    kind: FieldKind
    part: int

    @property
    def range(self) -> slice:
        """The group as Python's own index object."""
        return slice(self.start, self.stop)


def groups_of(layout: FieldLayout) -> list[Group]:
    """The slices of a vector: neighbouring fields of one name; a field of several rotations has parts too."""
    found: list[Group] = []
    for (name, kind), same in groupby(layout, key=lambda field: (field.name, field.kind)):
        fields = list(same)
        per_rotation = NUMBERS_OF_A_ROTATION.get(kind)
        size = fields[0].size
        part = per_rotation if per_rotation and size % per_rotation == 0 else size
        whole = (fields[-1].stop - fields[0].start) % part == 0
        found.append(Group(name, fields[0].start, fields[-1].stop, kind, part if whole else 1))
    return found


def places_of(stage: str, layout: FieldLayout, failing: NDArray[np.bool_]) -> list[ChannelSet]:
    """All of a vector, each slice that differs, the bones or fields of it that differ."""
    width = failing.shape[1]
    found = [ChannelSet(stage, np.arange(width), is_whole=True)]
    differs: NDArray[np.bool_] = np.asarray(failing.any(axis=0))
    own = np.flatnonzero(differs)
    for group in groups_of(layout):
        channels = np.arange(group.start, group.stop)
        if differs[channels].any() and len(channels) < width:
            found.append(ChannelSet(f"{stage}[{group.name or stage}]", channels))
        parts = [part for part in channels.reshape(-1, group.part) if differs[part].any()]
        if parts and len(parts) * group.part < len(channels):
            names = dict.fromkeys(_named(layout, int(part[0])) for part in parts)
            found.append(ChannelSet(f"{stage} of {_some(list(names))}", np.concatenate(parts)))
    if not any(np.array_equal(place.channels, own) for place in found):
        found.append(ChannelSet(f"{stage} of {names_of(layout, own)}", own))
    return found


def names_of(layout: FieldLayout, channels: Iterable[int]) -> str:
    """The channels of a vector in words: fields or bones by name, a number behind those of which only some are meant."""
    wanted = sorted({int(channel) for channel in channels})
    chosen = np.zeros(max(layout.width, wanted[-1] + 1), bool)
    chosen[wanted] = True
    names = [name for field in layout for name in _names_in(field, chosen[field.range])]
    names = list(dict.fromkeys((*names, *(f"channel {each}" for each in wanted if each >= layout.width))))
    if len(names) > _LISTED and wanted[-1] - wanted[0] == len(wanted) - 1:
        return f"{names[0]} to {names[-1]} (channels {wanted[0]} to {wanted[-1]})"
    return _some(names)


def _names_in(field: Field, chosen: NDArray[np.bool_]) -> list[str]:
    name = field.bone or field.name
    return [name] if chosen.all() else [f"{name}[{place}]" for place in np.flatnonzero(chosen)]


def _named(layout: FieldLayout, channel: int) -> str:
    field = layout.field_at(channel)
    return f"channel {channel}" if field is None else field.bone or field.name


def _some(names: Sequence[str]) -> str:
    return listed(names, _LISTED if len(names) <= _LISTED else _LISTED - 1)
