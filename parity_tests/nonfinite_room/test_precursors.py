"""The precursors of a failure, and how early they appear."""

import numpy as np
import pytest

from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.network import CallableNetwork, ReplayNetwork
from rigpact.reports.nonfinite.investigation import investigate

from ..every_case import every_case
from ..runtime_room import tiny_character as tiny

GAIN = 1.03
"""A root position that is so many times as far each frame: finite for thousands of frames, then not."""


def _slow(folder):
    """The network gives the position as it is (its statistics are 0 and 1), and StdY multiplies the first number."""
    bundle, clip = tiny.bundle(output={"RootPosition": 3, "BoneRotations6D": 18}), tiny.clip_document()
    bundle["MuX"][:3], bundle["StdX"][:3] = [0.0] * 3, [1.0] * 3
    bundle["MuY"][:3], bundle["StdY"][:3] = [0.0] * 3, [GAIN, 1.0, 1.0]
    clip["Frames"][0]["RootPosition"] = [0.5] * 3
    network = CallableNetwork(lambda *given: np.hstack([given[0][:, :3], np.zeros((len(given[0]), 18), np.float32)]))
    return RunSetup(tiny.contract(folder, bundle), network, tiny.clip(folder, clip))


# 0.5 · GAIN^n overflows float32 at n = ln(2^128 / 0.5) / ln(GAIN); each frame's rounding moves it by less than a frame
FRAMES = int(np.ceil(129 * np.log(2) / np.log(GAIN))) + 5


def test_a_slow_divergence_is_announced_thousands_of_frames_ahead(tmp_path):
    """Lead time is what makes it possible to catch it; stopping the clock before the overflow must not make it a pass."""
    found = investigate(_slow(tmp_path), FRAMES, guard_frames=0)
    assert found.origin is not None
    assert FRAMES - 8 <= found.origin.frame < FRAMES
    assert found.precursor is not None
    assert found.precursor.channel == 0
    assert found.origin.frame - found.precursor.frame > 1000
    kinds = {entry.kind for entry in found.precursors}
    assert {"envelope", "clamp"} <= kinds
    found = investigate(_slow(tmp_path), FRAMES // 2, guard_frames=0)
    assert (found.verdict, found.exit_code, found.origin) == ("diverging", 1, None)


def test_a_column_near_zero_is_announced_before_it_is_zero(tmp_path):
    """The engine replaces an axis below 1e-4; a decade before that is time to look. A sound run announces nothing of it."""
    contract = tiny.contract(tmp_path, tiny.bundle(MuY=[0.0] * 18, StdY=[0.5] * 18))
    outputs = np.zeros((6, 18), np.float32)
    outputs[3, 6:12] = (-2.0 + 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0)  # the second bone's first axis becomes (5e-4, 0, 0)
    found = investigate(RunSetup(contract, ReplayNetwork(outputs), tiny.clip(tmp_path)), 6, guard_frames=0)
    near = next(entry for entry in found.precursors if entry.kind == "degenerate")
    assert (found.verdict, near.frame, near.channel) == ("finite", 3, 6)
    assert near.size == pytest.approx(5e-4, rel=1e-3)
    first, second = (
        np.random.default_rng(5).normal(0, size, shape) for size, shape in ((0.1, (105, 16)), (0.1, (16, 18)))
    )
    layers = CallableNetwork(lambda *given: np.tanh(np.concatenate(given, axis=1) @ first) @ second)
    found = investigate(RunSetup(tiny.contract(tmp_path), layers, tiny.clip(tmp_path)), 40, guard_frames=0)
    assert found.verdict == "finite"
    assert "degenerate" not in {entry.kind for entry in found.precursors}


@every_case(("size", "verdict"), [(0.0, "finite"), (3.0, "undetermined")])
def test_recorded_answers_say_nothing_once_the_inputs_are_others(tmp_path, size, verdict):
    """A recording answers the same whatever comes in: "FINITE", with a state 156,000 deviations off in its first frame."""
    contract, clip = tiny.contract(tmp_path), tiny.clip(tmp_path)
    found = investigate(RunSetup(contract, ReplayNetwork(_answers(size)), clip), 6, guard_frames=0)
    assert (found.verdict, found.exit_code) == (verdict, {"finite": 0, "undetermined": 2}[verdict])
    assert ("the recorded answers are those to other inputs" in " ".join(found.notes)) == (verdict == "undetermined")
    model = CallableNetwork(lambda *_inputs: _answers(size)[:1], "a constant")
    assert investigate(RunSetup(contract, model, clip), 6, guard_frames=0).verdict == "finite"


def _answers(size):
    """Turns of one axis, the same in each frame."""
    rows = np.zeros((6, 18), np.float32)
    rows[:, 1] = size
    return rows
