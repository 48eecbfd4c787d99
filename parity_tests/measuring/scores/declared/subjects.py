"""The contracts that ship, each with its independent runtime, drawn networks and drawn inputs.

Nothing here needs a file from outside: the networks are drawn, and written as models for rigpact's side. To add a contract: its
runtime in a module beside this one, and a function in `SUBJECTS`.
"""

from __future__ import annotations

import tomllib
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
from .score import Subject

CONTRACTS = Path(__file__).resolve().parents[4] / "fixtures" / "contracts"
FRAMES = 24


def _opened_networks(path: Path, folder: Path, drawn: Mapping[str, DrawnNetwork]) -> Any:
    """The drawn networks as models, bound as the contract declares it."""
    contract: Any = open_contract(path)
    models = {name: network.write_onnx(folder / f"{path.stem}.{name}.onnx") for name, network in drawn.items()}
    opened = {
        name: OnnxSystemNetwork(model, bound_part(contract.system, contract.system.networks[name]))
        for name, model in models.items()
    }
    return next(iter(opened.values())) if len(opened) == 1 else opened or None


def robot_of(path: Path) -> robot_policy.Robot:
    """The numbers of a robot's contract, read as plain TOML."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    stages, numbers, names = {each["name"]: each for each in root["stages"]}, root["numbers"], root["names"]
    clip, scale = stages["command"], stages["target"]["scale"]
    if "obs" in stages and stages["obs"]["operation"] == "history":
        return robot_policy.Robot(
            names["sdk"],
            names["policy"],
            np.array(numbers["default_pose"]["value"]),
            0.2,
            0.05,
            np.full(29, scale),
            tuple(clip["lowest"]),
            tuple(clip["highest"]),
            5,
            tuple(stages["obs"]["of"]),
            names["sdk"],
        )
    return robot_policy.Robot(
        names["sdk"],
        names["sdk"],
        np.array(numbers["default_pose"]),
        1.0,
        1.0,
        np.array(scale["value"]),
        tuple(clip["lowest"]),
        tuple(clip["highest"]),
        1,
        tuple(stages["obs"]["of"]),
        names["isaac"],
        {name: np.broadcast_to(np.array(value), 29) for name, value in scale["wrong"].items()},
        np.array(numbers["mean"]),
        np.array(numbers["std"]),
    )


def _robot(name: str, width: int, folder: Path) -> Subject:
    path = CONTRACTS / f"{name}.toml"
    robot, network = robot_of(path), DrawnNetwork((width,), 29, seed=3, gain=1.5)

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        sensors = robot_policy.drawn_sensors(29, FRAMES, seed)
        return robot_policy.run(robot, sensors, partial(network, maths=maths), mistakes, maths)

    sparse = ("gyro", "imu_quat", "q", "dq", "sticks", "obs", "action", "motor_q")
    return Subject(path, record, _opened_networks(path, folder, {"policy": network}), sparse)


def _motion_matching(folder: Path) -> Subject:
    path = CONTRACTS / "learned_motion_matching.toml"
    stepper = DrawnNetwork((59,), 59, seed=4, gain=3.0)
    decompressor = DrawnNetwork((59,), 338, seed=5, gain=1.5)

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        start = np.random.default_rng(seed).normal(0.0, 0.5, 59)
        networks = (partial(stepper, maths=maths), partial(decompressor, maths=maths))
        return motion_matching.run(*networks, start, FRAMES, mistakes, maths)

    sparse = (
        "stepper_out", "features", "latent", "decompressed", "rotations", "root_velocity", "root_turn", "root_position",
        "root_rotation", "contacts",
    )  # fmt: skip
    networks = _opened_networks(path, folder, {"stepper": stepper, "decompressor": decompressor})
    return Subject(path, record, networks, sparse)


def _motion_features(_folder: Path) -> Subject:
    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        return motion_features.run(motion_features.drawn_motion(FRAMES + 2, seed), mistakes, maths)

    return Subject(CONTRACTS / "humanml3d.toml", record, None, ("positions", "rotations", "root_rotation", "features"))


def _inertial_input(_folder: Path) -> Subject:
    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        return inertial_input.run(inertial_input.drawn_sensors(FRAMES, seed), mistakes, maths)

    return Subject(CONTRACTS / "transpose_input.toml", record, None, ("orientations", "accelerations", "network_input"))


def _gated_controller(folder: Path) -> Subject:
    path = CONTRACTS / "mode_adaptive_controller.toml"
    held = load_file(path.with_suffix(".safetensors"))
    statistics = gated_controller.Statistics(*(held[name] for name in ("Xmean", "Xstd", "Ymean", "Ystd")))

    def record(mistakes: Mapping[str, str], seed: int, maths: Any) -> Mapping[str, Any]:
        trajectory = gated_controller.drawn_trajectory(FRAMES, seed)
        return gated_controller.run(statistics, trajectory, mistakes, maths, seed)

    networks = _opened_networks(path, folder, {"gating": gated_controller.GATING, "motion": gated_controller.MOTION})
    sparse = (
        "trajectory", "input_normalised", "expert_weights", "output_normalised", "bones", "root_step", "root_turn",
        "root_position", "root_rotation",
    )  # fmt: skip
    return Subject(path, record, networks, sparse)


SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "unitree_rl_lab_g1": partial(_robot, "unitree_rl_lab_g1", 480),
    "unitree_rl_mjlab_g1": partial(_robot, "unitree_rl_mjlab_g1", 96),
    "learned_motion_matching": _motion_matching,
    "mode_adaptive_controller": _gated_controller,
    "humanml3d": _motion_features,
    "transpose_input": _inertial_input,
}
"""Contract -> a function from a folder for its models to its subject."""
