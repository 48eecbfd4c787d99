"""A recorded demo run to compare with."""

import pytest

from rigpact.reports.command_line import run_command_line

from .demo import BUNDLE, CLIP, MODEL


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """A teacher-driven run of the demo network, as a trace file."""
    out = tmp_path_factory.mktemp("run") / "run.trace.jsonl"
    assert run_command_line(["run", "--contract", *map(str, (BUNDLE, "--onnx", MODEL, CLIP, "-o", out))]) == 0
    return out
