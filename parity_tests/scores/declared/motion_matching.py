"""Learned Motion Matching, frame by frame in float32: step the state, decode the pose, move the root.

Written from the description of the published runtime. It imports nothing of rigpact. `mistakes` names what this side does wrong,
as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

F = np.float32
Array = np.ndarray
FEATURES, LATENT, BONES = 27, 32, 22
DT = F(1.0 / 60.0)
_STEPS = {"one": 1.0, "twice": (1 / 60) ** 2, "half": 0.5 / 60, "inverse": 60.0}


def run(
    stepper: Callable[[Array], Array],
    decompressor: Callable[[Array], Array],
    start: Array,
    frames: int,
    mistakes: Mapping[str, str],
) -> dict[str, Array]:
    """Run free from a state (59,) and a tilted root; the recording holds state, pose and root."""
    wrong = mistakes.get
    state, position, rotation = start.astype(F), np.zeros(3, F), np.array([0.8, 0.36, -0.48, 0.0], F)
    handed = state.copy()
    rows: dict[str, list[Array]] = {}
    for _ in range(frames):
        given = handed
        network_input = np.concatenate([given[FEATURES:], given[:FEATURES]]) if wrong("state.order") else given
        rate = stepper(network_input[None])[0].astype(F)
        state = _advance(network_input, rate, _step(wrong("next_state.step")), wrong("next_state.rate_means"))
        out = decompressor(state[None])[0].astype(F)
        velocity, turn = out[330:333], out[333:336]
        moved = _rotate(rotation, velocity, wrong("root_velocity.direction"), wrong("root_velocity.quaternion_order"))
        turned = _rotate(rotation, turn, wrong("root_turn.direction"), wrong("root_turn.quaternion_order"))
        position = _advance(position, moved, _step(wrong("root_position.step")), wrong("root_position.rate_means"))
        rotation = _turn(rotation, turned, wrong)
        published = {
            "stepper_out": rate, "decompressed": out,
            "features": state[:FEATURES], "latent": state[FEATURES:], "positions": out[:66],
            "rotations": _decode(out[66:198].reshape(BONES, 6), wrong).reshape(-1), "root_velocity": moved, "root_turn": turned,
            "root_position": position, "root_rotation": rotation, "contacts": _contacts(out[336:338], wrong),
        }  # fmt: skip
        for name, value in published.items():
            rows.setdefault(name, []).append(value.astype(F))
        handed = state.copy()
        if wrong("last_features.carried"):
            handed[:FEATURES] = rate[:FEATURES]
        if wrong("last_latent.carried"):
            handed[FEATURES:] = rate[FEATURES:]
    return {name: np.stack(values) for name, values in rows.items()}


def _step(reading: str | None) -> F:
    return F(_STEPS.get(reading or "", DT))


def _advance(state: Array, rate: Array, step: F, reading: str | None) -> Array:
    if reading == "absolute":
        return rate.copy()
    if reading == "delta":
        return state + rate
    if reading == "negated":
        return state - step * rate
    return state.copy() if reading == "skipped" else state + step * rate


def _rotate(q: Array, v: Array, direction: str | None, order: str | None) -> Array:
    w, x, y, z = q if order != "xyzw" else (q[3], q[0], q[1], q[2])
    if direction == "none":
        return v.copy()
    u = np.array([x, y, z], F) * (F(-1.0) if direction == "inverse" else F(1.0))
    t = F(2.0) * np.cross(u, v)
    return (v + w * t + np.cross(u, t)).astype(F)


def _multiply(a: Array, b: Array) -> Array:
    w1, x1, y1, z1 = a
    w2, x2, y2, z2 = b
    return np.array([
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2, w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2, w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
    ], F)  # fmt: skip


def _turn(q: Array, omega: Array, wrong: Callable[[str], str | None]) -> Array:
    if wrong("root_rotation.quaternion_order") == "xyzw":  # this side keeps w last while it multiplies
        q = q[[3, 0, 1, 2]]
    angle = {"full": 1.0, "quarter": 0.25, "negated": -0.5}.get(wrong("root_rotation.angle") or "", 0.5)
    half = omega * _step(wrong("root_rotation.step")) * F(angle)
    size = F(np.sqrt(np.sum(half * half)))
    if size < 1e-8:
        small = np.concatenate([[F(1.0)], half]).astype(F)
        exp = small / F(np.sqrt(np.sum(small * small)))
    else:
        exp = np.concatenate([[np.cos(size)], np.sin(size) / size * half]).astype(F)
    return _multiply(q, exp) if wrong("root_rotation.side") == "right" else _multiply(exp, q)


def _contacts(logits: Array, wrong: Callable[[str], str | None]) -> Array:
    limit = {"zero": 0.0, "squared": 0.25, "root": 0.5**0.5}.get(wrong("contacts.limit") or "", 0.5)
    side = wrong("contacts.side")
    if side == "not_applied":
        return logits.copy()
    return ((logits < limit) if side == "below" else (logits > limit)).astype(F)


def _unit(v: Array) -> Array:
    return v / (F(np.sqrt(np.sum(v * v))) + F(1e-8))


def _decode(six: Array, wrong: Callable[[str], str | None]) -> Array:
    """(22, 6) to (22, 4) w, x, y, z."""
    reading = wrong("rotations.reads") or "interleaved_first_kept"
    quaternions = []
    for numbers in six:
        pair = (numbers[0::2], numbers[1::2]) if reading.startswith("interleaved") else (numbers[:3], numbers[3:])
        first, second = pair[::-1] if reading == "columns_exchanged" else pair
        third = _unit(np.cross(first, second))
        middle = _unit(np.cross(third, first))
        matrix = np.stack([first if reading.endswith("first_kept") else _unit(first), middle, third], axis=1)
        if (reading == "rows") != (wrong("rotations.sense") == "transposed"):
            matrix = matrix.T
        quaternion = _matrix_to_wxyz(matrix)
        quaternions.append(quaternion[[1, 2, 3, 0]] if wrong("rotations.writes") == "xyzw" else quaternion)
    return np.array(quaternions, F)


def _matrix_to_wxyz(m: Array) -> Array:
    """By the signs of the diagonal, then made a unit."""
    if m[2, 2] < 0:
        if m[0, 0] > m[1, 1]:
            q = (m[2, 1] - m[1, 2], 1 + m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0])
        else:
            q = (m[0, 2] - m[2, 0], m[1, 0] + m[0, 1], 1 - m[0, 0] + m[1, 1] - m[2, 2], m[2, 1] + m[1, 2])
    elif m[0, 0] < -m[1, 1]:
        q = (m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], 1 - m[0, 0] - m[1, 1] + m[2, 2])
    else:
        q = (1 + m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    value = np.array(q, F)
    return value / (F(np.sqrt(np.sum(value * value))) + F(1e-8))
