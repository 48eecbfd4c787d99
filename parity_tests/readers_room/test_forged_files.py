"""Every reader on bytes that were changed: a table, or one clear error, and nothing else."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.tables import read_table

from .animations import write_gltf
from .bags import write_db3, write_json_mcap, write_mcap
from .test_animations import BVH
from .test_stores import _data_set, _hdf5, _zarr

CHANGES = 30


def _parquet(folder: Path) -> Path:
    _data_set(folder / "set", version="v2.1")
    return Path(shutil.copy(folder / "set" / "data" / "chunk-000" / "episode_000000.parquet", folder / "a.parquet"))


def _zipped(folder: Path) -> Path:
    _zarr(folder / "a.zarr")
    return Path(shutil.make_archive(str(folder / "a.zarr"), "zip", folder / "a.zarr"))


def _text(folder: Path) -> Path:
    (folder / "a.bvh").write_text(BVH, encoding="utf-8")
    return folder / "a.bvh"


def _plain_mcap(folder: Path) -> Path:
    """Without chunks and checksums: what is changed reaches the decoder of messages."""
    from mcap.writer import CompressionType, Writer
    from mcap_ros2._dynamic import serialize_dynamic

    from .bags import DEFINITIONS, EMPTY, START_NS, STEP_NS

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
    "plain_mcap": _plain_mcap, "db3": lambda folder: write_db3(folder / "a.db3"), "hdf5": lambda folder: _hdf5(folder / "a.h5"),
    "zarr": _zipped, "parquet": _parquet, "bvh": _text, "glb": lambda folder: write_gltf(folder / "a.glb"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
def test_a_forged_file_gives_a_table_or_one_error(tmp_path: Path, kind: str) -> None:
    """A traceback out of a library is no answer, and a reader that hangs or fills the memory stops the gate."""
    path = MAKERS[kind](tmp_path)
    whole, rng = path.read_bytes(), np.random.default_rng(20)
    for change in range(CHANGES):
        content = bytearray(whole)
        if change % 6 == 0:
            content = content[: rng.integers(1, len(content))]
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.choice([0, 1, 0x7F, 0xFF, rng.integers(256)])
        path.write_bytes(content)
        with suppress(UnusableInput):
            read_table(path)


def test_numbers_in_the_text_of_a_gltf_are_hostile(tmp_path: Path) -> None:
    """Offsets, counts and names of any size and kind stand in JSON."""
    from .test_animations import TIMES, TURNS, _gltf

    path = _gltf(tmp_path / "a.gltf", TURNS.as_quat().astype("<f4"), TIMES, "LINEAR", translation=[0, 0, 1])
    root, rng = json.loads(path.read_text(encoding="utf-8")), np.random.default_rng(3)
    values = [None, -1, 10**30, 1.5, True, "x", [], {}, [1], {"a": 1}, 2**31]

    def changed(value: object, depth: int) -> object:
        if isinstance(value, dict) and value and (depth == 0 or rng.random() < 0.8):
            key = rng.choice(list(value))
            return {**value, key: changed(value[key], depth + 1)}
        if isinstance(value, list) and value and rng.random() < 0.8:
            place = int(rng.integers(len(value)))
            return [*value[:place], changed(value[place], depth + 1), *value[place + 1 :]]
        return values[rng.integers(len(values))]

    for _ in range(150):
        path.write_text(json.dumps(changed(root, 0)), encoding="utf-8")
        with suppress(UnusableInput):
            read_table(path)
