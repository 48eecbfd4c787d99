"""The contracts that ship, each with its independent runtime, drawn networks and drawn inputs; and the recordings beside them.

`python -m parity_tests.measuring.scores.declared.subjects fixtures/contracts/recordings` writes the recordings anew.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, bound_part
from rigpact.reference_runtime.graph.replayed import Evidence

from . import gated_controller, inertial_input, motion_features, motion_matching, robot_policy
from .plain import AS_WRITTEN, Array, DrawnNetwork, Maths

CONTRACTS = Path(__file__).resolve().parents[4] / "fixtures" / "contracts"
FRAMES, SEED = 24, 11
Rows = Mapping[str, Array]
Record = Callable[[int, Maths], Rows]
"""A seed and how the engine computes -> what it records."""
MATHS = {
    "float32": Maths(), "float64": Maths(np.float64), "fused multiply-add": Maths(is_fused=True),
    "sums from the other end": Maths(is_reversed=True),
    "float64, sums from the other end": Maths(np.float64, is_reversed=True),
    "fused, sums from the other end": Maths(is_fused=True, is_reversed=True),
}  # fmt: skip
_PRINTED = {"as they are": None, "printed with 9 digits": 9, "printed with 12 digits": 12}


@dataclass(frozen=True, eq=False)
class Subject:
    """A declared contract, its independent runtime, and the network that both run. recorded: the sparse recording."""

    contract: Any
    record: Record
    network: Any
    recorded: tuple[str, ...]

    def evidence(self, rows: Rows) -> Evidence:
        """The sparse recording as a diagnosis takes it."""
        graph = self.contract.system.graph
        recorded = {name: np.asarray(rows[name], np.float32) for name in graph.names if name in self.recorded}
        count, mode = len(next(iter(recorded.values()))), "free" if graph.feeds_itself else "teacher"
        return Evidence(np.arange(count), self.contract.fps or 1.0, mode, recorded, network=self.network)  # type: ignore[arg-type]

    def honest_variants(self) -> Iterator[tuple[str, Rows]]:
        """Recordings that differ as two correct runtimes and recorders do: nine digits bring every float32 back."""
        for (name, maths), (words, digits) in product(MATHS.items(), _PRINTED.items()):
            rows = self.record(0, maths)
            yield f"{name}, {words}", {stage: _printed(each, digits) for stage, each in rows.items()}


def _printed(rows: Array, digits: int | None) -> Array:
    if digits is None:
        return rows
    words = np.array([f"{value:.{digits}g}" for value in rows.astype(np.float64).reshape(-1)])
    return words.astype(np.float64).reshape(rows.shape).astype(np.float32)


def _subject(name: str, folder: Path, record: Record, recorded: str, **drawn: DrawnNetwork) -> Subject:
    """A subject with its drawn networks as models, bound as the contract declares it."""
    contract: Any = open_contract(CONTRACTS / f"{name}.toml")
    parts = {each: bound_part(contract.system, contract.system.networks[each]) for each in drawn}
    files = {each: network.write_onnx(folder / f"{name}.{each}.onnx") for each, network in drawn.items()}
    opened = {each: OnnxSystemNetwork(file, parts[each]) for each, file in files.items()}
    network = next(iter(opened.values())) if len(opened) == 1 else opened or None
    return Subject(contract, record, network, tuple(recorded.split()))


def _robot(name: str, factors: tuple[float, float], width: int, folder: Path) -> Subject:
    robot, network = (
        robot_policy.Robot.of(CONTRACTS / f"{name}.toml", *factors),
        DrawnNetwork((width,), 29, 3, gain=1.5),
    )

    def record(seed: int, maths: Maths) -> Rows:
        return robot_policy.run(
            robot, robot_policy.drawn_sensors(29, FRAMES, seed), partial(network, maths=maths), maths
        )

    return _subject(name, folder, record, "gyro imu_quat q dq sticks obs action motor_q", policy=network)


def _motion_matching(folder: Path) -> Subject:
    stepper, decompressor = DrawnNetwork((59,), 59, seed=4, gain=3.0), DrawnNetwork((59,), 338, seed=5, gain=1.5)

    def record(seed: int, maths: Maths) -> Rows:
        start = np.random.default_rng(seed).normal(0.0, 0.5, 59)
        return motion_matching.run(
            *(partial(each, maths=maths) for each in (stepper, decompressor)), start, FRAMES, maths
        )

    sparse = "stepper_out features latent decompressed rotations root_velocity root_turn root_position root_rotation contacts"
    return _subject("learned_motion_matching", folder, record, sparse, stepper=stepper, decompressor=decompressor)


def _motion_features(folder: Path) -> Subject:
    record: Record = lambda seed, maths: motion_features.run(motion_features.drawn_motion(FRAMES + 2, seed), maths)  # noqa: E731
    return _subject("humanml3d", folder, record, "positions rotations root_rotation features")


def _inertial_input(folder: Path) -> Subject:
    record: Record = lambda seed, maths: inertial_input.run(inertial_input.drawn_sensors(FRAMES, seed), maths)  # noqa: E731
    return _subject("transpose_input", folder, record, "orientations accelerations network_input")


def _gated_controller(folder: Path) -> Subject:
    held = load_file(CONTRACTS / "mode_adaptive_controller.safetensors")
    statistics = gated_controller.Statistics(*(held[name] for name in ("Xmean", "Xstd", "Ymean", "Ystd")))

    def record(seed: int, maths: Maths) -> Rows:
        return gated_controller.run(statistics, gated_controller.drawn_trajectory(FRAMES, seed), maths, seed)

    sparse = "trajectory input_normalised expert_weights output_normalised bones root_step root_turn root_position root_rotation"
    networks = {"gating": gated_controller.GATING, "motion": gated_controller.MOTION}
    return _subject("mode_adaptive_controller", folder, record, sparse, **networks)


SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "unitree_rl_lab_g1": partial(_robot, "unitree_rl_lab_g1", (0.2, 0.05), 480),
    "unitree_rl_mjlab_g1": partial(_robot, "unitree_rl_mjlab_g1", (1.0, 1.0), 96),
    "learned_motion_matching": _motion_matching,
    "mode_adaptive_controller": _gated_controller,
    "humanml3d": _motion_features,
    "transpose_input": _inertial_input,
}
"""Contract -> a function from a folder for its models to its subject."""


def recordings() -> Mapping[str, Rows]:
    """The vectors that each runtime records, by contract and name."""
    with tempfile.TemporaryDirectory() as folder:
        made = {name: make(Path(folder)) for name, make in SUBJECTS.items()}
    rows = {name: subject.record(SEED, AS_WRITTEN) for name, subject in made.items()}
    return {name: {each: np.float32(rows[name][each]) for each in subject.recorded} for name, subject in made.items()}


if __name__ == "__main__":
    for contract, vectors in recordings().items():
        save_file(dict(vectors), Path(sys.argv[1]) / f"{contract}.safetensors")
