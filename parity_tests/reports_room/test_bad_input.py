"""Bad input gets one clear line and status 2, and nothing is lost."""

import json
import subprocess
import sys

import numpy as np
import pytest

from ..every_case import every_case
from ..models import floats, saved
from .demo import BUNDLE, MODEL, RUN_F, edited, load

BAD_FILES = {
    "empty": (b"", "an empty file"), "binary": (bytes(range(256)) * 4, "bytes that are not text"),
    "truncated": (b'{"meta": {"state_layout": {"RootYaw": {"start": 0', "the end of the file"),
    "a list": (b"[1, 2, 3]", "a JSON array at the top"), "a string": (b'"bundle"', "a JSON string at the top"),
    "something else": (b'{"hello": 1}', "an object with unknown keys"),
    "nested": (b'{"MuX": ' + b"[" * 200 + b"]" * 200 + b"}", "more than 64 nested levels"),
    "deeply nested": (b"[" * 100_000, "more than 64 nested levels"), "trailing text": (b"{} {}", "JSON (Extra data)"),
}  # fmt: skip


def as_bundle(path, out):
    return "run", "--contract", path, "--onnx", MODEL, RUN_F, "-o", out


def as_clip(path, out):
    return "run", "--contract", BUNDLE, "--onnx", MODEL, path, "-o", out


WORDS = (as_bundle, as_clip, lambda path, _out: ("diff", path, RUN_F), lambda path, _out: ("check", path))


@every_case("words", WORDS)
@every_case("name", BAD_FILES)
def test_an_unreadable_file_is_one_line_and_status_2(command, tmp_path_factory, name, words):
    """A traceback tells an animator nothing."""
    path = tmp_path_factory.mktemp("bad") / "bad.json"
    content, found = BAD_FILES[name]
    path.write_bytes(content)
    answer = command(*words(path, path.with_name("o.trace.jsonl")))
    assert (answer.status, answer.err.count("\n"), found in answer.err) == (2, 1, True)
    assert answer.err.startswith(f"rigpact: error: {path}")
    assert [each.name for each in path.parent.iterdir()] == ["bad.json"]


def beyond_float64(path):
    text = BUNDLE.read_text(encoding="utf-8")
    mean = load(BUNDLE)["MuX"][0]
    path.write_text(text.replace(f'"MuX":[{mean}', '"MuX":[1e999', 1).replace(f'"MuX": [{mean}', '"MuX": [1e999', 1))
    assert "1e999" in path.read_text(encoding="utf-8")


def as_text(path):
    edited(BUNDLE, path, lambda bundle: bundle.update(StdX=[str(value) for value in bundle["StdX"]]))


def ragged(path):
    """The engine fills short rows with zeros: a bone snaps to nothing for one frame."""
    edited(RUN_F, path, lambda clip: clip["Frames"][7]["BoneRotations"][3].pop())


def endless(path):
    """Every speed of a run of infinite frames a second would be infinite, and the run a pass."""
    clip = load(RUN_F)
    del clip["FPS"]
    path.write_text(f'{{"FPS": 1e999, {json.dumps(clip)[1:]}', encoding="utf-8")


@every_case(
    ("write", "words", "place"),
    [
        (beyond_float64, as_bundle, "#/MuX/0"), (as_text, as_bundle, "#/StdX"),
        (ragged, as_clip, "#/Frames/7/BoneRotations"), (endless, as_clip, "#: found no fps"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused_with_their_place(command, tmp_path_factory, write, words, place):
    """By the command that runs in its one line, by the check as a finding."""
    path = tmp_path_factory.mktemp("bad") / "bad.json"
    write(path)
    answer = command(*words(path, path.with_name("run.trace.bin")))
    assert (answer.status, f"{path}{place}" in answer.err) == (2, True), answer
    if write is endless:
        return  # a check of a clip alone needs no rate
    checked = command("check", path, *([BUNDLE] if words is as_clip else []))
    assert (checked.status, f"{path}{place}" in checked.out) == (1, True), checked


def test_numbers_beyond_float32_bring_no_lines_of_rigpacts_own_source(tmp_path):
    """numpy warns of them with a line of rigpact's source, which tells a reader nothing: the finding does."""
    np.savez(tmp_path / "engine.npz", y_out=np.full((6, 276), 2.0**130), frame=np.arange(6))
    words = ["explain", str(tmp_path / "engine.npz"), "--contract", str(BUNDLE)]
    done = subprocess.run(
        [sys.executable, "-m", "rigpact.reports", *words], capture_output=True, text=True, check=False
    )
    assert (done.stderr, "a value that is not finite" in done.stdout) == ("", True)


def test_a_model_with_four_inputs_is_refused(command, tmp_path):
    """An exporter may drop an unused input; the engine then binds every later input to the wrong slot."""
    names = ("state", "cond", "contacts", "angvel")
    takes, gives = ", ".join(floats(name, 4, 1) for name in names), floats("motion_pred", 4, 1)
    model = saved(tmp_path / "four.onnx", f"({takes}) => ({gives}) {{ motion_pred = Sum({', '.join(names)}) }}")
    answer = command("run", "--contract", BUNDLE, "--onnx", model, RUN_F, "-o", tmp_path / "o.trace.jsonl")
    assert (answer.status, "4 inputs" in answer.err) == (2, True)
    checked = command("check", BUNDLE, "--onnx", model)
    assert (checked.status, "4 inputs" in checked.out) == (1, True)


@pytest.mark.parametrize(
    "change", [lambda names: names.pop(), lambda names: names.append("more")], ids=["fewer", "more"]
)
def test_a_bundle_that_names_other_than_its_bones_runs_like_another(command, tmp_path, change):
    """RP220 says so; the numbers hold all bones, and a run of fewer ended in an internal error."""
    bundle, runs = edited(BUNDLE, tmp_path / "named.json", lambda each: change(each["meta"]["bone_names"])), []
    for contract in (bundle, BUNDLE):
        out = tmp_path / f"{contract.stem}.trace.jsonl"
        words = (*as_bundle(contract, out), "--mode", "free", "--frames", 6)
        assert command(*words).status == 0
        runs.append(out.read_text(encoding="utf-8").splitlines()[1:])
    assert "RP220" in command("check", bundle).out
    assert runs[0] == runs[1] != []
