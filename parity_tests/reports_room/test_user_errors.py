"""Eighty mistakes of a command line: one clear line each, the documented exit status, nothing written and nothing lost."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rigpact.fixtures import demo_bundle, demo_robot

from ..every_case import every_case

NAMED = {
    "RO": "ro/run.csv --contract ro/contract.toml", "SWAPPED": "ro/contract.toml --contract ro/run.csv",
    "GAME": "ch/engine.trace.bin --contract ch/norm_template.json", "CH": "--contract ch/norm_template.json",
}  # fmt: skip
"""Words that are typed again and again."""
ERRORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # names of files
    ("check ch/norm_tempate.json", ("did you mean norm_template.json?",)),
    ("explain ro/rnu.csv --contract ro/contract.toml", ("ro/rnu.csv", "did you mean run.csv?")),
    ("explain ro/run.csv --contract ro/contrct.toml", ("did you mean contract.toml?",)),
    ("run ch/clips/Sneak_Trun.json {CH} -o a.npz", ("did you mean Sneak_Turn.json?",)),
    ("run {RO} --onnx ro/polcy.onnx -o a.npz", ("did you mean policy.onnx?",)),
    ("diff py.npz cp.npz", ("did you mean cpp.npz?",)),
    ("nan nowhere/run.csv --contract ro/contract.toml", ("there is no folder nowhere",)),
    ("convert nothing.npz -o a.csv", ("nothing.npz: found nothing",)),
    ("check nowhere/*.json", ("nowhere/*.json", "no such file")),
    ("explain {RO} --conventions convs.toml", ("convs.toml: found nothing",)),
    ("sweep ro/rnu.csv --contract ro/contract.toml --onnx ro/policy.onnx -o swept", ("ro/rnu.csv", "did you mean run.csv?")),
    ("gate --config rigpcat.toml", ("rigpcat.toml: found nothing",)),
    # words
    ("explian ro/run.csv", ("No such command 'explian'", "explain")),
    ("explain ro/run.csv --contrat ro/contract.toml", ("--contrat", "--contract")),
    ("run {RO} --clip ro/run.csv -o a.npz", ("No such option", "--clip")), ("nan --trace {RO}", ("No such option", "--trace")),
    ("diff py.npz cpp.npz --format txt", ("'txt'", "text")), ("explain {RO} --format xml", ("'xml'", "json")),
    ("run {RO} --mode fre -o a.npz", ("'fre'", "free")), ("nan {RO} --mode playback", ("playback", "free or teacher")),
    ("run {RO} --engine rust -o a.npz", ("'rust'", "numpy")), ("run {RO} --frames few -o a.npz", ("'few'", "whole number")),
    ("run {RO} --frames 0 -o a.npz", ("--frames", "1")), ("run {RO} --frames -3 -o a.npz", ("--frames", "1")),
    ("show RP9999", ("RP9999",)), ("show afine", ("afine", "affine")),
    ("diff py.npz cpp.npz --stage joint_pso", ("joint_pso",)),
    ("explain {RO} --allow-unjudged obss", ("obss: found no stage",)), ("explain {RO} --resolution 4decimal", ("4decimal",)),
    # numbers
    ("diff py.npz cpp.npz --tolerance nan", ("--tolerance", "nan", "a finite number")),
    ("diff py.npz cpp.npz --tolerance inf", ("--tolerance", "inf", "a finite number")),
    ("diff py.npz cpp.npz --tolerance -1", ("--tolerance", "-1")),
    ("explain {RO} --budget nan", ("--budget", "nan", "a finite number")),
    ("explain {RO} --deadline nan", ("--deadline", "nan", "a finite number")), ("explain {RO} --segment 0", ("--segment",)),
    ("convert {RO} --fps nan -o a.npz", ("--fps", "nan")), ("explain {RO} --segment 7", ("--segment",)),
    # conventions
    ("explain {GAME} --set output_mod=delta", ("did you mean output_mode?",)),
    ("explain {GAME} --set output_mode=residaul", ("did you mean residual?",)),
    ("explain {GAME} --set output_mode", ("no '='",)),
    ("check ch --set output_mode=residual --set output_mode=absolute", ("output_mode", "residual and absolute")),
    ("run ch/clips/Sneak_Turn.json {CH} --set math=f32 --set math=f64 -o a.npz", ("math", "f32 and f64")),
    ("nan ch/clips/Sneak_Turn.json {CH} --set output_mod=delta", ("did you mean output_mode?",)),
    # files in each other's place
    ("explain {SWAPPED}", ("a recording", "a contract", "ro/run.csv --contract ro/contract.toml")),
    ("run {SWAPPED} -o a.npz", ("a recording", "ro/run.csv --contract ro/contract.toml")),
    ("nan {SWAPPED}", ("a recording", "ro/run.csv --contract ro/contract.toml")),
    ("convert {SWAPPED} -o a.npz", ("a recording", "ro/run.csv --contract ro/contract.toml")),
    ("diff ro/contract.toml ro/run.csv --contract ro/run.csv", ("a recording", "ro/run.csv --contract ro/contract.toml")),
    ("sweep {SWAPPED} --onnx ro/policy.onnx -o swept", ("a recording", "--contract ro/contract")),
    ("explain ro/run.csv --contract ro/run.csv", ("ro/run.csv, a recording", "expected a schema bundle or a contract")),
    ("run ch/norm_template.json -o a.npz", ("ch/norm_template.json", "a contract", "--contract ch/norm_template.json")),
    ("explain ro/run.csv --contract ro/policy.onnx", ("policy.onnx",)),
    ("run {RO} --onnx ro/contract.toml -o a.npz", ("contract.toml",)), ("codegen ro/run.csv -o a.hpp", ("ro/run.csv",)),
    ("explain ro/run.csv {CH}", ("ro/run.csv",)), ("explain ro/run.csv --contract ch/clips/Sneak_Turn.json", ("a raw clip",)),
    ("explain {GAME} --clip ch/norm_template.json", ("norm_template.json",)),
    ("explain {GAME} --replay ch/clips/Sneak_Turn.json", ("Sneak_Turn.json",)),
    ("diff ro/contract.toml ro/run.csv", ("contract",)),
    ("diff ch/clips/Sneak_Turn.json ch/norm_template.json", ("found a bundle, expected a raw clip",)),
    # options beside others, or without what they need
    ("diff ch/engine.trace.bin ch/engine.trace.bin --onnx ch/model.onnx", ("--onnx: found no --contract beside it",)),
    ("diff cond.npz cond.npz {CH} --teacher ch/clips/Sneak_Turn.json", ("no published pose",)),
    ("diff cond.npz cond.npz {CH} --table a.csv", ("--table: found a recording without bones",)),
    ("gate --selftest --base main --html a.html", ("--selftest: found --base, --html beside it",)),
    ("gate --only bundle", ("--only: found no --selftest",)), ("check notes", ("found no artefact",)),
    ("check ch/norm_template.json --map a=b --seed 0", ("PATH: found --map, --seed beside it",)),
    ("check ch/norm_template.json --module a.py --onnx b.onnx", ("--module: found PATH, --onnx beside it",)),
    ("check --each ch/norm_template.json --module a.py", ("--each: found --module beside it",)),
    ("check --each ch/norm_template.json --operations a.py", ("--operations: found --each beside it",)),
    ("run {CH} --probe no/such/probe.json", ("no/such",)),
    ("run {CH} --probe p.json -o r.npz --frames 3", ("-o, --frames beside it",)),
    ("check ch/norm_template.json ch/engine.trace.bin", ("found a trace", "rigpact explain")),
    # what is missing, all of it
    ("run", ("no CLIP", "no --out FILE", "no --contract FILE")), ("nan", ("no RECORDING|CLIP", "no --contract FILE")),
    ("sweep", ("no CLIP", "no --onnx PATH", "no --out FOLDER", "no --contract FILE")), ("convert", ("no IN", "no --out FILE")),
    ("diff", ("no A",)), ("diff py.npz", ("two",)), ("explain", ("no RECORDING",)), ("codegen", ("no CONTRACT",)),
    ("explain ro/run.csv --deadline -1 --contract ro/contract.toml", ("--deadline", "-1")),
    ("explain ro/run.csv", ("--contract",)), ("explain ro/run.csv --contract", ("--contract", "argument")),
    # outputs
    ("run {RO} -o nowhere/a.trace.jsonl", ("no folder nowhere",)),
    ("run {RO} -o ro", ("a directory", "a file name to write to")),
    ("run {RO} -o ro/run.csv", ("a file that this command reads",)),
    ("convert {RO} -o ro/contract.toml", ("a file that this command reads",)),
    ("explain {RO} --patch nowhere/p.toml", ("no folder nowhere",)),
    ("codegen ro/contract.toml -o nowhere/a.hpp", ("no folder nowhere",)),
    # what a file holds
    ("check folder", ("a directory without one",)), ("explain folder --contract ro/contract.toml", ("a directory",)),
    ("explain ro/run.csv --contract folder", ("a directory",)),
    ("explain empty.csv --contract ro/contract.toml", ("empty.csv",)), ("check empty.json", ("empty.json",)),
    ("explain ro/run.csv --contract garbage.toml", ("garbage.toml",)), ("check garbage.onnx garbage.toml", ("garbage.toml",)),
    ("diff garbage.npz py.npz", ("garbage.npz",)), ("explain header.csv --contract ro/contract.toml", ("header.csv",)),
    ("diff py.npz words.npz", ("words.npz",)),
)  # fmt: skip
"""What is typed, and the words that its one line must hold."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A character, a robot, two files of arrays, and files that hold nothing or garbage."""
    folder: Path = tmp_path_factory.mktemp("errors")
    (folder / "ch" / "clips").mkdir(parents=True)
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"):
        shutil.copy(demo_bundle() / name, folder / "ch" / name)
    shutil.copy(next(demo_bundle().rglob("Sneak_Turn.trace.bin")), folder / "ch" / "engine.trace.bin")
    shutil.copytree(demo_robot(), folder / "ro")
    random = np.random.default_rng(0)
    for name in ("py.npz", "cpp.npz"):
        np.savez(folder / name, joint_pos=random.normal(size=(9, 12)))
    np.savez(folder / "words.npz", joint_pos=np.array(["a", "b"]))
    np.savez(folder / "cond.npz", cond=np.zeros((3, 7), np.float32))
    (folder / "notes").mkdir()
    (folder / "notes" / "to_do.json").write_text('{"to do": ["mend the knee"]}', encoding="utf-8")
    (folder / "folder").mkdir()
    for name in ("empty.csv", "empty.json"):
        (folder / name).touch()
    for name in ("garbage.toml", "garbage.onnx", "garbage.npz"):
        (folder / name).write_bytes(bytes(range(256)) * 4)
    (folder / "header.csv").write_text("gyro[0],gyro[1],gyro[2]\n", encoding="utf-8")
    return folder


def _contents(folder):
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b""


@every_case(("typed", "says"), ERRORS)
def test_a_mistake_is_one_clear_line(command, files, monkeypatch, typed, says):
    """Whoever is stopped must see what to change; a half-written output or a lost input costs more than the mistake."""
    monkeypatch.chdir(files)
    before = dict(_contents(files))
    answer = command(*typed.format_map(NAMED).split())
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer
    assert answer.err.startswith("rigpact: error: ")
    assert [word for word in says if word not in answer.err] == []
    assert dict(_contents(files)) == before


def test_there_are_eighty():
    """Fewer would say less than the documentation promises."""
    assert len(ERRORS) == len({typed for typed, _ in ERRORS}) >= 80
