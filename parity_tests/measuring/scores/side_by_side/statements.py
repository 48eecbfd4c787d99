"""What a tool states of a recording, in the contract's words, and the grade of it.

A tool's answer becomes an answer of `rigpact explain`, so that one table of truths and one grading judge all of them. A tool has
fewer names for places than a contract has stages: where its place covers several, the stage that is right is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..real_mistakes.grading import Grade, Right, grade

STAGES: Mapping[str, tuple[str, ...]] = {
    "base_ang_vel": ("base_ang_vel", "base_ang_vel_scaled", "obs"),
    "projected_gravity": ("projected_gravity", "obs"),
    "velocity_commands": ("velocity_commands", "obs"),
    "joint_pos_rel": ("joint_pos_rel", "q_policy", "obs"),
    "joint_vel_rel": ("joint_vel_rel", "joint_vel_scaled", "obs"),
    "last_action": ("last_action", "obs"),
    "observation": ("obs",),
    "network": ("action", "obs"),
    "target": ("processed_action", "motor_q"),
    "kp": ("motor_kp",),
    "kd": ("motor_kd",),
    "effort": ("motor_kp", "motor_kd"),
}
"""The stages of the contract that a place covers."""
_ALSO = {"joint_pos_rel": "q", "joint_vel_rel": "dq", "kp": "stiffness", "kd": "damping"}
_WORDS = (
    (r"\bx ?(-?\d[\d.]*)", r"\1 times"),
    (r"\b0 times\b", "0 times, zeros"),
    (r"shifted by 1 step", "1 frame late"),
    (r"shifted by -1 step", "1 frame early"),
    (r"\bone-step delay", "1 frame late"),
    (r"\b(\d) (?:policy )?step\b", r"\1 frame"),
    (r"previous step", "previous frame"),
    (r"time_major", "frame_major"),
    (r"term_major", "term by term"),
)
"""The tools' words, and the contract's for the same thing."""
_SIDES = [f"{side}_{part}" for side in ("left", "right") for part in
          ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")]  # fmt: skip
_ARMS = [f"{side}_{part}" for side in ("left", "right") for part in
         ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")]  # fmt: skip
JOINTS = tuple(f"{name}_joint" for name in (*_SIDES, "waist_yaw", "waist_roll", "waist_pitch", *_ARMS))
"""The names of the G1's 29 motors, in their order: `joint_N` of the contracts is the Nth."""


_CLAIMS = ("causes", "relations")


@dataclass(frozen=True)
class Statement:
    """One thing that a tool states. place: a key of `STAGES`; words: what is wrong there; empty where it names the place only."""

    place: str
    words: str = ""


def in_contract_words(words: str) -> str:
    """The same in the contract's words: joints by motor, steps as frames, factors as `N times`."""
    for number, joint in enumerate(JOINTS):
        words = words.replace(joint, f"joint_{number}")
    for theirs, ours in _WORDS:
        words = re.sub(theirs, ours, words, flags=re.IGNORECASE)
    return words


def classified(statements: Sequence[Statement], truth: Right | None) -> Grade:
    """The grade of a tool's statements. truth: of the mistake; None where the recording is right."""
    stages = truth.stages if truth else ()
    places = sorted((_stage(each, stages) for each in statements), key=lambda stage: stage not in stages)
    relations = [_relation(_stage(each, stages), each) for each in dict.fromkeys(statements) if each.words]
    first = {"stage": places[0], "frame": None} if places else None
    verdict = "unexplained" if statements else "agrees"
    return kind({"verdict": verdict, "first_divergence": first, "relations": relations}, truth)


def kind(answer: Mapping[str, Any], truth: Right | None) -> Grade:
    """The grade, of any tool: a mistake is named if one claim names it, whatever else is said that is true of the numbers."""
    whole = grade(answer, truth)
    if whole.word != "vague":
        return whole
    single = [
        {**answer, **dict.fromkeys(_CLAIMS, ()), key: [claim]} for key in _CLAIMS for claim in answer.get(key) or ()
    ]
    return next((each for each in (grade(one, truth) for one in single) if each.word == "precise"), whole)


def _stage(statement: Statement, wanted: Sequence[str]) -> str:
    covered = STAGES[statement.place]
    return next((stage for stage in covered if stage in wanted), covered[0])


def _relation(stage: str, statement: Statement) -> dict[str, object]:
    also = _ALSO.get(statement.place, "")
    sentence = f"{stage} {also}: {in_contract_words(statement.words)}"
    return {"stage": stage, "sentence": sentence, "frames_explained": 1, "frames": 1}
