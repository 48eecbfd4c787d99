"""`rigpact show CONTRACT`: the contract document, generated, and the same every time."""

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

GOLDEN = Path(__file__).parent / "golden" / "describe_demo.md"
MARKDOWN = ("--format", "markdown")


def describe(command: Any, demo_bundle: Path, *words: object) -> Any:
    companion, model = demo_bundle / "pretrain_template.json", demo_bundle / "model.onnx"
    return command("show", demo_bundle / "norm_template.json", "--companion", companion, "--onnx", model, *words)


def test_the_markdown_is_the_golden_page(command: Any, demo_bundle: Path) -> None:
    """A generated document that changes by itself is soon kept by hand again.

    After a deliberate change: `rigpact show fixtures/bundles/demo/norm_template.json --companion
    fixtures/bundles/demo/pretrain_template.json --onnx fixtures/bundles/demo/model.onnx --format markdown` writes it anew.
    """
    answer = describe(command, demo_bundle, *MARKDOWN)

    assert answer.status == 0
    assert answer.out == GOLDEN.read_text(encoding="utf-8")


def test_every_slice_of_the_bundle_is_in_the_page(command: Any, demo_bundle: Path) -> None:
    """Section 2 of the contract document: a slice that is missing there is read from a wrong place in C++."""
    meta = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))["meta"]
    out = describe(command, demo_bundle, *MARKDOWN).out

    for side, stages in (("state", "state"), ("output", "y_norm, y_raw, delta6d, next6d, y_out")):
        for name, entry in meta[f"{side}_layout"].items():
            stop = entry["start"] + entry["size"]
            assert f"| {stages} | {name} | {entry['start']} | {stop} | {entry['size']} |" in out


def test_the_text_has_the_same_facts(command: Any, demo_bundle: Path) -> None:
    """The text in the terminal must not differ from the document."""
    page, text = (describe(command, demo_bundle, *words).out for words in (MARKDOWN, ()))

    for word in ("upperarm_twist_01_r", "343", "padded by 406", "meta.rot6d_spec.output_mode"):
        assert word in page
        assert word in text


def test_every_table_is_whole(command: Any, demo_bundle: Path) -> None:
    """A row with a cell too many moves every number one column on."""
    widths: set[int] = set()
    for line in describe(command, demo_bundle, *MARKDOWN).out.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line))
        widths = widths | {cells} if cells else set()
        assert len(widths) <= 1


def test_without_companion_and_model_the_gaps_are_said(command: Any, real_data: Path) -> None:
    """The deployed bundle alone: no history statistics, no root fps; the page must say what is assumed."""
    answer = command("show", real_data / "norm_template.json", *MARKDOWN)

    assert answer.status == 0
    assert "60 (not declared: enemy_animation assumes it)" in answer.out
    assert "from the model's width" in answer.out
    assert "| 4 | pose_hist | the model's |" in answer.out


def two_bones() -> dict[str, Any]:
    """A character whose state (3 + 2 + 1 + 12 + 6) and history (2 × 12) are both 24 wide."""
    sizes = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 12, "BoneAngularVelocities": 6}
    starts = [0, 3, 5, 6, 18]
    state = {name: {"start": start, "size": size} for start, (name, size) in zip(starts, sizes.items(), strict=True)}
    meta = {"state_layout": state, "output_layout": {"BoneRotations6D": {"start": 0, "size": 12}}}
    numbers = {"MuX": 24, "StdX": 24, "MuY": 12, "StdY": 12, "tanh_scales_rootvel": 2, "tanh_scales_angvel": 6}
    numbers |= {"tanh_scales_pose_hist": 24, "MuPoseHist": 24, "StdPoseHist": 24}
    return {**{key: [0.5] * count for key, count in numbers.items()}, "pose_hist_len": 2, "meta": meta}


def test_two_inputs_of_one_width_are_named(command: Any, tmp_path: Path) -> None:
    """The hazard that nothing else shows: swapped, they bind, run, and play noise."""
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(two_bones()), encoding="utf-8")

    answer = command("show", path)

    assert "2 of 120 input orders pass" in answer.out
    assert "unseen: state and pose_hist (24 wide)" in answer.out


@pytest.mark.parametrize("word", ["missing.json", "pretrain_template.json", "clips/Run_F.json", "."])
def test_what_is_no_bundle_is_one_line_and_status_two(command: Any, demo_bundle: Path, word: str) -> None:
    """No document must be written for a file that is not a bundle."""
    answer = command("show", demo_bundle / word)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1


def test_a_bundle_that_the_engine_refuses_is_not_described(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """The engine does not start this character, so its tables would mislead."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    del bundle["MuY"]
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(bundle), encoding="utf-8")

    answer = command("show", path, *MARKDOWN)

    assert (answer.status, answer.out) == (2, "")


def test_names_of_a_file_stay_text(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """A bone called `| x |` or with an escape sequence must neither break the table nor steer the terminal."""
    text = (demo_bundle / "norm_template.json").read_text(encoding="utf-8")
    path = tmp_path / "bundle.json"
    path.write_text(text.replace('"spine_03"', '"sp|ne\\u001b[2J"'), encoding="utf-8")

    page, shown = command("show", path, *MARKDOWN).out, command("show", path).out

    assert "\x1b" not in page + shown
    assert "sp\\|ne" in page


def test_a_model_of_another_bundle_is_described_as_it_is(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """The page is read to find out why the engine does not start: a missing tensor must stand in it."""
    model = onnx.load(demo_bundle / "model.onnx")
    kept, files = model.graph.input[0], ("--companion", demo_bundle / "pretrain_template.json")
    del model.graph.node[:], model.graph.input[:]
    model.graph.input.append(kept)
    model.graph.node.append(
        onnx.helper.make_node("Sorcery", [kept.name], [model.graph.output[0].name], domain="com.acme")
    )
    onnx.save(model, tmp_path / "other.onnx")

    answer = command("show", demo_bundle / "norm_template.json", *files, "--onnx", tmp_path / "other.onnx", *MARKDOWN)

    assert answer.status == 0
    assert "does not load it" in answer.out
    assert "missing" in answer.out
