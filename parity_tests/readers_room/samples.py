"""A sound file of each format of recordings that other programs write: what the fuzzer starts from."""

import shutil
from collections.abc import Callable
from pathlib import Path

from .animations import BVH
from .bags import DEFINITIONS, EMPTY, START_NS, STEP_NS, write_json_mcap, write_mcap
from .stores import write_data_set, write_hdf5


def _parquet(folder: Path) -> Path:
    write_data_set(folder / "set", version="v2.1")
    return Path(shutil.copy(folder / "set" / "data" / "chunk-000" / "episode_000000.parquet", folder / "a.parquet"))


def _text(folder: Path) -> Path:
    (folder / "a.bvh").write_text(BVH, encoding="utf-8")
    return folder / "a.bvh"


def _plain_mcap(folder: Path) -> Path:
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
