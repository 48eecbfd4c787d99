"""The grade of an answer about a planted mistake.

| grade | when |
|---|---|
| named | each planted edit is said in the words and numbers of `WORDS`, or by claims that give the same numbers when applied |
| located | nothing is claimed; what differs first is where the mistake shows first |
| vague | what is claimed is at the right place, and is not the mistake |
| silent | it agrees |
| false | a convention that does not give these numbers, something of a vector that is right, a number that is another one |
| timeout | more than the limit |

What holds is tried: a convention by asking again with it, a relation by planting it into the interpreter, from the recorded
inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput

from ..grading import Claim, claims_of
from .interpreter import run
from .meant import candidates, channels_in
from .program import Edit, Floating, Program, Rows

LEFT = 1e-3
"""An edit gives the same numbers if what it leaves is below a thousandth of what differed: answers print four to six digits."""
ROUNDING = 1e-5
"""What float32 leaves of numbers of size 1 after a dozen operations, many times over; a planted edit has to move more."""
MOST_TRIED = 96
_TOGETHER = "both together"
MOST_LEFT = 0.1
"""The share of frames that may differ under a claim that leaves some."""
_MOVED = r"exchang|swap|in place of|holds?\b|other channels|other parts|from .*\[|reorder|permut|order"
WORDS: Mapping[str, tuple[str, str]] = {
    "exchanged": (_MOVED, "channels"),
    "permuted": (_MOVED, "channels"),
    "sign": (r"sign|negat|flip|[-−]1 times|times [-−]1\b", "channels"),
    "scale": (r"times|scale|factor|gain|°|deg", "number channels"),
    "offset": (r"more|less|added|offset|moved|plus|minus|shifted", "number channels"),
    "delay": (r"late|delay|old|behind|before|ago|t ?[-−] ?{0}\b", "channels lag"),
    "hold": (r"hold|held|every|stuck|repeat|t ?[-−]", "number"),
    "clip": (r"clip|clamp|limited", "number"),
    "tanh": ("tanh", ""),
    "smoothed": (r"smooth|low.?pass|filter|of the way|average|blend", "share"),
    "half": (r"float16|half.precision|binary16", ""),
    "deadband": (r"dead|near zero|below|smaller|nearer|within", "number"),
    "rate_limit": (r"rate|slew|a frame|per frame|step|change", "number"),
    "stuck": (r"stuck|constant|held|always|zeros?\b|is \S+ in|number", "number channels"),
    "frozen": (r"stuck|frozen|held|froze|constant", "number channels"),
    "glitch": (r"one frame|only|glitch|in frame|frame", "frame"),
    "table_constant": (r"one number|constant|same|ones|every|all|first", "number words"),
    "table_other": (r"in place of|holds?\b|computed (with|from)|is", "words"),
    "table_shifted": (r"shift|channel (before|behind|after)|next|late|early|rolled|one (index|channel|place)", "word"),
    "number": (r"times|is|in place of|more|less|scale|offset|clip|held|computed", "number channels"),
    "source": (r"in place of|from|holds?\b|is", "words"),
    "dropped": (r"missing|dropped|skipped|none|left out|not applied|without|=none", "at"),
    "doubled": (r"twice|doubled|once more|again|two times", "at"),
    "neighbours": (r"order|exchang|before|behind|first|swap", "at words"),
    "word": ("", "words"),
    "high_pass": (r"high pass|filter", "number"),
    "summed": (r"summed|integra|accumulat", "number"),
    "changes": (r"how much|how fast|difference|changes", ""),
    "averaged": (r"mean|average|0\.5 of the one of frame", ""),
    "steps": (r"steps? of", "number"),
    "turned": ("turned", "degrees"),
    "uncarried": (r"zeros?\b|stuck at 0|never", "words"),
    "unbiased": (r"bias", ""),
}
"""Kind of edit -> what a claim has to have: a pattern, and which of its facts.

