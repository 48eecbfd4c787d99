"""Sound modules have no finding; the deployed training side has its known ones and no others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.reports.geometry_parity.roles import ROLES

SUBJECTS = Path(__file__).parent / "subjects"
SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["sound_numpy.py", "sound_torch.py"])
def test_a_sound_module_has_no_finding(geometry: Callable[..., Any], name: str, seed: int) -> None:
    """Users switch off a test with false alarms."""
    if "torch" in name:
        pytest.importorskip("torch")

    answer = geometry(SUBJECTS / name, "--seed", seed, "--strict", "--format", "json")

    report = json.loads(answer.out)
    assert [finding["message"] for finding in report["findings"]] == []
    assert (answer.status, report["verdict"], report["ledger"]["missing"]) == (0, "pass", 0)
    assert [each["role"] for each in report["summary"]["functions"]] == list(ROLES)


def test_the_training_side_of_the_demo_has_its_known_defects(geometry: Callable[..., Any]) -> None:
    """It has the deployed side's defects: an inexact acos, and axes that collapse where the engine replaces them."""
    pytest.importorskip("torch")

    plain = geometry("rigpact.training.enemy_animation.geometry", "--format", "json")
    declared = geometry(
        "rigpact.training.enemy_animation.geometry", "--set", "degenerate_axis=zero", "--format", "json"
    )

    assert (plain.status, set(plain.codes)) == (0, {"RP867", "RP871"})
    assert (declared.status, declared.codes) == (0, ["RP867"])


def test_the_same_seed_gives_the_same_answer(geometry: Callable[..., Any]) -> None:
    """A gate must give the same answer on the same commit."""
    words = (SUBJECTS / "sound_numpy.py", "--seed", 3, "--format", "json")

    assert geometry(*words).out == geometry(*words).out
