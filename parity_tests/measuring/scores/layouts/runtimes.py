"""Drawn runtimes of a policy: they record sensors and the network's input, and know how they made it. Plain numpy, float32.

Nothing here is shared with the inference. To draw another kind of term: a branch in `_term`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
_KINDS = ("gyro", "velocity", "gravity", "command", "q", "dq", "last_action", "height", "phase")
_SCALES = (1.0, 1.0, 1.0, 0.05, 0.1, 0.2, 0.25, 0.5, 2.0, 1.5)


@dataclass(frozen=True, eq=False)
class Term:
    """A term as the runtime makes it: clip((source[channels] - subtract) · scale). source None: nothing recorded holds it."""

    kind: str
    source: str | None
    channels: tuple[int, ...]
    scale: tuple[float, ...]
    subtract: tuple[float, ...]
    order: str = ""


@dataclass(frozen=True, eq=False)
class Runtime:
    """What was drawn, and the recording. resets: rows at which the history began anew."""

    terms: tuple[Term, ...]
    length: int
    layout: str | None
    order: str | None
    start: str | None
    columns: Mapping[str, Rows]
    resets: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())


def _smooth(rng: np.random.Generator, count: int, width: int, size: float) -> Rows:
    """Sums of sines with random phases, and a little noise."""
    time = np.arange(count)[:, None, None]
    rate, phase = rng.uniform(0.02, 0.4, (1, width, 4)), rng.uniform(0, 6.3, (1, width, 4))
    waves = np.sin(time * rate + phase).sum(axis=2) * size / 2
    return np.asarray(waves + rng.normal(0, 0.02 * size, (count, width)), np.float32)


def _quaternions(rng: np.random.Generator, count: int) -> Rows:
    angle, axis = _smooth(rng, count, 1, 0.5), _smooth(rng, count, 3, 1.0).astype(np.float64)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    return np.hstack([np.cos(angle / 2), np.sin(angle / 2) * axis]).astype(np.float32)


def _gravity(wxyz: Rows) -> Rows:
    """The third row of the body's matrix, turned round: what a level IMU calls 0 0 -1."""
    w, x, y, z = wxyz.T
    return np.stack([-2 * (x * z - w * y), -2 * (y * z + w * x), -(1 - 2 * (x * x + y * y))], axis=1).astype(np.float32)


def _command(rng: np.random.Generator, count: int) -> Rows:
    if rng.random() < 0.5:
        return _smooth(rng, count, 3, 0.8)
    held = np.repeat(rng.uniform(-1, 1, (count, 3)), rng.integers(8, 25), axis=0)[:count]
    return held.astype(np.float32)