number: the edit's numbers; degrees: its last one; share: or one less it; lag: so many frames; frame: the frame; channels:
those of the edit, by name or number; words: every one; word: one of the names of the table; at: the operation's name. Where an
edit begins at a frame, the frame.
"""


@dataclass(frozen=True, eq=False)
class Case:
    """A recording with its mistakes. recorded: the vectors that it has; values: of the run with all edits, every vector."""

    program: Program
    inputs: Mapping[str, Rows]
    edits: tuple[Edit, ...]
    recorded: tuple[str, ...]
    values: Mapping[str, Rows]
    floating: Floating = np.float64

    def replayed(self, *edits: Edit) -> dict[str, Rows]:
        """Each operation from the recorded vectors, with some edits."""
        forced = {name: self.values[name] for name in self.recorded}
        return _run(self.program, self.inputs, edits, self.floating, forced)


def _run(
    program: Program, inputs: Mapping[str, Rows], edits: Sequence[Edit], floating: Floating,
    forced: Mapping[str, Rows] | None = None,
) -> dict[str, Rows]:  # fmt: skip
    rows = [each for each in edits if each.program is None]
    return run(edited(program, edits), inputs, floating=floating, edits=rows, forced=forced)


def recorded_run(
    program: Program, inputs: Mapping[str, Rows], edits: Sequence[Edit], recorded: Sequence[str], floating: Floating
) -> Case:
    return Case(program, inputs, tuple(edits), tuple(recorded), _run(program, inputs, edits, floating), floating)


def edited(program: Program, edits: Sequence[Edit]) -> Program:
    """The program with those operations replaced, or set before another, that the edits replace."""
    base = {each.name: each for each in program.operations}
    networks = {name: each for edit in edits if edit.program for name, each in edit.program.networks.items()
                if each is not program.networks[name]}  # fmt: skip
    program = replace(program, networks={**program.networks, **networks})
    for changed in (edit.program.operations for edit in edits if edit.program is not None):
        for place, each in enumerate(changed):
            if each.name not in base:
                behind = [own.name for own in program.operations].index(changed[place + 1].name)
                kept = program.operations
                program = replace(program, operations=(*kept[:behind], each, *kept[behind:]))
            elif each != base[each.name]:
                program = program.with_operation(each)
    return program


def differing(case: Case) -> dict[str, Rows]:
    """Each recorded operation that differs from its replay: what the replay gives."""
    own, computed = case.replayed(), {each.name for each in case.program.operations}
    return {name: own[name] for name in case.recorded if name in computed and differs(own[name], case.values[name])}


def differs(one: Rows, other: Rows) -> bool:
    """Whether two vectors are more than rounding apart."""
    size = 1.0 + float(np.max(np.abs(one), initial=0.0))
    return float(np.max(np.abs(one.astype(float) - other), initial=0.0)) > ROUNDING * size


def places(case: Case, stages: Sequence[str]) -> set[str]:
    """These vectors, what lies unrecorded before them, and what all that is computed from."""
    found, waiting = set(stages), list(stages)
    operations = {each.name: each for each in case.program.operations}
    while waiting:
        new = set(operations[waiting.pop()].of) - found
        found |= new
        waiting += [name for name in new if name in operations and name not in case.recorded]
    return found


@dataclass
class Graded:
    """A grade, and why. said: of each planted edit, whether it was said."""

    word: str
    said: tuple[bool, ...] = ()
    claims: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Alone:
    """One of the edits without the others: what differs then, and where it may be said."""

    edit: Edit
    case: Case
    wrong: Mapping[str, Rows]
    places: set[str]

    @classmethod
    def of(cls, case: Case, edit: Edit) -> Alone:
        """Plant one edit only."""
        single = recorded_run(case.program, case.inputs, [edit], case.recorded, case.floating)
        wrong = differing(single)
        return cls(edit, single, wrong, places(single, list(wrong)))

    def shows_in(self, name: str) -> bool:
        return name in self.wrong or (name in self.places and name not in self.case.recorded)

    def moved(self, name: str) -> set[int]:
        return set(np.flatnonzero(np.any(self.wrong[name] != self.case.values[name], axis=0)).tolist())


def grade(case: Case, answer: Mapping[str, Any], ask_again: Callable[[Mapping[str, str]], Mapping[str, Any]]) -> Graded:
    """Grade one answer. ask_again: the answer under some conventions."""
    claims, wrong, first = claims_of(answer), differing(case), answer["first_divergence"]
    right = places(case, list(wrong))
    if not claims:
        if first is None:
            return Graded("silent")
        return Graded("located") if first["stage"] in right else Graded("false", false=(f"first: {first['stage']}",))
    again, alone = _asked_again(answer, ask_again), [Alone.of(case, edit) for edit in case.edits]
    said_by = {claim: [_says(claim, one) for one in alone] for claim in claims}
    true = {claim for claim in claims if claim.readings and _stage_ok(again, claim)}
    false = [claim for claim in claims if claim.stage not in right]
    others = [claim for claim in claims if claim.stage in right]
    false += [each for each in others if each.readings and again and not any(said_by[each]) and each not in true]
    others = [claim for claim in claims if claim not in false]
    tries = _Tries(case, wrong)
    true |= tries.explaining([claim for claim in others if not (claim.readings and again)])
    true |= tries.pairs([claim for claim in others if _TOGETHER in claim.text])
    said = tuple(
        any(said_by[claim][place] or (claim in true and one.shows_in(claim.stage)) for claim in others)
        for place, one in enumerate(alone)
    )
    false += [each for each in others if not any(said_by[each]) and each not in true and tries.contradict(each)]
    word = "false" if false else "named" if all(said) else "vague"
    return Graded(word, said, tuple(claim.shown for claim in claims), tuple(claim.shown for claim in false))


def _asked_again(
    answer: Mapping[str, Any], ask_again: Callable[[Mapping[str, str]], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The answer under all conventions that it names; nothing where they are none that can be declared."""
    changes = {knob: value for cause in answer["causes"] for knob, value in cause["changes"].items()}
    try:
        return ask_again(changes) if changes else answer
    except UnusableInput:
        return {}


