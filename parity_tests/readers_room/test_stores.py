"""Stores of arrays as recordings: HDF5, Parquet, LeRobot's data sets; each written by its format's own library."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.tables import read_table

from .stores import ROWS, write_data_set, write_hdf5

Command = Callable[..., Any]


def test_an_episode_in_hdf5_is_columns(tmp_path: Path, command: Command) -> None:
    """A link or a virtual data set leads to another file: it must not be read for this one."""
    path = write_hdf5(tmp_path / "episode_0.hdf5")
    table = read_table(path)
    assert set(table.columns) == {"observations.qpos", "action"}
    assert np.array_equal(table.columns["action"], ROWS * 2)
    assert command("import", path, "-o", tmp_path / "a.npz", "--below", "observations").status == 0
    assert np.array_equal(np.load(tmp_path / "a.npz")["qpos"], ROWS)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UnusableInput, match="not HDF5"):
        read_table(path)


@pytest.mark.parametrize(
    "content",
    [zlib.compress(bytes(8 << 20)), gzip.compress(bytes(120)) + gzip.compress(bytes(8 << 20))],
    ids=["one", "a second stream"],
)
def test_a_chunk_of_hdf5_that_unpacks_to_more_is_refused(tmp_path: Path, content: bytes) -> None:
    """The library doubles its memory until the chunk is whole: eight megabytes where the chunk has 120 bytes."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as root:
        data = root.create_dataset("x", (10, 3), "f4", chunks=(10, 3), compression="gzip")
        data.id.write_direct_chunk((0, 0), content)
    with pytest.raises(UnusableInput, match="a chunk that unpacks to more"):
        read_table(path)


@pytest.mark.parametrize("version", ["v3.0", "v2.1"])
def test_an_episode_of_a_lerobot_data_set_is_a_recording(tmp_path: Path, command: Command, version: str) -> None:
    """One file holds many episodes: read as one run, the robot jumps in the middle of it."""
    info = write_data_set(tmp_path / "set", version=version)
    out = tmp_path / "run.npz"
    assert command("import", info, "-o", out, "--episode", 1).status == 0
    made = np.load(out)
    assert np.array_equal(made["observation.state"], ROWS[4:])
    assert float(made["fps"]) == 30.0
    for words, says in [(("--episode", 7), "7"), ((), "one of 0 to 1")]:
        answer = command("import", info, "-o", tmp_path / "x.npz", *words)
        assert answer.status == 2
        assert says in answer.err


def test_a_parquet_of_many_episodes_asks_for_one(tmp_path: Path, command: Command) -> None:
    """The file itself is taken too; words in it are not columns."""
    write_data_set(tmp_path / "set")
    path = tmp_path / "set" / "data" / "chunk-000" / "file-000.parquet"
    with pytest.raises(UnusableInput, match="--episode 0"):
        read_table(path)
    assert command("import", path, "-o", tmp_path / "run.npz", "--episode", 0).status == 0
    made = np.load(tmp_path / "run.npz")
    assert np.array_equal(made["observation.state"], ROWS[:4])
    assert "task" not in made
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnusableInput, match="not Parquet"):
        read_table(path)


def test_a_path_out_of_the_data_set_is_refused(tmp_path: Path, command: Command) -> None:
    """A stranger's info.json must not choose a file of this machine."""
    info = write_data_set(tmp_path / "set")
    said = json.loads(info.read_text(encoding="utf-8"))
    for template in ("../../x-{file_index:03d}.parquet", "data/{nothing}.parquet"):
        info.write_text(json.dumps({**said, "data_path": template}), encoding="utf-8")
        answer = command("import", info, "-o", tmp_path / "x.npz", "--episode", 0)
        assert answer.status == 2
        assert "data_path" in answer.err
