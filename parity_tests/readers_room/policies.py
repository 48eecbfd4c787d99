"""A LeRobot-like policy in small: its files as LeRobot writes them, its network as ONNX, its loop written here in float32."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from safetensors.numpy import save_file

F = np.float32
IMAGES = ("observation.images.front", "observation.images.side")
JOINTS, CHUNK, PLAYED, IMAGE, FRAMES = 6, 50, 10, 12, 130
RNG = np.random.default_rng(11)
STATE = {key: value.astype(F) for key, value in {
    "mean": RNG.normal(size=JOINTS) * 20, "std": RNG.uniform(5, 20, JOINTS), "min": -RNG.uniform(60, 90, JOINTS),
    "max": RNG.uniform(60, 90, JOINTS), "q01": -RNG.uniform(30, 50, JOINTS), "q99": RNG.uniform(30, 50, JOINTS),
}.items()}  # fmt: skip
ACTION = {key: (value * F(1.25) + F(1)).astype(F) if key != "std" else value for key, value in STATE.items()}
_MATRIX = (RNG.normal(size=(JOINTS + 2 * IMAGE, CHUNK * JOINTS)) * 0.2).astype(F)


def write_policy(folder: Path, *, state: str = "MEAN_STD", action: str = "MEAN_STD", **config: Any) -> Path:
    """config.json, both pipelines with their safetensors files, and the network beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    features: dict[str, Any] = {name: {"type": "VISUAL", "shape": [3, 2, 2]} for name in IMAGES}
    features["observation.state"] = {"type": "STATE", "shape": [JOINTS]}
    norm_map = {"VISUAL": "IDENTITY", "STATE": state, "ACTION": action}
    said = {
        "type": "act", "n_obs_steps": 1, "chunk_size": CHUNK, "n_action_steps": PLAYED, "temporal_ensemble_coeff": None,
        "input_features": features, "output_features": {"action": {"type": "ACTION", "shape": [JOINTS]}},
        "normalization_mapping": norm_map, **config,
    }  # fmt: skip
    own = {"eps": 1e-8, "features": {}, "norm_map": norm_map}
    tensors = {f"observation.state.{key}": rows for key, rows in STATE.items()}
    tensors |= {f"action.{key}": rows for key, rows in ACTION.items()}
    before = [
        {"registry_name": "rename_observations_processor", "config": {"rename_map": {}}},
        {"registry_name": "to_batch_processor", "config": {}}, {"registry_name": "device_processor", "config": {}},
        {"registry_name": "normalizer_processor", "config": own, "state_file": "policy_preprocessor_step_3.safetensors"},
    ]  # fmt: skip
    state_file = "policy_postprocessor_step_0.safetensors"
    behind = [{"registry_name": "unnormalizer_processor", "config": own, "state_file": state_file}]
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")
    for name, step, steps in (("policy_preprocessor", 3, before), ("policy_postprocessor", 0, behind)):
        save_file(tensors, folder / f"{name}_step_{step}.safetensors")
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "steps": steps}), encoding="utf-8")
    _write_network(folder / "policy.onnx")
    return folder / "config.json"


def _write_network(path: Path) -> None:
    names = (*IMAGES, "observation.state")
    float_info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])
                  for name, width in (*zip(names, (IMAGE, IMAGE, JOINTS), strict=True), ("chunk", CHUNK * JOINTS))]  # fmt: skip
    nodes = [helper.make_node("Concat", list(names), ["all"], axis=1), helper.make_node("MatMul", ["all", "w"], ["wide"]),
             helper.make_node("Tanh", ["wide"], ["chunk"])]  # fmt: skip
    weights = [numpy_helper.from_array(_MATRIX, "w")]
    graph = helper.make_graph(nodes, "policy", float_info[:-1], float_info[-1:], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


ENDS = {"MIN_MAX": ("min", "max"), "QUANTILES": ("q01", "q99"), "EXCHANGED": ("q99", "q01")}


def normalised(rows: np.ndarray, mode: str, own: dict[str, np.ndarray]) -> np.ndarray:
    """LeRobot's formulas, in float32."""
    if mode == "MEAN_STD":
        return ((rows - own["mean"]) / (own["std"] + F(1e-8))).astype(F)
    low, high = ENDS[mode]
    return (F(2) * (rows - own[low]) / (own[high] - own[low]) - F(1)).astype(F)


def denormalised(rows: np.ndarray, mode: str, own: dict[str, np.ndarray]) -> np.ndarray:
    """And back."""
    if mode == "MEAN_STD":
        return (rows * own["std"] + own["mean"]).astype(F)
    low, high = ENDS[mode]
    return ((rows + F(1)) / F(2) * (own[high] - own[low]) + own[low]).astype(F)


def recorded(
    *, state: str = "MEAN_STD", action: str = "MEAN_STD", played: int = PLAYED, late: int = 0, index: int = 0
) -> dict[str, np.ndarray]:
    """A run of the loop: a queue that is filled from the observation of the frame in which it is empty.

    late: how many questions old the chunk is that is played; index: by how many of its frames the queue starts later.
    """
    rng = np.random.default_rng(5)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in (*IMAGES, "observation.state", "chunk", "action")}
    chunks: list[np.ndarray] = []
    queue: list[np.ndarray] = []
    for frame in range(FRAMES):
        images = [rng.uniform(0, 1, IMAGE).astype(F) for _ in range(2)]
        joints = (30 * np.sin(0.05 * frame + np.arange(JOINTS)) + rng.normal(size=JOINTS)).astype(F)
        if not queue:
            asked = np.concatenate([*images, normalised(joints, state, STATE)])
            chunks.append(np.tanh(asked @ _MATRIX).astype(F).reshape(CHUNK, JOINTS))
            answer = chunks[max(0, len(chunks) - 1 - late)]
            queue = [answer[min(max(place + index, 0), CHUNK - 1)] for place in range(played)]
        done = denormalised(queue.pop(0), action, ACTION)
        for name, row in zip(rows, (*images, joints, chunks[-1].reshape(-1), done), strict=True):
            rows[name].append(row)
    return {name: np.array(each) for name, each in rows.items()}
