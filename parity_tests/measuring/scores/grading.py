"""What an answer of `rigpact explain --format json` claims, and how right that is of one mistake.

A claim is a convention, a relation or a supposition. Its text is all that the answer writes of it, without how well it fits.
Numbers are compared as numbers: 0.5, 1/2 and 5e-1 are one, and so are 57.2958 and 180/π. `GRADES` are explained in
docs/evidence.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEASURES = frozenset(
    ("frames_explained", "frames", "frames_left", "ratio", "channel_error", "tolerance", "error_before", "error_after",
     "unit", "kind", "source", "channels", "code_hint", "code_hints", "patch")
)  # fmt: skip
"""Keys of a claim that say how well it fits, or how to mend it: nothing in them is said of the mistake."""
SHARE = 0.005
"""Answers print four to six digits, and people round to two or three; 0.25 is still told from 0.2 and 0.3."""
VAGUE = re.compile(r"constants? of its own|of their own|limits of its own|wherever it differs")
_FITS = re.compile(r":? explains \d+ of \d+ frames( \([^)]*\))?")
_NUMBER = re.compile(r"(?<![\w.])[-+−±]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s?/\s?(?:π|pi\b|\d+(?:\.\d+)?))?(?![\w])")


@dataclass(frozen=True)
class Claim:
    """One thing that an answer says.

    stage: of which it is said; empty for a supposition. text: all its words; shown: the line for people. readings: the
    conventions that it names, each a set of KNOB=VALUE; any of them explains as much. is_whole: whether it holds in every frame
    that was judged. source: the input that it is said of, or empty; channels: those of the stage, or of the input, that it tells.
    """

    stage: str
    text: str
    shown: str
    readings: tuple[frozenset[str], ...] = ()
    is_whole: bool = True
    source: str = ""
    channels: frozenset[int] = frozenset()

    def has(self, *tokens: str | float) -> bool:
        """Whether the text has every token: a pattern, or a number whatever its sign, as people print it."""
        return all(
            re.search(token, self.text, re.IGNORECASE) is not None
            if isinstance(token, str)
            else any(
                math.isclose(abs(value), abs(token), rel_tol=SHARE, abs_tol=1e-9) for value in numbers_in(self.text)
            )
            for token in tokens
        )

    @property
    def is_vague(self) -> bool:
        return not self.readings and VAGUE.search(self.text) is not None


def numbers_in(text: str) -> Iterator[float]:
    """Every number of a text; digits of a name are none."""
    for found in _NUMBER.findall(text):
        over, _, under = found.replace("−", "-").replace("±", "").partition("/")
        divisor = {"": 1.0, "π": math.pi, "pi": math.pi}.get(under.strip()) if not under[:1].isdigit() else float(under)
        if divisor:
            yield float(over) / divisor


def claims_of(answer: Mapping[str, Any]) -> list[Claim]:
    """Every claim of an answer."""
    found = [_cause(each) for each in answer.get("causes") or ()]
    found += [_relation(each) for each in answer.get("relations") or ()]
    if answer.get("supposition"):
        found.append(Claim("", str(answer["supposition"]), str(answer["supposition"])))
    return found


def _cause(cause: Mapping[str, Any]) -> Claim:
    every = [cause["changes"], *cause["equivalents"]]
    readings = tuple(frozenset(f"{knob}={value}" for knob, value in changes.items()) for changes in every)
    ratio, stage = cause.get("ratio"), str(cause.get("stage", ""))
    is_whole = not cause.get("frames_left") and (ratio is None or ratio <= 1.0)
    named = [f"{knob} = {value}" for changes in every for knob, value in changes.items()]
    rest = {key: value for key, value in cause.items() if key not in ("changes", "equivalents")}
    return Claim(
        stage, "; ".join((*named, *_texts(rest))), f"{', '.join(sorted(readings[0]))} at {stage}", readings, is_whole
    )


def _relation(relation: Mapping[str, Any]) -> Claim:
    is_whole = relation["frames_explained"] >= relation["frames"]
    place = relation.get("place") or relation["stage"]
    stage = re.split(r" of |\[", place)[0]  # it may be one before the stage that was recorded
    return Claim(
        stage,
        "; ".join(_texts(relation)),
        relation["sentence"],
        is_whole=is_whole,
        source=relation.get("source", ""),
        channels=frozenset(relation.get("channels", ())),
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key not in MEASURES:
                yield from _texts(part)
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))
    elif isinstance(value, str):
        yield _FITS.sub("", value)
    elif value is not None and not isinstance(value, bool):
        yield f"{value:.9g}"


GRADES = ("precise", "vague", "located", "silent", "misleading", "timeout", "no answer", "agrees", "alarm")
_QUIET = ("agrees", "undetermined")
Way = str | tuple[str | float, ...]


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
    return Right(tuple(stages.split()), (ways,), also)


def of_parts(stages: str, *parts: tuple[Way, ...]) -> Right:
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
        return Grade("agrees") if verdict in _QUIET and not claims else Grade("alarm", _shown(claims))
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
        return Grade("misleading", _shown(wrong))
    complete = all(any(_says(each, way, truth.stages) for each in said for way in ways) for ways in truth.parts)
    rest = [
        each for each in others if not each.is_vague and not any(_says(each, way, truth.stages) for way in truth.also)
    ]
    return Grade("precise" if complete and not rest else "vague", _shown(rest))


def _shown(claims: Sequence[Claim]) -> tuple[str, ...]:
    return tuple(each.shown for each in claims)


def _says(claim: Claim, way: Way, stages: Sequence[str]) -> bool:
    """Words count at one of the stages, or of the files; a convention may be named of a vector that was not recorded."""
    if isinstance(way, tuple):
        return claim.stage in (*stages, "") and claim.has(*way)
    return frozenset(way.split()) in claim.readings


Ways = Sequence[tuple[str, str, int]]
"""From a vector to one that is computed from it, and after how many frames."""
_AHEAD = {"difference": 1}
"""Operations of which a reading looks so many frames ahead."""
_FRAME = r"(?:\[[^\]]*\])?(?: of frame t([+-]\d+))?"
_LATER = re.compile(r"the answer of frame t\+(\d+)")
_TOGETHER = "both together"
_AS_ANOTHER = re.compile(r"computed as \w+ should be")
"""Names a vector for its operation, not for its numbers."""


def ways_of(root: Mapping[str, Any]) -> Ways:
    """The ways of a declaration, as its TOML file is read."""
    found = []
    for table in (*root["given"], *root["stages"]):
        sources = (table["carried"], *table.get("wrong", ())) if "carried" in table else ()
        found += [(source, table["name"], 1) for source in sources]
    taken = {output: each["inputs"] for each in root.get("networks", {}).values() for output in each["outputs"]}
    for table in root["stages"]:
        of = table.get("of", taken.get(table["name"], ()))
        ahead = max(_AHEAD.get(table["operation"], 0), table.get("frames", 0) if table["operation"] == "shift" else 0)
        found += [(source, table["name"], -ahead) for source in ([of] if isinstance(of, str) else of)]
    return found


def arrivals(ways: Ways, start: str) -> dict[str, int]:
    """After how many frames the numbers of a vector first stand in each other one."""
    found, waiting = {start: 0}, [start]
    while waiting:
        here = waiting.pop()
        for source, to, delay in ways:
            if source == here and found[here] + delay < found.get(to, 1 << 20) and to != start:
                found[to] = found[here] + delay
                waiting.append(to)
    return found


def untrue(answer: Mapping[str, Any], ways: Ways) -> list[str]:
    """The sentences of an answer that are tautologies, or do not hold in each frame that they cover; a verdict by symptoms."""
    relations = answer.get("relations") or ()
    found = [each["sentence"] for each in relations if any(_echoes(each, answer, ways))]
    found += [
        each["sentence"]
        for each in relations
        if each["frames_explained"] + len(each["frames_left"]) != each["frames"] or each["ratio"] > 1.0
    ]
    remains = {each["stage"] for each in answer["stages"] if each["remains"]}
    told = {each["stage"] for each in relations if not each["is_rule"]}
    explains = {each["stage"] for each in (*relations, *answer["causes"]) if each.get("is_rule", True)}
    found += [f"{stage} is explained by what only tells that it differs" for stage in told - remains - explains]
    if answer["verdict"] == "explained":
        found += [f"{stage} is not explained" for stage in remains]
    return found


def _comes_from(stage: str, answer: Mapping[str, Any], ways: Ways) -> dict[str, int]:
    """What is computed from a stage; and what differs too and is computed from what was not recorded on the way to it."""
    recorded, computed = {each["stage"] for each in answer["stages"]}, {to for _, to, delay in ways if delay <= 0}
    before, waiting = set[str](), [stage]
    while waiting:
        here = waiting.pop()
        new = {source for source, to, delay in ways if to == here and delay <= 0} & computed - recorded - before
        before |= new
        waiting += new
    differs = {each["stage"] for each in answer["stages"] if each["differs"]} - {stage}
    found = arrivals(ways, stage)
    for each in before:
        for name, delay in arrivals(ways, each).items():
            found[name] = min(delay, found.get(name, delay)) if name in differs else found.get(name, 1 << 20)
    return found


def _echoes(relation: Mapping[str, Any], answer: Mapping[str, Any], ways: Ways) -> Iterator[str]:
    """The vectors that a relation names as sources and that come from its own."""
    is_pair = _TOGETHER in relation["words"]
    pair = [each["words"] for each in answer["relations"] if is_pair and _TOGETHER in each["words"]]
    words = _AS_ANOTHER.sub("", relation["words"])
    later = sum(int(lag) for words in pair for lag in _LATER.findall(words))
    for name, delay in _comes_from(relation["stage"], answer, ways).items():
        for lag in re.findall(rf"(?<![\w.]){re.escape(name)}(?![\w.]){_FRAME}", words):
            if name != relation["stage"] and int(lag or 0) + later >= delay:
                yield name
