"""Start time of commands: people do not use a command that starts slowly."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .performance_table import add_row
from .timing import in_turns

HELP_TARGET, CHECK_TARGET_S, SLOWEST_CHECK_S = 2.0, 0.25, 1.5
LIBRARIES = "numpy, onnxruntime, onnx, jsonschema, orjson, typer, rich"


def process(*words: object) -> Callable[[], None]:
    """Run Python with these words, as an installed rigpact does."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def run() -> None:
        subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True, timeout=60, env=environment)

    return run


def test_help_starts_as_fast_as_its_libraries(benchmark: Any) -> None:
    """`rigpact --help` beside importing the two libraries that print it."""
    ours, theirs, ratio = benchmark.pedantic(
        in_turns, (process("-m", "rigpact.reports", "--help"), process("-c", "import typer, rich"), 15), rounds=1
    )
    add_row(
        "`rigpact --help`", section="Starting up", ours=f"{1e3 * ours:.0f} ms",
        rival=f"`import typer, rich`: {1e3 * theirs:.0f} ms", ratio=ratio, target=f"≤ {HELP_TARGET:g}",
        met=ratio <= HELP_TARGET,
    )  # fmt: skip
    assert ratio <= HELP_TARGET


def test_the_demo_bundle_is_checked_in_a_moment(benchmark: Any, demo_bundle: Path) -> None:
    """`rigpact check` in a pre-commit hook, from a cold start."""
    check = process(
        "-m", "rigpact.reports", "check", demo_bundle / "norm_template.json", "--onnx", demo_bundle / "model.onnx"
    )
    took, libraries, ratio = benchmark.pedantic(in_turns, (check, process("-c", f"import {LIBRARIES}"), 9), rounds=1)
    add_row(
        "`rigpact check` of the demo bundle and its model", section="Starting up", ours=f"{took:.2f} s",
        rival=f"importing its libraries: {libraries:.2f} s", ratio=ratio, target=f"≤ {CHECK_TARGET_S:g} s",
        met=took <= CHECK_TARGET_S,
    )  # fmt: skip
    assert took <= SLOWEST_CHECK_S
