"""Files and consoles of Windows

Emulated here: files as an editor on Windows saves them, and the encodings of its consoles.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .recorded_demo import project
from .tried import passes

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TEXTS = ("norm_template.json", "pretrain_template.json", "clips/Sneak_Turn.json", "engine.trace.jsonl", "rigpact.toml")


def _saved_on_windows(folder: Path, mark: bytes) -> None:
    for name in TEXTS:
        content = (folder / name).read_bytes()
        assert b"\r" not in content
        (folder / name).write_bytes(mark + content.replace(b"\n", b"\r\n"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo character with an engine's recording, as the working directory."""
    monkeypatch.chdir(project(tmp_path / "character"))
    return tmp_path / "character"


@passes("every text file of a project has the line endings of Windows")
def test_line_endings_change_no_answer(command: Any, here: Path) -> None:
    """A checkout with autocrlf must not turn a green build red."""
    before = command("gate")
    _saved_on_windows(here, b"")
    after = command("gate")
    assert before.status == after.status == 0, after.err
    assert after.out == before.out


@passes("every text file of a project begins with the byte order mark that Notepad writes")
def test_a_byte_order_mark_changes_no_answer(command: Any, here: Path) -> None:
    """Somebody changes one number of the settings in Notepad; the build must not fail for three bytes."""
    before = command("gate")
    _saved_on_windows(here, BYTE_ORDER_MARK)
    after = command("gate")
    assert before.status == after.status == 0, after.err
    assert after.out == before.out


@passes("the console cannot show Δ, ° or ·: code pages 1252 and 936, and ASCII", "the same answer, `?` for the sign")
def test_a_console_that_lacks_a_sign_changes_no_answer(command: Any) -> None:
    """An answer that dies of its own Δ is a red build with no reason."""
    words = ("show", "enemy_animation")
    expected = command(*words)
    assert (expected.status, "ΔR" in expected.out) == (0, True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUTF8"}
    for encoding in ("cp1252", "cp936", "ascii"):
        done = subprocess.run(
            [sys.executable, "-m", "rigpact.reports", *words],
            env={**environment, "PYTHONIOENCODING": encoding}, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == expected.status, done.stderr
        shown = done.stdout.decode(encoding).replace("\r\n", "\n")
        assert shown == expected.out.encode(encoding, "replace").decode(encoding)
