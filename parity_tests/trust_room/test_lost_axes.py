"""Rotations whose axes are lost

A network may give six numbers that are not rotations: an axis of length zero, or two parallel axes. What replaces the lost axis
is part of the contract. The expected values here follow from the engine's loop, written out by hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.character import character_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.network import Network
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace

from ..scene import Scene, generated_scene, slip
from .tried import refused

BONE = slice(6, 12)
"""The bone whose first axis is lost in half of the frames."""
SECOND = np.array([0.6, 0.0, 0.8])
"""The second axis that the network gives that bone."""
Write = Callable[[str, Mapping[str, FloatArray]], Path]


class LosingNetwork:
    """A network that loses axes: in half of the frames, bone 1 has a short first axis, and bone 2 two parallel axes.

    Everything else is the answer of another network. The frames follow from the state, so any batch gives the same rows.
    What is left of a lost axis has half the length at which an engine keeps it, and points another way: training, which
    divides by it, gives another axis than a coordinate axis.
    """

    def __init__(self, network: Network, contract: Contract) -> None:
        """Find the y_norm that leads to such six numbers under the contract's output mode."""
        character = character_of(contract)
        self.name, self.bound_widths = f"{network.name}, losing axes", network.bound_widths
        self._network, self._channel = network, character.state[ROTATIONS].start
        place, own = character.output[ROTATIONS].range, character.output_statistics
        codec, rest = Rot6d(contract.conventions), np.array([[0.0, KINDA_SMALL_NUMBER / 2.0, 0.0]])
        start = codec.identity(character.bone_count)
        short, parallel = (
            codec.join(rest, np.array([[0.6, 0.0, 0.8]])),
            codec.join(np.eye(1, 3), 2.0 * np.eye(1, 3) + rest),
        )
        wanted = np.concatenate((short, parallel))
        self._place = slice(place.start + 6, place.start + 18)
        self._lost = ((wanted - start[6:18]) / own.std[self._place]).astype(np.float32)

    def run(self, inputs: Any, frame: int) -> FloatArray:
        """The other network's rows, with the lost axes."""
        rows = np.array(self._network.run(inputs, frame))
        loses = np.floor(64.0 * inputs[0][:, self._channel]).astype(np.int64) % 2 == 1
        rows[loses, self._place] = self._lost
        return rows


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A walk on the demo character under residuals, with a network that loses axes: a lost axis of ΔR is a coordinate axis."""
    own = generated_scene("sneak_turn", frames=24)
    contract = own.contract.with_conventions({"output_mode": "residual"})
    return replace(own, name="losing axes", contract=contract, network=LosingNetwork(own.network, contract))


@pytest.fixture(scope="module")
def honest(scene: Scene) -> Trace:
    """The run under the contract."""
    return scene.record()


@pytest.fixture
def write(honest: Trace, tmp_path: Path) -> Write:
    """Write stages as a recording of the run."""

    def written(name: str, stages: Mapping[str, FloatArray]) -> Path:
        path = tmp_path / f"{name}.trace.safetensors"
        write_trace(replace(honest, stages=dict(stages)), path)
        return path

    return written


@pytest.fixture
def bundle(demo_bundle: Path) -> tuple[object, ...]:
    """The demo bundle as the commands take it."""
    companion = demo_bundle / "pretrain_template.json"
    return "--contract", demo_bundle / "norm_template.json", "--companion", companion, "--set", "output_mode=residual"


def lost_frames(stages: Mapping[str, FloatArray]) -> FloatArray:
    """The frames in which the first axis of ΔR is shorter than the engine's threshold."""
    first = stages["y_raw"][:, BONE][:, :3] + np.array([1.0, 0.0, 0.0])
    return np.asarray(np.abs(first).max(axis=1) <= 1e-4)


def six_of(first: FloatArray) -> FloatArray:
    """The six numbers of a rotation with this first axis, and the network's second one made perpendicular to it."""
    second = SECOND - first * (first @ SECOND)
    return np.concatenate((first, second / np.linalg.norm(second)))


