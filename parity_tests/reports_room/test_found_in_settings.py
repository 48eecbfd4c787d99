"""What a command line leaves out is found in the nearest rigpact.toml, and said; the command line wins."""

import shutil

import numpy as np
import pytest

from rigpact.fixtures import demo_bundle

CONTRACT, COMPANION, MODEL = "--contract norm_template.json", "--companion pretrain_template.json", "--onnx model.onnx"
CLIP = "clips/Sneak_Turn.json"
SETTINGS = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
clips = ["clips/*.json"]

[gate.conventions]
math = "f32"

[[gate.trace]]
file = "engine.trace.bin"
clip = "clips/Sneak_Turn.json"
mode = "teacher"
"""
MATH = "--set math=f32"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with settings, its folder the working directory."""
    (tmp_path / "clips").mkdir()
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", CLIP):
        shutil.copy(demo_bundle() / name, tmp_path / name)
    shutil.copy(next(demo_bundle().rglob("Sneak_Turn.trace.bin")), tmp_path / "engine.trace.bin")
    (tmp_path / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        ("run --frames 3 -o a.trace.jsonl", f"{CONTRACT} {COMPANION} {MODEL} {CLIP} {MATH}"),
        ("nan --frames 3", f"{CONTRACT} {COMPANION} {MODEL} {CLIP} {MATH}"),
        ("explain engine.trace.bin", f"{CONTRACT} {COMPANION} {MODEL} --clip {CLIP} --mode teacher {MATH}"),
        ("diff engine.trace.bin engine.trace.bin", f"{CONTRACT} {COMPANION} {MODEL} {MATH}"),
        ("convert engine.trace.bin -o a.npz", f"{CONTRACT} {COMPANION} --mode teacher {MATH}"),
        ("check engine.trace.bin", f"{CONTRACT} {COMPANION} {MODEL}"),
    ],
)
def test_a_command_finds_what_its_line_leaves_out_and_says_it(command, project, left_out, found):
    """After `init`, every command still asked for the files that rigpact.toml names beside it."""
    short, whole = command(*left_out.split()), command(*left_out.split(), *found.split())
    assert whole.err == ""
    assert (short.status, short.out) == (whole.status, f"from rigpact.toml: {found}\n{whole.out}")


def test_the_command_line_wins(command, project):
    """A candidate is tried against the project's own files without an edit of the settings."""
    shutil.copy(project / "model.onnx", project / "candidate.onnx")
    words = ("--onnx", "candidate.onnx", "--set", "math=f64", "--frames", 3)
    answer = command("nan", *words)
    other = command("nan", CLIP, *CONTRACT.split(), *words)
    assert answer.out.startswith(f"from rigpact.toml: {CONTRACT} {COMPANION} {CLIP}\n")
    assert "rigpact.toml" not in other.out, "settings speak of their own contract"


def test_a_contract_that_does_not_fit_is_said_and_not_used(command, project):
    """Two files of another program, compared in a project's folder."""
    np.savez(project / "a.npz", torque=np.ones((9, 3)))
    answer = command("diff", "a.npz", "a.npz")
    assert answer.status == 0
    assert answer.out.startswith(
        "rigpact.toml names norm_template.json, which is not used: a.npz holds no vector of it\n"
    )
    models = command("diff", "model.onnx", "model.onnx")
    assert (models.status, "rigpact.toml" in models.out) == (0, False), models
