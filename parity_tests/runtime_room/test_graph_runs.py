"""Runs of declared systems: in one batch, frame by frame, several in lockstep, fed by themselves.

The same stages are evaluated in each way,
so the numbers must be the same to the bit; what a free run should give is written out
here once more, frame by frame, without them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import contract_in_memory, open_contract
from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, answer_of
from rigpact.reference_runtime.graph.run import run_clip
from rigpact.reference_runtime.recordings.opened import read_trace
from rigpact.reference_runtime.recordings.trace import Trace

from ..side_by_side import free_run, run_lanes

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
Rows = Mapping[str, np.ndarray]

_PAIR = tiled(("place", 2, FieldKind.RAW, "", ""))
GAIN = Knob("gain", {"half": 0.5, "double": 2.0}, "how strongly the network sees the speed")


def _speed(frames: Frames) -> np.ndarray:
    return (frames["place"] - frames.at("place", -1, "first")).astype(np.float32)


def _smooth(frames: Frames) -> np.ndarray:
    before = frames.at("speed", -1, "zeros") + frames.at("speed", -2, "zeros")
    return (frames.pick(GAIN) * (frames["speed"] + before) + frames["wish"]).astype(np.float32)


def _next(frames: Frames) -> np.ndarray:
    return (frames["place"] + np.float32(0.25) * frames["push"]).astype(np.float32)


CHASE = System(
    name="chase", title="A point that chases a wish", inputs=("smooth",), outputs=("push",), fps=30.0,
    stages=(
        Stage("place", _PAIR, carried="place_next"),
        Stage("wish", _PAIR),
        Stage("speed", _PAIR, ("place",), _speed),
        Stage("smooth", _PAIR, ("speed", "wish"), _smooth, knobs=(GAIN,)),
        Stage("push", _PAIR, ("smooth",), answer_of("push"), is_answer=True),
        Stage("place_next", _PAIR, ("place", "push"), _next),
    ),
)  # fmt: skip
CONTRACT = contract_in_memory(CHASE, {})


def push(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A network whose rows do not know of each other."""
    return [np.tanh(inputs[0][:, ::-1] * np.float32(0.5))]


def clip_of(seed: int, steps: int) -> dict[str, np.ndarray]:
    """A clip of both given stages."""
    random = np.random.default_rng(seed)
    return {name: random.normal(size=(steps, 2)).astype(np.float32) for name in ("place", "wish")}


@pytest.mark.parametrize("gain", ["half", "double"])
def test_a_free_run_starts_at_the_clip_and_goes_on_from_itself(gain: str) -> None:
    """Seeded anywhere else, or following the clip, a free run shows nothing of what errors do to it."""
    clip, count = clip_of(4, 12), 50
    trace = free_run(CONTRACT.with_conventions({"gain": gain}), clip, push, count)
    factor = np.float32({"half": 0.5, "double": 2.0}[gain])
    place, before = clip["place"][0], clip["place"][0]
    speeds = [np.zeros(2, np.float32)] * 2
    for frame in range(count):
        np.testing.assert_array_equal(trace.stages["place"][frame], place)
        speeds.append(place - before)
        smooth = factor * (speeds[-1] + (speeds[-2] + speeds[-3])) + clip["wish"][frame % 12]
        before, place = place, place + np.float32(0.25) * np.tanh(smooth[::-1] * np.float32(0.5))
        np.testing.assert_array_equal(trace.stages["place_next"][frame], place)
    assert (trace.header.mode, trace.header.system, len(trace.frame)) == ("free", "chase", count)


def bits(trace: Trace) -> dict[str, bytes]:
    """The stages in their order."""
    return {name: rows.tobytes() for name, rows in trace.stages.items()}


def test_a_run_without_a_network_or_with_recorded_answers_and_frame_by_frame() -> None:
    """Inputs can be checked before anything was trained, and an engine's answers are enough to judge what follows."""
    clip = clip_of(6, 9)
    trace, whole = run_clip(CONTRACT, clip), run_clip(CONTRACT, clip, push)
    given = {**clip, "push": whole.stages["push"]}
    assert list(trace.stages) == ["place", "wish", "speed", "smooth"]
    assert bits(run_lanes(CONTRACT, [clip], None, 9, "teacher")[0]) == bits(trace)
    assert bits(run_clip(CONTRACT, given)) == bits(run_lanes(CONTRACT, [given], None, 9, "teacher")[0]) == bits(whole)


@pytest.mark.parametrize(
    ("given", "count", "says"),
    [
        ({"place": np.zeros((3, 2), np.float32)}, 3, "no wish"),
        ({**clip_of(1, 5), "wish": np.zeros((4, 2), np.float32)}, 3, "as many rows"),
        (clip_of(1, 5), 6, "at most 5"),
    ],
)
def test_a_run_without_its_clip_is_refused(given: Rows, count: int, says: str) -> None:
    """Rows of nothing would go on as zeros or NaN, and the report would blame the first stage."""
    with pytest.raises(UnusableInput, match=says):
        run_clip(CONTRACT, given, push, count)


# ---- rigpact's own systems


def files_of(name: str) -> tuple[Contract, dict[str, np.ndarray], OnnxSystemNetwork]:
    """Contract, clip and model of a hosted system."""
    folder = BUNDLES / name
    clip = read_trace(folder / "clip.trace.safetensors").stages
    network = OnnxSystemNetwork(folder / "model.onnx", find_system(name))
    return open_contract(folder / f"{name}.json"), clip, network


def test_a_model_of_four_outputs_runs_once() -> None:
    """Four stages ask for its answers one after the other."""
    contract, clip, network = files_of("imu_pose")
    calls: list[int] = []
    evaluate = network._evaluate
    network._evaluate = lambda inputs: (calls.append(1), evaluate(inputs))[1]  # type: ignore[method-assign, func-returns-value]
    run_clip(contract, clip, network)
    assert len(calls) == 1
