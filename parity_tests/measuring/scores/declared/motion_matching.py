"""Learned Motion Matching, frame by frame in float32: step the state, decode the pose, move the root.

Written from the description of the published runtime. It imports nothing of rigpact. `mistakes` names what this side does wrong,
as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate, matrix_to_quaternion, w_last, w_last_taken_first

FEATURES, LATENT, BONES = 27, 32, 22
Wrong = Callable[[str], "str | None"]
_STEPS = {"left_out": 1.0, "squared": (1 / 60) ** 2, "half_of_it": 0.5 / 60, "divided_by": 60.0}


def run(
    stepper: Callable[[Array], Array],
    decompressor: Callable[[Array], Array],
    start: Array,
    frames: int,
    mistakes: Mapping[str, str],
    maths: Maths = AS_WRITTEN,
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
        state = _advance(network_input, rate, "next_state", wrong, maths).astype(F)
        out = decompressor(state[None])[0].astype(F)
        velocity, turn = out[330:333], out[333:336]
        moved = _rotate(rotation, velocity, "root_velocity", wrong, maths)
        turned = _rotate(rotation, turn, "root_turn", wrong, maths)
        position = _advance(position, moved, "root_position", wrong, maths).astype(F)
        rotation = _turn(rotation, turned, wrong, maths).astype(F)
        published = {
            "stepper_out": rate, "decompressed": out,
            "features": state[:FEATURES], "latent": state[FEATURES:], "positions": out[:66],
            "rotations": _decode(maths.real(out[66:198]).reshape(BONES, 6), wrong).reshape(-1),
            "root_velocity": moved, "root_turn": turned,
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


def _step(stage: str, wrong: Wrong) -> float:
    return _STEPS.get(wrong(f"{stage}.step") or "", 1.0 / 60.0)


def _rotate(q: Array, v: Array, stage: str, wrong: Wrong, maths: Maths) -> Array:
    q = w_last_taken_first(q) if wrong(f"{stage}.quaternion_order") else q
    direction = wrong(f"{stage}.direction")
    if direction == "none":
        return v
    return maths.rotate(conjugate(q) if direction == "inverse" else q, v)


def _advance(state: Array, rate: Array, stage: str, wrong: Wrong, maths: Maths) -> Array:
    reading, step = wrong(f"{stage}.rate_means"), maths.real(_step(stage, wrong))
    if reading == "absolute":
        return rate.copy()
    if reading == "delta":
        return maths.real(state) + maths.real(rate)
    if reading == "negated":
        step = -step
    return state.copy() if reading == "skipped" else maths.total((state, 1.0), (step, rate))


def _turn(q: Array, omega: Array, wrong: Wrong, maths: Maths) -> Array:
    if wrong("root_rotation.quaternion_order") == "xyzw":  # this side keeps w last while it multiplies
        q = w_last_taken_first(q)
    angle = {"full": 1.0, "quarter": 0.25, "negated": -0.5}.get(wrong("root_rotation.angle") or "", 0.5)
    half = maths.real(omega) * maths.real(_step("root_rotation", wrong)) * maths.real(angle)
    size = np.sqrt(np.sum(half * half))
    if size < 1e-8:
        small = np.concatenate([[maths.real(1.0)], half])
        exp = small / np.sqrt(np.sum(small * small))
    else:
        exp = np.concatenate([[np.cos(size)], np.sin(size) / size * half])
    return maths.product(q, exp) if wrong("root_rotation.side") == "right" else maths.product(exp, q)


def _contacts(logits: Array, wrong: Wrong) -> Array:
    limit = {"zero": 0.0, "squared": 0.25, "root": 0.5**0.5}.get(wrong("contacts.limit") or "", 0.5)
    side = wrong("contacts.side")
    if side == "not_applied":
        return logits.copy()
    return ((logits < limit) if side == "below" else (logits > limit)).astype(F)


def _unit(v: Array) -> Array:
    return v / (np.sqrt(np.sum(v * v)) + v.dtype.type(1e-8))


def _decode(six: Array, wrong: Wrong) -> Array:
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
        quaternion = matrix_to_quaternion(matrix)
        quaternions.append(w_last(quaternion) if wrong("rotations.writes") == "xyzw" else quaternion)
    return np.array(quaternions, F)
