"""`--report FORMAT=FILE` and `--html FILE` write what `--format` prints, in every command that judges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures.demo import demo_robot

Command = Callable[..., Any]
RO = "--contract ro/contract.toml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve frames of the demo robot and two files of arrays, the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ro").mkdir()
    for name in ("contract.toml", "policy.onnx"):
        (tmp_path / "ro" / name).write_bytes((demo_robot() / name).read_bytes())
    lines = (demo_robot() / "run.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "run.csv").write_text("".join(lines[:13]), encoding="utf-8")
    joints = np.random.default_rng(0).normal(size=(20, 4))
    np.savez(tmp_path / "a.npz", joints=joints)
    np.savez(tmp_path / "b.npz", joints=joints[:, [1, 0, 2, 3]])
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        f"explain run.csv {RO} --budget 1",
        f"diff run.csv run.csv {RO}",
        "diff a.npz b.npz",
        f"nan run.csv {RO}",
        "check ro",
    ],
)
def test_a_file_holds_what_the_format_prints(command: Command, here: Path, typed: str) -> None:
    """A build keeps the page and the JSON of the one run that it paid for."""
    printed = {name: command(*typed.split(), "--format", name) for name in ("text", "json", "markdown", "html")}
    asked = ("--report", "json=kept", "--report", "kept.md", "--html", "kept.html", "--report", "text=kept.txt")

    answer = command(*typed.split(), *asked, "-q")

    assert answer.status == printed["text"].status
    assert answer.out.count("\n") == 1, "the verdict alone"
    for name, file in (("json", "kept"), ("markdown", "kept.md"), ("html", "kept.html"), ("text", "kept.txt")):
        out = printed[name].out
        assert (here / file).read_bytes() == (out if isinstance(out, bytes) else out.encode()), name


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("--report junit=a.xml", "'junit' is not one of 'text', 'json'"),
        ("--report a.dat", "found .dat"),
        ("--report a.md --html a.md", "a.md twice"),
        ("--html nowhere/a.html", "no folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    command: Command, here: Path, asked: str, says: str
) -> None:
    """An answer of ten minutes, and nowhere to put it."""
    answer = command(*f"nan run.csv {RO} {asked}".split())

    assert (answer.status, answer.out, says in answer.err) == (2, "", True), answer
    assert sorted(path.name for path in here.iterdir()) == ["a.npz", "b.npz", "ro", "run.csv"]
