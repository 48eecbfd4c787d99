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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput

from ..claims import Claim, claims_of
from .edits import Edit
from .interpreter import run
from .meant import candidates, channels_in
from .program import Floating, Program, Rows

LEFT = 1e-3
"""An edit gives the same numbers if what it leaves is below a thousandth of what differed: answers print four to six digits."""
ROUNDING = 1e-5
"""What float32 leaves of numbers of size 1 after a dozen operations, many times over; a planted edit has to move more."""
MOST_TRIED = 24
_TOGETHER = "both together"

_MOVED = r"exchang|swap|in place of|holds?\b|other channels|other parts|from .*\[|reorder|permut|order"
_LATE = r"late|delay|old|behind|before|ago|t ?[-−] ?{0}\b"
_HELD = r"hold|held|every|stuck|repeat|t ?[-−]"
WORDS: Mapping[str, tuple[str, str]] = {
    "exchanged": (_MOVED, "channels"),
    "permuted": (_MOVED, "channels"),
    "sign": (r"sign|negat|flip|[-−]1 times|times [-−]1\b", "channels"),
    "scale": (r"times|scale|factor|gain|°|deg", "number channels"),
    "offset": (r"more|less|added|offset|moved|plus|minus|shifted", "number channels"),
    "delay": (_LATE, "channels lag"),
    "hold": (_HELD, "number"),
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
}
"""Kind of edit -> what a claim has to have: a pattern, and which of its facts.

number: the edit's numbers; share: or one less it; lag: so many frames; frame: the frame; channels: those of the edit, by name
or number; words: every one; word: one of the names of the table; at: the operation's name. Where an edit begins at a frame, the
frame.
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

    @property
    def forced(self) -> dict[str, Rows]:
        """What was recorded."""
        return {name: self.values[name] for name in self.recorded}

    def replayed(self, *edits: Edit) -> dict[str, Rows]:
        """Each operation from the recorded vectors, with some edits."""
        rows = [each for each in edits if each.program is None]
        return run(edited(self.program, edits), self.inputs, floating=self.floating, edits=rows, forced=self.forced)


def recorded_run(
    program: Program, inputs: Mapping[str, Rows], edits: Sequence[Edit], recorded: Sequence[str], floating: Floating
) -> Case:
    """A run with some edits."""
    values = run(
        edited(program, edits), inputs, floating=floating, edits=[each for each in edits if each.program is None]
    )
    return Case(program, inputs, tuple(edits), tuple(recorded), values, floating)


def edited(program: Program, edits: Sequence[Edit]) -> Program:
    """The program with those operations replaced, or set before another, that the edits replace."""
    base = {each.name: each for each in program.operations}
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
    own = case.replayed()
    return {
        name: own[name]
        for name in case.recorded
        if name in {each.name for each in case.program.operations} and differs(own[name], case.values[name])
    }


def differs(one: Rows, other: Rows) -> bool:
    """Whether two vectors are more than rounding apart."""
    size = 1.0 + float(np.max(np.abs(one), initial=0.0))
    return float(np.max(np.abs(one.astype(float) - other), initial=0.0)) > ROUNDING * size


def places(case: Case, stages: Sequence[str]) -> set[str]:
    """These vectors, what lies unrecorded before them, and what all that is computed from."""
    found, waiting = set(stages), list(stages)
    operations = {each.name: each for each in case.program.operations}
    while waiting:
        name = waiting.pop()
        for source in operations[name].of:
            if source not in found:
                found.add(source)
                if source in operations and source not in case.recorded:
                    waiting.append(source)
    return found


@dataclass
class Graded:
    """A grade, and why. said: of each planted edit, whether it was said."""

    word: str
    said: tuple[bool, ...] = ()
    claims: tuple[str, ...] = ()
    false: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Alone:
    """One of the edits without the others: what differs then, and where it may be said."""

    edit: Edit
    case: Case
    wrong: Mapping[str, Rows]
    places: frozenset[str]

    def shows_in(self, name: str) -> bool:
        """Whether the edit moves a vector, or may: one that was not recorded, on the way to what it moves."""
        return name in self.wrong or (name in self.places and name not in self.case.recorded)


def alone(case: Case, edit: Edit) -> Alone:
    """Plant one edit only."""
    single = recorded_run(case.program, case.inputs, [edit], case.recorded, case.floating)
    wrong = differing(single)
    return Alone(edit, single, wrong, frozenset(places(single, list(wrong))))


def grade(case: Case, answer: Mapping[str, Any], ask_again: Callable[[Mapping[str, str]], Mapping[str, Any]]) -> Graded:
    """Grade one answer. ask_again: the answer under some conventions."""
    claims, wrong = claims_of(answer), differing(case)
    right, first = places(case, list(wrong)), answer["first_divergence"]
    if not claims:
        if first is None:
            return Graded("silent")
        return Graded("located") if first["stage"] in right else Graded("false", false=(f"first: {first['stage']}",))
    again = _asked_again(answer, ask_again)
    each_alone = [alone(case, edit) for edit in case.edits]
    said_by = {claim: [_says(claim, one) for one in each_alone] for claim in claims}
    false = [claim for claim in claims if claim.stage not in right]
    true = {claim for claim in claims if claim.readings and _stage_ok(again, claim.stage)}
    false += [
        claim
        for claim in claims
        if claim.readings and again and not any(said_by[claim]) and claim not in true | {*false}
    ]
    others = [claim for claim in claims if claim not in false]
    true |= _explaining(case, [claim for claim in others if not (claim.readings and again)], wrong)
    true |= _explaining_as_pairs(case, [claim for claim in others if _TOGETHER in claim.text], wrong)
    said = tuple(
        any(said_by[claim][place] or (claim in true and one.shows_in(claim.stage)) for claim in others)
        for place, one in enumerate(each_alone)
    )
    false += [
        claim for claim in others if not any(said_by[claim]) and claim not in true and _contradicts(case, claim, wrong)
    ]
    shown = tuple(claim.shown for claim in claims)
    word = "false" if false else "named" if all(said) else "vague"
    return Graded(word, said, shown, tuple(claim.shown for claim in false))


def _asked_again(
    answer: Mapping[str, Any], ask_again: Callable[[Mapping[str, str]], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The answer under all conventions that it names; nothing where they are none that can be declared."""
    changes = {knob: value for cause in answer["causes"] for knob, value in cause["changes"].items()}
    try:
        return ask_again(changes) if changes else answer
    except UnusableInput:
        return {}


