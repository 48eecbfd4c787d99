"""Files that say less than they unpack to: a few bytes of a stranger must not fill the memory."""

import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.other_formats.zarr_stores import read_zarr
from rigpact.reference_runtime.recordings.tables import read_table

from .bags import write_db3

MANY = bytes(8 << 20)
"""Eight megabytes where a chunk has 120 bytes: as many as one likes would do."""


def _store(folder: Path, codec: str, content: bytes) -> Path:
    """An array of 10 x 3 float32 in one chunk, packed by a codec into these bytes."""
    path = folder / "a.zarr"
    array = zarr.open_group(str(path), mode="w", zarr_format=2).create_array(
        "x", shape=(10, 3), chunks=(10, 3), dtype="f4"
    )
    array[:] = 1.0
    described = path / "x" / ".zarray"
    said = json.loads(described.read_text(encoding="utf-8"))
    described.write_text(json.dumps({**said, "compressor": {"id": codec, "level": 1}}), encoding="utf-8")
    (path / "x" / "0.0").write_bytes(content)
    return path


def _without_size(data: bytes) -> bytes:
    """A zstd frame that does not say how much it holds."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(data) + packer.flush()


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "zlib": ("zlib", zlib.compress), "gzip": ("gzip", gzip.compress), "zstd": ("zstd", zstandard.compress),
    "zstd without a size": ("zstd", _without_size),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_a_chunk_of_zarr_that_unpacks_to_more_is_refused(tmp_path: Path, name: str) -> None:
    """The library unpacks what stands there, whatever the metadata says."""
    codec, pack = PACKED[name]
    with pytest.raises(UnusableInput, match="a chunk that unpacks to more"):
        read_zarr(_store(tmp_path, codec, pack(MANY)))


def test_a_second_stream_in_a_chunk_of_zarr_is_refused(tmp_path: Path) -> None:
    """The library unpacks every stream of gzip, one behind the other."""
    with pytest.raises(UnusableInput, match="a chunk that unpacks to more"):
        read_zarr(_store(tmp_path, "gzip", gzip.compress(bytes(120)) + gzip.compress(MANY)))


@pytest.mark.parametrize(
    "name", [name for name in PACKED if name != "zstd without a size"]
)  # zarr itself asks for the size
def test_a_chunk_of_zarr_that_is_as_long_as_it_says_is_read(tmp_path: Path, name: str) -> None:
    """A measure that is one byte short would refuse every store."""
    codec, pack = PACKED[name]
    numbers = np.arange(30, dtype=np.float32).reshape(10, 3)
    assert np.array_equal(read_zarr(_store(tmp_path, codec, pack(numbers.tobytes()))).columns["x"], numbers)


@pytest.mark.parametrize("change", [{"chunks": [1 << 40, 3]}, {"shape": [1 << 32, 1 << 32]}])
def test_sizes_of_zarr_beyond_all_bounds_are_refused(tmp_path: Path, change: dict[str, list[int]]) -> None:
    """A product of sizes that wraps around at 64 bits is 0, and a chunk is allocated whole."""
    path = _store(tmp_path, "zlib", zlib.compress(bytes(120)))
    described = path / "x" / ".zarray"
    described.write_text(json.dumps({**json.loads(described.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    with pytest.raises(UnusableInput, match="unpacked bytes"):
        read_zarr(path)


def test_a_chunk_of_hdf5_that_unpacks_to_more_is_refused(tmp_path: Path) -> None:
    """The library doubles its memory until the chunk is whole."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as root:
        data = root.create_dataset("x", (10, 3), "f4", chunks=(10, 3), compression="gzip")
        data.id.write_direct_chunk((0, 0), zlib.compress(MANY))
    with pytest.raises(UnusableInput, match="a chunk that unpacks to more"):
        read_table(path)


def test_a_column_of_a_bag_that_is_computed_is_refused(tmp_path: Path) -> None:
    """A file of a few kilobytes can say that every message is a gigabyte of zeros."""
    path = write_db3(tmp_path / "a.db3", 3)
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE short (id INTEGER PRIMARY KEY, topic_id, timestamp, data AS (zeroblob(1000000000)))")
        base.execute("INSERT INTO short (id, topic_id, timestamp) SELECT id, topic_id, timestamp FROM messages")
        base.execute("DROP TABLE messages")
        base.execute("ALTER TABLE short RENAME TO messages")
    with pytest.raises(UnusableInput, match="not a database of rosbag2"):
        read_table(path)


def test_a_definition_in_a_bag_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What a stranger writes into a file must not reach the terminal: it may hold the terminal's own commands."""
    path = write_db3(tmp_path / "a.db3", 3)
    with sqlite3.connect(path) as base:
        base.execute(
            "CREATE TABLE IF NOT EXISTS message_definitions (topic_type, encoding, encoded_message_definition)"
        )
        kind = base.execute("SELECT type FROM topics").fetchone()[0]
        base.execute("INSERT INTO message_definitions VALUES (?, 'ros2msg', ?)", (kind, "uint8[0] \x1b[2Jy\n"))
    with pytest.raises(UnusableInput, match="a definition of"):
        read_table(path)
    assert capfd.readouterr() == ("", "")
