"""An engine's own loop in C++ against the reference, its mistakes, other files, and slips of a recorder."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from rigpact.contract.rules.structure import load_schema

from ..measuring.scores.engine.engine_side import DEFECTS, FRAMES, FREE_RUNS, NUMBERS, Files
from ..measuring.scores.grading import grade
from .conftest import answer_about, explained

FREE, TEACHER, FREE_FRAMES = "free", "teacher", 90


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", [TEACHER, FREE])
def test_a_right_engine_agrees_in_every_stage(engine, tmp_path, mode):
    """A tool that alarms on a right engine is switched off in the first week."""
    found = explained(engine, tmp_path, mode, FREE_FRAMES if mode == FREE else engine.clip_frames - 1)
    assert found.verdict == "agrees"
    assert len([stage for stage in found.stages if stage.ok]) == 15


def test_an_engine_without_history_statistics_resets_its_history_in_a_free_run(engine_of, bundle, tmp_path):
    """Its first frames see a T-pose; a reference that starts from the seed names a cause that is none."""
    content = json.loads((bundle / "norm_template.json").read_bytes())
    for name in ("MuPoseHist", "StdPoseHist", "tanh_scales_pose_hist"):
        del content[name]
    (tmp_path / "bundle.json").write_text(json.dumps(content), encoding="utf-8")
    files = Files.of_demo(bundle, "Walk_Spin")
    own = engine_of(Files(tmp_path / "bundle.json", None, files.model, files.clip))
    for mode in (TEACHER, FREE):
        found = explained(own, tmp_path, mode, 12)
        beside_norm = {stage.stage for stage in found.stages if stage.ok is False}
        assert beside_norm == set(), mode
        assert next(stage for stage in found.stages if stage.stage == "pose_hist_raw").ok


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_mistake_of_an_engine_is_named(engine, tmp_path, name):
    """ "It differs in next6d" sends a team searching for a day; "read one bone too late" is a line of code."""
    mode = FREE if name in FREE_RUNS else TEACHER
    frames = FRAMES.get(name, FREE_FRAMES if mode == FREE else engine.clip_frames - 1)
    found = grade(explained(engine, tmp_path, mode, frames, NUMBERS[name]).to_json(), DEFECTS[name])
    assert found.word == ("precise" if DEFECTS[name].parts[0] else "located"), found


def test_the_command_prints_a_relation_apart_from_conventions(engine, tmp_path, command):
    """A relation is not a convention: nobody can `--set` it."""
    recording = engine.run(tmp_path / "late.trace.jsonl", TEACHER, 20, NUMBERS["published_late"])
    files = engine.files
    words = ["explain", recording, "--contract", files.bundle, "--companion", files.companion, "--clip", files.clip]
    words += ["--onnx", files.model]
    asked = command(*words, "--format", "json")
    answer = json.loads(asked.out)
    Draft202012Validator(load_schema("diagnosis")).validate(answer)
    assert (asked.status, answer["causes"]) == (1, [])
    (relation,) = answer["relations"]
    assert (relation["stage"], relation["kind"], relation["frames_explained"]) == ("quat", "frame", 20)


@pytest.fixture(scope="module")
def game(engine_of, bundle, tmp_path_factory):
    """The loop on files of its own, with an older export of the bundle beside them."""
    folder = tmp_path_factory.mktemp("situations") / "game"
    shutil.copytree(bundle, folder)
    files = Files.of_demo(folder, "Walk_Spin")
    older = json.loads(files.bundle.read_bytes())
    older["MuX"] = [0.9 * value + 0.01 for value in older["MuX"]]
    older["StdX"] = [1.1 * value for value in older["StdX"]]
    older["tanh_scales_angvel"] = [2.0 * value for value in older["tanh_scales_angvel"]]
    (folder / "older.json").write_text(json.dumps(older), encoding="utf-8")
    return engine_of(files)


SLIPS = {
    "the recorder began late, its first frame is its 0": (lambda rows: rows[5:], "drove it from its frame 5 on"),
    "one frame was recorded twice": (lambda rows: [*rows[:41], *rows[40:-1]], "frame 40 was recorded twice"),
    "one frame was lost": (lambda rows: [*rows[:40], *rows[41:]], "frame 40 was lost"),
}
FILES = {
    "the wrong clip": ({"clip": "clips/Sneak_Turn.json"}, r"Walk_Spin\.json drove it, not Sneak_Turn\.json"),
    "the wrong bundle": ({"bundle": "older.json"}, r"norm_template\.json is its contract, not older\.json"),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("what", [*SLIPS, *FILES])
def test_what_is_no_convention_is_named(game, tmp_path, what):
    """A wrong file or a slip of the recorder used to be answered by relations of every stage."""
    recording = game.run(tmp_path / "run.trace.jsonl", "teacher", game.clip_frames - 1)
    change, words = SLIPS.get(what) or (lambda rows: rows, FILES[what][1])
    header, *rows = map(json.loads, recording.read_text(encoding="utf-8").splitlines())
    kept = [row | {"frame": place} for place, row in enumerate(change(rows))]
    recording.write_text("".join(f"{json.dumps(line)}\n" for line in (header, *kept)), encoding="utf-8")
    others = FILES[what][0] if what in FILES else {}
    found = answer_about(
        recording, replace(game.files, **{key: game.files.bundle.parent / name for key, name in others.items()})
    )
    assert found.verdict == "explained"
    assert re.search(words, found.supposition or "")
    assert (found.causes, found.relations) == ((), ())
