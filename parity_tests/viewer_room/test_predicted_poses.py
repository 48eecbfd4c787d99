"""What the report draws: without a model what training predicts, beside what the clip does next; and of what no knob explains."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

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
def report(demo_bundle, tmp_path, command, monkeypatch):
    """Asks the gate about a training file, without any model, and writes the page."""
    for name in ("norm_template.json", "pretrain_template.json", f"teacher_predictions/{PREDICTION}", f"clips/{CLIP}"):
        shutil.copy(demo_bundle / name, tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(settings):
        Path("rigpact.toml").write_text(settings, encoding="utf-8")
        command("gate", "--html", "report.html")
        return tmp_path / "report.html"

    return write


def _axes(six):
    """Matrices of six numbers that are the columns X and Z, by Gram and Schmidt."""
    x, z = six[..., :3], six[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    z = z - (x * z).sum(axis=-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _degrees_from_the_clip():
    """(T, B): how far each predicted rotation is from the one that the clip has in the frame after."""
    bundle = json.loads(Path("norm_template.json").read_bytes())
    frames = json.loads(Path(CLIP).read_bytes())["Frames"]
    predicted = np.array(json.loads(Path(PREDICTION).read_bytes())["prediction"]["y_norm"])
    predicted = (predicted * bundle["StdY"] + bundle["MuY"]).reshape(len(predicted), -1, 6)
    following = np.array([np.reshape(frame["BoneRotations"], (-1, 6)) for frame in frames])[1 : len(predicted) + 1]
    a, b = _axes(predicted), _axes(following)
    return np.degrees(np.arccos(np.clip((np.einsum("tbij,tbij->tb", a, b) - 1.0) / 2.0, -1.0, 1.0)))


@pytest.mark.parametrize("width", [1280, 390])
def test_predicted_poses_are_drawn_beside_the_clip_s(browser, report, width):
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
