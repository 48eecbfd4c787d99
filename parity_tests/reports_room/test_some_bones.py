"""Recordings of some bones compared: the others are counted and named, and stages with all bones are compared whole."""

import json
from dataclasses import replace

import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import read_recording, read_trace, write_trace
from rigpact.reports.comparing.diff import compare_recordings

from ..every_case import every_case
from ..some_bones import PUBLISHED, of_bones, written
from ..trust_room.recorded_demo import recorded
from .demo import BUNDLE, BUNDLES, COMPANION, CONTRACT

BONES, OTHERS = (0, 1, 2, 5, 6, 9, 20, 33), (0, 5, 20, 40, 41)
REFERENCE, CHARACTER = recorded(frames=12), load_contract(BUNDLE, COMPANION)
NAMES = CHARACTER.numbers.bone_names


@pytest.fixture
def diff(tmp_path, command):
    """Compare a recording with the run of all bones; the status, the codes, and the answer as data."""
    write_trace(REFERENCE, tmp_path / "ref.trace.bin")

    def call(other, *more, of=tmp_path / "ref.trace.bin"):
        answer = command("diff", of, other, *CONTRACT, *more, "--format", "json")
        report = json.loads(answer.out)
        return answer.status, sorted(each["code"] for each in report["findings"]), report

    return call


@every_case("whole", [(), ("state", "pose_hist", "y_norm", "x_raw")])
def test_a_pass_on_some_bones_says_so_and_counts_the_others(tmp_path_factory, diff, whole):
    """A comparison that quietly leaves out 38 bones is how a broken hand ships."""
    path = written(tmp_path_factory.mktemp("lod"), of_bones(REFERENCE, CHARACTER, BONES, whole))
    status, codes, report = diff(path)
    assert (status, codes, diff(path, "--strict")[0]) == (0, ["RP815"], 1)
    frames, widths, held = len(REFERENCE.frame), REFERENCE.widths, read_trace(path).widths
    left_out = sum(widths[name] - held[name] for name in widths)
    last_row = held.get("x_raw_next", 0) if "x_raw_next" in widths else 0  # the clip's next frame
    counted = {"declared": frames * sum(widths.values()), "waived": frames * left_out + last_row, "missing": 0}
    assert {name: report["ledger"][name] for name in counted} == counted
    assert len(report["summary"]["some_bones"]["not_recorded"]) == 38


@every_case(
    ("stage", "bone", "place", "whole", "words"),
    [
        (
            "y_out", 20, 6 * BONES.index(20) + 2, (), (),
        ),  # the address of a channel of 8 bones is another than that of 46
        ("y_norm", 45, 6 * 45, [name for name in REFERENCE.stages if name not in PUBLISHED], ("--stage", "y_norm")),
    ],
)  # fmt: skip
def test_a_difference_fails_with_the_name_of_its_bone(tmp_path_factory, diff, stage, bone, place, whole, words):
    """A bone that only the network has is judged too: cut to those of the engine, its defect would pass."""
    trace = of_bones(REFERENCE, CHARACTER, BONES, whole)
    rows = trace.stages[stage].copy()
    rows[7, place] += 0.25
    trace = replace(trace, stages={**trace.stages, stage: rows})
    status, _, report = diff(written(tmp_path_factory.mktemp("lod"), trace), *words)
    assert status == 1
    (said,) = [each["message"] for each in report["findings"] if each["message"].startswith(f"{stage} differs")]
    assert NAMES[bone] in said


def test_two_recordings_are_compared_on_the_bones_that_both_hold(tmp_path, diff, command):
    """Two levels of detail share the spine. Without the contract, eight bones here may be others there."""
    few, five, apart = (
        written(tmp_path, of_bones(REFERENCE, CHARACTER, bones), f"{len(bones)}.trace.bin")
        for bones in (BONES, OTHERS, (44, 45))
    )
    status, codes, report = diff(five, of=few)
    assert (status, codes) == (0, ["RP815", "RP815"])
    assert report["summary"]["some_bones"]["bones"] == [NAMES[bone] for bone in (0, 5, 20)]
    with pytest.raises(UnusableInput, match=r"no bone that 5.trace.bin holds"):
        compare_recordings(*(read_recording(path, CHARACTER) for path in (five, apart)), CHARACTER)
    answer = command("diff", few, few)
    assert (answer.status, "#/bones: " in answer.err) == (2, True)


def test_a_system_without_bones_refuses_them(tmp_path, command):
    """Taken as columns of anything else, the names would mean nothing."""
    trace = read_trace(BUNDLES["neurarig"].with_name("clip.trace.safetensors"))
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    with_bones = replace(trace, header=replace(trace.header, bones=("pelvis",)), stages=stages, mapping=None)
    answer = command("explain", written(tmp_path, with_bones), "--contract", BUNDLES["neurarig"])
    assert (answer.status, "`bones`" in answer.err) == (2, True)
