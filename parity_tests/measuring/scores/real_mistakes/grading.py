"""The grade of an answer to one recording.

| grade | when |
|---|---|
| precise | every part of the mistake is claimed in the right words with its numbers and place, and nothing else is claimed |
| vague | what is claimed is true of the numbers, and not what a person would call the mistake |
| located | nothing is claimed; what differs first is a vector in which the mistake may show first |
| misleading | something is claimed that is neither: of another vector, of some frames only; or another vector differs first |
| silent | it agrees, though the recording differs |
| agrees | it agrees, and nothing is wrong |
| alarm | nothing is wrong, and it does not agree |
| timeout | more than the limit |
| no answer | the recording was refused |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..claims import Claim, claims_of

GRADES = ("precise", "vague", "located", "silent", "misleading", "timeout", "no answer", "agrees", "alarm")
_QUIET = ("agrees", "undetermined")
Token = str | float
Way = str | tuple[Token, ...]


@dataclass(frozen=True)
class Right:
    """What is true of one mistake.

    stages: the vectors in which it may show first; parts: for each part of the mistake the ways to say it, either
    `KNOB=VALUE KNOB=VALUE` or the tokens that a claim must have; also: what follows from it and may be said beside it.
    """

    stages: tuple[str, ...]
    parts: tuple[tuple[Way, ...], ...]
    also: tuple[Way, ...] = ()


def right(stages: str, *ways: Way, also: tuple[Way, ...] = ()) -> Right:
    """A mistake of one part. stages: names between spaces."""
    return Right(tuple(stages.split()), (ways,), also)


def of_parts(stages: str, *parts: tuple[Way, ...]) -> Right:
    """A mistake of several parts, each of which has to be said."""
    return Right(tuple(stages.split()), parts)


@dataclass(frozen=True)
class Grade:
    """A grade, and the claims that are not true of the mistake."""

    word: str
    others: tuple[str, ...] = ()


def grade(answer: Mapping[str, Any], truth: Right | None) -> Grade:
    """Grade an answer. truth: of its mistake; None where nothing is wrong."""
    claims, verdict = claims_of(answer), answer["verdict"]
    if truth is None:
        return Grade("agrees") if verdict in _QUIET and not claims else Grade("alarm", _texts(claims))
    if not claims:
        first = answer["first_divergence"]
        if first is None:
            return Grade("silent")
        return (
            Grade("located") if first["stage"] in truth.stages else Grade("misleading", (f"first: {first['stage']}",))
        )
    said = [each for each in claims if any(_says(each, way, truth.stages) for ways in truth.parts for way in ways)]
    others = [each for each in claims if each not in said]
    wrong = [each for each in others if not (each.is_whole and each.stage in truth.stages)]
    if wrong:
        return Grade("misleading", _texts(wrong))
    complete = all(any(_says(each, way, truth.stages) for each in said for way in ways) for ways in truth.parts)
    rest = [
        each for each in others if not each.is_vague and not any(_says(each, way, truth.stages) for way in truth.also)
    ]
    return Grade("precise" if complete and not rest else "vague", _texts(others))


def _texts(claims: Sequence[Claim]) -> tuple[str, ...]:
    return tuple(each.shown for each in claims)


def _says(claim: Claim, way: Way, stages: Sequence[str]) -> bool:
    """Words count at one of the stages, or of the files; a convention may be named of a vector that was not recorded."""
    if isinstance(way, tuple):
        return claim.stage in (*stages, "") and claim.has(*way)
    return frozenset(way.split()) in claim.readings
