"""Files as other programs write them, each by its format's own library, none by the code under test.

The demo character's poses as a BVH (scipy turns matrices into angles), bags of messages (MCAP's own library: CDR little-endian
behind four bytes), stores of arrays, a LeRobot-like policy whose loop is written here in float32; and a sound file of each
format, from which the fuzzer starts.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mcap_ros2.writer import Writer
from onnx import TensorProto, helper, numpy_helper, save
from safetensors.numpy import save_file
from scipy.spatial.transform import Rotation

from rigpact.fixtures import demo_bundle

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


FPS = 60
BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT mixamorig:Left Leg
  {
    OFFSET 0 -1e1 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 -1 0
    }
  }
}
MOTION
Frames: 2
Frame Time: .0083333
1 2 3 10 20 30 40 50 60
1 2 3 11 21 31 41 51 61
"""


def demo_poses():
    """Names and parents' names of the demo character's bones, offsets (B, 3) in metres, local rotations of T · B."""
    meta = json.loads((demo_bundle() / "norm_template.json").read_text(encoding="utf-8"))["meta"]
    names, chain = meta["bone_names"], meta["skeleton"]
    frames = json.loads((demo_bundle() / "clips" / "Run_F.json").read_text(encoding="utf-8"))["Frames"]
    six = np.array([frame["BoneRotations"] for frame in frames], np.float64)
    x, z = six[..., :3], six[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    z = z - (x * z).sum(axis=-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    matrices = np.stack([x, np.cross(z, x), z], axis=-1)
    parents = ["" if parent < 0 else names[parent] for parent in chain["parents"]]
    return names, parents, np.array(chain["ref_local_offsets_m"]), Rotation.from_matrix(matrices.reshape(-1, 3, 3))


def quaternions(rotations, bones):
    """(T, B, 4) x, y, z, w."""
    return rotations.as_quat().reshape(-1, bones, 4)


def write_bvh(path, orders):
    """Degrees with nine decimals; bone b has the order orders[b % n]. The root has six channels in centimetres."""
    names, parents, offsets, rotations = demo_poses()
    own = [orders[index % len(orders)] for index in range(len(names))]
    angles = {order: rotations.as_euler(order, degrees=True).reshape(-1, len(names), 3) for order in set(own)}
    visited: list[int] = []

    def joint(index, indent):
        visited.append(index)
        turns = " ".join(f"{letter}rotation" for letter in own[index])
        channels = f"6 Xposition Yposition Zposition {turns}" if not parents[index] else f"3 {turns}"
        place = " ".join(f"{100 * number:.6f}" for number in offsets[index])
        kind = "JOINT" if parents[index] else "ROOT"
        lines = [f"{kind} {names[index]}", "{", f"OFFSET {place}", f"CHANNELS {channels}"]
        children = [child for child, parent in enumerate(parents) if parent == names[index]]
        for child in children:
            lines += joint(child, indent + "\t")
        if not children:
            lines += ["End Site", "{", "OFFSET 0 0 1", "}"]
        return [f"{indent}{line}" for line in [*lines, "}"]]

    lines = ["HIERARCHY", *joint(parents.index(""), "")]
    count = len(next(iter(angles.values())))
    lines += ["MOTION", f"Frames: {count}", f"Frame Time: {1 / FPS:.7f}"]
    for frame in range(count):
        row = [frame * 2.0, 90.0, 0.0]
        for index in visited:
            row += angles[own[index]][frame, index].tolist()
        lines.append(" ".join(f"{number:.9f}" for number in row))
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
    return path


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


def write_hdf5(path):
    """As ALOHA's episodes: state, image, action; a link out of the file, a virtual data set, words."""
    with h5py.File(path, "w") as root:
        root.attrs["sim"] = True
        root["observations/qpos"] = ROWS
        root.create_dataset("action", data=ROWS * 2, compression="gzip", chunks=(5, 3))
        root["observations/images/top"] = np.zeros((10, 4, 4, 3), np.uint8)
        root["words"] = ["a", "b"]
        root["out"] = h5py.ExternalLink("/etc/passwd", "/")
        layout = h5py.VirtualLayout((10, 3), "f4")
        layout[:] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", (10, 3))
        root.create_virtual_dataset("virtual", layout)
    return path


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


def _text(folder):
    (folder / "a.bvh").write_text(BVH, encoding="utf-8")
    return folder / "a.bvh"


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
    "plain_mcap": _plain_mcap, "hdf5": lambda folder: write_hdf5(folder / "a.h5"),
    "parquet": _parquet, "bvh": _text,
}  # fmt: skip
