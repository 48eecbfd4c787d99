"""A reader that goes away does not change a verdict: status 1 means findings, and there are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("norm_template.json", "pretrain_template.json", "model.onnx")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close in another way")
@pytest.mark.parametrize("words", [("check", *FILES[:2], "--onnx", FILES[2]), ("describe", FILES[0], "--markdown")])
def test_a_reader_that_goes_away_changes_no_verdict(words: tuple[str, ...], demo_bundle: Path) -> None:
    """`rigpact check … | head -1` in a CI script with pipefail would fail a sound pull request."""
    command = [sys.executable, "-m", "rigpact.reports", *words]
    with subprocess.Popen(command, cwd=demo_bundle, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")
