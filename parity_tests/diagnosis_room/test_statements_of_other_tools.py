"""How the answers of other tools are judged on docs/side-by-side.md: kindly, and by the same truths as rigpact's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from parity_tests.measuring.scores.real_mistakes.truths import TRUTHS
from parity_tests.measuring.scores.side_by_side import efferent, gaitkeeper, ours
from parity_tests.measuring.scores.side_by_side.facts import Facts
from parity_tests.measuring.scores.side_by_side.statements import JOINTS, Statement, classified, in_contract_words

from ..every_case import every_case

SCALES = {
    "base_ang_vel": 0.2,
    "projected_gravity": 1.0,
    "velocity_commands": 1.0,
    "joint_pos_rel": 1.0,
    "joint_vel_rel": 0.05,
    "last_action": 1.0,
}
COUNT = len(JOINTS)
FACTS = Facts(
    Path(),
    tuple(range(COUNT)),
    (0.0,) * COUNT,
    (0.25,) * COUNT,
    (40.0,) * COUNT,
    (10.0,) * COUNT,
    SCALES,
    (-1.0,) * 3,
    (1.0,) * 3,
    5,
)
GYRO, Q = "base_ang_vel", "joint_pos_rel"
JUDGED = (
    ("precise", "lab/ang_vel_scale_0_25", Statement(GYRO, "constant scale x1.25")),
    ("precise", "lab/ang_vel_scale_0_25", Statement(GYRO, "logged = rebuilt x 1.25 - looks like a scale mismatch")),
    ("vague", "lab/ang_vel_scale_0_25", Statement(GYRO, "constant scale x1.6")),
    ("located", "lab/ang_vel_scale_0_25", Statement(GYRO)),
    ("misleading", "lab/ang_vel_scale_0_25", Statement("kp", "kp scaled x0.5")),
    ("misleading", "lab/ang_vel_scale_0_25", Statement("kp")),
    ("precise", "lab/dq_one_frame_late", Statement("joint_vel_rel", "term shifted by 1 step")),
    ("vague", "lab/dq_one_frame_late", Statement("joint_vel_rel", "term shifted by -1 step")),
    ("precise", "lab/history_frame_major", Statement("observation", "history layout is time_major")),
    ("precise", "lab/command_zero", Statement("velocity_commands", "logged = rebuilt x 0 - looks like a scale mismatch")),
    ("precise", "lab/action_scale_missing", Statement("target", "action scale x4 on every joint")),
    ("precise", "lab/q_wrists_swapped", Statement(Q, f"joint permutation on ['{JOINTS[21]}', '{JOINTS[28]}']")),
    ("vague", "lab/q_wrists_swapped", Statement(Q, f"joint permutation on ['{JOINTS[20]}', '{JOINTS[27]}']")),
)  # fmt: skip


@every_case(("word", "recording", "statement"), JUDGED)
def test_a_statement_is_judged_by_the_truth_of_its_recording(word: str, recording: str, statement: Statement) -> None:
    """A comparison that reads another tool's words too strictly, or its own too kindly, is an advertisement."""
    assert classified([statement], TRUTHS[recording]).word == word


def test_a_name_beside_something_vaguer_counts() -> None:
    """gaitkeeper's two commands say one thing in two ways; the vaguer way takes nothing from the other, an untrue one does."""
    truth = TRUTHS["mjlab/default_pose_not_subtracted"]
    offset, named = Statement(Q, "constant offset on columns [0, 3]"), Statement(Q, "default_pose not subtracted")
    assert classified([offset], truth).word == "vague"
    assert classified([offset, named], truth).word == "precise"
    assert classified([named, Statement("kp", "kp scaled x0.5")], truth).word == "misleading"


def test_silence_and_alarms() -> None:
    """A tool that says nothing is silent on a mistake and right on a right recording; one that says something is not."""
    assert classified([], TRUTHS["lab/kp_halved"]).word == "silent"
    assert classified([], None).word == "agrees"
    assert classified([Statement("kp")], None).word == "alarm"


