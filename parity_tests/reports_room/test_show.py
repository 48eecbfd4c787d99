"""`rigpact show WORD`: one command for everything that has a name, told apart by the word."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.describing.shown import shown

from ..every_case import every_case

Command = Callable[..., Any]
ROBOT = Path(__file__).parents[2] / "fixtures" / "bundles" / "robot"


@every_case(
    ("words", "kind", "says"),
    [
        (["RP204"], "a rule", "RP204 "),
        (["rp204"], "a rule", "RP204 "),
        (["std-not-positive"], "a rule", "RP104 "),
        (["rig-inversion"], "a system", "System"),
        (["affine"], "an operation", "Operations"),
        (["mjlab"], "a profile", "Profile mjlab"),
        (["page", "neurarig"], "a page", "Page of neurarig"),
        (["schema", "demo", "robot"], "a schema", "Schema of demo robot"),
        (["schema", "rigpact.toml"], "a schema", "Schema of rigpact.toml"),
        (["schema"], "the schemas", "Schemas"),
        (["recorder"], "a recorder", "Recorder"),
        ([], "a list", "What can be shown"),
    ],
)
def test_a_word_is_shown_as_what_it_is(words: list[str], kind: str, says: str) -> None:
    """Five commands for five kinds of words: nobody knew which of them had the answer."""
    found = shown(words)
    assert (found.kind, found.sections[0].title.startswith(says)) == (kind, True)


@every_case(
    ("word", "near"),
    [
        ("RP20O", "RP20"),
        ("afine", "affine"),
        ("neurarg", "neurarig"),
        ("isaaclab", "isaaclab-2"),
        ("schema gat", "schema gate"),
        ("pege neurarig", "page neurarig"),
        ("recoder", "recorder"),
        ("contrct.toml", "contract.toml"),
    ],
)
def test_a_word_that_names_nothing_is_answered_with_the_nearest_of_all_kinds(
    word: str, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that is misspelt, or a file: who types it may not know which kind of word it was."""
    (tmp_path / "contract.toml").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnusableInput, match="did you mean ") as refused:
        shown(word.split())
    assert near in str(refused.value)


@every_case(
    "words",
    [
        ("RP204", "--beside", "other.toml"),
        ("affine", "--onnx", "model.onnx"),
        ("neurarig", "--set", "a=b"),
        ("recorder", "--companion", "c.json"),
        ("affine", "--write-contract", "c.json"),
        (ROBOT / "contract.toml", "--write-contract", "c.json"),
        (ROBOT / "contract.toml", "--write", "."),
        ("--write", "."),
    ],
)
def test_an_option_of_another_kind_is_refused(
    words: tuple[object, ...], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that is passed over looks as if it had been obeyed."""
    monkeypatch.chdir(tmp_path)
    answer = command("show", *words)
    assert (answer.status, answer.out, answer.err.count("\n"), list(tmp_path.iterdir())) == (2, "", 1, [])
    assert "--" in answer.err


def test_the_recorders_lines_compile_and_record(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has no recording pastes these lines: lines that do not compile are worse than none."""
    monkeypatch.chdir(tmp_path)
    lines = command("show", "recorder").out
    Path("game.cpp").write_text(lines, encoding="utf-8")
    compiler, *words = shlex.split(lines.partition("\n")[0].removeprefix("//"))
    assert compiler == "c++"
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", *words, "-o", "game"], check=True)
    subprocess.run(["./game"], check=True)
    obs = np.array([[np.float32(0.1) * frame, 0.2] for frame in range(120)], np.float32)
    np.savez("python.npz", obs=obs, action=np.full((120, 1), 0.3, np.float32))
    assert command("diff", "run.trace.bin", "python.npz").status == 0
    np.savez("python.npz", obs=obs[:, ::-1], action=np.full((120, 1), 0.3, np.float32))
    assert command("diff", "run.trace.bin", "python.npz").status == 1
