"""Formats that rigpact does not read: every command that is given one says what to do instead, in one line."""

import pickle
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rigpact.fixtures import demo_bundle

SCRIPT = ("script/data.pkl", "script/code/__torch__.py", "script/constants.pkl")
BUNDLE = demo_bundle() / "norm_template.json"


def _database(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT)")


def _store(path, described):
    (path / "data" / "action").mkdir(parents=True)
    (path / described).write_text('{"zarr_format": 2}', encoding="utf-8")
    (path / "data" / "action" / "0.0").write_bytes(bytes(24))


class Evil:
    """A pickle that leaves a file where it is opened."""

    def __reduce__(self):
        """Write a file."""
        return Path.touch, (Path("opened"),)  # type: ignore[return-value]


def _archive(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, "{}")


UNREAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "run.db3": (_database, "ros2 bag convert"),
    "renamed.npz": (_database, "ros2 bag convert"),
    "run.zarr": (lambda path: _store(path, ".zgroup"), "zarr.open_group"),
    "store": (lambda path: _store(path, "zarr.json"), "zarr.open_group"),
    "run.zarr.zip": (lambda path: _archive(path, "data/x"), "zarr.open_group"),
    "store.zip": (lambda path: _archive(path, "run/data/action/0.0", "run/data/action/.zarray"), "zarr.open_group"),
    "policy.jit": (lambda path: _archive(path, *SCRIPT), "torch.jit.load"),
    "policy.pt": (lambda path: _archive(path, *SCRIPT), "torch.jit.load"),
    "state.zip": (lambda path: _archive(path, "state/data.pkl", "state/data/0"), "load_state_dict"),
    "rig2mesh.pth.tar": (lambda path: path.write_bytes(b"PK"), "load_state_dict"),
    "evil.dat": (lambda path: path.write_bytes(pickle.dumps(Evil())), "load_state_dict"),
    "best.npy": (lambda path: np.save(path, np.array({"W1": 0}), allow_pickle=True), "allow_pickle=True"),
    "walk.glb": (lambda path: path.write_bytes(struct.pack("<4s2I", b"glTF", 2, 12)), "rotation.JOINT"),
    "walk.gltf": (lambda path: path.write_text('{"asset": {"version": "2.0"}}', encoding="utf-8"), "rotation.JOINT"),
    "walk.txt": (
        lambda path: path.write_text("HIERARCHY\nROOT Hips\n{\n", encoding="utf-8"),
        "Files that are not read",
    ),
    "walk.bvh": (lambda path: path.write_text("", encoding="utf-8"), "Files that are not read"),
    "episode_0.npz": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(88)), "h5py.File"),
    "episode_0.hdf5": (lambda path: path.write_bytes(b"cut"), "h5py.File"),
    "stepper.bin": (lambda path: path.write_bytes(struct.pack("<i5f", 5, *range(5))), "onnx.helper"),
}
"""Each file's name, how it is made, and what the refusal advises."""


@pytest.mark.parametrize("name", UNREAD)
def test_a_format_that_is_not_read_says_what_to_do(tmp_path, command, monkeypatch, name):
    """A person with such a file needs the next step, whichever command was tried first; content counts, and names."""
    path, (make, advice) = tmp_path / name, UNREAD[name]
    monkeypatch.chdir(tmp_path)
    make(path)
    before = sorted(tmp_path.rglob("*"))
    for words in (
        ("explain", path, "--contract", BUNDLE),
        ("diff", path, path, "--contract", BUNDLE),
        ("convert", path, "--contract", BUNDLE, "-o", tmp_path / "made.npz"),
        ("init", "--from", path, "-o", tmp_path / "made.toml"),
        ("convert", path, "-o", tmp_path / "made.npz"),
        ("check", path),
    ):
        answer = command(*words)
        assert (answer.status, answer.err.count("\n")) == (2, 1), (words, answer.err)
        assert answer.err.startswith(f"rigpact: error: {path}: found "), (words, answer.err)
        assert advice in answer.err, (words, answer.err)
    assert sorted(tmp_path.rglob("*")) == before
