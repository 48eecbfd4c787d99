"""Run pytest inside pytest, in a user's repository, with the plugin as installed."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import onnxruntime  # noqa: F401 - a run of pytest in pytest forgets what it imported; C extensions bear that badly
import pytest

import rigpact.contract.rules
import rigpact.reference_runtime.graph.bounds
import rigpact.reports.diagnosing.diagnose
import rigpact.reports.diagnosing.evidence
import rigpact.reports.running
import rigpact.testing.items
import rigpact.testing.strategies  # noqa: F401

with suppress(ImportError):
    import onnx  # noqa: F401 - as onnxruntime: imported twice it aborts the process

INSTALLED = any(point.value == "rigpact.testing.plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "rigpact.testing.plugin")
"""In a checkout nothing is installed: the plugin is named. In an installation pytest finds it by itself."""


@dataclass(frozen=True)
class Ran:
    """The result of a pytest run."""

    status: int
    out: str

    @property
    def outcomes(self):
        """Outcome by the name of each added test, from `-v` or `-rA`."""
        line = re.compile(
            r"^(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED|SKIPPED|ERROR) (rigpact::.*?)(?: - .*)?$", re.MULTILINE
        )
        return {name.rstrip(): outcome.lower() for outcome, name in line.findall(self.out)}

    @property
    def summary(self):
        return next((line for line in self.out.splitlines() if line.startswith("rigpact: ")), "")


def run_in(folder, words, env):
    """Run pytest in a separate process, without the settings of this run."""
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    if not INSTALLED:
        quiet["PYTHONPATH"] = os.pathsep.join(str(Path(part).parent) for part in sys.modules["rigpact"].__path__)
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, timeout=300, env={**quiet, **env}
    )
    return Ran(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def folder(pytester):
    """The user's repository: an empty folder, the current one."""
    return pytester.path


@pytest.fixture
def run_pytest(pytester):
    """Run `pytest WORDS…` in the folder, in this process: what rigpact imports is imported once."""

    def run(*words):
        result = pytester.runpytest_inprocess(*PLUGIN, *map(str, words))
        return Ran(int(result.ret), "\n".join([*result.outlines, *result.errlines]))

    return run


@pytest.fixture
def run_apart(folder):
    """The same in a process of its own."""
    return lambda *words: run_in(folder, [*PLUGIN, *map(str, words)], {})


def words_for(bundle):
    """The options that name the demo character's files, in one folder or another."""
    prediction = bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    return [
        f"--rigpact-bundle={bundle / 'norm_template.json'}", f"--rigpact-companion={bundle / 'pretrain_template.json'}",
        f"--rigpact-onnx={bundle / 'model.onnx'}", f"--rigpact-clip={bundle / 'clips' / 'Sneak_Turn.json'}",
        f"--rigpact-clip={prediction}", "--rigpact-examples=5",
    ]  # fmt: skip


@pytest.fixture
def demo_words(demo_bundle):
    """The options that name the demo character's files."""
    return words_for(demo_bundle)
