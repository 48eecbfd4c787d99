"""The report on the README's engine, on a robot, and without a model on what training predicts. People review its pictures.

RIGPACT_PICTURES=FOLDER keeps them: desktop and phone, light and dark, and the paper. RIGPACT_REGENERATE=1 writes
docs/report.webp anew.
"""

import json
import os
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rigpact.reports.command_line import run_command_line

from ..engine_recordings import as_engine

LARGEST_PICTURE = 150_000


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Where pictures are kept."""
    folder = Path(os.environ.get("RIGPACT_PICTURES", tmp_path_factory.mktemp("pictures")))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_the_command_writes_it_and_the_docs_show_it(browser, demo_bundle, tmp_path, checkout, monkeypatch):
    """The page attached to a bug opens where the cause turns most. Pixels of the docs' picture are not compared."""
    monkeypatch.chdir(tmp_path)
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    driven = "--onnx model.onnx Sneak_Turn.json --set compose_order=prev_delta -o engine.trace.jsonl"
    assert run_command_line(["run", "--contract", "norm_template.json", *driven.split()]) == 0
    as_engine(tmp_path / "engine.trace.jsonl")
    assert run_command_line(["init"]) == 0
    assert run_command_line(["gate", "--html", "gate.html"]) == 1
    browser.open(tmp_path / "gate.html")
    assert (browser.errors(), browser.requests()) == ([], [(tmp_path / "gate.html").as_uri()])
    assert "compose_order = prev_delta" in browser.text("#first-title")
    browser.find(".show").click()
    assert browser.text("#cell").startswith("foot_l · frame 2 (0.03 s) · 5.64°"), "the bone that the cause turns most"
    path = checkout / "docs" / "report.webp"
    if os.environ.get("RIGPACT_REGENERATE"):
        browser.open(tmp_path / "gate.html", width=1280, height=900)
        path.write_bytes(browser.picture_of(".desk", "webp", 80, tallest=900))
    content = path.read_bytes()
    assert content[:4] + content[8:12] == b"RIFFWEBP"
    assert len(content) <= LARGEST_PICTURE
    assert "report.webp" in (checkout / "docs" / "gate.md").read_text(encoding="utf-8")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_robot_has_a_picture(browser, pictures, tmp_path, monkeypatch, width, scheme):
    """Its page was words: no joint over time, and not which index of the network drives which motor."""
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    assert run_command_line(["demo", "robot", "--open", "--into", str(tmp_path / "robot")]) == 0
    browser.open(tmp_path / "robot" / "report.html", width=width, scheme=scheme)
    (pictures / f"robot-{width}-{scheme}.png").write_bytes(browser.picture())
    assert browser.errors() == []
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.find("#values canvas").is_displayed()
    names = tomllib.loads((tmp_path / "robot" / "contract.toml").read_text(encoding="utf-8"))["names"]
    network, motors = names["policy"], names["motors"]
    script = "return [...document.querySelectorAll('.orders tbody tr')].map((r) => [...r.cells].map((c) => c.textContent.trim()))"
    rows = browser.run(script)
    assert [row[:3] for row in rows] == [[name, str(at), str(network.index(name))] for at, name in enumerate(motors)]
    wrong = [("" if name == network[at] else f"{network[at]} (index {at})") for at, name in enumerate(motors)]
    assert [row[3] for row in rows] == wrong, "the runtime copies by position: motor i gets the network's number i"


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