@refused(
    "An engine takes a lost axis of ΔR from the previous pose; its own later stages fit that",
    "`explain` names `degenerate_axis = previous_frame_for_delta`, `diff` reports RP801; exit 1",
)
def test_axis_of_the_previous_pose_in_a_turn_is_named(command, scene, honest, write, bundle):
    """The bone flickers by many degrees wherever its output is weak."""
    stages = scene.record({"degenerate_axis": "previous_frame_for_delta"}).stages
    for frame in np.flatnonzero(lost_frames(stages))[1:]:
        axis = stages["y_out"][frame - 1, BONE][:3].astype(np.float64)
        np.testing.assert_allclose(stages["delta6d"][frame, BONE], six_of(axis), atol=1e-6)
    wrong = write("wrong", stages)
    explained = command("explain", wrong, *bundle)
    compared = command("diff", write("right", honest.stages), wrong, *bundle)
    assert explained.status == 1
    assert "With degenerate_axis = previous_frame_for_delta the error of delta6d falls" in " ".join(
        explained.out.split()
    )
    assert (compared.status, "RP801" in compared.out, "Poses agree" in compared.out) == (1, True, False)


def half_a_turn(stages: Mapping[str, FloatArray], _scene: Scene) -> FloatArray:
    """ΔR with the opposite first axis, where it is lost."""
    rows = stages["delta6d"].copy()
    rows[lost_frames(stages), BONE] = six_of(np.array([-1.0, 0.0, 0.0]))
    return rows


@refused(
    "A bone is turned by 180 degrees where its axis is lost, and quaternions were not recorded",
    "RP801 with the degrees; `explain` says DIFFERS; exit 1",
)
@pytest.mark.usefixtures("no_search")
def test_half_a_turn_at_a_lost_axis_does_not_agree(command, scene, honest, write, bundle):
    """A limb that points backwards for a frame passed as 'Poses agree: at most 1.8e+02 deg apart'."""
    right, wrong = dict(honest.stages), slip(scene, dict(honest.stages), "delta6d", half_a_turn)
    del right["quat"], wrong["quat"]
    paths = write("right", right), write("wrong", wrong)
    compared = command("diff", *paths, *bundle)
    explained = command("explain", paths[1], *bundle)
    assert (compared.status, "RP801" in compared.out, "Poses agree" in compared.out) == (1, True, False)
    assert (explained.status, "AGREES" in explained.out) == (1, False)


def at_the_threshold(honest: Trace, first_axis: tuple[float, float, float]) -> dict[str, FloatArray]:
    """y_raw with a first axis of ΔR of length 1e-4, where one engine replaces it and another keeps it, and ΔR with this one."""
    stages = {name: honest.stages[name].copy() for name in ("y_raw", "delta6d")}
    frame = int(np.flatnonzero(lost_frames(stages))[0])
    stages["y_raw"][frame, BONE][:3] = (-1.0, 1e-4, 0.0)
    stages["delta6d"][frame, BONE] = six_of(np.array(first_axis))
    return stages


@refused(
    "A rotation differs where an axis is within rounding of the length at which it is replaced",
    "RP830, the value is missing; `explain` says UNDETERMINED, exit 2",
)
def test_value_whose_tolerance_spans_its_range_is_never_agreed(command, honest, write, bundle):
    """A tolerance of 180 degrees allows every pose: to call that agreement is to have measured nothing."""
    replaced, kept = at_the_threshold(honest, (1.0, 0.0, 0.0)), at_the_threshold(honest, (0.0, 1.0, 0.0))
    paths = write("replaced", replaced), write("kept", kept)
    compared = command("diff", *paths, *bundle)
    explained = command("explain", paths[1], *bundle)
    assert (compared.status, "RP830" in compared.out, "RP801" in compared.out) == (1, True, False)
    assert (explained.status, "UNDETERMINED" in explained.out) == (2, True)
