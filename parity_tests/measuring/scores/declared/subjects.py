"""The contracts that ship, each with its independent runtime, drawn networks and drawn inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, bound_part

from . import gated_controller, inertial_input, motion_features, motion_matching, robot_policy
from .plain import DrawnNetwork
from .score import Record, Subject

CONTRACTS = Path(__file__).resolve().parents[4] / "fixtures" / "contracts"
FRAMES = 24


def _subject(name: str, folder: Path, record: Record, recorded: str, **drawn: DrawnNetwork) -> Subject:
    """A subject with its drawn networks as models, bound as the contract declares it."""
    path = CONTRACTS / f"{name}.toml"
    contract: Any = open_contract(path)
    opened = {
        each: OnnxSystemNetwork(
            network.write_onnx(folder / f"{name}.{each}.onnx"),
            bound_part(contract.system, contract.system.networks[each]),
        )
        for each, network in drawn.items()
    }
    return Subject(
        path, record, next(iter(opened.values())) if len(opened) == 1 else opened or None, tuple(recorded.split())
    )


def _robot(name: str, other: str, factors: tuple[float, float], width: int, folder: Path) -> Subject:
    policy = "policy" if other == "sdk" else "sdk"
    robot = robot_policy.Robot.of(CONTRACTS / f"{name}.toml", policy, other, *factors)
    network = DrawnNetwork((width,), 29, seed=3, gain=1.5)

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        sensors = robot_policy.drawn_sensors(29, FRAMES, seed)
        return robot_policy.run(robot, sensors, partial(network, maths=maths), mistakes, maths)

    return _subject(name, folder, record, "gyro imu_quat q dq sticks obs action motor_q", policy=network)


def _motion_matching(folder: Path) -> Subject:
    stepper, decompressor = DrawnNetwork((59,), 59, seed=4, gain=3.0), DrawnNetwork((59,), 338, seed=5, gain=1.5)

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        start = np.random.default_rng(seed).normal(0.0, 0.5, 59)
        networks = (partial(stepper, maths=maths), partial(decompressor, maths=maths))
        return motion_matching.run(*networks, start, FRAMES, mistakes, maths)

    sparse = "stepper_out features latent decompressed rotations root_velocity root_turn root_position root_rotation contacts"
    return _subject("learned_motion_matching", folder, record, sparse, stepper=stepper, decompressor=decompressor)


def _motion_features(folder: Path) -> Subject:
    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        return motion_features.run(motion_features.drawn_motion(FRAMES + 2, seed), mistakes, maths)

    return _subject("humanml3d", folder, record, "positions rotations root_rotation features")


def _inertial_input(folder: Path) -> Subject:
    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        return inertial_input.run(inertial_input.drawn_sensors(FRAMES, seed), mistakes, maths)

    return _subject("transpose_input", folder, record, "orientations accelerations network_input")


def _gated_controller(folder: Path) -> Subject:
    held = load_file(CONTRACTS / "mode_adaptive_controller.safetensors")
    statistics = gated_controller.Statistics(*(held[name] for name in ("Xmean", "Xstd", "Ymean", "Ystd")))

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        trajectory = gated_controller.drawn_trajectory(FRAMES, seed)
        return gated_controller.run(statistics, trajectory, mistakes, maths, seed)

    sparse = "trajectory input_normalised expert_weights output_normalised bones root_step root_turn root_position root_rotation"
    networks = {"gating": gated_controller.GATING, "motion": gated_controller.MOTION}
    return _subject("mode_adaptive_controller", folder, record, sparse, **networks)


SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "unitree_rl_lab_g1": partial(_robot, "unitree_rl_lab_g1", "sdk", (0.2, 0.05), 480),
    "unitree_rl_mjlab_g1": partial(_robot, "unitree_rl_mjlab_g1", "isaac", (1.0, 1.0), 96),
    "learned_motion_matching": _motion_matching,
    "mode_adaptive_controller": _gated_controller,
    "humanml3d": _motion_features,
    "transpose_input": _inertial_input,
}
"""Contract -> a function from a folder for its models to its subject."""
