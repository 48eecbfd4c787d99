"""The report on the README's engine: the demo character composed in the wrong order. People review its pictures.

RIGPACT_PICTURES=FOLDER keeps them: desktop and phone, light and dark, and the paper. RIGPACT_REGENERATE=1 writes
docs/report.webp anew.
"""

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.reference_runtime import read_recording, write_trace
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of
from rigpact.reports.command_line import run_command_line
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.gate.answer.compared_run import compared_run
from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.viewer import write_html

from ..engine_recordings import as_engine
from ..scene import generated_scene

FRAMES = 120
LARGEST_PICTURE = 150_000


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of a run whose engine applies ΔR on the right."""
    folder = tmp_path_factory.mktemp("demo")
    scene = generated_scene("sneak_turn", frames=FRAMES)
    write_trace(scene.record(), folder / "reference.trace.safetensors")
    engine = scene.record({"compose_order": "prev_delta"})
    write_trace(engine, folder / "engine.trace.safetensors")
    sides = [read_recording(folder / f"{side}.trace.safetensors", scene.contract) for side in ("reference", "engine")]
    comparison = compare(sides[0], sides[1], scene.contract)
    evidence = Evidence(engine.frame, scene.clip.fps, scene.mode, engine.stages, drive_of(scene.clip), scene.network)
    run = compared_run("sneak_turn", comparison, diagnose(evidence, scene.contract))
    parts = (
        Part("check", "The bundle against the rules", FindingsReport((), Ledger(32, 32))),
        Part("engine-trace/sneak_turn", "Engine trace: sneak_turn", judge(comparison)),
    )
    provenance = {"rigpact": "0.1.0", "norm_template.json": scene.contract.sha256}
    steps = ("In the engine, swap the factors: `R_next = ΔR · R_prev`.", "Record again and run `rigpact gate`.")
    write_html(folder / "report.html", GateReport(parts, provenance, {}, steps), [run])
    return folder / "report.html"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Where pictures are kept."""
    folder = Path(os.environ.get("RIGPACT_PICTURES", tmp_path_factory.mktemp("pictures")))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_the_command_writes_it_and_an_archive_writes_it_again(browser, demo_bundle, tmp_path, monkeypatch):
    """The page attached to a bug and the page from the archive must be equal."""
    monkeypatch.chdir(tmp_path)
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    driven = "--onnx model.onnx Sneak_Turn.json --set compose_order=prev_delta -o engine.trace.jsonl"
    assert run_command_line(["run", "--contract", "norm_template.json", *driven.split()]) == 0
    as_engine(tmp_path / "engine.trace.jsonl")
    assert run_command_line(["init"]) == 0
    assert run_command_line(["gate", "--html", "gate.html", "--archive", "kept.rigpact.zip"]) == 1
    assert run_command_line(["gate", "--from", "kept.rigpact.zip", "--html", "again.html"]) == 1
    assert (tmp_path / "gate.html").read_bytes() == (tmp_path / "again.html").read_bytes()
    browser.open(tmp_path / "gate.html")
    assert (browser.errors(), browser.requests()) == ([], [(tmp_path / "gate.html").as_uri()])
    assert "compose_order = prev_delta" in browser.text("#first-title")
    browser.find(".show").click()
    assert browser.text("#cell").startswith("foot_l · frame 2 (0.03 s) · 5.64°"), "the bone that the cause turns most"


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


def test_the_docs_show_it(browser, report, checkout):
    """RIGPACT_REGENERATE=1 takes the picture anew; pixels are not compared, fonts differ between machines."""
    path = checkout / "docs" / "report.webp"
    if os.environ.get("RIGPACT_REGENERATE"):
        browser.open(report, width=1280, height=900)
        path.write_bytes(browser.picture_of(".desk", "webp", 80, tallest=900))
    content = path.read_bytes()
    assert content[:4] + content[8:12] == b"RIFFWEBP"
    assert len(content) <= LARGEST_PICTURE
    assert "report.webp" in (checkout / "docs" / "gate.md").read_text(encoding="utf-8")
