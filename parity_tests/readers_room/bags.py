"""Bags of messages, written by MCAP's own library: CDR little-endian behind four bytes."""

import json
from pathlib import Path
from typing import Any

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


def positions(frame: int) -> dict[str, float]:
    """The joints of a frame."""
    return {"left_knee": 0.1 * frame, "right_knee": -0.2 * frame, "waist": 0.5}


def observed(frame: int) -> list[float]:
    """What the policy was given: twice the knees."""
    return [0.2 * frame, -0.4 * frame]


def write_mcap(
    path: Path, frames: int = 20, *, lost: int | None = None, metadata: dict[str, Any] | None = None
) -> Path:
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


def write_json_mcap(path: Path, frames: int = 5) -> Path:
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
