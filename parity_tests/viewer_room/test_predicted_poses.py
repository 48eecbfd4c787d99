"""What the report draws: without a model what training predicts, beside what the clip does next; and of what no knob explains."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ..trust_room.recorded_demo import project, recorded

if TYPE_CHECKING:
    from .browser import Browser

PREDICTION, CLIP = "Sneak_Turn_prediction.json", "Sneak_Turn.json"
SETTINGS = f"""[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
[[gate.teacher]]
file = "{PREDICTION}"
clip = "{CLIP}"
stages = ["state", "cond", "contacts", "angvel", "pose_hist"]
"""
HOOK = "return window.rigpactReport."


@pytest.fixture
def report(
    demo_bundle: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Asks the gate about a training file, without any model, and writes the page."""
    for name in ("norm_template.json", "pretrain_template.json", f"teacher_predictions/{PREDICTION}", f"clips/{CLIP}"):
        shutil.copy(demo_bundle / name, tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(settings: str) -> Path:
        Path("rigpact.toml").write_text(settings, encoding="utf-8")
        command("gate", "--html", "report.html")
        return tmp_path / "report.html"

    return write


def _axes(six: np.ndarray) -> np.ndarray:
    """Matrices of six numbers that are the columns X and Z, by Gram and Schmidt."""
    x, z = six[..., :3], six[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    z = z - (x * z).sum(axis=-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _degrees_from_the_clip() -> np.ndarray:
    """(T, B): how far each predicted rotation is from the one that the clip has in the frame after."""
    bundle = json.loads(Path("norm_template.json").read_bytes())
    frames = json.loads(Path(CLIP).read_bytes())["Frames"]
    predicted = np.array(json.loads(Path(PREDICTION).read_bytes())["prediction"]["y_norm"])
    predicted = (predicted * bundle["StdY"] + bundle["MuY"]).reshape(len(predicted), -1, 6)
    following = np.array([np.reshape(frame["BoneRotations"], (-1, 6)) for frame in frames])[1 : len(predicted) + 1]
    a, b = _axes(predicted), _axes(following)
    return np.degrees(np.arccos(np.clip((np.einsum("tbij,tbij->tb", a, b) - 1.0) / 2.0, -1.0, 1.0)))


@pytest.mark.parametrize("width", [1280, 390])
def test_predicted_poses_are_drawn_beside_the_clip_s(
    browser: Browser, report: Callable[[str], Path], width: int
) -> None:
    """A team without an exported model would look at a page without its character."""
    page = report(SETTINGS)
    browser.open(page, width=width)
    expected = _degrees_from_the_clip()
    shown = np.array(browser.run(f"{HOOK}errors(0, 'deg')"), float).reshape(len(expected), -1)
    assert expected.max() > 1.0
    np.testing.assert_allclose(shown, expected, rtol=2e-3, atol=2e-3)
    assert (browser.errors(), browser.requests()) == ([], [page.as_uri()])
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.text(".key").splitlines() == ["clip: wide, pale", "training: narrow, solid"]
    assert "No model ran here, so there is no reference pose" in browser.text(".said")
    assert [option.text for option in browser.find("#layout").find_elements("css selector", "option")][
        -1
    ] == "Clip only"
    assert browser.find("#follow").is_displayed()


def test_without_a_clip_there_is_nothing_to_draw_them_beside(browser: Browser, report: Callable[[str], Path]) -> None:
    """The last frame has no next pose in the file itself: half a picture would show an error that is none."""
    browser.open(report(SETTINGS.replace(f'clip = "{CLIP}"\n', "")))
    data = browser.run("return JSON.parse(document.querySelector('#data').textContent).runs")
    assert [(run["bones"], run["against"]) for run in data] == [([], "reference")]


def test_the_report_of_a_recording_with_a_relation_is_written(
    tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one recording that most needs a picture was an internal error."""
    trace = recorded()
    late = np.concatenate([trace.stages["quat"][:1], trace.stages["quat"][:-1]])
    monkeypatch.chdir(project(tmp_path / "game", replace(trace, stages={**trace.stages, "quat": late})))

    answer = command("gate", "--html", "report.html")

    assert answer.status == 1, answer.err
    assert "quat is the answer of frame t-1: explains 24 of 24 frames" in Path("report.html").read_text()
