"""What is no convention: another file than the one that was meant, and slips of a recorder."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from ..measuring.scores.engine.engine_side import Files
from .conftest import answer_about


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
