"""A project of the outside system: the package installed, a contract, a model, a clip; and rigpact as its users call it."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.declared import vocabulary
from rigpact.contract.pages.registry import known_systems
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

from ..declared_room.foreign_files import write_model

PACKAGE = Path(__file__).parent / "outside"
CONSTANTS = {"default_pose": [0.1, -0.4, -0.1, 0.4], "action_scale": 0.25, "rate_scale": 0.25}
OBSERVED, JOINTS = 28, 4
FPS, FRAMES = 50.0, 90


@dataclass(frozen=True)
class Answer:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything that was printed."""
        return self.out + self.err


def install(package: Path, folder: Path) -> None:
    """Install a package into a folder as a user would, without a network."""
    words = ("install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", folder, package)
    subprocess.run([sys.executable, "-m", "pip", *map(str, words)], check=True, capture_output=True, timeout=120)


def roots_of(checkout: Path) -> list[str]:
    """The roots of the namespace in a checkout."""
    return [
        str(checkout / root) for root in ("contract", "reference_runtime", "fixtures", "fixtures/training", "reports")
    ]


@dataclass(frozen=True)
class Rigpact:
    """The command, in a process of its own, with these folders to import from."""

    folder: Path
    imports: tuple[str, ...]

    def __call__(self, *words: object) -> Answer:
        """`rigpact WORDS…`; a traceback fails the test."""
        return self.python("-m", "rigpact.reports", *words)

    def python(self, *words: object, **variables: str) -> Answer:
        """`python WORDS…` in the project's folder."""
        own = {"PYTHONPATH": os.pathsep.join(self.imports), "COLUMNS": "130", "NO_COLOR": "1", **variables}
        line = [sys.executable, *map(str, words)]
        done = subprocess.run(
            line, cwd=self.folder, env=os.environ | own, check=False, capture_output=True, text=True, timeout=300
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)


@contextmanager
def found_in(*folders: str) -> Iterator[None]:
    """Packages in these folders are installed in this very process, and forgotten afterwards."""
    found = (known_systems, vocabulary._entries, vocabulary._installed)
    before, sys.path[:0] = sys.path[:], folders
    importlib.invalidate_caches()
    for known in found:
        known.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = before
        for known in found:
            known.cache_clear()


class InProcess(Rigpact):
    """The command in this process, with packages installed; `python` starts one."""

    def __call__(self, *words: object) -> Answer:
        """`rigpact WORDS…`; a traceback fails the test."""
        from rigpact.reports.command_line import run_command_line

        out, err = io.StringIO(), io.StringIO()
        with chdir(self.folder), found_in(self.imports[0]), redirect_stdout(out), redirect_stderr(err):
            status = run_command_line([str(word) for word in words])
        assert "Traceback" not in err.getvalue(), err.getvalue()
        return Answer(status, out.getvalue(), err.getvalue())


def sensors(count: int = FRAMES, seed: int = 0) -> FloatArray:
    """A robot that rocks and turns, (count, 8): angular rate, gravity, command."""
    phase = np.arange(count)[:, None] / FPS * 2.0 * np.pi * np.array([1.1, 1.7, 0.6])
    tilt = 0.2 * np.sin(phase + seed)
    gravity = np.stack([np.sin(tilt[:, 0]), np.sin(tilt[:, 1]), -np.cos(tilt[:, 0]) * np.cos(tilt[:, 1])], axis=-1)
    command = np.stack([0.5 + 0.3 * np.sin(phase[:, 2]), 0.4 * np.cos(phase[:, 2])], axis=-1)
    return np.hstack([2.0 * np.cos(phase + seed), gravity / np.linalg.norm(gravity, axis=-1, keepdims=True), command])


def write_clip(path: Path, seed: int = 0) -> None:
    """What drives a run: the sensors, and the targets that stood before each frame."""
    rng, frame = np.random.default_rng(seed), np.arange(FRAMES)
    given = {
        "sensors": sensors(seed=seed).astype(np.float32),
        "last_targets": (np.array(CONSTANTS["default_pose"]) + rng.normal(0.0, 0.2, (FRAMES, JOINTS))).astype(
            np.float32
        ),
    }
    header = TraceHeader(FPS, "teacher", system="walking_policy")
    write_trace(Trace(header, frame, frame / FPS, given), path)


def write_project(rigpact: Rigpact) -> None:
    """`policy.json` as rigpact itself starts it, `policy.onnx`, `walk.trace.jsonl`, and a second clip."""
    contract = rigpact.folder / "policy.json"
    answer = rigpact("show", "walking_policy", "--write-contract", contract)
    assert answer.status == 0, answer.err
    declared = json.loads(contract.read_text(encoding="utf-8"))
    contract.write_text(json.dumps(declared | {"constants": CONSTANTS}, indent=2), encoding="utf-8")
    write_model(rigpact.folder / "policy.onnx", OBSERVED, JOINTS)
    write_clip(rigpact.folder / "walk.trace.jsonl")
    write_clip(rigpact.folder / "turn.trace.jsonl", seed=1)


def keep_stages(recorded: Path, kept: Path, names: tuple[str, ...]) -> None:
    """A recording with some of its stages only, as an engine logs what is at hand; the file's own text, not its reader's."""
    header, *rows = map(json.loads, recorded.read_text(encoding="utf-8").splitlines())
    header["stages"] = {name: header["stages"][name] for name in names}
    for row in rows:
        row["stages"] = {name: row["stages"][name] for name in names}
    kept.write_text("".join(json.dumps(each) + "\n" for each in (header, *rows)), encoding="utf-8")
