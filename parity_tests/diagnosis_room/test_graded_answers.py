"""How answers are graded by the scores of mistakes: precise, vague, located, misleading."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..every_case import every_case
from ..measuring.scores.claims import Claim, numbers_in
from ..measuring.scores.real_mistakes.__main__ import mistake_of
from ..measuring.scores.real_mistakes.grading import grade, of_parts, right
from ..measuring.scores.real_mistakes.truths import TRUTHS
from ..measuring.scores.untrue import untrue, ways_of


def answer(
    *relations: Mapping[str, Any], causes: Sequence[Mapping[str, Any]] = (), first: str = "kp"
) -> dict[str, Any]:
    """An answer as `explain --format json` prints it, with what a grade looks at."""
    divergence = {"stage": first, "frame": 0} if first else None
    verdict = "unexplained" if first else "agrees"
    return {"verdict": verdict, "first_divergence": divergence, "causes": causes, "relations": relations}


def relation(stage: str, words: str, explained: int = 9) -> dict[str, Any]:
    """A relation that explains some of nine frames."""
    sentence = f"{stage} is {words}: explains {explained} of 9 frames"
    return {
        "stage": stage,
        "place": stage,
        "words": words,
        "frames_explained": explained,
        "frames": 9,
        "sentence": sentence,
    }


def cause(stage: str, **changes: str) -> dict[str, Any]:
    """A convention that explains every frame."""
    return {"stage": stage, "changes": changes, "equivalents": [], "ratio": 0.5}


HALVED = right("kp", "kp.scale=half", ("kp", 0.5))
GIVEN = (
    ("precise", answer(relation("kp", "1/2 times what it should be"))),
    ("precise", answer(causes=[cause("kp", **{"kp.scale": "half"})])),
    ("vague", answer(relation("kp", "scaled by a constant of its own in each channel"))),
    ("vague", answer(relation("kp", "1/3 times what it should be"))),
    (
        "vague",
        answer(relation("kp", "1/2 times what it should be"), relation("kp", "7 more than it should be")),
    ),
    ("misleading", answer(relation("kp", "1/3 times what it should be", explained=8))),
    (
        "misleading",
        answer(relation("kp", "0.5 times what it should be"), relation("kd", "0.5 times what it should be")),
    ),
    ("misleading", answer(relation("kd", "like kp, 1/2 times what it should be"))),
    ("misleading", answer(causes=[cause("kd", **{"kd.scale": "half"})])),
    ("misleading", answer(first="kd")),
    ("located", answer()),
    ("silent", answer(first="")),
)


@every_case(("word", "given"), GIVEN)
def test_an_answer_gets_its_grade(word: str, given: Mapping[str, Any]) -> None:
    """A grade that is too good hides a wrong answer from the score; the users meet it."""
    assert grade(given, HALVED).word == word


def test_every_part_of_a_mistake_is_asked_for() -> None:
    """Two gains are exchanged and the answer speaks of one: half a cause passes for a whole one."""
    both = of_parts("kp kd", (("kp", "damping"),), (("kd", "stiffness"),))
    one, other = relation("kp", "computed from damping"), relation("kd", "computed from stiffness")
    assert (grade(answer(one), both).word, grade(answer(one, other), both).word) == ("vague", "precise")


def test_a_right_recording_has_no_claims() -> None:
    """An alarm about a right recording costs a user's day."""
    words = (grade(answer(first=""), None).word, grade(answer(), None).word)
    assert words == ("agrees", "alarm")


def test_numbers_are_compared_as_numbers() -> None:
    """0.5, 1/2 and ±0.5 are one answer, and the 7 of joint_7 is not a number."""
    found = list(numbers_in("joint_7 is 1/2 times, ±0.25, −3, 180/π, v2 and [6:12]"))
    assert found == pytest.approx([0.5, 0.25, -3.0, 180.0 / math.pi, 6.0, 12.0])
    assert Claim("a", "0.2501 times", "").has(0.25)
    assert not Claim("a", "0.2 times", "").has(0.25)


LOOP = {
    "given": [{"name": "gyro"}, {"name": "last_action", "carried": "action"}],
    "stages": [
        {"name": "raw", "operation": "network"},
        {"name": "action", "operation": "clip", "of": "raw"},
        {"name": "held", "operation": "held", "of": "last_action"},
        {"name": "head", "operation": "affine", "of": "raw"},
        {"name": "rate", "operation": "difference", "of": "action"},
    ],
    "networks": {"policy": {"inputs": ["gyro", "last_action"], "outputs": ["raw"]}},
}
CLAIMED = (
    (False, {"words": "smoothed: 0.2 of last_action in it"}),
    (True, {"words": "computed from last_action of frame t+1 in place of raw"}),
    (True, {"words": "filled from other channels: [0:2] from held[0:2] of frame t+1"}),
    (True, {"words": "rate, 50 times"}),
    (True, {"words": "head times 2 in place of it"}),
    (True, {"words": "computed from rate of frame t-1"}),
    (False, {"words": "computed from rate of frame t-2"}),
    (False, {"words": "2 times what it should be", "frames_left": [7, 8], "frames_explained": 58}),
    (True, {"words": "2 times what it should be", "frames_left": [7], "frames_explained": 58}),
    (True, {"words": "stuck at 0.3", "is_rule": False}),
)


DIFFERING = [{"stage": name, "differs": {"frames": 60}, "remains": None} for name in ("action", "head")]


@every_case(("is_untrue", "claim"), CLAIMED)
def test_what_cannot_be_true_is_seen(is_untrue: bool, claim: Mapping[str, Any]) -> None:
    """A score that takes `last_action[t+1]` for a cause of `action[t]` names everything, and nothing."""
    fits = {"frames": 60, "frames_explained": 60, "frames_left": [], "ratio": 0.5, "is_rule": True}
    said = {"stage": "action", "sentence": claim["words"], **fits, **claim}
    answer = {
        "verdict": "explained",
        "causes": [],
        "relations": [said],
        "stages": DIFFERING,
    }
    assert bool(untrue(answer, ways_of(LOOP))) == is_untrue


def test_a_pair_is_later_together() -> None:
    """Each half is true of itself: the last action in the place of the answer, and the answer of the next frame."""
    fits = {"stage": "action", "frames": 60, "frames_explained": 60, "frames_left": [], "ratio": 0.5, "is_rule": True}
    words = ("computed from last_action in place of raw (both together)", "the answer of frame t+1 (both together)")
    relations = [{**fits, "words": each, "sentence": each} for each in words]
    answer = {
        "verdict": "explained",
        "causes": [],
        "relations": relations,
        "stages": DIFFERING,
    }
    assert untrue(answer, ways_of(LOOP)) == [words[0]]


def test_every_real_mistake_has_its_truth(real_data: Path) -> None:
    """A recording without a truth would end the score in a traceback."""
    labels = json.loads((real_data / "mistakes" / "labels.json").read_text(encoding="utf-8"))
    programs = {name.split("/")[0] for name in TRUTHS}  # one has none: its recordings were added later
    wrong = {mistake_of(name) for name, label in labels.items() if label["wrong"]}
    assert {name for name in wrong if name.split("/")[0] in programs} == TRUTHS.keys()
