"""Which recording is judged, and against what.

`[[gate.trace]]` says what it expects: the file that is judged does not choose its own reference.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import Trace, write_trace

from .recorded_demo import CLIP, SETTINGS, TRACE, codes, edited, errors, lines_of, project, recorded, said
from .tried import passes, refused

Command = Callable[..., Any]
PREDICTION = "teacher_predictions/Sneak_Turn_prediction.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    return tmp_path / "game"


def gated(command: Command, **settings: str) -> Any:
    """The gate's answer; settings are lines of [[gate.trace]]."""
    text = SETTINGS if "frames" not in settings else SETTINGS.replace("frames = 24\n", "")
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items() if value)
    Path("rigpact.toml").write_text(text + lines, encoding="utf-8")
    return command("gate", "--format", "json")


def first(trace: Trace, count: int) -> Trace:
    stages = {name: rows[:count] for name, rows in trace.stages.items()}
    return replace(trace, frame=trace.frame[:count], time_s=trace.time_s[:count], stages=stages)


@refused("a `--mode playback` recording named as the engine's trace: no model runs in it", "`gate`: error RP981")
@pytest.mark.usefixtures("no_search")
def test_a_playback_is_no_run_of_the_engine(folder: Path, command: Command) -> None:
    """The engine could ship with any model, or none, and the gate would say that every value was judged."""
    command("run", "--contract", "norm_template.json", CLIP, "--mode", "playback", "--frames", "24", "-o", TRACE)
    edited(folder / TRACE, lambda lines: lines[0]["producer"].update(name="MyEngine"))

    answer = gated(command)

    assert answer.status != 0
    assert "RP981" in codes(answer)


@refused("rigpact's own run named as the engine's trace", "`gate`: error RP980")
def test_rigpact_is_not_the_engine(folder: Path, command: Command) -> None:
    """rigpact agrees with itself, whatever the engine does."""
    command(
        "run",
        "--contract",
        "norm_template.json",
        "--companion",
        "pretrain_template.json",
        CLIP,
        "--onnx",
        "model.onnx",
        "--frames",
        "24",
        "-o",
        TRACE,
    )

    answer = gated(command)

    assert answer.status == 1
    assert errors(answer) == ["RP980"]


@refused("a teacher prediction named as the engine's trace", "`gate`: error RP980")
def test_a_teacher_prediction_is_not_the_engine(folder: Path, command: Command) -> None:
    """It says what training computes; the engine has not been asked at all."""
    (folder / "prediction.json").write_bytes((demo_bundle() / PREDICTION).read_bytes())
    text = SETTINGS.replace(TRACE, "prediction.json").replace("frames = 24\n", "")
    text += 'stages = ["state", "cond", "contacts", "angvel", "pose_hist", "y_out"]\n'
    (folder / "rigpact.toml").write_text(text, encoding="utf-8")

    answer = command("gate", "--format", "json")

    assert answer.status == 1
    assert "RP980" in codes(answer)


@refused("a free run where the project expects a teacher-driven one", "`gate`: error RP981")
def test_a_free_run_is_not_a_teacher_driven_one(folder: Path, command: Command) -> None:
    """The tolerances of a free run are those of its drift; a file must not choose them."""
    write_trace(recorded("free"), folder / TRACE)

    assert "RP981" in codes(gated(command))


@refused("a recorder that is not the one that the project names in `producer`", "`gate`: error RP980")
def test_another_recorder_is_said(folder: Path, command: Command) -> None:
    """The recording of another branch's test program is not the game's."""
    assert errors(gated(command, producer='"TheGame"')) == ["RP980"]
    assert gated(command, producer='"MyEngine"').status == 0


@refused('`producer = "rigpact"`, an unknown mode, or `frames = 1` for a free run', "`gate`: exit 2, with the key")
@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"producer": '"rigpact"'}, "producer"),
        ({"mode": '"palyback"'}, "mode"),
        ({"mode": '"free"', "frames": "1"}, "frames"),
    ],
)
def test_settings_that_expect_nothing_are_refused(
    folder: Path, command: Command, settings: dict[str, str], key: str
) -> None:
    """One line of configuration must not make the question trivial."""
    answer = gated(command, **settings)

    assert (answer.status, answer.out) == (2, "")
    assert f"gate.trace[0].{key}" in answer.err


@refused("one frame of a free run", "`gate`: error RP803, the other frames count as missing")
def test_one_frame_is_no_free_run(folder: Path, command: Command) -> None:
    """Nothing is fed back in the first frame."""
    write_trace(first(recorded("free"), 1), folder / TRACE)

    answer = gated(command, mode='"free"', frames="")

    assert answer.status != 0
    assert "RP803" in codes(answer)


@passes("a free run that the project declares, of as many frames as the clip gives")
def test_a_declared_free_run_passes(folder: Path, command: Command) -> None:
    """A free run is what players see."""
    write_trace(recorded("free"), folder / TRACE)

    answer = gated(command, mode='"free"', frames="24")

    assert answer.status == 0, answer.out


@refused("sound stages beside times that slow down to half the rate after a while", "`gate`: error RP812")
def test_time_is_compared(folder: Path, command: Command) -> None:
    """Time is what the player sees; stages alone do not tell the speed."""
    trace = recorded()
    slower = trace.frame / 60.0 + np.maximum(trace.frame - 15, 0) / 60.0
    write_trace(replace(trace, time_s=slower), folder / TRACE)

    assert "RP812" in codes(gated(command))


@passes("the settings that `rigpact init` writes for an engine's trace; it passes over rigpact's own")
def test_init_writes_what_it_expects(folder: Path, command: Command) -> None:
    """A new project gets the strict question without reading a manual."""
    write_trace(said(recorded(), producer="rigpact"), folder / "own.trace.jsonl")
    (folder / "rigpact.toml").unlink()

    assert command("init").status == 0
    text = (folder / "rigpact.toml").read_text(encoding="utf-8")

    assert 'mode = "teacher"\nproducer = "MyEngine"' in text
    assert "own.trace.jsonl: rigpact recorded it" in text
    assert text.count("\n[[gate.trace]]") == 1


def test_the_header_follows_its_schema(folder: Path) -> None:
    """Other programs check the header by the schema."""
    assert list(check_against_schema(lines_of(folder / TRACE)[0], "trace_header")) == []
