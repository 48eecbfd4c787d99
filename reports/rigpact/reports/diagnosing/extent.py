"""Who differs and when: which parts of a stage, by name, side and limb, and in which frames.

A mask of values is all that is looked at. Parts are bones where the fields have them, else fields, else channels. Sides and limbs
are read from the names (`hand_l`, `left_wrist_yaw`, `RightForeArm`): a limb is named only where it differs whole, and nothing
else does. To add a word for a limb: `_LIMBS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.as_json import AsJson
from rigpact.contract.systems.layout import FieldLayout

Mask = NDArray[np.bool_]
_NAMED = 4
"""More names than these are counted."""
_SOME_GAPS = 0.9
"""A stage that differs in so many of the frames from one on differs from there on: some values happen to fit."""
_FEWEST_OF_A_STRIDE = 3
_LIMBS: Mapping[str, tuple[str, ...]] = {
    "arm": (
        "clavicle", "collar", "shoulder", "upperarm", "lowerarm", "forearm", "arm", "elbow", "wrist", "hand", "finger", "fingers",
        "thumb", "index", "middle", "ring", "pinky",
    ),
    "leg": (
        "hip", "thigh", "upleg", "upperleg", "lowerleg", "leg", "knee", "calf", "shin", "ankle", "foot", "ball", "toe", "toes",
        "toebase",
    ),
    "spine": ("spine", "waist", "torso", "chest"),
    "neck and head": ("neck", "head"),
}  # fmt: skip
_SIDES: Mapping[str, str] = {
    "l": "left", "left": "left", "r": "right", "right": "right", "fl": "front left", "fr": "front right", "rl": "rear left",
    "rr": "rear right",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Extent(AsJson):
    """Which parts of a stage differ, of how many, and in which of its judged frames.

    what: bones, fields or channels. where: a side, a limb or the names, in words. first, last: numbers of frames.
    """

    KEYS = "* sentence"
    parts: tuple[str, ...]
    of: int
    what: str
    where: str
    frames: int
    of_frames: int
    first: int
    last: int
    when: str

    @property
    def who(self) -> str:
        """The parts in words: `13 of 46 bones: the right arm`."""
        if len(self.parts) == self.of:
            return f"all {self.of} {self.what}" if self.of > 1 else self.where
        return f"{len(self.parts)} of {self.of} {self.what}: {self.where}"

    @property
    def sentence(self) -> str:
        """The parts, and the frames."""
        return f"{self.who}; {self.when}"


def extent_of(differs: Mask, judged: Mask, layout: FieldLayout, frame: NDArray[np.int64]) -> Extent | None:
    """The extent of the values that differ; None where none does.

    differs, judged: (T, width) of a stage; judged: the values that have a verdict. layout: its fields. frame: (T,) their numbers.
    """
    rows = np.flatnonzero(judged.any(axis=1) | differs.any(axis=1))
    over = np.asarray(differs[rows].any(axis=1))
    if not over.any():
        return None
    what, names = _parts(layout, differs.shape[1])
    parts = tuple(dict.fromkeys(names[channel] for channel in np.flatnonzero(differs.any(axis=0))))
    every = tuple(dict.fromkeys(names))
    numbers = frame[rows]
    found = numbers[over]
    return Extent(
        parts,
        len(every),
        what,
        _where(parts, every),
        len(found),
        len(numbers),
        int(found[0]),
        int(found[-1]),
        frames_in_words(over, numbers),
    )


def _parts(layout: FieldLayout, width: int) -> tuple[str, list[str]]:
    """What the parts are, and the part of each channel. A vector of one field has its numbers as parts."""
    fields = list(layout)
    names = [f"channel {channel}" for channel in range(width)]
    is_one = len(fields) == 1
    for field in fields:
        own = [f"{field.name}[{number}]" for number in range(field.size)] if is_one and field.size > 1 else []
        names[field.range] = own or [field.bone or field.name or f"channel {field.start}"] * field.size
    if any(field.bone for field in fields):
        return ("bones" if all(field.bone for field in fields) else "bones and fields"), names
    is_single = is_one or all(field.size == 1 for field in fields)
    return ("channels" if is_single else "fields"), names


def _where(parts: Sequence[str], every: Sequence[str]) -> str:
    """A side or a limb that is these parts and no others; else the names, the first of many."""
    if len(parts) < len(every):
        limbs = _in_limbs(frozenset(parts), every)
        if limbs and len(parts) > 1:
            return limbs
    return ", ".join(parts) if len(parts) <= _NAMED else f"{', '.join(parts[:2])} and {len(parts) - 2} more"


def _in_limbs(parts: frozenset[str], every: Sequence[str]) -> str:
    """One region, or two that share no part, that together are the parts; '' where none are."""
    regions = [(words, members) for words, members in _regions(every) if members <= parts]
    alone = next((words for words, members in regions if members == parts), "")
    if alone:
        return alone
    both = ((a, b) for a, b in combinations(regions, 2) if not a[1] & b[1] and a[1] | b[1] == parts)
    return next((f"{a[0]} and {b[0]}" for a, b in both), "")


def _regions(every: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Limbs and sides with their parts: whole ones before parts of them."""
    words = {name: _words(name) for name in every}
    side_of = {name: next((_SIDES[word] for word in words[name] if word in _SIDES), "") for name in every}
    sides = [side for side in dict.fromkeys(side_of.values()) if side]
    for side in sides:
        yield f"the {side} side", frozenset(name for name in every if side_of[name] == side)
    tokens = [*_LIMBS.items(), *((word, (word,)) for limb in _LIMBS.values() for word in limb)]
    for limb, known in tokens:
        members = frozenset(name for name in every if not words[name].isdisjoint(known))
        own = {side: frozenset(name for name in members if side_of[name] == side) for side in ("", *sides)}
        on_sides = [side for side in sides if own[side]]
        for side in on_sides:
            yield f"the {side} {limb}", own[side]
        if len(on_sides) == 2 and not own[""]:
            yield f"both {limb}s", members
        elif members and not on_sides:
            yield f"the {limb}", members


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def frames_in_words(over: Mask, frame: NDArray[np.int64]) -> str:
    """Which of some frames, in words. over: (T,), at least one; frame: (T,) their numbers, growing."""
    rows = np.flatnonzero(over)
    count, first, last = len(rows), int(rows[0]), int(rows[-1])
    if count == len(over):
        return f"in all {count} frames" if count > 1 else f"in frame {frame[0]}, the only one"
    if count == 1:
        return f"only in frame {frame[first]}"
    if last - first + 1 == count:
        if first == 0:
            return f"only in the first {count} frames"
        return (
            f"from frame {frame[first]} on" if last == len(over) - 1 else f"in frames {frame[first]} to {frame[last]}"
        )
    steps = np.diff(rows)
    if count >= _FEWEST_OF_A_STRIDE and (steps == steps[0]).all() and last + steps[0] >= len(over):
        return f"in every {_ordinal(int(steps[0]))} frame, from frame {frame[first]} on"
    return _with_gaps(over, frame, first, count)


def _with_gaps(over: Mask, frame: NDArray[np.int64], first: int, count: int) -> str:
    others = frame[~over]
    if len(others) <= _NAMED and count >= _SOME_GAPS * len(over):
        return f"in all of {len(over)} frames but {', '.join(map(str, others))}"
    rest = len(over) - first
    if first and count >= _SOME_GAPS * rest:
        return f"from frame {frame[first]} on, in {count} of {rest} frames"
    return f"in {count} of {len(over)} frames, the first of them {frame[first]}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return "second" if number == 2 else f"{number}{ending}"
