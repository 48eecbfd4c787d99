"""Separate the stage with the defect from the stages that only pass the error on."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.pages.registry import find_system
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.evidence import read_evidence

from ..every_case import every_case
from ..scene import slip
from .conftest import Doctor

STAGE_NAMES = find_system("enemy_animation").graph.names

FOLLOWERS = {
    "x_raw": {"state", "pose_hist_raw", "pose_hist", "y_norm", "y_out"},
    "state": {"y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat"},
    "pose_hist_raw": {"pose_hist", "y_norm", "y_out"},
    "y_norm": {"y_raw", "delta6d", "next6d", "y_out", "quat"},
    "delta6d": {"next6d", "y_out", "quat"},
    "next6d": {"y_out", "quat"},
    "y_out": {"quat"},
}
"""Some of the stages that a defect at a stage shows in, by the loop's own order of events."""


@every_case("stage", STAGE_NAMES)
def test_only_the_stage_of_the_defect_has_an_error_of_its_own(
    stage: str, scene: Any, honest: Any, doctor: Doctor
) -> None:
    """Looking at the pose, every defect looks like a broken composition."""

    def spoilt(stages: Any, _scene: Any) -> np.ndarray:
        values = stages[stage].copy()
        values[3:, min(40, values.shape[1] - 1)] += 0.3  # a bone's rotation, where there are bones
        return values

    diagnosis = doctor.judged(slip(scene, honest.stages, stage, spoilt))
    verdicts = {entry.stage: entry for entry in diagnosis.stages}
    assert [name for name, entry in verdicts.items() if entry.ok is False] == [stage]
    assert diagnosis.first_divergence is not None
    assert (diagnosis.first_divergence.frame, diagnosis.first_divergence.stage) == (3, stage)
    inheriting = {name for name, entry in verdicts.items() if entry.ok and entry.inherited_error > entry.tolerance}
    assert FOLLOWERS.get(stage, set()) <= inheriting
    assert not inheriting & {*STAGE_NAMES[: STAGE_NAMES.index(stage) + 1]}


def test_the_error_at_the_first_divergence_is_the_error_of_the_place_that_is_named(checkout: Path) -> None:
    """The largest error of the frame beside another joint's name sends people to a joint that is nearly right."""
    robot = checkout / "fixtures/bundles/robot"
    contract = open_contract(robot / "contract.toml")
    first = diagnose(*read_evidence(robot / "run.csv", contract).parts[-1], with_pairs=False).first_divergence
    assert first is not None
    assert (first.frame, first.address.slice) == (0, "rear_right_hip")
    with (robot / "run.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    target = float(row["action.rear_right_hip"]) * 0.25 - 0.1  # the contract's scale and default pose
    assert first.error == pytest.approx(abs(float(row["motor_targets.rear_right_hip"]) - target), abs=1e-6)
