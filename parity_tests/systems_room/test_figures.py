"""The figures that the pages of Blender IK, rig inversion and IMU pose claim, on a run of seconds."""

from types import ModuleType

import pytest

pytest.importorskip("torch", reason="the extra [training] is not installed")
pytest.importorskip("mujoco", reason="the extra [physics] is not installed")

from ..measuring.scores import blender_ik_score, imu_pose_score, rig_inversion_score


@pytest.mark.nightly
@pytest.mark.parametrize("module", [blender_ik_score, rig_inversion_score, imu_pose_score])
def test_every_figure_meets_its_bar(module: ModuleType) -> None:
    """Every figure in a document must be measured again, or it may be wrong."""
    figures = list(module.figures(reduced=True))
    assert [figure for figure in figures if not figure.met] == []
    assert len(figures) >= 7
    assert all(figure.value == figure.value for figure in figures)
