"""What cannot be true of an answer, whatever the mistake was: a tautology, and a claim that leaves frames it says to explain.

A tautology names a source that the contract computes from what it explains. The ways of a contract are walked here, from the
file: nothing of rigpact is asked. To add a way: a row in `ways_of`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