def _stage_ok(answer: Mapping[str, Any], name: str) -> bool:
    return bool(answer) and all(each["ok"] for each in answer["stages"] if each["stage"] == name)


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
    checks = {
        "number": lambda: all(claim.has(each) for each in set(map(abs, edit.numbers))),
        "share": lambda: claim.has(edit.numbers[0]) or claim.has(1.0 - edit.numbers[0]),
        "lag": lambda: any(claim.has(each) for each in late),
        "frame": lambda: claim.has(float(edit.frames[0])),
        "channels": lambda: covers(claim, one),
        "words": lambda: all(claim.has(rf"\b{re.escape(each)}\b") for each in edit.words),
        "word": lambda: any(claim.has(rf"\b{re.escape(each)}\b") for each in edit.words),
        "at": lambda: claim.has(rf"\b{re.escape(edit.at)}\b"),
    }
    begins = edit.frames[0] == 0 or edit.frames[1] == 0 or edit.kind == "frozen" or claim.has(float(edit.frames[0]))
    return begins and all(checks[fact]() for fact in facts.split())


def covers(claim: Claim, one: Alone) -> bool:
    """Whether a claim names the channels of an edit, by name, number or span; of an edit of all channels, none or every one."""
    program, edit = one.case.program, one.edit
    vector = edit.source or edit.at
    if edit.kind == "number" and edit.channels and claim.has(*(rf"\[{place}\]" for place in edit.channels)):
        return True  # entries of a parameter
    if claim.channels and (claim.source or claim.stage) == vector:
        return _are_those(set(claim.channels), one)
    found = channels_in(claim, program, vector) | channels_in(claim, program, claim.stage)
    if not edit.channels and not found:
        return True
    wanted = set(edit.channels) or set(range(program.vector(edit.source or edit.at).width))
    if edit.kind == "permuted":
        return len(wanted & found) >= min(3, len(wanted))
    if claim.stage not in one.wrong:
        return wanted <= found
    moved = np.any(one.wrong[claim.stage] != one.case.values[claim.stage], axis=0)
    return wanted <= found or set(np.flatnonzero(moved).tolist()) <= found


def _are_those(found: set[int], one: Alone) -> bool:
    """Whether channels are those of an edit, or those of them that it moves; an exchange may name the rest of a vector."""
    edit, vector = one.edit, one.edit.source or one.edit.at
    wanted = set(edit.channels) or set(range(one.case.program.vector(vector).width))
    if found == wanted or (
        edit.kind in ("exchanged", "permuted") and wanted <= found and len(found) <= len(wanted) + 2
    ):
        return True
    if vector not in one.wrong:
        return False
    moved = set(np.flatnonzero(np.any(one.wrong[vector] != one.case.values[vector], axis=0)).tolist())
    return moved <= found <= wanted


