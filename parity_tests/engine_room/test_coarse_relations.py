"""Relations of recordings whose numbers were written coarsely: said where they can be told apart, and not where they cannot.

Every case spoils one stage in numpy before the numbers are written; what is computed from it is not recorded.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import pytest

from rigpact.contract import load_contract
from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip, run_frames
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of
from rigpact.reports.diagnosing.diagnose import diagnose

Stages = Mapping[str, np.ndarray]
FRAMES = 48


@cache
def _run() -> Any:
    folder = demo_bundle()
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    clip, network = read_clip(folder / "clips" / "Walk_Spin.json"), OnnxNetwork(folder / "model.onnx", contract)
    trace = run_frames(open_run(contract, network, clip, "teacher"), range(FRAMES), "Walk_Spin", "teacher")
    return contract, trace, drive_of(clip), network


def _written(rows: np.ndarray, decimals: int | None) -> np.ndarray:
    """With some decimals, or in float16."""
    short = rows.astype(np.float16) if decimals is None else np.round(rows.astype(np.float64), decimals)
    return short.astype(np.float32)


def _relations(stage: str, spoil: Callable[[Stages], np.ndarray], decimals: int | None) -> list[str]:
    contract, trace, drive, network = _run()
    after = contract.system.graph.after((stage,)) - {stage}
    stages = {name: rows for name, rows in trace.stages.items() if name not in after}
    spoilt = {**stages, stage: spoil(stages)}
    written = {name: _written(rows, decimals) for name, rows in spoilt.items()}
    precision = Precision(bits=11) if decimals is None else Precision(decimals=decimals)
    found = diagnose(Evidence(trace.frame, 60.0, "teacher", written, drive, network, precision), contract)
    assert found.exit_code == 1
    assert (found.verdict != "unexplained") == any(each.is_rule for each in found.relations)
    assert found.first_divergence is not None
    assert found.first_divergence.stage == stage
    assert found.causes == ()
    return [relation.sentence for relation in found.relations]


def _array(name: str) -> np.ndarray:
    return np.asarray(json.loads((demo_bundle() / "norm_template.json").read_bytes())[name], np.float64)


def _squashed_twice(stages: Stages) -> np.ndarray:
    scale = _array("tanh_scales_pose_hist")
    squashed = np.tanh(np.tanh(stages["pose_hist_raw"] / scale) / scale)
    return (squashed - _array("MuPoseHist")) / np.maximum(_array("StdPoseHist"), 1e-6)


def _from_float16(stages: Stages) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(demo_bundle() / "model.onnx"), providers=["CPUExecutionProvider"])
    inputs = ("state", "cond", "contacts", "angvel", "pose_hist")
    short = [stages[name].astype(np.float16).astype(np.float32) for name in inputs]
    names = [entry.name for entry in session.get_inputs()]
    return np.concatenate(
        [
            session.run(None, {name: rows[row : row + 1] for name, rows in zip(names, short, strict=True)})[0]
            for row in range(FRAMES)
        ]
    )


@pytest.mark.parametrize("decimals", [2, 3, 4, 5, 6])
def test_an_input_that_is_squashed_once_more_is_said_through_lost_digits(decimals: int) -> None:
    """What a lost digit leads to grows with what is done to the input: the bound of the right reading must grow as well."""
    (sentence,) = _relations("pose_hist", _squashed_twice, decimals)
    assert "tanh(pose_hist_raw / pose_history.scale): it is squashed once more than it should be" in sentence


def test_other_statistics_are_said_where_they_move_little_more_than_the_lost_digits() -> None:
    """Most values are off by less than two bounds: a line that needs a bound of its own leaves them unexplained."""
    moved = np.linspace(0.004, 0.008, 422)
    (sentence,) = _relations("state", lambda stages: 1.002 * stages["state"] + moved, 4)
    assert "of its own in each channel" in sentence


def test_inputs_in_float16_are_said_where_only_they_fit_every_value() -> None:
    """A wide bound lets most values fit anyway; the others say which reading it is."""
    assert _relations("y_norm", _from_float16, 5) == [
        f"y_norm is computed from inputs that were rounded to float16: explains {FRAMES} of {FRAMES} frames"
    ]


@pytest.mark.nightly
def test_what_several_readings_explain_is_not_said() -> None:
    """At four decimals it may be all inputs or one of them: naming the wrong one sends people to the wrong line."""
    assert _relations("y_norm", _from_float16, 4) == []


def _late(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows[:1], rows[:-1]])


READ_THROUGH: dict[str, tuple[str, Callable[[Stages], np.ndarray], int | None, str]] = {
    "late": ("y_norm", lambda s: _late(s["y_norm"]), None, "y_norm is the answer of frame t-1"),
    "a hundredth": ("angvel", lambda s: 0.01 * s["angvel"], 4, "angvel is 1/100 times what it should be"),
}


@pytest.mark.parametrize("name", READ_THROUGH)
def test_what_is_lost_is_lost_where_the_number_stands(name: str) -> None:
    """A small number of another frame loses few bits there and many here; a factor before the recorder scales no lost digit."""
    stage, spoil, decimals, words = READ_THROUGH[name]
    (sentence,) = _relations(stage, spoil, decimals)
    assert sentence.startswith(words)
