"""Every command on the files of each system, and its answer in a word."""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rigpact.reports.command_line import run_command_line

from ...engine_recordings import as_engine

FRAMES = 24
Say = tuple[object, ...]


@dataclass(frozen=True)
class Project:
    """The files of a system's project, and a convention that an engine could have wrong."""

    name: str
    contract: str
    model: str
    clip: str
    wrong: str
    more: Say = ()


DEMO = ("--companion", "pretrain_template.json")
PROJECTS = (
    Project(
        "enemy_animation", "norm_template.json", "model.onnx", "clips/Sneak_Turn.json", "compose_order=prev_delta", DEMO
    ),
    Project("neurarig", "neurarig.json", "model.onnx", "clip.trace.safetensors", "error_target=pelvis_target_as_world"),
    Project("blender_ik", "blender_ik.json", "model.onnx", "clip.trace.safetensors", "target_space=hips_relative"),
    Project("rig_inversion", "rig_inversion.json", "model.onnx", "clip.trace.safetensors", "scale_mapping=zero_to_two"),
    Project("imu_pose", "imu_pose.json", "model.onnx", "clip.trace.safetensors", "temperature=none"),
)
FOLDERS = {"enemy_animation": "demo"}
"""Under fixtures/bundles; else the system's name."""


def questions(of: Project, aside: Path) -> Iterator[tuple[str, Say]]:
    """A row of the table and the words of its command, in an order in which each finds the files that it needs.

    aside: a folder for recordings that are not part of the project.
    """
    contract, files = (of.contract, *of.more), (of.clip, "--onnx", of.model)
    run, right, wrong = (
        ("run", "--contract", *contract, *files, "--frames", FRAMES),
        "engine.trace.jsonl",
        aside / "wrong.trace.jsonl",
    )
    judged = ("--contract", *contract, "--onnx", of.model)
    yield "show NAME", ("show", of.name)
    yield "show CONTRACT", ("show", *contract, "--onnx", of.model)
    yield "check", ("check", of.contract, of.clip, "--onnx", of.model, *of.more)
    yield "codegen", ("codegen", *contract, "--out", aside / "contract.hpp")
    yield "codegen --stamp", ("codegen", of.contract, "--stamp", of.model, "--out", aside / "stamped.onnx")
    yield "diff, two contracts", ("diff", of.contract, of.contract, *of.more, *of.more)
    yield "run", ("run", "--contract", *contract, *files, "--out", right)
    yield "run --mode free", (*run, "--mode", "free", "--out", aside / "free.trace.jsonl")
    yield "run --mode playback", (*run, "--mode", "playback", "--out", aside / "playback.trace.jsonl")
    yield "run --set, another convention", (*run, "--set", of.wrong, "--out", wrong)
    arrays = aside / "engine.npz"
    yield "convert", ("convert", right, "-o", arrays)
    yield "diff, its arrays", ("diff", right, arrays, "--contract", *contract)
    yield "diff, the same run", ("diff", right, right, "--contract", *contract)
    yield "diff, another convention", ("diff", right, wrong, "--contract", *contract)
    yield "explain, the contract's conventions", ("explain", right, *judged, "--clip", of.clip)
    yield "explain, another convention", ("explain", wrong, *judged, "--clip", of.clip)
    yield "nan", ("nan", "--contract", *contract, *files, "--frames", FRAMES)
    yield (
        "sweep",
        ("sweep", "--contract", *contract, *files, "--frames", FRAMES, "--processes", 1, "--out", aside / "swept"),
    )
    yield "init", ("init",)
    yield "init --status", ("init", "--status")
    yield "gate", ("gate", "--archive", aside / "kept.rigpact.zip")
    yield "gate --from --html", ("gate", "--from", aside / "kept.rigpact.zip", "--html", aside / "page.html")
    yield "gate --selftest --only bundle", ("gate", "--selftest", "--only", "bundle")


def answers(of: Project, folder: Path) -> Mapping[str, str]:
    """What each command answers in a project's folder, in this process."""
    aside = folder.parent / f"{folder.name}_aside"
    aside.mkdir()
    found = {}
    with contextlib.chdir(folder):
        for row, words in questions(of, aside):
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = run_command_line([str(word) for word in words])
            found[row] = in_a_word(status, out.getvalue(), err.getvalue())
            if row == "run":
                as_engine("engine.trace.jsonl")
    found["gate --from --html"] += f", {_pictured((aside / 'page.html').read_text(encoding='utf-8'))}"
    return found


def _pictured(html: str) -> str:
    """The page's view of the engine's recording."""
    data = re.search(r'id="data"[^>]*>(.*?)</script>', html, re.DOTALL)
    runs = json.loads(data[1])["runs"] if data else []
    if not runs:
        return "no run"
    return "the character moves" if any(run["bones"] for run in runs) else "curves of stages (no skeleton)"


def in_a_word(status: int, out: str, err: str) -> str:
    """A cell: why not, else the convention that is named, the defects that are missed, the verdict."""
    if status > 1:
        reason = re.search(r"found (?:.* which )?(.*), expected", err)
        return f"{reason[1] if reason else err.strip()} (status {status})"
    named = re.search(r"With (\w+) = (\S+)", out)
    if named:
        return f"names `{named[1]}`"
    caught = re.search(r"(\d+) of (\d+) planted defects caught", out)
    if caught:
        return "all caught" if caught[1] == caught[2] else f"{int(caught[2]) - int(caught[1])} missed"
    verdicts = re.findall(r"^([A-Z]{4,}): ", out, re.MULTILINE)
    return verdicts[-1] if verdicts else "done" if status == 0 else f"status {status}"
