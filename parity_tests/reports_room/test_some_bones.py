"""Recordings of some bones compared: the others are counted and named, and stages with all bones are compared whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import Contract, load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, read_recording, read_trace, write_trace
from rigpact.reports.comparing.diff import compare_recordings

from ..some_bones import PUBLISHED, of_bones, written

BONES = (0, 1, 2, 5, 6, 9, 20, 33)
OTHERS = (0, 5, 20, 40, 41)


@pytest.fixture(scope="module")
def contract(demo_bundle: Path) -> Contract:
    return load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")


@pytest.fixture
def reference(demo_bundle: Path, tmp_path: Path, command: Any) -> Trace:
    """A run of the demo, in `ref.trace.bin`."""
    files = ["--companion", demo_bundle / "pretrain_template.json", demo_bundle / "clips" / "Sneak_Turn.json"]
    files += ["--onnx", demo_bundle / "model.onnx", "--frames", 12, "-o", tmp_path / "ref.trace.bin"]
    assert command("run", "--contract", demo_bundle / "norm_template.json", *files).status == 0
    return read_trace(tmp_path / "ref.trace.bin")


@pytest.fixture
def diff(demo_bundle: Path, tmp_path: Path, command: Any) -> Any:
    words = ["--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json"]

    def call(a: Path, b: Path, *more: Any) -> tuple[int, dict[str, Any]]:
        answer = command("diff", a, b, *words, *more, "--format", "json")
        return answer.status, json.loads(answer.out)

    return call


def codes(report: dict[str, Any]) -> list[str]:
    return sorted(each["code"] for each in report["findings"])


@pytest.mark.parametrize("whole", [(), ("state", "pose_hist", "y_norm", "x_raw")], ids=["some", "mixed"])
def test_a_pass_on_some_bones_says_so_and_counts_the_others(
    reference: Trace, contract: Contract, tmp_path: Path, diff: Any, whole: tuple[str, ...]
) -> None:
    """A comparison that quietly leaves out 38 bones is how a broken hand ships."""
    path = written(tmp_path, of_bones(reference, contract, BONES, whole))
    status, report = diff(tmp_path / "ref.trace.bin", path)
    assert status == 0
    assert codes(report) == ["RP815"]
    assert "lod.trace.bin holds 8 of 46 bones" in report["findings"][0]["message"]
    ledger, frames = report["ledger"], len(reference.frame)
    widths = reference.widths
    left_out = sum(widths[name] - read_trace(path).widths[name] for name in widths)
    last_row = 0 if "x_raw_next" not in widths else read_trace(path).widths["x_raw_next"]  # the clip's next frame
    assert ledger["declared"] == frames * sum(widths.values())
    assert ledger["waived"] == frames * left_out + last_row
    assert ledger["missing"] == 0
    assert len(report["summary"]["some_bones"]["not_recorded"]) == 38
    assert diff(tmp_path / "ref.trace.bin", path, "--strict")[0] == 1


def test_a_difference_on_a_recorded_bone_fails_with_its_name(
    reference: Trace, contract: Contract, tmp_path: Path, diff: Any
) -> None:
    """The address of a channel of 8 bones is another than that of 46."""
    trace = of_bones(reference, contract, BONES)
    trace.stages["y_out"][7, 6 * BONES.index(20) + 2] += 0.25
    status, report = diff(tmp_path / "ref.trace.bin", written(tmp_path, trace))
    assert status == 1
    (found,) = [each for each in report["findings"] if each["code"] == "RP801" and "y_out differs" in each["message"]]
    assert contract.numbers.bone_names[20] in found["message"]


def test_a_difference_of_a_bone_that_only_the_network_has_is_seen(
    reference: Trace, contract: Contract, tmp_path: Path, diff: Any
) -> None:
    """The network of an engine at a low level of detail still moves all bones: cut to some, its defect would pass."""
    trace = of_bones(reference, contract, BONES, whole=[name for name in reference.stages if name not in PUBLISHED])
    trace.stages["y_norm"][7, 6 * 45] += 0.25
    status, report = diff(tmp_path / "ref.trace.bin", written(tmp_path, trace), "--stage", "y_norm")
    assert status == 1
    assert any(
        contract.numbers.bone_names[45] in each["message"] for each in report["findings"] if each["code"] == "RP801"
    )


def test_two_recordings_are_compared_on_the_bones_that_both_hold(
    reference: Trace, contract: Contract, tmp_path: Path, diff: Any
) -> None:
    """Two levels of detail share the spine."""
    paths = [
        written(tmp_path, of_bones(reference, contract, bones), f"{len(bones)}.trace.bin") for bones in (BONES, OTHERS)
    ]
    status, report = diff(*paths)
    assert status == 0
    assert report["summary"]["some_bones"]["bones"] == [contract.numbers.bone_names[bone] for bone in (0, 5, 20)]
    assert codes(report) == ["RP815", "RP815"]
    apart = written(tmp_path, of_bones(reference, contract, (44, 45)), "apart.trace.bin")
    with pytest.raises(UnusableInput, match=r"no bone that 5.trace.bin holds, expected at least one"):
        compare_recordings(*(read_recording(path, contract) for path in (paths[1], apart)), contract)


def test_without_the_bundle_some_bones_cannot_be_compared(
    reference: Trace, contract: Contract, tmp_path: Path, command: Any
) -> None:
    """Two recordings of eight bones may hold different ones."""
    path = written(tmp_path, of_bones(reference, contract, BONES))
    answer = command("diff", path, path)
    assert answer.status == 2
    assert "#/bones: found a recording of some bones, expected --contract" in " ".join(answer.err.split())


def test_a_system_without_bones_refuses_them(demo_bundle: Path, tmp_path: Path, command: Any) -> None:
    """Taken as columns of anything else, the names would mean nothing."""
    from dataclasses import replace

    folder = demo_bundle.parent / "neurarig"
    trace = read_trace(folder / "clip.trace.safetensors")
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    write_trace(
        replace(trace, header=replace(trace.header, bones=("pelvis",)), stages=stages, mapping=None),
        tmp_path / "a.trace.bin",
    )
    answer = command("explain", tmp_path / "a.trace.bin", "--contract", folder / "neurarig.json")
    assert answer.status == 2
    assert "expected no `bones`" in " ".join(answer.err.split())
