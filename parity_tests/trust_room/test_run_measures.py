"""What a run has measured about itself"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.reading import contract_in_memory
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import DeclaredFiles
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, read_trace, write_trace

from .tried import passes, refused

Run = Callable[..., Any]
CLIP = "clips/Sneak_Turn.json"


@pytest.fixture
def run(command: Any, demo_bundle: Path, tmp_path: Path) -> Run:
    """`rigpact run` on the demo; the answer's document and exit status."""

    def call(
        *words: object, model: Path | None = None, replay: Path | None = None, bundle: Path | None = None
    ) -> tuple[int, Any]:
        source = ("--replay", replay) if replay else ("--onnx", model or demo_bundle / "model.onnx")
        files = ("--companion", demo_bundle / "pretrain_template.json", "--clip", demo_bundle / CLIP, *source)
        out = ("-o", tmp_path / "run.trace.jsonl", "--format", "json")
        answer = command("run", bundle or demo_bundle / "norm_template.json", *files, *out, *words)
        return answer.status, json.loads(answer.out) if answer.out else answer.err

    return call


GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))


def assert_golden(document: Any, code: str) -> None:
    """The first finding of a rule is as it was: its text is an example on the page of the rules."""
    found = of_code(document, code)[:1]
    found[0]["file"] = Path(found[0]["file"]).name
    path, text = GOLDEN / f"{code}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if REGENERATE:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


def of_code(document: Any, code: str) -> list[Any]:
    return [finding for finding in document["findings"] if finding["code"] == code]


@refused("a run whose poses are 40 degrees off where copying the last pose is off by half a degree", "RP820, exit 1")
def test_a_run_that_copying_beats_by_far_does_not_pass(run: Run) -> None:
    """The numbers stand in the summary, nobody reads them, and a character with the wrong convention ships."""
    status, document = run("--set", "output_mode=delta")
    error = document["summary"]["diagnostics"]["GeoDeg"]
    assert status == 1
    assert error > 10.0
    assert len(of_code(document, "RP820")) == 1
    assert f"{error:.3g} deg" in of_code(document, "RP820")[0]["message"]
    assert_golden(document, "RP820")


@passes("a network a little worse than copying, as a trained one can be; a network that is good")
def test_a_network_that_is_only_poor_is_no_defect(run: Run, command: Any, real_data: Path, tmp_path: Path) -> None:
    """A real network is 1.5 times as far off as copying on a slow walk; an alarm there would be switched off."""
    assert run()[0] == 0
    answer = command(
        "run", real_data / "norm_template.json", "--companion", real_data / "pretrain_template.json",
        "--clip", real_data / "Walk_F.json", "--replay", real_data / "Walk_F_network_output.json",
        "--set", "output_mode=residual", "-o", tmp_path / "run.trace.jsonl",
    )  # fmt: skip
    assert (answer.status, "0 error" in answer.out) == (0, True)


PLACE = tiled(("place", 2, FieldKind.POSITION, "cm", "world"))
WALKER = System(
    name="walker", title="A point that walks", page="", inputs=("place",), outputs=("place_next",),
    stages=(
        Stage("place", PLACE, carried="place_next"),
        Stage("place_next", PLACE, ("place",), lambda frames: frames["place"], measure=Measure("cm"), is_answer=True),
    ),
)  # fmt: skip


@refused("the same of a system that is declared only by its stages", "RP820")
def test_every_system_that_feeds_itself_is_held_against_copying() -> None:
    """A rule that knows one character protects one character."""
    place = np.cumsum(np.full((50, 2), 3.0, np.float32), axis=0)  # three centimetres a frame: copying is off by three
    contract = contract_in_memory(WALKER, {})
    for answer, is_lost in ((place + 3.5, False), (place - 8.0, False), (place - 10.0, True)):
        trace = Trace(
            TraceHeader(60.0, "teacher", system="walker"), np.arange(50), np.arange(50) / 60.0,
            {"place": place, "place_next": answer.astype(np.float32)},
        )  # fmt: skip
        found = DeclaredFiles().baseline(trace, contract)
        assert found is not None
        assert (found.copied, found.limit, found.is_lost) == (pytest.approx(3.0), pytest.approx(12.0), is_lost)


