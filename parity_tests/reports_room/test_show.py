"""`rigpact show WORD`: one command for everything that has a name; the contract's document; what every system answers."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system, known_systems
from rigpact.reports.describing.shown import shown

from ..every_case import every_case
from .demo import BUNDLE, BUNDLES, COMPANION, DEMO, MODEL, edited, load

ROBOT, GOLDEN, MARKDOWN = DEMO.parent / "robot", Path(__file__).parent / "golden", ("--format", "markdown")
EVERY_SYSTEM = every_case("name", BUNDLES)


@every_case(
    ("words", "kind", "says"),
    [
        ("RP204", "a rule", "RP204 "), ("rp204", "a rule", "RP204 "), ("std-not-positive", "a rule", "RP104 "),
        ("rig-inversion", "a system", "System"), ("affine", "an operation", "Operations"),
        ("mjlab", "a profile", "Profile mjlab"), ("page neurarig", "a page", "Page of neurarig"),
        ("schema demo robot", "a schema", "Schema of demo robot"), ("recorder", "a recorder", "Recorder"),
        ("schema rigpact.toml", "a schema", "Schema of rigpact.toml"), ("schema", "the schemas", "Schemas"),
        ("", "a list", "What can be shown"),
    ],
)  # fmt: skip
def test_a_word_is_shown_as_what_it_is(words, kind, says):
    """Five commands for five kinds of words: nobody knew which of them had the answer."""
    found = shown(words.split())
    assert (found.kind, found.sections[0].title.startswith(says)) == (kind, True)


NEAR = {
    "RP20O": "RP20", "afine": "affine", "neurarg": "neurarig", "isaaclab": "isaaclab-2", "schema gat": "schema gate",
    "pege neurarig": "page neurarig", "recoder": "recorder", "contrct.toml": "contract.toml",
}  # fmt: skip


@every_case("word", NEAR)
def test_a_word_that_names_nothing_is_answered_with_the_nearest_of_all_kinds(word, tmp_path, monkeypatch):
    """A rule that is misspelt, or a file: who types it may not know which kind of word it was."""
    (tmp_path / "contract.toml").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnusableInput, match="did you mean ") as refused:
        shown(word.split())
    assert NEAR[word] in str(refused.value)


@every_case(
    "words",
    [
        ("RP204", "--beside", "other.toml"), ("affine", "--onnx", "model.onnx"), ("neurarig", "--set", "a=b"),
        ("recorder", "--companion", "c.json"), ("affine", "--write-contract", "c.json"), ("--write", "."),
        (ROBOT / "contract.toml", "--write-contract", "c.json"), (ROBOT / "contract.toml", "--write", "."),
        ("enemy_animation", "--write-contract", "c.json"),
        ("missing.json",), (COMPANION,), (DEMO / "clips" / "Run_F.json",), (".",),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_one_line_and_status_two(words, command, tmp_path_factory, monkeypatch):
    """An option that is passed over looks as if it had been obeyed; no document is written of what is no contract."""
    folder = tmp_path_factory.mktemp("empty")
    monkeypatch.chdir(folder)
    answer = command("show", *words)
    assert (answer.status, answer.out, answer.err.count("\n"), list(folder.iterdir())) == (2, "", 1, [])


def test_the_recorders_lines_compile_and_record(command, tmp_path, monkeypatch):
    """Who has no recording pastes these lines: lines that do not compile are worse than none."""
    monkeypatch.chdir(tmp_path)
    lines = command("show", "recorder").out
    Path("game.cpp").write_text(lines, encoding="utf-8")
    compiler, *words = shlex.split(lines.partition("\n")[0].removeprefix("//"))
    assert compiler == "c++"
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", *words, "-o", "game"], check=True)
    subprocess.run(["./game"], check=True)
    obs, action = (
        np.array([[np.float32(0.1) * frame, 0.2] for frame in range(120)], np.float32),
        np.full((120, 1), np.float32(0.3)),
    )
    for rows, status in ((obs, 0), (obs[:, ::-1], 1)):
        np.savez("python.npz", obs=rows, action=action)
        assert command("diff", "run.trace.bin", "python.npz").status == status


def described(command, *words, bundle=BUNDLE):
    answer = command("show", bundle, "--companion", COMPANION, *words)
    assert answer.status == 0
    return answer.out


def test_the_markdown_is_the_golden_page_and_the_text_has_its_facts(command):
    """A document that changes by itself is soon kept by hand again. `show … --format markdown` of the three files writes it."""
    page, text = (described(command, "--onnx", MODEL, *words) for words in (MARKDOWN, ()))
    assert page == (GOLDEN / "describe_demo.md").read_text(encoding="utf-8")
    meta = load(BUNDLE)["meta"]
    for side, stages in (("state", "state"), ("output", "y_norm, y_raw, delta6d, next6d, y_out")):
        for name, entry in meta[f"{side}_layout"].items():
            stop = entry["start"] + entry["size"]
            assert f"| {stages} | {name} | {entry['start']} | {stop} | {entry['size']} |" in page
    for word in ("upperarm_twist_01_r", "343", "padded by 406", "meta.rot6d_spec.output_mode"):
        assert (word in page, word in text) == (True, True)
    widths = set()
    for line in page.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line))
        widths = widths | {cells} if cells else set()
        assert len(widths) <= 1, "a row with a cell too many moves every number one column on"


def test_without_companion_and_model_the_gaps_are_said(command, tmp_path):
    """The deployed bundle alone: no history statistics, no root fps; the page must say what is assumed."""

    def bare(bundle):
        for name in ("fps", "pose_hist_len", "MuPoseHist", "StdPoseHist", "tanh_scales_pose_hist"):
            bundle.pop(name, None)
        bundle["StdX"][5] = 1e-6  # the root's yaw never moved

    answer = command("show", edited(BUNDLE, tmp_path / "bare.json", bare), *MARKDOWN)
    assert answer.status == 0
    for words in (
        "60 (not declared: enemy_animation assumes it)", "from the model's width", "| 4 | pose_hist | the model's |",
        "| 1e-06 … 1e-06 | 1 | channel 5 |",
    ):  # fmt: skip
        assert words in answer.out


def test_what_the_engine_would_refuse_is_said(command, tmp_path):
    """A bundle that does not start has no page; names stay text."""
    path = tmp_path / "bundle.json"
    answer = command("show", edited(BUNDLE, path, lambda bundle: bundle.pop("MuY")), *MARKDOWN)
    assert (answer.status, answer.out) == (2, "")
    path.write_text(BUNDLE.read_text(encoding="utf-8").replace('"spine_03"', '"sp|ne\\u001b[2J"'), encoding="utf-8")
    page, text = (command("show", path, *words).out for words in (MARKDOWN, ()))
    assert ("\x1b" in page + text, "sp\\|ne" in page) == (False, True)


def test_a_model_of_another_bundle_is_described_as_it_is(command, tmp_path):
    """The page is read to find out why the engine does not start: a missing tensor must stand in it."""
    model = onnx.load(MODEL)
    kept = model.graph.input[0]
    del model.graph.node[:], model.graph.input[:]
    model.graph.input.append(kept)
    node = onnx.helper.make_node("Sorcery", [kept.name], [model.graph.output[0].name], domain="com.acme")
    model.graph.node.append(node)
    onnx.save(model, tmp_path / "other.onnx")
    out = described(command, "--onnx", tmp_path / "other.onnx", *MARKDOWN)
    assert ("does not load it" in out, "missing" in out) == (True, True)


def test_every_system_of_rigpact_is_asked():
    """A new system must not be supported without a test."""
    own = {name for name, entry in known_systems().items() if entry.module.startswith("rigpact.")}
    assert own == set(BUNDLES)


@EVERY_SYSTEM
def test_a_contract_shows_every_stage_field_knob_and_tensor(command, name):
    """The contract document is written from this: what is missing there is not agreed on."""
    path, system = BUNDLES[name], find_system(name)
    out = command("show", path, "--onnx", path.with_name("model.onnx"), *MARKDOWN).out
    for title in ("Stages", "Fields", "Tensors", "Conventions", "Feedback", "Model"):
        assert f"\n## {title}\n" in out
    assert ("meta.rot6d_spec.output_mode" if name == "enemy_animation" else "| conventions.") in out
    rows = [line[2:-2].split(" | ") for line in out.splitlines() if line.startswith("| ")]
    assert {*system.graph.names, *system.knobs} <= {row[0] for row in rows}
    assert [row[1] for row in rows if row[0].isdigit()] == list(system.inputs)
    assert [row[1] for row in rows if row[0].startswith("output ")] == list(system.outputs)
    for layout in system.vectors.values():
        for field in layout:
            found = [row for row in rows if len(row) == 10 and row[1] == field.name]
            assert any(row[2:4] == [str(field.start), str(field.stop)] and row[5] == field.kind.value for row in found)


@EVERY_SYSTEM
def test_a_system_shows_stages_feedback_knobs_and_a_contract_to_start_from(command, checkout, tmp_path_factory, name):
    """Authors of exporters and engineers who search a defect start here."""
    system, told = find_system(name), json.loads(command("show", name, "--format", "json").out)
    rows = {section["title"]: section["rows"] for section in told["sections"]}
    assert ["package", "rigpact"] in rows["System"]
    assert [row[0] for row in rows["Stages"]] == list(system.graph.names)
    assert [row[0] for row in rows["Feedback"]] == [stage.name for stage in system.stages if stage.carried]
    for knob in system.knobs.values():
        (row,) = (row for row in rows["Conventions"] if row[0] == knob.name)
        assert (row[2], row[3]) == (", ".join(knob.values[1:]), knob.meaning)
    assert name in command("show").out
    assert f"\n## {name}\n" in (checkout / "docs" / "systems.md").read_text(encoding="utf-8")
    if name != "enemy_animation":  # training writes its contract, a schema bundle
        path = tmp_path_factory.mktemp("new") / "new.json"
        assert command("show", name, "--write-contract", path).status == 0
        assert load(path)["system"] == name
