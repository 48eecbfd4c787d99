"""Files as other programs write them, each by its format's own library, none by the code under test.

Bags of messages (MCAP's own library: CDR little-endian behind four bytes), a data set in Parquet, a LeRobot-like policy whose
loop is written here in float32; and a sound file of each format, from which the fuzzer starts.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mcap_ros2.writer import Writer
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


def write_policy(folder, *, state="MEAN_STD", action="MEAN_STD", **config):
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


def _write_network(path):
    names = (*IMAGES, "observation.state")
    float_info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])
                  for name, width in (*zip(names, (IMAGE, IMAGE, JOINTS), strict=True), ("chunk", CHUNK * JOINTS))]  # fmt: skip
    nodes = [helper.make_node("Concat", list(names), ["all"], axis=1), helper.make_node("MatMul", ["all", "w"], ["wide"]),
             helper.make_node("Tanh", ["wide"], ["chunk"])]  # fmt: skip
    weights = [numpy_helper.from_array(_MATRIX, "w")]
    graph = helper.make_graph(nodes, "policy", float_info[:-1], float_info[-1:], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


LIMITS = {"MIN_MAX": ("min", "max"), "QUANTILES": ("q01", "q99"), "EXCHANGED": ("q99", "q01")}


def normalised(rows, mode, own):
    """LeRobot's formulas, in float32."""
    if mode == "MEAN_STD":
        return ((rows - own["mean"]) / (own["std"] + F(1e-8))).astype(F)
    low, high = LIMITS[mode]
    return (F(2) * (rows - own[low]) / (own[high] - own[low]) - F(1)).astype(F)


def denormalised(rows, mode, own):
    """And back."""
    if mode == "MEAN_STD":
        return (rows * own["std"] + own["mean"]).astype(F)
    low, high = LIMITS[mode]
    return ((rows + F(1)) / F(2) * (own[high] - own[low]) + own[low]).astype(F)


def recorded(*, state="MEAN_STD", action="MEAN_STD", played=PLAYED, late=0, index=0):
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


STEP_NS, START_NS = 20_000_000, 1_700_000_000_000_000_000
HEADER = "=" * 80 + "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
LAYOUT = (
    "=" * 80
    + "\nMSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\nuint32 data_offset\n"
    + "=" * 80
    + "\nMSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride\n"
)
DEFINITIONS = {
    "sensor_msgs/msg/JointState":
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n" + HEADER,
    "std_msgs/msg/Float32MultiArray": "std_msgs/MultiArrayLayout layout\nfloat32[] data\n" + LAYOUT,
    "std_msgs/msg/String": "string data\n",
}  # fmt: skip
EMPTY = {"dim": [], "data_offset": 0}


def positions(frame):
    """The joints of a frame."""
    return {"left_knee": 0.1 * frame, "right_knee": -0.2 * frame, "waist": 0.5}


def observed(frame):
    """What the policy was given: twice the knees."""
    return [0.2 * frame, -0.4 * frame]


def write_mcap(path, frames=20, *, lost=None, metadata=None):
    """Joint states whose order changes, observations behind them, of which one may be lost, and metadata as JSON in a String."""
    with path.open("wb") as stream:
        writer = Writer(stream)
        kinds = {name: writer.register_msgdef(name, text) for name, text in DEFINITIONS.items()}
        if metadata is not None:
            said = {"data": json.dumps(metadata)}
            writer.write_message("/policy/metadata", kinds["std_msgs/msg/String"], said, log_time=START_NS - 1)
        for frame in range(frames):
            time = START_NS + frame * STEP_NS
            joints = dict(reversed(positions(frame).items())) if frame % 2 else positions(frame)
            state = {
                "header": {"stamp": {"sec": 1, "nanosec": frame}, "frame_id": ""},
                "name": list(joints), "position": list(joints.values()), "velocity": [], "effort": [],
            }  # fmt: skip
            writer.write_message("/joint_states", kinds["sensor_msgs/msg/JointState"], state, log_time=time)
            if frame != lost:
                rows = {"layout": EMPTY, "data": observed(frame)}
                writer.write_message("/obs", kinds["std_msgs/msg/Float32MultiArray"], rows, log_time=time + 1000)
        writer.finish()
    return path


def write_json_mcap(path, frames=5):
    """Messages in JSON, with no schema."""
    from mcap.writer import Writer as PlainWriter

    with path.open("wb") as stream:
        writer = PlainWriter(stream)
        writer.start()
        channel = writer.register_channel("/state", "json", 0)
        for frame in range(frames):
            content = json.dumps({"imu": {"gyro": [frame, 0, 1]}, "mode": "walk", "height": frame / 2}).encode()
            writer.add_message(channel, START_NS + frame * STEP_NS, content, START_NS)
        writer.finish()
    return path


ROWS = np.arange(30, dtype=np.float32).reshape(10, 3)
ENDS = [4, 10]


def write_data_set(folder, *, version="v3.0"):
    """As LeRobot's: many episodes a file, named by a table of episodes; v2 has a file an episode."""
    is_v3 = version.startswith("v3")
    template = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    template = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet" if is_v3 else template
    info = {"codebase_version": version, "fps": 30, "total_episodes": 2, "chunks_size": 1000, "data_path": template,
            "features": {"observation.state": {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"]}}}  # fmt: skip
    starts = [0, *ENDS]
    tables = []
    for episode in range(2):
        rows = ROWS[starts[episode] : starts[episode + 1]]
        frames = np.arange(len(rows))
        tables.append(pa.table({
            "observation.state": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3),
            "timestamp": (frames / 30).astype(np.float32), "frame_index": frames, "episode_index": np.full(len(rows), episode),
            "task": ["walk"] * len(rows),
        }))  # fmt: skip
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    if is_v3:
        places = {"episode_index": [0, 1], "data/chunk_index": [0, 0], "data/file_index": [0, 0]}
        pq.write_table(pa.table(places), folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
        pq.write_table(pa.concat_tables(tables), folder / "data" / "chunk-000" / "file-000.parquet")
    else:
        for episode, table in enumerate(tables):
            pq.write_table(table, folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet")
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return folder / "meta" / "info.json"


def _parquet(folder):
    write_data_set(folder / "set", version="v2.1")
    return Path(shutil.copy(folder / "set" / "data" / "chunk-000" / "episode_000000.parquet", folder / "a.parquet"))


def _plain_mcap(folder):
    """Without chunks and checksums: what is changed reaches the decoder of messages."""
    from mcap.writer import CompressionType, Writer
    from mcap_ros2._dynamic import serialize_dynamic

    kind = "std_msgs/msg/Float32MultiArray"
    encode = serialize_dynamic(kind, DEFINITIONS[kind])[kind]
    with (folder / "plain.mcap").open("wb") as stream:
        writer = Writer(stream, use_chunking=False, compression=CompressionType.NONE, enable_crcs=False)
        writer.start()
        schema = writer.register_schema(kind, "ros2msg", DEFINITIONS[kind].encode())
        channel = writer.register_channel("/obs", "cdr", schema)
        for frame in range(9):
            content = encode({"layout": EMPTY, "data": [1.0 * frame, 2.0]})
            writer.add_message(channel, START_NS + frame * STEP_NS, content, START_NS)
        writer.finish()
    return folder / "plain.mcap"


MAKERS: dict[str, Callable[[Path], Path]] = {
    "mcap": lambda folder: write_mcap(folder / "a.mcap"), "json_mcap": lambda folder: write_json_mcap(folder / "a.mcap"),
    "plain_mcap": _plain_mcap, "parquet": _parquet,
}  # fmt: skip
