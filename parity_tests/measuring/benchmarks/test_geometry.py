"""Decoding, composing and encoding rotations beside roma, on one thread."""

import time
from typing import Any

import numpy as np
import pytest
import torch

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations.rot6d import Rot6d

from .performance_table import in_turns, told

roma = pytest.importorskip("roma")
BONES, FRAMES = 46, 20_000
WIDTH = 6 * BONES
CODEC = Rot6d(find_system("enemy_animation").conventions())


def with_roma(delta: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """ΔR · R_prev; the columns of roma's frames are X, Z, X × Z, which a product from the left does not see."""
    turn, before = (
        roma.special_gramschmidt(torch.from_numpy(flat).reshape(-1, BONES, 2, 3).transpose(-1, -2))
        for flat in (delta, previous)
    )
    turn = turn[..., [0, 2, 1]]
    turn[..., 1] *= -1.0  # Y = Z × X
    return (turn @ before)[..., :2].transpose(-1, -2).reshape(len(delta), WIDTH).numpy()


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_composing_a_long_clip(benchmark: Any, dtype: type[np.floating]) -> None:
    """46 bones x 20 000 frames on one thread; a sweep spends its time here once the network is fast."""
    torch.set_num_threads(1)
    delta, previous = np.random.default_rng(3).normal(size=(2, FRAMES, WIDTH)).astype(dtype)
    room = np.ones((FRAMES, WIDTH), dtype)
    bound = 1e-3 if dtype is np.float32 else 1e-9  # parallel axes magnify a rounding
    ours = CODEC.compose(delta[:50], previous[:50], room[:50])
    np.testing.assert_allclose(with_roma(delta[:50], previous[:50]), ours, rtol=0, atol=bound)
    actions = {"ours": lambda: CODEC.compose(delta, previous, room), "roma": lambda: with_roma(delta, previous)}
    costs = benchmark.pedantic(in_turns, (actions, 5, time.thread_time), rounds=1)
    told("One step of the runtime", f"rotations beside roma, native, {np.dtype(dtype).name}", costs, 0.25, "ms")
