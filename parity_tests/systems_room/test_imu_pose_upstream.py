"""IMU pose against upstream's formulas, written out without rigpact, and what is said of their mistakes."""

import inspect
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from rigpact.reference_runtime.vocabulary.positional_table import without_positions
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..measuring.scores.planted import judged
from ..measuring.scores.upstream import imu_pose_side
from ..measuring.scores.upstream.imu_pose import FOLDER, Upstream
from ..measuring.scores.upstream.imu_pose_defects import DEFECTS

BY_NAME = {planted.name: planted for planted in DEFECTS}
FEW = (
    "ios_sign", "sensor_y_up", "y_up_late", "gravity_added", "standard_gravity", "window_standardised", "window_late",
    "swapped", "no_positions", "axes_first", "pelvis_relative", "clamp_ten", "epsilon",
)  # fmt: skip
"""Those that no convention and no relation named before."""
LOCATED = ("training_mode", "causal_mask", "gelu_by_tanh")
"""Mistakes inside the network: only the network's own code tells them apart. The search takes more than ten seconds for each."""


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    """The committed contract, and upstream's network with its weights."""
    return Upstream.committed()


def test_upstream_agrees_in_every_stage(upstream: Upstream) -> None:
    """A port that computes as the published code does must not be sent searching."""
    found = upstream.explained()
    assert found.verdict == "agrees"
    assert [stage.stage for stage in found.stages if stage.ok] == [
        "model_input", "head", "exercise_logits", "form_logits", "uncertainty", "pose", "log_variance", "sigma",
    ]  # fmt: skip


def test_the_transcription_shares_nothing_with_rigpact() -> None:
    """Formulas that call the code under test agree with it whatever it computes."""
    assert "import rigpact" not in inspect.getsource(imu_pose_side)
    assert "from rigpact" not in inspect.getsource(imu_pose_side)


def test_every_mistake_of_the_table_stands_in_the_transcription() -> None:
    """A row whose word is misspelt plants nothing."""
    words = set(re.findall(r'"([a-z_]+)"', inspect.getsource(imu_pose_side)))
    assert set(BY_NAME) <= words
    assert len(BY_NAME) == 31


@pytest.mark.parametrize("name", FEW)
def test_a_mistake_of_a_port_is_named(upstream: Upstream, name: str) -> None:
    """ "model_input differs" sends a team to six numbers; "iOS negates accelerations" is one line."""
    answer = judged(BY_NAME[name], upstream.explained(name))
    assert (answer.word, answer.untrue) == ("named", ()), answer.said


@pytest.mark.parametrize("name", [LOCATED[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in LOCATED[1:])])
def test_a_mistake_inside_the_network_gets_no_made_up_cause(upstream: Upstream, name: str) -> None:
    """A window's answer stands in each of its rows: a factor that fits one number a hundred times is not proof."""
    found: Diagnosis = upstream.explained(name)
    assert (judged(BY_NAME[name], found).word, found.relations, found.causes) == ("located", (), ())
    assert found.first_divergence is not None
    assert found.first_divergence.stage == "head"


def test_a_sensor_that_lies_still_is_not_explained_by_the_statistics_of_its_window(upstream: Upstream) -> None:
    """Its deviation is nothing, so a tolerance divided by it would accept any number."""
    still = Upstream(
        upstream.contract, upstream.network, upstream.weights, np.tile(np.float32([0, 0, 9.81, 0, 0, 0]), (100, 1))
    )
    assert still.explained().verdict == "agrees"
    assert still.explained("gravity_added").causes[0].changes == {"gravity": "added"}


def test_a_model_without_a_table_of_positions_is_not_rewritten(tmp_path: Path) -> None:
    """Another network's tables may be sines too; a name for what is not there sends people to the wrong line."""
    model = onnx.load(str(FOLDER / "model.onnx"))
    table = next(each for each in model.graph.initializer if each.name == "positions")
    learned = np.random.default_rng(1).normal(size=tuple(table.dims)).astype(np.float32)
    table.CopyFrom(numpy_helper.from_array(learned, "positions"))
    onnx.save(model, str(tmp_path / "learned.onnx"))
    assert without_positions(tmp_path / "learned.onnx") is None
    rewritten = onnx.load_from_string(without_positions(FOLDER / "model.onnx"))
    changed = [
        one.name
        for one, other in zip(model.graph.initializer, rewritten.graph.initializer, strict=True)
        if one.name != "positions" and one != other
    ]
    assert changed == []
    found = next(each for each in rewritten.graph.initializer if each.name == "positions")
    assert not numpy_helper.to_array(found).any()
