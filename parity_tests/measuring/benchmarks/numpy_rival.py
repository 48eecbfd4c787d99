"""The free-run loop as one writes it in numpy after reading the engine: one frame, arrays as they come.

A rival for speed and nothing else: it knows only the demo's conventions and guards against nothing.
"""

from collections import deque

import numpy as np

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows


def gram_schmidt(six: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, 6) to two orthonormal axes, each (B, 3)."""
    x, z = six[:, :3], six[:, 3:]
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    z = z - np.sum(x * z, axis=1, keepdims=True) * x
    return x, z / np.linalg.norm(z, axis=1, keepdims=True)


def to_matrix(six: np.ndarray) -> np.ndarray:
    """(B, 6) to (B, 3, 3)."""
    x, z = gram_schmidt(six)
    return np.stack([x, np.cross(z, x), z], axis=2)


def reproject(six: np.ndarray) -> np.ndarray:
    """(B, 6) made orthonormal."""
    return np.concatenate(gram_schmidt(six), axis=1)


class NumpyLoop:
    """A free run of the demo character."""

    def __init__(self, contract: Contract, network: OnnxNetwork, rows: ClipRows) -> None:
        """Take the statistics out of the contract and the first frame out of the clip."""
        self.session, self.names = network._session, network._names
        self.contract, self.rows = contract, rows
        self.x_raw = rows.x_raw[0].copy()
        self.pose = contract.numbers.state["BoneRotations6D"].range
        self.history = deque(
            [self.x_raw[self.pose]] * int(contract.numbers.pose_history_length or 0),
            contract.numbers.pose_history_length,
        )
        self.identity = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        self.frame = 0

    def state(self) -> np.ndarray:
        """The normalised state."""
        contract, value = self.contract, self.x_raw.astype(np.float64)
        yaw, velocity = contract.numbers.state["RootYaw"].range, contract.numbers.state["RootVelocity"].range
        turning = contract.numbers.state["BoneAngularVelocities"].range
        value[yaw] = (value[yaw] + np.pi) % (2 * np.pi) - np.pi
        value[yaw] /= np.pi
        value[velocity] = np.tanh(value[velocity] / np.maximum(np.abs(contract.numbers.rootvel_scales), 1e-3))
        value[turning] = np.tanh(value[turning] / np.maximum(np.abs(contract.numbers.angvel_scales), 1e-3))
        statistics = contract.numbers.state_statistics
        return (value - statistics.mean) / np.maximum(np.abs(statistics.std), 1e-6)

    def squashed(self, value: np.ndarray, auxiliary: object) -> np.ndarray:
        """An auxiliary input's z-score."""
        scale = np.maximum(np.abs(auxiliary.scale), 1e-6)
        statistics = auxiliary.statistics
        return (np.tanh(value / scale) - statistics.mean) / np.maximum(np.abs(statistics.std), 1e-6)

    def step(self) -> np.ndarray:
        """One frame; the published pose (6·B,)."""
        row, contract = self.frame % self.rows.steps, self.contract
        omega = self.x_raw[contract.numbers.state["BoneAngularVelocities"].range].astype(np.float64)
        inputs = [
            self.state(),
            self.rows.cond_raw[row],
            self.rows.contacts[row],
            self.squashed(omega, contract.numbers.angular_velocity),
            self.squashed(np.concatenate(self.history).astype(np.float64), contract.numbers.pose_history),
        ]
        feed = {name: value[None].astype(np.float32) for name, value in zip(self.names, inputs, strict=True)}
        y = self.session.run(None, feed)[0][0].astype(np.float64) * contract.numbers.output_statistics.std
        delta = reproject(y.reshape(-1, 6) + self.identity)
        following = to_matrix(delta) @ to_matrix(self.x_raw[self.pose].reshape(-1, 6).astype(np.float64))
        six = np.concatenate([following[:, :, 0], following[:, :, 2]], axis=1)
        published = reproject(six).ravel().astype(np.float32)
        self.x_raw = self.x_raw.copy()
        self.x_raw[self.pose] = published
        self.history.append(published)
        self.frame += 1
        return published
