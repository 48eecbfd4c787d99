"""The page as bytes: content, size, safety. These tests need no browser."""

import base64
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.prediction import rules as of_predictions
from rigpact.reports.gate.report import GateReport, Part
from rigpact.reports.viewer import render_html, write_html

from .drawn import HOSTILE, WRONG_CM, WRONG_COLUMN, WRONG_DEG, Drawn, drawn_gate

MEGABYTE = 1_000_000
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def embedded(text):
    """The numbers that a page holds."""
    found: dict[str, Any] = json.loads(DATA.findall(text)[0])
    return found


def words(base64_text):
    """The 16-bit numbers of a packed array."""
    content = base64.b64decode(base64_text)
    return [int.from_bytes(content[at : at + 2], "little") for at in range(0, len(content), 2)]


def test_ten_seconds_of_a_large_character_stay_below_a_megabyte():
    """A ticket system refuses large attachments."""
    drawn = Drawn.with_one_error(frames=600, bones=65)
    chance = np.random.default_rng(1)
    noise = 10.0 ** chance.uniform(-6, 1.5, (600, 65))
    stages = {"stages": [(f"stage_{i}", "") for i in range(15)], "ratios": 10.0 ** chance.uniform(-3, 5, (15, 600))}
    size = len(render_html(drawn_gate(drawn, drawn.changed(deg=noise, cm=noise, **stages).run)).encode())
    assert size <= MEGABYTE, size


@pytest.mark.sampled(2)
@pytest.mark.parametrize("frames", [40, 9000])
def test_the_same_answer_gives_the_same_bytes(frames, tmp_path):
    """A report that somebody kept is compared by its hash; a set's order, which the seed changes, would break it."""
    code = (
        "import sys; from parity_tests.viewer_room.drawn import Drawn, drawn_gate;"
        "from rigpact.reports.viewer import write_html;"
        f"drawn = Drawn.with_one_error(frames={frames}, bones=8); write_html(sys.argv[1], drawn_gate(drawn))"
    )
    checkout = str(Path(__file__).parents[2])
    for seed in ("1", "2"):
        paths = os.pathsep.join([checkout, *sys.path])
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)], check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        )  # fmt: skip
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_only_the_pages_own_script_and_style_may_act(page):
    """A name that is not escaped must still not run as a script; `unsafe-inline` would allow it."""
    text = page.read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy).split("; "))
    (style,), (script,) = (
        re.findall(r"<style>(.*?)</style>", text, re.DOTALL),
        re.findall(r"<script>(.*?)</script>", text, re.DOTALL),
    )
    digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (style, script)]
    assert rules["default-src"] == "'none'"
    assert [rules["style-src"], rules["script-src"]] == [f"'sha256-{digest}'" for digest in digests]
    assert "unsafe" not in policy


def test_nothing_in_the_page_points_outside(page):
    """The page must work offline and behind a firewall."""
    text = DATA.sub("", page.read_text(encoding="utf-8"))
    assert not re.findall(r"https?://|url\(|@import|\bsrc=[\"']|\bfetch\(|XMLHttpRequest|WebSocket", text)
    assert {target[:1] for target in re.findall(r'\bhref="([^"]*)"', text)} <= {"#"}


def test_text_of_files_cannot_leave_its_place():
    """Bone names and paths come from files that anybody may have written."""
    evil = f"</script><script>x</script><!--{HOSTILE}\u2028\u202e\ud800&amp;"
    drawn = Drawn.with_one_error()
    drawn = drawn.changed(name=evil, bone_names=[evil] * 12)
    gate = drawn_gate(drawn, provenance={evil: evil}, not_asked={evil: evil}, next_steps=(evil, f"`{evil}`"))
    text = render_html(gate)
    assert "<img" not in text
    assert "<!--" not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert "\u202e" not in text, "text that turns the reading direction could show another name"
    assert HOSTILE in embedded(text)["runs"][0]["bones"][0]
    text.encode("utf-8")