def _stage_ok(answer: Mapping[str, Any], claim: Claim) -> bool:
    """Whether the stage of a claim agrees, or in almost every frame where the claim leaves some."""
    stages = [each for each in answer.get("stages", ()) if each["stage"] == claim.stage]
    few = [
        not claim.is_whole and each["differs"]["frames"] <= MOST_LEFT * each["differs"]["of_frames"]
        for each in stages
        if each["differs"]
    ]
    return bool(answer) and (all(each["ok"] for each in stages) or (bool(few) and all(few)))


def _says(claim: Claim, one: Alone) -> bool:
    """Whether a claim has the words of an edit, and each fact that its row asks for, at its place."""
    edit = one.edit
    if edit.knob and any(edit.knob in reading for reading in claim.readings):
        return True
    pattern, facts = WORDS[edit.kind]
    lag = int(edit.numbers[0]) if edit.kind == "delay" else 0
    if claim.is_vague or claim.stage not in one.places or not claim.has(pattern.replace("{0}", str(lag))):
        return False
    late = (rf"t ?[-−] ?{lag}\b", rf"\b{lag} frames?", "one frame|a frame" if lag == 1 else r"(?!)")
    words = [claim.has(rf"\b{re.escape(each)}\b") for each in edit.words]
    checks = {
        "number": lambda: all(claim.has(each) for each in set(map(abs, edit.numbers))),
        "degrees": lambda: claim.has(edit.numbers[-1]),
        "share": lambda: claim.has(edit.numbers[0]) or claim.has(1.0 - edit.numbers[0]),
        "lag": lambda: any(claim.has(each) for each in late),
        "frame": lambda: claim.has(float(edit.frames[0])),
        "channels": lambda: covers(claim, one),
        "words": lambda: all(words),
        "word": lambda: any(words),
        "at": lambda: claim.has(rf"\b{re.escape(edit.at)}\b"),
    }
    begins = edit.frames[0] == 0 or edit.frames[1] == 0 or edit.kind == "frozen" or claim.has(float(edit.frames[0]))
    return begins and all(checks[fact]() for fact in facts.split())


def covers(claim: Claim, one: Alone) -> bool:
    """Whether a claim names the channels of an edit, by name, number or span; of an edit of all channels, none or every one."""
    program, edit = one.case.program, one.edit
    vector = edit.source or edit.at
    wanted = set(edit.channels) or set(range(program.vectors[vector].width))
    if edit.kind == "number" and edit.channels and claim.has(*(rf"\[{place}\]" for place in edit.channels)):
        return True  # entries of a parameter
    if claim.channels and (claim.source or claim.stage) == vector:  # an exchange may name the rest of a vector
        found, more = set(claim.channels), 2 * (edit.kind in ("exchanged", "permuted"))
        if wanted <= found and len(found) <= len(wanted) + more:
            return True
        return vector in one.wrong and one.moved(vector) <= found <= wanted
    found = channels_in(claim, program, vector) | channels_in(claim, program, claim.stage)
    if not edit.channels and not found:
        return True
    if edit.kind == "permuted":
        return len(wanted & found) >= min(3, len(wanted))
    return wanted <= found or (claim.stage in one.wrong and one.moved(claim.stage) <= found)


