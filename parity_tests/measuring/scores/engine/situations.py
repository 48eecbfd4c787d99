"""Forty situations in which people ask what differs, each with its label: what is true of it, written by hand.

A situation is a run of the engine's own loop with mistakes of defects.py, what happened to the recording afterwards, and the
files that were given. To add one: a row in `SITUATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from ..planted import FREE, TEACHER, Truth, knob, says
from .defects import DEFECTS

Lines = list[dict[str, Any]]
Change = Callable[[Lines], Lines]
BY_NAME = {planted.name: planted for planted in DEFECTS}


@dataclass(frozen=True)
class Situation:
    """One question. mistakes: of the loop; changes: what happened to its recording; clip, bundle: what was given by mistake.

    truths: groups of right answers; of each group one must be said, and nothing that is in none of them.
    """

    what: str
    mistakes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    truths: tuple[tuple[Truth, ...], ...] = ()
    clip: str | None = None
    bundle: str | None = None
    mode: str = TEACHER

    @property
    def groups(self) -> tuple[tuple[Truth, ...], ...]:
        """The truths of the mistakes, and its own. Of two conventions, both at once say either."""
        found = [*(BY_NAME[name].truths for name in self.mistakes), *self.truths]
        both = [
            truth
            for one, other in combinations(found, 2)
            for a, b in product(one, other)
            if a.convention and b.convention
            for truth in knob(f"{a.convention} {b.convention}")
        ]
        return tuple((*group, *both) for group in found)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The mistakes as the loop numbers them."""
        return tuple(BY_NAME[name].number for name in self.mistakes)


def _each_number(change: Callable[[float], float]) -> Change:
    def changed(lines: Lines) -> Lines:
        return [
            lines[0],
            *(
                {**line, "stages": {name: list(map(change, row)) for name, row in line["stages"].items()}}
                for line in lines[1:]
            ),
        ]

    return changed


def _decimals(count: int) -> Change:
    return _each_number(lambda number: float(f"{number:.{count}f}"))


def _only(*stages: str) -> Change:
    def changed(lines: Lines) -> Lines:
        header = {**lines[0], "stages": {name: lines[0]["stages"][name] for name in stages}}
        return [header, *({**line, "stages": {name: line["stages"][name] for name in stages}} for line in lines[1:])]

    return changed


def _numbered_from(first: int) -> Change:
    """The same frames under other numbers."""
    return lambda lines: [lines[0], *({**line, "frame": line["frame"] + first} for line in lines[1:])]


def _started_late(frames: int) -> Change:
    """The recorder was switched on late and numbers its own first frame 0."""
    return lambda lines: [lines[0], *({**line, "frame": line["frame"] - frames} for line in lines[1 + frames :])]


def _frame_doubled(frame: int) -> Change:
    """One frame was recorded twice, and all that follow are a frame late."""

    def changed(lines: Lines) -> Lines:
        rows = [*lines[1 : frame + 2], *lines[frame + 1 : -1]]
        return [lines[0], *({**row, "frame": place} for place, row in enumerate(rows))]

    return changed


def _frame_lost(frame: int) -> Change:
    """One frame was lost, and all that follow are numbered without it."""

    def changed(lines: Lines) -> Lines:
        rows = [*lines[1 : frame + 1], *lines[frame + 2 :]]
        return [lines[0], *({**row, "frame": place} for place, row in enumerate(rows))]

    return changed