def _explaining(case: Case, claims: Sequence[Claim], wrong: Mapping[str, Rows]) -> set[Claim]:
    """The claims that, planted together at their stage from the recorded inputs, give what was recorded there."""
    found: set[Claim] = set()
    for stage in {claim.stage for claim in claims}:
        mine = [stage] if stage in wrong else [name for name in wrong if stage in places(case, [name])]
        said = [claim for claim in claims if claim.stage == stage]
        meant = {claim: edit for claim in said if (edit := _meant(case, claim, mine, wrong)) is not None}
        if not meant or not mine:
            continue
        together = case.replayed(*meant.values())
        if all(same(together[name], case.values[name], wrong[name]) for name in mine):
            found |= meant.keys()
    return found | _explaining_apart(case, claims, wrong)


def _explaining_apart(case: Case, claims: Sequence[Claim], wrong: Mapping[str, Rows]) -> set[Claim]:
    """Claims of several vectors that were not recorded, each right where it moves a number, that explain all together."""
    meant = {claim: edit for claim in claims if (edit := _right_where_it_moves(case, claim, wrong)) is not None}
    together = case.replayed(*meant.values()) if len(meant) == len(claims) > 1 else {}
    is_all = all(same(rows, case.values[name], wrong[name]) for name, rows in together.items() if name in wrong)
    return {*meant} if together and is_all else set()


def _right_where_it_moves(case: Case, claim: Claim, wrong: Mapping[str, Rows]) -> Edit | None:
    for edit in islice(candidates(claim, case.program, WORDS), MOST_TRIED):
        found = case.replayed(edit)
        moved = {name: np.flatnonzero((found[name] != rows).any(axis=0)) for name, rows in wrong.items()}
        parts = [(found[n][:, at], case.values[n][:, at], wrong[n][:, at]) for n, at in moved.items() if len(at)]
        if parts and all(same(*part) for part in parts):
            return edit
    return None


def _explaining_as_pairs(case: Case, claims: Sequence[Claim], wrong: Mapping[str, Rows]) -> set[Claim]:
    """Two claims of one stage that hold together only: edits that they may mean, planted together, give what was recorded."""
    found: set[Claim] = set()
    for stage in {claim.stage for claim in claims}:
        said = [claim for claim in claims if claim.stage == stage]
        meant = [list(islice(candidates(claim, case.program, WORDS), MOST_TRIED)) for claim in said]
        for edits in product(*meant) if stage in wrong else ():
            if same(case.replayed(*edits)[stage], case.values[stage], wrong[stage]):
                found |= {*said}
                break
    return found


def _meant(case: Case, claim: Claim, mine: Sequence[str], wrong: Mapping[str, Rows]) -> Edit | None:
    """The edit that a claim means: with it, the channels that it names are as recorded; all channels where it names none."""
    for edit in islice(candidates(claim, case.program, WORDS), MOST_TRIED):
        found = case.replayed(edit)
        is_of_channels = bool(edit.channels) and not edit.source and claim.stage in wrong
        channels: Any = list(edit.channels) if is_of_channels else slice(None)
        names = [claim.stage] if is_of_channels else mine
        if all(
            same(found[name][:, channels], case.values[name][:, channels], wrong[name][:, channels]) for name in names
        ):
            return edit
    return None


def same(found: Rows, recorded: Rows, own: Rows) -> bool:
    """Whether what is left is a thousandth of what differed."""
    left, moved = (float(np.max(np.abs(each.astype(float) - recorded))) for each in (found, own))
    return left <= LEFT * moved + ROUNDING * float(np.max(np.abs(recorded)))


_FIRM = re.compile(
    r"\d\S* times what it should be$|\d more than it should be$|the answer of frame t-\d+$|[wxyz] in place of [wxyz, ]+$"
)


def _contradicts(case: Case, claim: Claim, wrong: Mapping[str, Rows]) -> bool:
    """Whether a claim gives a factor, a constant or a lag in all frames, and the recorded numbers have another one."""
    if claim.stage not in wrong or not claim.is_whole or not _FIRM.search(claim.shown.split(": explains")[0]):
        return False
    if "[" in claim.shown and not channels_in(claim, case.program, claim.stage):
        return False  # a part that this module cannot place
    is_tried = next(candidates(claim, case.program, WORDS), None) is not None
    return is_tried and _meant(case, claim, [claim.stage], wrong) is None
