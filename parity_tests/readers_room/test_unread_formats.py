"""Formats that rigpact does not read: every command that is given one says what to do instead, in one line."""

import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures import demo_bundle

Command = Callable[..., Any]
BUNDLE = demo_bundle() / "norm_template.json"


def _database(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT)")


def _store(path: Path, described: str) -> None:
    (path / "data" / "action").mkdir(parents=True)
    (path / described).write_text('{"zarr_format": 2}', encoding="utf-8")
    (path / "data" / "action" / "0.0").write_bytes(bytes(24))


def _archive(path: Path, *members: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, "{}")


UNREAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "run.db3": (_database, "ros2 bag convert"),
    "renamed.bag": (_database, "ros2 bag convert"),
    "run.zarr": (lambda path: _store(path, ".zgroup"), "zarr.open_group"),
    "store": (lambda path: _store(path, "zarr.json"), "zarr.open_group"),
    "run.zarr.zip": (lambda path: _archive(path, "data/x"), "zarr.open_group"),
    "store.zip": (lambda path: _archive(path, "run/data/action/0.0", "run/data/action/.zarray"), "zarr.open_group"),
}
"""Each file's name, how it is made, and what the refusal advises."""


@pytest.mark.parametrize("name", UNREAD)
def test_a_format_that_is_not_read_says_what_to_do(tmp_path: Path, command: Command, name: str) -> None:
    """A person with such a file needs the next step, whichever command was tried first; content counts, and names."""
    path, (make, advice) = tmp_path / name, UNREAD[name]
    make(path)
    before = sorted(tmp_path.rglob("*"))
    for words in (
        ("explain", path, "--bundle", BUNDLE),
        ("diff", path, path, "--bundle", BUNDLE),
        ("convert", path, "--bundle", BUNDLE, "-o", tmp_path / "made.npz"),
        ("import", path, "-o", tmp_path / "made.toml"),
        ("import", path, "-o", tmp_path / "made.npz"),
        ("check", path, BUNDLE),
    ):
        answer = command(*words)
        assert (answer.status, answer.err.count("\n")) == (2, 1), (words, answer.err)
        assert answer.err.startswith(f"rigpact: error: {path}: found "), (words, answer.err)
        assert advice in answer.err, (words, answer.err)
    assert sorted(tmp_path.rglob("*")) == before