_FLOAT16 = _each_number(lambda number: float(np.float16(number)))
_COMPOSITION = ("x_raw", "y_norm", "y_raw", "delta6d", "next6d", "y_out")
SITUATIONS: Sequence[Situation] = (
    # single mistakes, everything recorded
    Situation("squashing was forgotten", ("missing_tanh",)),
    Situation("published quaternions are conjugated", ("quats_conjugated",)),
    Situation("left and right are swapped", ("left_right_swapped",)),
    Situation("the mean is added to a residual", ("mean_added_to_residual",)),
    Situation("the AngVel input takes the state's statistics", ("angvel_by_state_statistics",)),
    Situation("the history is reset after the seed", ("history_identity_after_seed",), mode=FREE),
    Situation("the network is given float16", ("half_precision_inputs",)),
    Situation("the header is stale", ("stale_header",)),
    # two mistakes at once
    Situation("no squashing, and left and right swapped", ("missing_tanh", "left_right_swapped")),
    Situation("the mean added, and quaternions conjugated", ("mean_added_to_residual", "quats_conjugated")),
    Situation("yaw in degrees, and the published pose late", ("yaw_in_degrees", "published_late")),
    Situation("another bone's previous pose, and the state clamped", ("previous_pose_next_bone", "state_clamped")),
    Situation("squashed twice, and the answer late", ("squashed_twice", "answer_one_frame_late")),
    Situation("the state's statistics, and another basis", ("angvel_by_state_statistics", "quats_change_of_basis")),
    Situation("columns X and Y, and the root turned", ("identity_in_xy_columns", "root_turned_by_heading")),
    # another file than the one that was meant
    Situation("the wrong clip", clip="Sneak_Turn", truths=(says(r"Walk_Spin\.json drove it, not Sneak_Turn\.json"),)),
    Situation(
        "the wrong clip, and left and right swapped", ("left_right_swapped",), clip="Sneak_Turn",
        truths=(says(r"Walk_Spin\.json drove it, not Sneak_Turn\.json"),),
    ),
    Situation(
        "the wrong bundle", bundle="older.json", truths=(says(r"norm_template\.json is its contract, not older\.json"),)
    ),
    Situation(
        "the wrong bundle, and quaternions conjugated", ("quats_conjugated",), bundle="older.json",
        truths=(says(r"norm_template\.json is its contract, not older\.json"),),
    ),
    # the recording stands elsewhere in the clip
    Situation("frames are numbered from 1", changes=(_numbered_from(1),), truths=(says("drove it from its frame -1 on"),)),
    Situation("the recorder began 5 frames late", changes=(_started_late(5),), truths=(says("drove it from its frame 5 on"),)),
    Situation(
        "the recorder began 5 frames late, and the mean is added", ("mean_added_to_residual",), (_started_late(5),),
        (says("drove it from its frame 5 on"),),
    ),
    Situation(
        "the recorder began 20 frames late, in four decimals", changes=(_started_late(20), _decimals(4)),
        truths=(says("drove it from its frame 20 on"),),
    ),
    Situation(
        "one frame was recorded twice", changes=(_frame_doubled(40),),
        truths=(says("frame 40 was recorded twice"),),
    ),
    # something is late
    Situation("the network's answer is late", ("answer_one_frame_late",)),
    Situation("the published pose is late", ("published_late",)),
    Situation("every second frame is played", ("thirty_hertz",)),
    # coarse numbers
    Situation("float16, sound", changes=(_FLOAT16,)),
    Situation("float16, and no squashing", ("missing_tanh",), (_FLOAT16,)),
    Situation("float16, and quaternions turned", ("quats_turned",), (_FLOAT16,)),
    Situation("four decimals, sound", changes=(_decimals(4),)),
    Situation("four decimals, and left and right swapped", ("left_right_swapped",), (_decimals(4),)),
    Situation("three decimals, and the state's statistics", ("angvel_by_state_statistics",), (_decimals(3),)),
    Situation("four decimals, and the mean added", ("mean_added_to_residual",), (_decimals(4),)),
    # little was recorded
    Situation("only the published pose: left and right swapped", ("left_right_swapped",), (_only("y_out"),)),
    Situation("only the published pose: the mean added", ("mean_added_to_residual",), (_only("y_out"),)),
    Situation("only quaternions: conjugated", ("quats_conjugated",), (_only("quat"),)),
    Situation("only quaternions: turned", ("quats_turned",), (_only("quat"),)),
    Situation("only the composition: the previous pose transposed", ("previous_pose_transposed",), (_only(*_COMPOSITION),)),
    Situation("one frame was lost", changes=(_frame_lost(40),), truths=(says("frame 40 was lost"),)),
)  # fmt: skip
