"""A recording of some bones: an engine at a lower level of detail is judged on the bones that it computes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from rigpact.contract.rules.structure import load_schema
from rigpact.reference_runtime import Trace, read_trace
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import Gathered, parts_of
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.nonfinite.investigation import investigate_recording

from ..scene import Scene, generated_scene
from ..some_bones import PUBLISHED, of_bones, written

BONES = (0, 1, 2, 3, 5, 6, 9, 14, 20, 33, 41)
"""In the order of the contract, with gaps."""


def judged(
    scene: Scene, path: Path, *, with_clip: bool = True, allow_unjudged: tuple[str, ...] = ("y_norm",)
) -> Diagnosis:
    """The answer of `explain`; the network's answer to some bones is nothing that a model can repeat."""
    recording = read_recording(path, scene.contract)
    drive = drive_of(scene.clip) if with_clip else None
    gathered = Gathered(recording, tuple(parts_of(recording, scene.contract, drive, scene.network)))
    return diagnose_gathered(gathered, allow_unjudged=allow_unjudged)


def all_but(*stages: str) -> list[str]:
    names = "x_raw state angvel pose_hist_raw pose_hist y_norm y_raw delta6d next6d y_out quat x_raw_next"
    return [name for name in names.split() if name not in stages]


@pytest.mark.parametrize(("by", "ending"), [("name", ".trace.bin"), ("index", ".trace.jsonl")])
def test_the_recorded_bones_are_judged_and_the_answer_says_how_many(
    honest: Trace, scene: Scene, tmp_path: Path, by: str, ending: str
) -> None:
    """A crowd runs at a lower level of detail: that code path is the one that nobody looks at."""
    said = None if by == "name" else BONES
    trace = of_bones(honest, scene.contract, BONES, said=said)
    path = written(tmp_path, trace, f"lod{ending}")
    assert read_trace(path).header.bones == trace.header.bones
    found = judged(scene, path)
    assert found.verdict == "agrees"
    assert judged(scene, path, allow_unjudged=()).verdict == "undetermined"
    assert found.rests_on is not None
    assert (len(found.rests_on.bones), len(found.rests_on.not_recorded)) == (11, 35)
    assert "11 of 46 bones" in found.rests_on.words
    assert {stage.stage for stage in found.stages if stage.ok} == {*honest.stages} - {"y_norm"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("mode", "whole", "changes"),
    [
        ("teacher", (), {"compose_order": "prev_delta"}),
        ("teacher", all_but(*PUBLISHED), {"quaternion_order": "wxyz"}),
        ("free", all_but(*PUBLISHED), {"pose_history_order": "newest_first"}),
    ],
    ids=str,
)
def test_a_convention_is_named_from_some_bones(
    scene: Scene, tmp_path: Path, mode: str, whole: tuple[str, ...], changes: dict[str, Any]
) -> None:
    """Whoever must record all bones to find a cause has to switch off what shows it."""
    own = scene if mode == "teacher" else generated_scene("sneak_turn", frames=12, mode="free")
    found = judged(own, written(tmp_path, of_bones(own.record(changes), own.contract, BONES, whole)))
    assert found.verdict == "explained"
    assert changes in [cause for first in found.causes for cause in (first.changes, *first.equivalents)]


@pytest.mark.nightly
def test_other_bones_than_the_header_says_are_named(honest: Trace, scene: Scene, tmp_path: Path) -> None:
    """The right number of the wrong bones passes every check of sizes, and the hands move like feet."""
    names, wrong = scene.contract.numbers.bone_names, (*BONES[:-2], 34, 41)
    path = written(tmp_path, of_bones(honest, scene.contract, wrong, said=[names[bone] for bone in BONES]))
    found = judged(scene, path)
    assert found.verdict == "explained"
    (relation,) = found.relations
    assert relation.kind == "other_bones"
    assert f"that of {names[34]} where its header says {names[33]}: explains 16 of 16" in relation.sentence


def test_a_defect_of_one_bone_is_no_other_bone(honest: Trace, scene: Scene, tmp_path: Path) -> None:
    """A wrong cause costs more than none. Engines sort the bones of a level of detail by their own skeleton."""
    trace = of_bones(honest, scene.contract, (41, 3, 0, 20, 1))
    assert judged(scene, written(tmp_path, trace)).verdict == "agrees"
    trace.stages["y_out"][:, 6:12] = trace.stages["y_out"][:, 12:18]
    found = judged(scene, written(tmp_path, trace))
    assert found.exit_code == 1
    assert [each for each in found.relations if each.kind == "other_bones"] == []


def test_a_value_that_is_not_finite_is_found_among_some_bones(honest: Trace, scene: Scene, tmp_path: Path) -> None:
    """What vanishes at a distance vanishes in the middle of a fight too."""
    trace = of_bones(honest, scene.contract, BONES, whole=all_but(*PUBLISHED))
    trace.stages["next6d"][7, 6 * 4] = np.nan
    found = investigate_recording(read_recording(written(tmp_path, trace), scene.contract), scene.contract)
    assert (found.verdict, found.origin.frame if found.origin else None) == ("nonfinite", 7)
    assert any("11 of 46 bones" in note for note in found.notes)
    sound = read_recording(written(tmp_path, of_bones(honest, scene.contract, BONES)), scene.contract)
    assert investigate_recording(sound, scene.contract).verdict == "finite"


def test_the_command_says_it_in_words_and_as_data(
    demo_files: dict[str, Path], tmp_path: Path, command: Any, scene: Scene, honest: Trace
) -> None:
    """A pass that rests on a quarter of the character must not look like one that rests on all of it."""
    path = written(tmp_path, of_bones(honest, scene.contract, BONES))
    words = ["explain", path, "--contract", demo_files["bundle"], "--companion", demo_files["companion"]]
    shown = command(*words)
    printed = " ".join(shown.out.split())
    assert "Rests on 11 of 46 bones; not recorded:" in printed
    assert "y_norm: not judged; the network looks at all bones" in printed
    answer = json.loads(command(*words, "--format", "json").out)
    Draft202012Validator(load_schema("diagnosis")).validate(answer)
    assert answer["rests_on"]["bones"] == [scene.contract.numbers.bone_names[bone] for bone in BONES]
    assert len(answer["rests_on"]["not_recorded"]) == 35
