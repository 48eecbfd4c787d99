"""One public thread as a case, and what the engines of the cases share. Nothing here imports rigpact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Rows = Mapping[str, Array]
FRAMES = 24
POLICY = ("left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle")
MOTORS = ("left_hip", "left_knee", "left_ankle", "right_hip", "right_knee", "right_ankle")
NAMES = f"[names]\npolicy = {list(POLICY)}\nmotors = {list(MOTORS)}\n"
"""A robot of six joints: the network's order is breadth first, the motors' order is leg by leg."""


@dataclass(frozen=True)
class Thread:
    """A thread: where it stands, what went wrong, the contract, an engine with or without the mistake, and the knob.

    contract: the declaration below its head. engine: (random numbers, whether it makes the mistake) -> what it records.
    unnamed: why no knob is named, where none is.
    """

    where: str
    wrong: str
    named: Mapping[str, str]
    contract: str
    engine: Callable[[np.random.Generator, bool], Rows]
    unnamed: str = ""


def declared(thread: Thread) -> str:
    """The text of the thread's contract file."""
    head = 'format = "rigpact-contract"\nversion = 1\nname = "thread"\nfps = 50\n'
    return head + thread.contract


def drawn(random: np.random.Generator, width: int, size: float = 1.0) -> Array:
    """Random rows as a recording stores them."""
    return np.asarray(size * random.normal(size=(FRAMES, width)), np.float32)


def quaternions(random: np.random.Generator, order: str = "wxyz") -> Array:
    """Random rotations, stored in the order of components that is asked for."""
    q = random.normal(size=(FRAMES, 4))
    q = np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True), np.float32)
    return q if order == "wxyz" else q[:, [1, 2, 3, 0]]


def matrices(q: Array) -> Array:
    """Quaternions w, x, y, z as matrices, (N, 3, 3), written out component by component."""
    w, x, y, z = np.asarray(q, np.float64).T
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    ).transpose(2, 0, 1)


def turned(matrix: Array, v: Array) -> Array:
    """Each row's vector by its matrix."""
    rows = np.broadcast_to(np.asarray(v, np.float64), (len(matrix), 3))
    return np.array([one @ row for one, row in zip(matrix, rows, strict=True)])


def back(matrix: Array) -> Array:
    """The inverse rotations."""
    return matrix.transpose(0, 2, 1)


def places(have: tuple[str, ...], want: tuple[str, ...]) -> list[int]:
    """Where each wanted name stands."""
    return [have.index(name) for name in want]


def recorded(**rows: Array) -> Rows:
    """The recording, in float32."""
    return {name: np.asarray(values, np.float32) for name, values in rows.items()}
