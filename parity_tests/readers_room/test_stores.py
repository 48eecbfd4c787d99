"""Parquet and LeRobot's data sets as recordings; each written by its format's own library."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.opened import read_table

from ..every_case import every_case
from ..peak_memory import peak_bytes
from .samples import ROWS, write_data_set


def test_a_file_that_no_contract_names_becomes_arrays(tmp_path, command, monkeypatch):
    """Who has a log and no contract yet wants its numbers; an option that only a recording of a contract has is refused."""
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("q.hip,q.knee,gyro[0]\n1,2,3\n4,5,6\n", encoding="utf-8")
    assert command("convert", "run.csv", "-o", "run.npz").status == 0
    made = np.load("run.npz")
    assert (made["q"].tolist(), made["gyro"].tolist()) == ([[1, 2], [4, 5]], [[3], [6]])
    for words, says in (
        (("-o", "run.trace.bin"), "or --contract, for a recording of it"),
        (("-o", "x.npz", "--mode", "free"), "--mode: found no --contract"),
        (("-o", "x.npz", "--below", "q", "--as", "q"), "--as: found --below beside it"),
    ):
        answer = command("convert", "run.csv", *words)
        assert (answer.status, answer.err.count("\n"), says in answer.err) == (2, 1, True), answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.csv", "run.npz"]


def _written(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


FLAGS = [True, None, False]
LISTS = pa.array([[1.0, None], None, [5.0, 6.0]])


@pytest.mark.parametrize(
    ("column", "rows", "says"),
    [
        (LISTS, [[1, np.nan], [np.nan, np.nan], [5, 6]], "x: 2 missing values, first in row 0"),
        (pa.array(LISTS.to_pylist(), pa.list_(pa.int16(), 2)), [[1, np.nan], [np.nan, np.nan], [5, 6]], "x: "),
        (pa.array([1, None, 3]), [1, np.nan, 3], "x: 1 missing values, first in row 1"),
        (pa.array(FLAGS), [1, np.nan, 0], "x: 1 missing values"),
        (pa.array([None, None, None], pa.float32()), [np.nan] * 3, "x: 3 missing values"),
        (pa.array([True, False, True]), [1, 0, 1], None),
    ],
    ids=["a list", "a fixed list", "an integer", "a flag", "all", "none"],
)
def test_what_is_missing_in_parquet_is_no_number_and_is_said(tmp_path, command, column, rows, says):
    """A sensor that was silent for a frame is ordinary: the frames beside it must be judged, and this one must not be 0."""
    path = _written(tmp_path / "a.parquet", {"x": column, "words": pa.array(["a", None, "c"])})
    answer = command("convert", path, "-o", tmp_path / "a.npz")
    assert answer.status == 0, answer.err
    assert np.array_equal(np.load(tmp_path / "a.npz")["x"], rows, equal_nan=True)
    both = command("diff", path, tmp_path / "a.npz")
    for out in (answer.out, both.out):
        assert "missing values" not in out if says is None else says in out


@every_case("episodes", [FLAGS, [None, None, 1], [0.5, 1.0, 1.0], [[0], [0], [0]]])
def test_episodes_that_are_no_whole_numbers_are_refused(tmp_path, episodes):
    """Rows of no episode would be read as one run."""
    path = _written(tmp_path / "a.parquet", {"x": pa.array([1.0, 2, 3]), "episode_index": pa.array(episodes)})
    with pytest.raises(UnusableInput, match="a whole number in each row"):
        read_table(path)


def test_words_of_parquet_are_never_unpacked(tmp_path):
    """A word of 100 kilobytes, written once and meant 4000 times, is 400 megabytes as a column."""
    rows = np.arange(4000.0)
    words = pa.DictionaryArray.from_arrays(np.zeros(4000, np.int32), ["a" * 100_000])
    pq.write_table(pa.table({"x": rows, "word": words}), tmp_path / "a.parquet", store_schema=False)
    before = peak_bytes()
    assert np.array_equal(read_table(tmp_path / "a.parquet").columns["x"], rows)
    assert peak_bytes() - before < 200 << 20


@pytest.mark.parametrize("version", ["v3.0", "v2.1"])
def test_an_episode_of_a_lerobot_data_set_is_a_recording(tmp_path, command, version):
    """One file holds many episodes: read as one run, the robot jumps in the middle of it."""
    info = write_data_set(tmp_path / "set", version=version)
    out = tmp_path / "run.npz"
    assert command("convert", info, "-o", out, "--episode", 1).status == 0
    made = np.load(out)
    assert np.array_equal(made["observation.state"], ROWS[4:])
    assert float(made["fps"]) == 30.0
    for words, says in [(("--episode", 7), "7"), ((), "one of 0 to 1")]:
        answer = command("convert", info, "-o", tmp_path / "x.npz", *words)
        assert answer.status == 2
        assert says in answer.err


def test_a_parquet_of_many_episodes_asks_for_one(tmp_path, command):
    """The file itself is taken too; words in it are not columns."""
    write_data_set(tmp_path / "set")
    path = tmp_path / "set" / "data" / "chunk-000" / "file-000.parquet"
    with pytest.raises(UnusableInput, match="--episode 0"):
        read_table(path)
    assert command("convert", path, "-o", tmp_path / "run.npz", "--episode", 0).status == 0
    made = np.load(tmp_path / "run.npz")
    assert np.array_equal(made["observation.state"], ROWS[:4])
    assert "task" not in made
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnusableInput, match="not Parquet"):
        read_table(path)


POLICY = """
format = "rigpact-contract"
version = 1
name = "policy"
fps = 30
given = [{ name = "q", size = 3 }]
[[stages]]
name = "state"
operation = "range_normalise"
of = "q"
mode = "mean_std"
mean = "mean"
std = "std"
min = "min"
max = "max"
[numbers]
"""
STATISTICS = {"mean": np.float32([3, -2, 20]), "std": np.float32([5, 7, 11]), "min": -np.float32([60, 70, 80]),
              "max": np.float32([60, 65, 90])}  # fmt: skip


@every_case("is_wrong", [False, True])
def test_the_statistics_of_a_lerobot_policy_are_read_where_they_lie(tmp_path_factory, command, is_wrong):
    """The arm still moves, a little wrong, where a policy trained with means is fed what a range makes."""
    folder = tmp_path_factory.mktemp("policy")
    save_file({f"observation.state.{key}": rows for key, rows in STATISTICS.items()}, folder / "step_3.safetensors")
    places = [f'{key} = {{ file = "step_3.safetensors", at = "observation.state.{key}" }}' for key in STATISTICS]
    (folder / "contract.toml").write_text(POLICY + "\n".join(places), encoding="utf-8")
    q = np.float32(30 * np.sin(0.1 * np.arange(90).reshape(-1, 1) + np.arange(3)))
    low, high = STATISTICS["min"], STATISTICS["max"]
    scores = (q - STATISTICS["mean"]) / (STATISTICS["std"] + np.float32(1e-8))
    np.savez(folder / "run.npz", q=q, state=2 * (q - low) / (high - low) - 1 if is_wrong else scores)
    answer = command("explain", folder / "run.npz", "--contract", folder / "contract.toml")
    assert (answer.status, "EXPLAINED: state.mode = min_max" in answer.out) == (int(is_wrong), is_wrong), answer.out


def test_a_damaged_description_of_a_data_set_is_refused(tmp_path, command):
    """A stranger's info.json must not choose a file of this machine; a table of episodes must name one file for each."""
    info = write_data_set(tmp_path / "set")
    said = info.read_text(encoding="utf-8")

    def refused(word):
        answer = command("convert", info, "-o", tmp_path / "x.npz", "--episode", 0)
        assert (answer.status, word in answer.err) == (2, True), answer.err

    for key, value in (
        ("data_path", "../../x-{file_index:03d}.parquet"), ("data_path", "data/{nothing}.parquet"),
        ("chunks_size", "many"), ("chunks_size", -1), ("fps", 10**400), ("fps", [30]),
    ):  # fmt: skip
        info.write_text(json.dumps({**json.loads(said), key: value}), encoding="utf-8")
        refused(key)
    info.write_text(said, encoding="utf-8")
    (table,) = (tmp_path / "set" / "meta").rglob("*.parquet")
    columns = {name: pq.read_table(table).column(name) for name in ("episode_index", "data/chunk_index")}
    for column in columns:
        _written(table, {**columns, column: pa.array([[0, 1], [2, 3]])})
        refused(f"{column}: found 1 axes")
