"""Bad input gets one clear line and status 2, and nothing is lost."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..every_case import every_case

BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "an empty file"),
    "binary": (bytes(range(256)) * 4, "bytes that are not text"),
    "truncated": (b'{"meta": {"state_layout": {"RootYaw": {"start": 0', "the end of the file"),
    "a list": (b"[1, 2, 3]", "a JSON array at the top"),
    "a string": (b'"bundle"', "a JSON string at the top"),
    "something else": (b'{"hello": 1}', "an object with unknown keys"),
    "nested": (b'{"MuX": ' + b"[" * 200 + b"]" * 200 + b"}", "more than 64 nested levels"),
    "deeply nested": (b"[" * 100_000, "more than 64 nested levels"),
    "trailing text": (b"{} {}", "JSON (Extra data)"),
}


def _bundle_words(path: Path, demo: Path, tmp_path: Path) -> list[object]:
    clip = demo / "clips/Run_F.json"
    return ["run", "--contract", path, "--onnx", demo / "model.onnx", clip, "-o", tmp_path / "o.trace.jsonl"]


def _clip_words(path: Path, demo: Path, tmp_path: Path) -> list[object]:
    bundle = demo / "norm_template.json"
    return ["run", "--contract", bundle, "--onnx", demo / "model.onnx", path, "-o", tmp_path / "o.trace.jsonl"]


def _diff_words(path: Path, demo: Path, tmp_path: Path) -> list[object]:
    return ["diff", path, demo / "clips/Run_F.json"]


def _check_words(path: Path, demo: Path, tmp_path: Path) -> list[object]:
    return ["check", path]


Words = Callable[[Path, Path, Path], list[object]]


@every_case("words", [_bundle_words, _clip_words, _diff_words, _check_words])
@pytest.mark.parametrize("name", BAD_FILES)
def test_an_unreadable_file_is_one_line_and_status_2(
    command: Any, demo_bundle: Path, tmp_path: Path, name: str, words: Words
) -> None:
    """A traceback tells an animator nothing."""
    content, found = BAD_FILES[name]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    answer = command(*words(path, demo_bundle, tmp_path))
    assert answer.status == 2
    assert answer.err.count("\n") == 1
    assert answer.err.startswith(f"rigpact: error: {path}")
    assert found in answer.err
    assert not (tmp_path / "o.trace.jsonl").exists()


@pytest.mark.parametrize("words", [_bundle_words, _clip_words, _diff_words, _check_words])
def test_missing_files_and_folders_are_named(command: Any, demo_bundle: Path, tmp_path: Path, words: Words) -> None:
    """The most common mistake is a path."""
    missing = command(*words(tmp_path / "no such file.json", demo_bundle, tmp_path))
    assert (missing.status, "found nothing, expected an existing file" in missing.err) == (2, True)
    if words is _check_words:
        return  # a folder of artefacts can be checked
    folder = command(*words(demo_bundle, demo_bundle, tmp_path))
    assert (folder.status, "found a directory" in folder.err) == (2, True)
    assert "norm_template.json" in folder.err, "the hint names what the folder holds"


def _edited_json(source: Path, target: Path, edit: Callable[[Any], None]) -> Path:
    document = json.loads(source.read_text(encoding="utf-8"))
    edit(document)
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


def test_a_number_beyond_float64_is_refused_with_its_place(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """1e999 becomes infinity in one parser and an error in another."""
    text = (demo_bundle / "norm_template.json").read_text(encoding="utf-8")
    mean = json.loads(text)["MuX"][0]
    path = tmp_path / "bundle.json"
    path.write_text(text.replace(f'"MuX":[{mean}', '"MuX":[1e999', 1).replace(f'"MuX": [{mean}', '"MuX": [1e999', 1))
    assert "1e999" in path.read_text(encoding="utf-8")
    answer = command(*_bundle_words(path, demo_bundle, tmp_path))
    assert (answer.status, f"{path}#/MuX/0" in answer.err) == (2, True)
    checked = command("check", path)
    assert (checked.status, f"{path}#/MuX/0" in checked.out) == (1, True)


def test_a_clip_of_infinite_frames_a_second_is_refused(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """Every speed of such a run would be infinite, and the run a pass."""
    clip = json.loads((demo_bundle / "clips" / "Sneak_Turn.json").read_text(encoding="utf-8"))
    del clip["FPS"]
    text = json.dumps(clip)
    (tmp_path / "clip.json").write_text(f'{{"FPS": 1e999, {text[1:]}', encoding="utf-8")
    answer = command(
        "run",
        "--contract",
        demo_bundle / "norm_template.json",
        tmp_path / "clip.json",
        "--mode",
        "playback",
        "-o",
        tmp_path / "run.trace.bin",
    )
    assert (answer.status, "fps" in answer.err) == (2, True)


def test_numbers_beyond_float32_bring_no_lines_of_rigpacts_own_source(demo_bundle: Path, tmp_path: Path) -> None:
    """numpy warns of them with a line of rigpact's source, which tells a reader nothing: the finding does."""
    np.savez(tmp_path / "engine.npz", y_out=np.full((6, 276), 2.0**130), frame=np.arange(6))
    words = [sys.executable, "-m", "rigpact.reports", "explain", str(tmp_path / "engine.npz")]
    done = subprocess.run(
        [*words, "--contract", str(demo_bundle / "norm_template.json")], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert "a value that is not finite" in done.stdout


def test_arrays_that_are_strings_are_refused_with_their_place(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """A spreadsheet may write numbers as text; the error must name the place."""

    def as_text(bundle: Any) -> None:
        bundle["StdX"] = [str(value) for value in bundle["StdX"]]

    path = _edited_json(demo_bundle / "norm_template.json", tmp_path / "bundle.json", as_text)
    answer = command(*_bundle_words(path, demo_bundle, tmp_path))
    assert (answer.status, f"{path}#/StdX" in answer.err) == (2, True)
    checked = command("check", path)
    assert (checked.status, f"{path}#/StdX" in checked.out) == (1, True)


def test_ragged_clip_rows_are_refused_with_their_place(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """The engine fills short rows with zeros: a bone snaps to nothing for one frame."""

    def ragged(clip: Any) -> None:
        clip["Frames"][7]["BoneRotations"][3].pop()

    path = _edited_json(demo_bundle / "clips/Run_F.json", tmp_path / "clip.json", ragged)
    answer = command(*_clip_words(path, demo_bundle, tmp_path))
    assert (answer.status, f"{path}#/Frames/7/BoneRotations" in answer.err) == (2, True)
    checked = command("check", path, demo_bundle / "norm_template.json")
    assert (checked.status, f"{path}#/Frames/7/BoneRotations" in checked.out) == (1, True)


def test_a_model_with_four_inputs_is_refused(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """An exporter may drop an unused input; the engine then binds every later input to the wrong slot."""
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, kind, [1, 4]) for name in ("state", "cond", "contacts", "angvel")]
    outputs = [helper.make_tensor_value_info("motion_pred", kind, [1, 4])]
    graph = helper.make_graph(
        [helper.make_node("Sum", [i.name for i in inputs], ["motion_pred"])], "g", inputs, outputs
    )
    model = tmp_path / "four.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    bundle, clip = demo_bundle / "norm_template.json", demo_bundle / "clips/Run_F.json"
    answer = command("run", "--contract", bundle, "--onnx", model, clip, "-o", tmp_path / "o.trace.jsonl")
    assert (answer.status, "4 inputs" in answer.err) == (2, True)
    checked = command("check", bundle, "--onnx", model)
    assert (checked.status, "4 inputs" in checked.out) == (1, True)


@every_case(
    ("words", "found"),
    [
        (["--set", "compose_order=backwards"], "'backwards'"),
        (["--set", "composeorder=prev_delta"], "an unknown knob"),
        (["--set", "compose_order"], "no '='"),
        (["--set", "bone_order=0,0,1"], "0,0,1"),
        (["--set", "input_order=state,cond"], "state,cond"),
        (["--frames", "100000"], "100000"),
        (["--conventions", "nowhere.toml"], "nothing"),
        (["--replay", "x.json"], "both"),
    ],
)
def test_a_wrong_argument_is_one_line_and_status_2(
    command: Any, demo_bundle: Path, tmp_path: Path, words: list[str], found: str
) -> None:
    """A typing mistake must not start a run under other conventions."""
    answer = command(*_clip_words(demo_bundle / "clips/Run_F.json", demo_bundle, tmp_path), *words)
    assert (answer.status, answer.err.count("\n"), found in answer.err) == (2, 1, True)


def test_a_failed_write_keeps_the_old_file(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """A recording is evidence; a failed second run must not destroy the first."""
    out = tmp_path / "kept.wrong"
    out.write_text("old", encoding="utf-8")
    words = _clip_words(demo_bundle / "clips/Run_F.json", demo_bundle, tmp_path)
    assert command(*words[:-1], out).status == 2
    assert out.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.wrong"]


@pytest.mark.parametrize(
    "change", [lambda names: names[:-1], lambda names: [*names, "one more"]], ids=["fewer", "more"]
)
def test_a_bundle_that_names_other_than_its_bones_runs_like_another(
    command: Any, demo_bundle: Path, tmp_path: Path, change: Callable[[list[str]], list[str]]
) -> None:
    """RP220 says so; the numbers hold all bones, and a run of fewer ended in an internal error."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["bone_names"] = change(document["meta"]["bone_names"])
    bundle, runs = tmp_path / "named.json", (tmp_path / "named.trace.jsonl", tmp_path / "sound.trace.jsonl")
    bundle.write_text(json.dumps(document), encoding="utf-8")
    given = ("--onnx", demo_bundle / "model.onnx", demo_bundle / "clips/Run_F.json", "--mode", "free")
    for contract, out in zip((bundle, demo_bundle / "norm_template.json"), runs, strict=True):
        assert command("run", "--contract", contract, *given, "--frames", 6, "-o", out).status == 0
    assert "RP220" in command("check", bundle).out
    first, second = (out.read_text(encoding="utf-8").splitlines()[1:] for out in runs)
    assert first == second != []