def test_the_largest_errors_of_a_long_run_are_kept():
    """One bad frame in five minutes: thinning that skips it shows a clean run."""
    frames = 18_000
    drawn = Drawn.with_one_error(bones=12)
    deg = np.full((frames, 12), 1e-3)
    deg[7777, 3], deg[1234, 5] = 90.0, np.nan
    still = np.broadcast_to(np.eye(3), (frames, 12, 3, 3))
    ratios = np.zeros(frames)
    ratios[4321:] = 3.0
    run = drawn.changed(
        frames=np.arange(frames), deg=deg, cm=None, reference=still, engine=still, stages=[("y_out", "")],
        ratios=ratios[None],
    ).run  # fmt: skip
    shown = embedded(render_html(drawn_gate(drawn, run)))["runs"][0]
    assert len(shown["frames"]) < frames / 2
    assert {1234, 4321} <= set(shown["frames"])  # the first that is not finite is the worst; the first divergence
    assert shown["frames"][shown["first"]["column"]] == 4321
    codes = np.array(words(shown["deg"])).reshape(len(shown["frames"]), 12)
    assert codes[shown["frames"].index(1234), 5] == 0xFFFF
    held = int(np.searchsorted(shown["frames"], 7777, side="right")) - 1
    assert codes[held, 3] == np.sort(codes[:, 3])[-1] > codes[0, 3]


def test_every_figure_stands_in_a_table_too(drawn):
    """A canvas says nothing to a screen reader, and cannot be copied into a ticket."""
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render_html(drawn_gate(drawn))))
    frame = drawn.run.frames[WRONG_COLUMN]
    assert f"bone_7 {WRONG_DEG:g} {WRONG_DEG / 40:.3g} {WRONG_CM} {frame}" in text
    assert f"y_out ✕ beyond 1000 {frame}" in text
    assert "state ✓ within 0" in text


def test_the_three_verdicts_are_told_apart_by_word_and_sign():
    """Colour-blind people cannot separate red and green."""
    wrong = (ALL_RULES[0].at("bundle.json", key="fps"),)

    def headline(compared, *findings):
        part = Part("check", "Check", FindingsReport(findings, Ledger(3, compared)))
        text = render_html(GateReport((part,), {}))
        return re.findall(r'aria-hidden="true">(.)</div>|<h1 id="verdict-word">(\w+)</h1>', text)

    verdicts = [headline(3), headline(3, *wrong), headline(0)]
    signs, names = zip(*[(sign[0], word[1]) for sign, word in verdicts], strict=True)
    assert names == ("Pass", "Fail", "Undetermined")
    assert len(set(signs)) == 3


def test_an_old_report_survives_a_failed_write(tmp_path, drawn):
    """A failed write must keep the old report, not leave half a page."""
    path = tmp_path / "report.html"
    path.write_text("yesterday's", encoding="utf-8")
    broken = drawn.changed(reference=drawn.run.reference[:WRONG_COLUMN])
    with pytest.raises(IndexError):
        write_html(path, drawn_gate(drawn, broken.run))
    assert path.read_text(encoding="utf-8") == "yesterday's"
    assert [child.name for child in tmp_path.iterdir()] == ["report.html"]


def test_the_page_opens_on_what_failed(drawn):
    """A reader who opens a failed gate used to see the first recording, which was sound."""
    sound = replace(drawn.run, name="sound")
    passing = Part("teacher/sound", "Training file sound", FindingsReport((), Ledger(10, 10)), run=sound)
    gate = drawn_gate(drawn)
    text = render_html(replace(gate, parts=(passing, *gate.parts)))
    assert [run["name"] for run in embedded(text)["runs"]] == [drawn.run.name, "sound"]
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))
    assert said.index("engine: narrow, solid") < said.index("training: narrow, solid")
    assert "It agrees with the reference in every stage that was compared." in said


@pytest.mark.parametrize(
    ("finding", "bones", "said"),
    [
        (
            of_predictions.PREDICTION_HOLDS_RESIDUAL.at("walk.json", residual_deg=0.57, pose_deg=6.35), 0,
            "No pose is drawn of this recording: prediction.y_norm is the network&#39;s residual, not a pose",
        ),
        (
            of_predictions.COMPOSED_WITH_TARGET.at("walk.json", slope=1.65, spread=0.04, error_deg=0.5), 12,
            "rotation, not an error (RP633)",
        ),
        (
            of_predictions.PREDICTION_HOLDS_RESIDUAL.at("other.json", residual_deg=0.57, pose_deg=6.35), 12,
            "how far the prediction is from",
        ),
    ],
    ids=["residual", "composed with the target", "of another file"],
)  # fmt: skip
def test_nothing_is_drawn_that_a_finding_denies(drawn, finding, bones, said):
    """A residual drawn as a pose showed a finger 69 degrees off, beside the finding that it is no pose."""
    run, report = drawn.changed(against="clip").run, FindingsReport((), Ledger(1, 1), {"b": "walk.json"})
    part = Part("teacher/walk", "Training file walk", report, run=run)
    files = Part("files", "Files", FindingsReport((finding,), Ledger(1, 1)))
    text = render_html(GateReport((files, part), {}))
    assert len(embedded(text)["runs"][0]["bones"]) == bones
    assert said in text
