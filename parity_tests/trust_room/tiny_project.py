"""A repository of a tiny contract with everything that a gate asks: numbers in a file beside it, a model, clips, a recording.

Its expected rows are written here by hand: 2 a, 3 b, held within ±5, then the model's identity.
"""

import json
import math
import subprocess
from pathlib import Path

from ..models import saved

CONTRACT = """format = "rigpact-contract"
version = 1
name = "tiny"
fps = 50
given = [{ name = "x", names = "channels", unit = "rad" }]
stages = [
    { name = "scaled", operation = "affine", of = "x", scale = "gain" },
    { name = "obs", operation = "clip", of = "scaled", lowest = -5, highest = 5 },
    { name = "action", operation = "network", names = "channels" },
]
[names]
channels = ["a", "b"]
[numbers.gain]
names = "channels"
file = "numbers.json"
at = "/gain"
[networks.policy]
file = "policy.onnx"
inputs = ["obs"]
outputs = ["action"]
"""
SETTINGS = """[severity]
RP131 = "error"
[gate]
bundle = "contract.toml"
clips = ["clips/*.csv"]
frames = 30
[gate.thresholds]
tolerance-factor = 2
pose-deg = 0.5
adequacy-margin = 10
[gate.budget]
parameters = 100
inference-us = 100000
[[gate.trace]]
file = "run.csv"
clip = "run.csv"
stages = ["obs", "action"]
frames = 12
"""


def rows(phase: float = 0.0, most: float = 5.0) -> str:
    """The recording as a table: twelve frames that reach beyond the limit, `most`."""
    lines = ["x.a,x.b,scaled.a,scaled.b,obs.a,obs.b,action.a,action.b"]
    for frame in range(12):
        x = math.sin(frame + phase), 2.5 * math.cos(1.7 * frame + phase)
        scaled = 2 * x[0], 3 * x[1]
        held = tuple(max(-most, min(most, value)) for value in scaled)
        lines.append(",".join(f"{value:.9g}" for value in (*x, *scaled, *held, *held)))
    return "\n".join(lines) + "\n"


def write_project(folder: Path) -> None:
    """Its files in a folder, without settings."""
    (folder / "clips").mkdir(parents=True)
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    (folder / "numbers.json").write_text(json.dumps({"gain": [2.0, 3.0]}), encoding="utf-8")
    (folder / "run.csv").write_text(rows(), encoding="utf-8")
    for name, phase in (("walk.csv", 0.3), ("wave.csv", 0.9)):
        (folder / "clips" / name).write_text(rows(phase), encoding="utf-8")
    saved(folder / "policy.onnx", "(float[N, 2] obs) => (float[N, 2] action) { action = Identity(obs) }")


def git(folder: Path, *words: str) -> str:
    """What git says in a folder, as a user without a configuration."""
    who = ("user.name=t", "user.email=t@t", "commit.gpgsign=false", "protocol.file.allow=always")
    options = [each for word in who for each in ("-c", word)]
    done = subprocess.run(["git", "-C", str(folder), *options, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, words: str = "change") -> None:
    """All of a folder's repository as a commit."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", words)
