"""Small files of other stacks, written here by hand after their formats: two legs of two joints, a policy that adds up.

Policy order: left_hip, right_hip, left_knee, right_knee. Motor order: left_hip, left_knee, right_hip, right_knee.
"""

import copy
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from onnx import numpy_helper

from ..models import floats, saved
from .samples_of_files import sample

F = np.float32
MAP = [0, 2, 1, 3]
POSE = [0.1, 0.2, -0.3, -0.4]
"""In the policy's order."""
FRAMES = 12

DEPLOY: dict[str, Any] = yaml.safe_load(sample("deploy.yaml"))
OBSERVED = 2 * (3 + 3 + 3 + 4 + 4 + 4)

DESCRIPTOR: dict[str, Any] = yaml.safe_load(sample("descriptor.yaml"))

METADATA = {
    "joint_names": "hip_joint,knee_joint", "joint_stiffness": "10.000,20.000", "joint_damping": "1.000,2.000",
    "default_joint_pos": "0.100,-0.300", "command_names": "twist", "action_scale": "0.548,0.075",
    "observation_names": "base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,command",
    "observation_terms_scale": "0.200,1.000,1.000,0.050,1.000,1.000",
    "observation_terms_history_length": "3.000,3.000,3.000,3.000,3.000,3.000",
    "observation_terms_clip": "-inf;inf,-inf;inf,-inf;inf,-5.000;5.000,-inf;inf,-inf;inf",
    "run_path": "local",
}  # fmt: skip
"""As mjlab writes it: ints and bools too with three decimals, ranges with a semicolon inside."""


def imported(command: Any, source: Path, *options: object, out: Path | None = None) -> dict[str, Any]:
    """The contract that a file becomes, which `check` must pass; given vectors and stages by their names."""
    out = out or source.parent / "contract.toml"
    made = command("init", "--from", source, "-o", out, "--force", *options)
    assert made.status == 0, made.err
    checked = command("check", out)
    assert checked.status == 0, checked.out
    text = out.read_text(encoding="utf-8")
    root = tomllib.loads(text)
    by_name = {key: {each["name"]: each for each in root[key]} for key in ("given", "stages")}
    return {**root, **by_name, "text": text, "told": made.out, "checked": checked.out}


def changed(table: Mapping[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """A copy with one value changed; `...`, or a text of it, takes it away."""
    whole = copy.deepcopy(dict(table))
    inside: Any = whole
    for key in path[:-1]:
        inside = inside[key]
    if to is ... or to == "...":
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return whole


def write_yaml(path: Path, table: Any) -> Path:
    """Write YAML with the keys in their order."""
    path.write_text(yaml.safe_dump(table, sort_keys=False), encoding="utf-8")
    return path


def write_model(
    path: Path, width: int, answers: int, metadata: Mapping[str, str] | None = None, seed: int = 5, batch: Any = "rows"
) -> Path:
    """obs (rows, width) -> actions (rows, answers), one layer."""
    weights = np.random.default_rng(seed).normal(0.0, 0.3, (width, answers)).astype(F)
    takes, gives = floats("obs", width, batch), floats("actions", answers, batch)
    return saved(path, f"({takes}) => ({gives}) {{ actions = MatMul(obs, W) }}", opset=17, said=metadata, W=weights)


def weights_of(path: Path) -> Any:
    """The matrix of a model of `write_model`."""
    import onnx

    return numpy_helper.to_array(onnx.load(path).graph.initializer[0])


def robot_recording(model: Path) -> dict[str, Any]:
    """What an engine under DEPLOY records, in plain numpy: term by term, oldest first, filled at the start; wxyz."""
    rng, matrix = np.random.default_rng(3), weights_of(model)
    quaternion = rng.normal(size=(FRAMES, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    sensors = {
        "gyro": rng.normal(size=(FRAMES, 3)), "imu_quat_wxyz": quaternion, "sticks": rng.uniform(-1, 1, (FRAMES, 3)),
        "q_sdk": rng.normal(size=(FRAMES, 4)), "dq_sdk": 20.0 * rng.normal(size=(FRAMES, 4)),
    }  # fmt: skip
    rows: dict[str, list[Any]] = {"obs": [], "action": [], "motor_q": []}
    last, buffers = np.zeros(4, F), None
    for t in range(FRAMES):
        w, x, y, z = quaternion[t]
        gravity = [-2 * (x * z - w * y), -2 * (y * z + w * x), -(1 - 2 * (x * x + y * y))]
        ly, lx, rx = sensors["sticks"][t]
        command = np.clip([ly, -lx, -rx], [-0.5, -0.3, -0.2], [1.0, 0.3, 0.2])
        q, dq = (sensors[name][t][MAP] for name in ("q_sdk", "dq_sdk"))
        terms = [0.2 * sensors["gyro"][t], gravity, command, q - POSE, 0.05 * np.clip(dq, -1.0, 1.0), last]
        buffers = (
            [[term, term] for term in terms]
            if buffers is None
            else [[b[1], n] for b, n in zip(buffers, terms, strict=True)]
        )
        obs = np.concatenate([row for buffer in buffers for row in buffer]).astype(F)
        last = obs @ matrix
        motor = np.zeros(4)
        motor[MAP] = 0.25 * last + POSE
        for name, value in (("obs", obs), ("action", last), ("motor_q", motor)):
            rows[name].append(value)
    return {name: np.array(values, F) for name, values in {**sensors, **rows}.items()}


CLASSES, BASE = sample("walker_classes.txt"), sample("legged_classes.txt")

ROBOT_BASE, ROBOT_POLICY, ENV = (sample(f"{name}.yaml") for name in ("robot_base", "robot_policy", "env"))