def test_the_motors_have_the_names_of_the_robot() -> None:
    """A joint under a wrong number would make a right answer wrong: motor 9 is the right knee, 21 and 28 the wrists' yaw."""
    assert COUNT == 29
    assert in_contract_words("left_hip_pitch_joint right_knee_joint waist_yaw_joint") == "joint_0 joint_9 joint_12"
    assert in_contract_words("left_wrist_yaw_joint right_wrist_yaw_joint") == "joint_21 joint_28"


def test_a_stacked_observation_is_cut_into_its_terms() -> None:
    """A channel that is taken for another term's, or an oldest entry for the newest, misplaces every answer."""
    assert [FACTS.term_at(channel) for channel in (14, 15, 45, 189, 190, 479)] == [
        "base_ang_vel", "projected_gravity", "joint_pos_rel", "joint_pos_rel", "joint_vel_rel", "last_action"
    ]  # fmt: skip
    assert FACTS.newest()[:6].tolist() == [12, 13, 14, 27, 28, 29]
    assert FACTS.newest_first()[:15].tolist() == [12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2]
    assert np.array_equal(np.sort(FACTS.newest_first()), np.arange(480))


def test_a_printed_audit_is_read() -> None:
    """efferent prints text only: a term, and what fits below it."""
    printed = (
        "[FAIL] custom.base_ang_vel      dims   0..14  max|err| 1.2\n"
        "        no standard hypothesis fits - inspect this term manually\n"
        "[ok]   command                  dims  30..44  max|err| 0\n"
        "[FAIL] projected_gravity        dims  15..17  max|err| 0.3\n"
        "        columns - observed mapping (logged column -> expected column): [1, 0, 2]\n"
        "verdict: FAIL (6 terms, 2 mismatched)\n"
    )
    unnamed, swapped = efferent._failing(printed, FACTS)
    assert unnamed == Statement("base_ang_vel")
    assert swapped.place == "projected_gravity"
    assert "y, x, z in place of x, y, z" in swapped.words


def term(name: str, pattern: str | None, boundary: str = "A", **detail: Any) -> dict[str, Any]:
    """A failing term as `gaitkeeper verify --json` has it."""
    return {"term": name, "pattern": pattern, "boundary": boundary, "ambiguous": [], "detail": detail}


def test_the_numbers_of_a_fit_are_said() -> None:
    """gaitkeeper's words leave out numbers that its JSON has: without them its answer would count for less than it knows."""
    scale, offset = np.ones(5 * COUNT), np.zeros(5 * COUNT)
    scale[10::COUNT] = -1.0
    fit = {"scale": scale.tolist(), "offset": offset.tolist()}
    (flipped,) = gaitkeeper._stated(term(Q, "per-column affine", **fit), FACTS)
    assert classified([flipped], TRUTHS["lab/q_one_joint_sign"]).word == "precise"
    gains = {"kp_hat": dict.fromkeys(JOINTS, 60.0), "kd_hat": dict.fromkeys(JOINTS, 1.0)}
    low = list(gaitkeeper._stated(term("effort", "kp and kd differ on all", "C", fit=gains), FACTS))
    assert classified(low, TRUTHS["mjlab/gains_not_set"]).word == "precise"
    (unnamed,) = gaitkeeper._stated(term(Q, "none fits"), FACTS)
    assert unnamed == Statement(Q)


def test_an_answer_about_a_recording_without_terms_has_the_terms_for_places() -> None:
    """rigpact's own place in a recording of few columns is a part of `obs`; that is as right as the others' term."""
    truth = TRUTHS["lab/q_wrists_swapped"]
    answer = {"first_divergence": {"stage": "obs", "channel": 188}, "relations": [{"stage": "obs"}], "causes": []}
    placed = ours.in_terms(answer, FACTS, truth)
    assert placed["first_divergence"]["stage"] == placed["relations"][0]["stage"] == "joint_pos_rel"
    other = ours.in_terms({**answer, "first_divergence": {"stage": "obs", "channel": 3}}, FACTS, truth)
    assert other["first_divergence"]["stage"] == "base_ang_vel"
    sent = ours.in_terms({**answer, "first_divergence": {"stage": "motor_q"}}, FACTS, TRUTHS["lab/action_tanh"])
    assert sent["first_divergence"]["stage"] == "processed_action"
