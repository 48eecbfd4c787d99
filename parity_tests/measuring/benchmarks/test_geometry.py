"""Decoding, composing and encoding rotations: beside roma, beside scipy, and beside copying the same bytes."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations.rot6d import Rot6d

from .performance_table import add_row

enemy_conventions = find_system("enemy_animation").conventions

roma = pytest.importorskip("roma")
pytestmark = pytest.mark.nightly
SECTION = "One step of the runtime"
BONES, FRAMES = 46, 20_000
WIDTH = 6 * BONES
CODEC = Rot6d(enemy_conventions())
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])


def as_matrices(flat: torch.Tensor) -> torch.Tensor:
    """(..., 6·B) to (..., B, 3, 3) with roma: X and Z stand first and second, so the frame is (X, Z, X × Z)."""
    return roma.special_gramschmidt(flat.reshape(-1, BONES, 2, 3).transpose(-1, -2))


def with_roma(delta: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """ΔR · R_prev; the columns of roma's frames are permuted, which a product from the left does not see."""
    order = [0, 2, 1]
    turn = as_matrices(torch.from_numpy(delta))[..., order]
    turn[..., 1] *= -1.0  # Y = Z × X
    product = turn @ as_matrices(torch.from_numpy(previous))
    return product[..., :2].transpose(-1, -2).reshape(len(delta), WIDTH).numpy()


def with_scipy(delta: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """ΔR · R_prev through `Rotation`, which decodes matrices but no six numbers."""
    turn, before = (Rotation.from_matrix(gram_schmidt(flat)) for flat in (delta, previous))
    matrix = (turn * before).as_matrix()
    return np.concatenate((matrix[:, :, 0], matrix[:, :, 2]), axis=1).reshape(len(delta), WIDTH)


def gram_schmidt(flat: np.ndarray) -> np.ndarray:
    """(T, 6·B) to (T·B, 3, 3)."""
    six = flat.reshape(-1, 6)
    x = six[:, :3] / np.linalg.norm(six[:, :3], axis=1, keepdims=True)
    z = six[:, 3:] - np.sum(x * six[:, 3:], axis=1, keepdims=True) * x
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return np.stack((x, np.cross(z, x), z), axis=-1)


def in_turns(actions: dict[str, Callable[[slice], Any]], rounds: int = 5) -> dict[str, list[float]]:
    """Processor seconds a clip of every action, in turns; all of it runs on the calling thread. scipy gets a tenth."""
    costs: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds):
        for name in list(actions) if number % 2 else list(actions)[::-1]:
            frames = FRAMES // 10 if name == "scipy" else FRAMES
            before = time.thread_time()
            actions[name](slice(0, frames))
            costs[name].append((time.thread_time() - before) * FRAMES / frames)
    return costs


def told(costs: dict[str, list[float]], rival: str, what: str, target: float) -> float:
    """Write down, and return, how many times faster than the rival we are."""
    ratio = statistics.median(b / a for a, b in zip(costs["ours"], costs[rival], strict=True))
    mine, theirs = (statistics.median(costs[name]) * 1e3 for name in ("ours", rival))
    add_row(
        what,
        section=SECTION,
        ours=f"{mine:.1f} ms",
        rival=f"{rival}: {theirs:.1f} ms",
        ratio=ratio,
        target=f"≥ {target:g}, theirs by ours",
        met=ratio >= target,
    )
    return ratio


@DTYPES
def test_composing_a_long_clip(benchmark: Any, dtype: type[np.floating]) -> None:
    """46 bones x 20 000 frames on one thread; a sweep spends its time here once the network is fast."""
    torch.set_num_threads(1)
    rng, name = np.random.default_rng(3), f"native, {np.dtype(dtype).name}"
    delta, previous = rng.normal(size=(2, FRAMES, WIDTH)).astype(dtype)
    room = np.ones((3, FRAMES, WIDTH), dtype)  # touched, so that neither copying nor composing pays for new pages

    def copy(piece: slice) -> None:
        """As many bytes as composing reads and writes: two arrays in, one out, is one and a half copies."""
        room[0, piece] = delta[piece]
        half = slice(piece.start, (piece.start + piece.stop) // 2)
        room[1, half] = previous[half]

    actions: dict[str, Callable[[slice], Any]] = {
        "ours": lambda piece: CODEC.compose(delta[piece], previous[piece], room[2, piece]),
        "roma": lambda piece: with_roma(delta[piece], previous[piece]),
        "scipy": lambda piece: with_scipy(delta[piece], previous[piece]),
        "copying": copy,
    }
    first = slice(0, 50)
    bound = 1e-3 if dtype is np.float32 else 1e-9  # parallel axes magnify a rounding
    for rival in ("roma", "scipy"):
        np.testing.assert_allclose(actions[rival](first), actions["ours"](first), rtol=0, atol=bound)
    costs = in_turns(actions)
    told(costs, "roma", f"rotations beside roma, {name}", 4.0)
    told(costs, "scipy", f"rotations beside scipy Rotation, {name}", 50.0)
    told(costs, "copying", f"rotations beside copying their bytes, {name}", 0.4)
    benchmark(actions["ours"], slice(0, 500))