@refused(
    "a free run in which the network's input is clamped at 16 deviations for hundreds of frames", "RP821, a warning"
)
def test_inputs_beyond_the_clamp_are_said(run: Run, tmp_path: Path) -> None:
    """The trace shows 26 deviations, the network sees 16, and the two sides are compared on a number nobody used."""
    status, document = run("--mode", "free", "--frames", 400)
    state = np.abs(read_trace(tmp_path / "run.trace.jsonl").stages["state"])
    found = [each for each in of_code(document, "RP821") if "state is outside" in each["message"]]
    frames = int((state > 16.0).any(axis=1).sum())
    assert (status, len(found), frames > 0) == (0, 1, True)
    assert f"in {frames} of 400 frames" in found[0]["message"]
    assert "the graph clamps it" in found[0]["message"]
    assert of_code(run()[1], "RP821") == []


@refused(
    "a clip with a channel that stood still in training: hundreds of deviations",
    "RP821, a warning: how many frames, which bone",
)
def test_a_channel_that_stood_still_is_said(run: Run, demo_bundle: Path, tmp_path: Path) -> None:
    """A statistic of rounding turns a finger that is a degree off into the largest input that the network has."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["StdX"][100], raw = 1e-4, document["MuX"][100]
    (tmp_path / "bundle.json").write_text(json.dumps(document), encoding="utf-8")
    status, answer = run(bundle=tmp_path / "bundle.json")
    beyond = np.abs(read_trace(tmp_path / "run.trace.jsonl").stages["x_raw"][:, 100] - raw) > 16.0 * 1e-4
    assert (status, len(of_code(answer, "RP821"))) == (0, 1)
    assert f"in {np.count_nonzero(beyond)} of 32 frames" in of_code(answer, "RP821")[0]["message"]
    assert_golden(answer, "RP821")


@refused("a run with a network answer of 1e27: finite in every stage", "RP822, exit 1; `rigpact nan` says DIVERGING")
@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_a_number_without_meaning_does_not_pass(run: Run, demo_bundle: Path, tmp_path: Path, mode: str) -> None:
    """Normalising makes a unit axis of any number: the pose looks like one, and is noise."""
    model = onnx.load(str(demo_bundle / "model.onnx"))
    answer = model.graph.output[0].name
    next(node for node in model.graph.node if answer in node.output).output[0] = "answer"
    model.graph.node.append(helper.make_node("Mul", ["answer", "huge"], [answer]))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(1e27), "huge"))
    (tmp_path / "huge.onnx").write_bytes(model.SerializeToString())
    status, document = run("--mode", mode, "--frames", 20, model=tmp_path / "huge.onnx")
    assert status == 1
    assert "y_norm is" in of_code(document, "RP822")[0]["message"]
    if mode == "free":
        assert_golden(document, "RP822")


@refused("a file of poses given as recorded network output", "exit 2: the place, and what was expected")
def test_poses_are_not_replayed_as_answers(run: Run, demo_bundle: Path) -> None:
    """Each pose is applied as a step of a frame: every bone spins."""
    poses = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    status, error = run(replay=poses)
    assert (status, "poses" in error, "output_mode=absolute" in error) == (2, True, True)
    assert run("--set", "output_mode=absolute", replay=poses)[0] == 0  # there a pose is the answer


@passes("a recording of the network's own output in place of the model; exact steps near the identity")
def test_answers_are_replayed(run: Run, demo_bundle: Path, tmp_path: Path) -> None:
    """A recording of steps that is refused takes away the only way to judge without the model."""
    kept = tmp_path / "answers.trace.jsonl"
    run()
    (tmp_path / "run.trace.jsonl").rename(kept)
    assert run(replay=kept)[0] == 0
    trace = read_trace(kept)
    still = {**trace.stages, "y_norm": np.zeros_like(trace.stages["y_norm"])}
    write_trace(replace(trace, stages=still), tmp_path / "still.trace.jsonl")
    assert run(replay=tmp_path / "still.trace.jsonl")[0] == 0  # every step is exactly the identity
