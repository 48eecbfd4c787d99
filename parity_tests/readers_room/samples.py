"""Files as other programs write them, each by its format's own library, none by the code under test.

Bags of messages (MCAP's own library: CDR little-endian behind four bytes), a data set in Parquet; and a sound file of each
format, from which the fuzzer starts.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mcap_ros2.writer import Writer

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