def draw(seed: int) -> Runtime:
    """A runtime and a recording of it."""
    rng = np.random.default_rng(seed)
    joints, count = int(rng.integers(4, 30)), int(rng.integers(60, 260))
    wxyz = _quaternions(rng, count)
    quaternion_order = str(rng.choice(["wxyz", "xyzw"]))
    recorded = {
        "gyro": _smooth(rng, count, 3, 1.0), "velocity": _smooth(rng, count, 3, 0.7), "command": _command(rng, count),
        "quat": wxyz if quaternion_order == "wxyz" else np.roll(wxyz, -1, axis=1),
        "q": _smooth(rng, count, joints, 0.5), "dq": _smooth(rng, count, joints, 3.0), "height": _smooth(rng, count, 1, 0.3),
    }  # fmt: skip
    for joint in np.flatnonzero(rng.random(joints) < (0.05 if rng.random() < 0.3 else 0.0)):
        recorded["q"][:, joint], recorded["dq"][:, joint] = rng.uniform(-1, 1), 0.0
    if rng.random() < 0.1:
        recorded["command"][:] = 0.0
    kinds = [str(each) for each in rng.permutation(_KINDS)[: int(rng.integers(4, len(_KINDS) + 1))]]
    permutation = rng.permutation(joints) if rng.random() < 0.6 else np.arange(joints)
    if rng.random() < 0.2:
        permutation = permutation[: max(3, joints // 2)]
    terms = tuple(_term(kind, rng, permutation, joints, quaternion_order) for kind in kinds)
    length = int(rng.choice([1, 2, 3, 4, 5, 6, 10]))
    layout, order, start = (
        str(rng.choice(pair))
        for pair in (
            ("term_major", "frame_major"),
            ("oldest_first", "newest_first"),
            ("first", "zeros"),
        )
    )
    resets = (0,) if rng.random() < 0.7 else (0, int(rng.integers(20, count - 20)))
    skipped = 0 if rng.random() < 0.8 else int(rng.integers(length + 1, 20))
    obs, action = _run(rng, terms, recorded, wxyz, (length, layout, order, start), resets, len(permutation))
    columns = {**recorded, "action": action, "obs": obs} | (
        _beside(rng, action, recorded) if rng.random() < 0.4 else {}
    )
    if rng.random() < 0.2:
        columns = {name: np.round(rows, 6).astype(np.float32) for name, rows in columns.items()}  # as %f prints them
    names = [str(name) for name in rng.permutation(list(columns))]
    columns = {name: columns[name][skipped:] for name in names}
    kept = tuple(row - skipped for row in resets if row >= skipped)
    one = length == 1
    return Runtime(
        terms,
        length,
        None if one else layout,
        None if one else order,
        start if kept and not one else None,
        columns,
        kept,
    )


def _beside(rng: np.random.Generator, action: Rows, recorded: Mapping[str, Rows]) -> dict[str, Rows]:
    """Columns that a log holds too: targets, targets of motors, the gyro in degrees, joints of the next frame, a constant."""
    target = np.asarray(
        action * np.float32(0.25) + np.asarray(rng.normal(size=action.shape[1]), np.float32), np.float32
    )
    return {
        "target": target, "motor_q": target[:, rng.permutation(target.shape[1])],
        "gyro_deg": (recorded["gyro"] * np.float32(57.29578)).astype(np.float32),
        "q_next": np.vstack([recorded["q"][1:], recorded["q"][-1:]]), "kp": np.full((len(action), 4), 40.0, np.float32),
    }  # fmt: skip


def _term(
    kind: str, rng: np.random.Generator, permutation: NDArray[np.int64], joints: int, quaternion_order: str
) -> Term:
    scale = float(rng.choice(_SCALES))
    if kind in ("q", "dq", "last_action"):
        channels = tuple(range(len(permutation))) if kind == "last_action" else tuple(int(each) for each in permutation)
        pose = np.where(rng.random(joints) < 0.4, 0.0, np.round(rng.uniform(-1, 1, joints), int(rng.integers(1, 4))))
        off = tuple(float(pose[each]) for each in channels) if kind == "q" else (0.0,) * len(channels)
        source = "action" if kind == "last_action" else kind
        return Term(kind, source, channels, (scale,) * len(channels), off)
    width = {"height": 1, "phase": 2}.get(kind, 3)
    scales = tuple(float(each) for each in rng.choice(_SCALES, width)) if kind == "command" else (scale,) * width
    from_where: dict[str, str | None] = {"phase": None, "gravity": "quat"}
    return Term(
        kind,
        from_where.get(kind, kind),
        tuple(range(width)),
        scales,
        (0.0,) * width,
        quaternion_order if kind == "gravity" else "",
    )


def _run(
    rng: np.random.Generator,
    terms: tuple[Term, ...],
    recorded: Mapping[str, Rows],
    wxyz: Rows,
    how: tuple[int, str, str, str],
    resets: tuple[int, ...],
    answers: int,
) -> tuple[Rows, Rows]:
    """The loop, frame by frame: terms, history, an answer."""
    length, layout, order, start = how
    count, gravity = len(wxyz), _gravity(wxyz)
    matrix, last = None, np.zeros(answers, np.float32)
    past: list[list[Rows]] = []
    seen, answered = [], []
    for row in range(count):
        if row in resets:
            past, last = [], np.zeros(answers, np.float32)
        now = []
        for term in terms:
            if term.kind == "phase":
                angle = 2 * np.pi * (row % 37) / 37
                values = np.array([np.sin(angle), np.cos(angle)], np.float32)
            else:
                whole = (
                    gravity[row]
                    if term.kind == "gravity"
                    else last
                    if term.kind == "last_action"
                    else recorded[term.kind][row]
                )
                values = whole[list(term.channels)]
            off, scale = np.array(term.subtract, np.float32), np.array(term.scale, np.float32)
            now.append((values - off) * scale)
        if not past:
            past = [now if start == "first" else [np.zeros_like(each) for each in now] for _ in range(length)]
        past = [*past[1:], now]
        frames = past if order == "oldest_first" else past[::-1]
        if layout == "frame_major":
            obs = np.concatenate([each for frame in frames for each in frame])
        else:
            obs = np.concatenate([frame[place] for place in range(len(terms)) for frame in frames])
        if matrix is None:
            matrix = rng.normal(0, 1 / np.sqrt(len(obs)), (len(obs), answers)).astype(np.float32)
        last = np.tanh(obs @ matrix + rng.normal(0, 0.1, answers)).astype(np.float32)
        seen.append(obs)
        answered.append(last)
    return np.array(seen), np.array(answered)