_FIRM = re.compile(
    r"\d\S* times what it should be$|\d more than it should be$|the answer of frame t-\d+$|[wxyz] in place of [wxyz, ]+$"
)


@dataclass(frozen=True, eq=False)
class _Tries:
    """Claims planted into the interpreter. wrong: what the replay gives of each vector that differs."""

    case: Case
    wrong: Mapping[str, Rows]

    def edits(self, claim: Claim) -> Iterator[Edit]:
        return islice(candidates(claim, self.case.program, WORDS), MOST_TRIED)

    def same(self, found: Mapping[str, Rows], name: str, channels: Any = slice(None)) -> bool:
        """Whether what is left of a vector, in some channels, is a thousandth of what differed."""
        recorded = self.case.values[name][:, channels]
        left, moved = (
            float(np.max(np.abs(each[name][:, channels].astype(float) - recorded))) for each in (found, self.wrong)
        )
        return left <= LEFT * moved + ROUNDING * float(np.max(np.abs(recorded)))

    def meant(self, claim: Claim, mine: Sequence[str]) -> Edit | None:
        """The edit that a claim means: with it, the channels that it names are as recorded; all where it names none."""
        for edit in self.edits(claim):
            found = self.case.replayed(edit)
            is_of_channels = bool(edit.channels) and not edit.source and claim.stage in self.wrong
            channels: Any = list(edit.channels) if is_of_channels else slice(None)
            if all(self.same(found, name, channels) for name in ([claim.stage] if is_of_channels else mine)):
                return edit
        return None

    def right_where_it_moves(self, claim: Claim) -> Edit | None:
        for edit in self.edits(claim):
            found = self.case.replayed(edit)
            moved = {name: np.flatnonzero((found[name] != rows).any(axis=0)) for name, rows in self.wrong.items()}
            parts = [self.same(found, name, channels) for name, channels in moved.items() if len(channels)]
            if parts and all(parts):
                return edit
        return None

    def explaining(self, claims: Sequence[Claim]) -> set[Claim]:
        """The claims that, planted together at their stage from the recorded inputs, give what was recorded there.

        Or claims of several vectors that were not recorded, each right where it moves a number, that explain all together.
        """
        found: set[Claim] = set()
        for stage in {claim.stage for claim in claims}:
            mine = (
                [stage] if stage in self.wrong else [name for name in self.wrong if stage in places(self.case, [name])]
            )
            said = [claim for claim in claims if claim.stage == stage]
            meant = {claim: edit for claim in said if (edit := self.meant(claim, mine)) is not None}
            if meant and mine:
                together = self.case.replayed(*meant.values())
                found |= meant.keys() if all(self.same(together, name) for name in mine) else set()
        apart = {claim: edit for claim in claims if (edit := self.right_where_it_moves(claim)) is not None}
        if len(apart) == len(claims) > 1:
            together = self.case.replayed(*apart.values())
            found |= {*apart} if all(self.same(together, name) for name in self.wrong) else set()
        return found

    def pairs(self, claims: Sequence[Claim]) -> set[Claim]:
        """Two claims of one stage that hold together only: edits that they may mean, planted together."""
        found: set[Claim] = set()
        for stage in {claim.stage for claim in claims} & self.wrong.keys():
            said = [claim for claim in claims if claim.stage == stage]
            if any(self.same(self.case.replayed(*edits), stage) for edits in product(*map(self.edits, said))):
                found |= {*said}
        return found

    def contradict(self, claim: Claim) -> bool:
        """Whether a claim gives a factor, a constant or a lag in all frames, and the recorded numbers have another one."""
        if claim.stage not in self.wrong or not claim.is_whole or not _FIRM.search(claim.shown.split(": explains")[0]):
            return False
        if "[" in claim.shown and not channels_in(claim, self.case.program, claim.stage):
            return False  # a part that `meant` cannot place
        is_tried = next(self.edits(claim), None) is not None
        return is_tried and self.meant(claim, [claim.stage]) is None
