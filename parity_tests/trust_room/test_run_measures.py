"""What a run has measured about itself"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import DeclaredClip, DeclaredFiles
from rigpact.reference_runtime.files.sentinel import ordinary_of_rows
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

from ..golden_findings import check_golden
from ..models import saved
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
        files = ("--companion", demo_bundle / "pretrain_template.json", demo_bundle / CLIP, *source)
        out = ("-o", tmp_path / "run.trace.jsonl", "--format", "json")
        answer = command("run", "--contract", bundle or demo_bundle / "norm_template.json", *files, *out, *words)
        return answer.status, json.loads(answer.out) if answer.out else answer.err

    return call


GOLDEN = Path(__file__).parent / "golden"


def assert_golden(document: Any, code: str) -> None:
    """The first finding of a rule is as it was: its text is an example on the page of the rules."""
    found = of_code(document, code)[:1]
    check_golden(GOLDEN, code, found, Path(found[0]["file"]).parent)


def of_code(document: Any, code: str) -> list[Any]:
    return [finding for finding in document["findings"] if finding["code"] == code]


@refused("a run whose poses are 40 degrees off where copying the last pose is off by half a degree", "RP820, exit 1")
def test_a_run_that_copying_beats_by_far_does_not_pass(run):
    """The numbers stand in the summary, nobody reads them, and a character with the wrong convention ships."""
    status, document = run("--set", "output_mode=delta")
    error = document["summary"]["diagnostics"]["GeoDeg"]
    assert status == 1
    assert error > 10.0
    assert len(of_code(document, "RP820")) == 1
    assert f"{error:.3g} deg" in of_code(document, "RP820")[0]["message"]
    assert_golden(document, "RP820")


def test_a_run_that_copying_beats_says_so_as_check_does_of_its_prediction(run, tmp_path):
    """`check` warned of the prediction and `diff` led with it; `run`, which measured the same, passed without a word."""
    assert of_code(run()[1], "RP635") == []
    trace = read_trace(tmp_path / "run.trace.jsonl")
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    stages["y_norm"] = 3.0 * stages["y_norm"]  # each turn about three times as large: two steps too far
    write_trace(replace(trace, stages=stages, mapping=None), tmp_path / "far.trace.jsonl")
    status, document = run(replay=tmp_path / "far.trace.jsonl")
    errors = document["summary"]["diagnostics"]
    assert errors["CopyLastGeoDeg"] < errors["GeoDeg"] < 4 * errors["CopyLastGeoDeg"]
    assert (status, len(of_code(document, "RP635")), of_code(document, "RP820")) == (0, 1, [])


PLACE = tiled(("place", 2, FieldKind.POSITION, "cm", "world"))
WALKER = System(
    name="walker", title="A point that walks", inputs=("place",), outputs=("place_next",),
    stages=(
        Stage("place", PLACE, carried="place_next"),
        Stage("place_next", PLACE, ("place",), lambda frames: frames["place"], measure=Measure("cm"), is_answer=True),
    ),
)  # fmt: skip


@refused("the same of a system that is declared only by its stages", "RP820")
def test_every_system_that_feeds_itself_is_held_against_copying():
    """A rule that knows one character protects one character."""
    place = np.cumsum(np.full((50, 2), 3.0, np.float32), axis=0)  # three centimetres a frame: copying is off by three
    contract = contract_in_memory(WALKER, {})
    for answer, is_lost in ((place + 3.5, False), (place - 8.0, False), (place - 10.0, True)):
        trace = Trace(
            TraceHeader(60.0, "teacher", system="walker"),
            np.arange(50),
            np.arange(50) / 60.0,
            {"place": place, "place_next": answer.astype(np.float32)},
        )
        found = DeclaredFiles().baseline(trace, contract)
        assert found is not None
        assert (found.copied, found.limit, found.is_lost) == (pytest.approx(3.0), pytest.approx(12.0), is_lost)


@refused(
    "a free run in which the network's input is clamped at 16 deviations for hundreds of frames", "RP821, a warning"
)
def test_inputs_beyond_the_clamp_are_said(run, tmp_path):
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
def test_a_channel_that_stood_still_is_said(run, demo_bundle, tmp_path):
    """A statistic of rounding turns a finger that is a degree off into the largest input that the network has."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["StdX"][100], raw = 1e-4, document["MuX"][100]
    (tmp_path / "bundle.json").write_text(json.dumps(document), encoding="utf-8")
    status, answer = run(bundle=tmp_path / "bundle.json")
    beyond = np.abs(read_trace(tmp_path / "run.trace.jsonl").stages["x_raw"][:, 100] - raw) > 16.0 * 1e-4
    assert (status, len(of_code(answer, "RP821"))) == (0, 1)
    assert f"in {np.count_nonzero(beyond)} of 32 frames" in of_code(answer, "RP821")[0]["message"]
    assert_golden(answer, "RP821")


@passes("a healthy free run whose clip stands still, or in which the column that is fed back is constant")
@pytest.mark.parametrize("noise", [0.0, 3e-8])
def test_a_clip_that_stands_still_says_nothing_of_how_far_a_run_may_go(noise):
    """Measured by rounding, every step of a sound feedback was a million deviations long."""
    contract = contract_in_memory(WALKER, {})
    place = np.tile([0.25, -0.5], (50, 1)) * (1.0 + noise * np.sin(np.arange(50))[:, None])
    assert (
        DeclaredFiles().ordinary(DeclaredClip(Path("clip"), 60.0, {"place": place.astype(np.float32)}), contract)
        is None
    )


@refused("a free run that leaves the clip's kind of motion, beside a column of another kind that stands still", "RP822")
def test_what_moves_still_measures_the_run():
    """A column that stands still must not take the measure from those that move."""
    fields = tiled(("place", 1, FieldKind.POSITION, "cm", "world"), ("flag", 1, FieldKind.SCALAR, "", "world"))
    stage = Stage("place", fields, carried="place_next")
    rows = np.stack((np.sin(np.arange(64.0) * np.pi / 32.0), np.ones(64)), axis=1)  # its deviation is √½
    found = ordinary_of_rows(stage, fields, rows)
    assert found is not None
    sizes = found.sizes({"place": np.zeros(2)}, {"place": np.array([20.0, 9.0], np.float32)})
    assert sizes == pytest.approx([20.0 * np.sqrt(2.0), 0.0])


@refused("a run with a network answer of 1e27: finite in every stage", "RP822, exit 1; `rigpact nan` says DIVERGING")
@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_a_number_without_meaning_does_not_pass(run, demo_bundle, tmp_path, mode):
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


WALKS = """format = "rigpact-contract"
version = 1
name = "walker"
title = "Walker"
fps = 60
given = [
    { name = "trajectory", fields = [{ name = "near", size = 2 }, { name = "far", size = 2 }] },
    { name = "unused", size = 2 },
]
stages = [
    { name = "input", operation = "select", of = "trajectory", take = ["near"] },
    { name = "answer", operation = "network", size = 2 },
]
[networks.policy]
inputs = ["input"]
outputs = ["answer"]
"""


@pytest.fixture
def walks(command: Any, tmp_path: Path) -> Run:
    """A command on a contract that reads two of the four numbers of a trajectory; a NaN at a place of its clip."""
    (tmp_path / "walker.toml").write_text(WALKS, encoding="utf-8")
    graph = "(float[B, 2] input) => (float[B, 2] answer) { answer = MatMul(input, w) }"
    saved(tmp_path / "walker.onnx", graph, w=np.full((2, 2), 0.5, np.float32))

    def call(verb: str, stage: str, channel: int, *words: object) -> Any:
        rows = {"trajectory": np.ones((20, 4), np.float32), "unused": np.ones((20, 2), np.float32)}
        rows[stage][5, channel] = np.nan
        np.savez(tmp_path / "clip.npz", **rows)
        files = ("--contract", "walker.toml", "--onnx", "walker.onnx", *words)
        return command(
            verb, *(tmp_path / word if "walker" in str(word) else word for word in files), "--format", "json"
        )

    return call


UNREAD = [("trajectory", 3), ("unused", 0)]


@passes("a NaN in a field of the clip that the contract does not read: an information of `run`, a note of `nan`")
@pytest.mark.parametrize(("stage", "channel"), UNREAD)
def test_a_nan_that_nothing_reads_is_no_failure(walks, tmp_path, stage, channel):
    """The run gives the same numbers whatever stands there; a red gate over it is switched off."""
    out = tmp_path / "run.trace.jsonl"
    ran = walks("run", stage, channel, tmp_path / "clip.npz", "-o", out)
    document = json.loads(ran.out)
    assert (ran.status, [found["code"] for found in document["findings"]]) == (0, ["RP823"])
    if stage == "trajectory":
        assert_golden(document, "RP823")
    for given in ((tmp_path / "clip.npz", "--mode", "teacher"), (out,)):
        answer = walks("nan", stage, channel, *given)
        found = json.loads(answer.out)
        assert (answer.status, found["verdict"], found["frames"]) == (0, "finite", 20)
        assert any(f"{stage} holds values that are not finite from frame 5 on" in note for note in found["notes"])


@refused("a NaN in a field of the clip that the contract reads, beside one that it does not", "NONFINITE, exit 1")
def test_a_nan_that_is_read_still_fails(walks, tmp_path):
    """Passing over one value must not pass over its neighbour."""
    ran = walks("run", "trajectory", 1, tmp_path / "clip.npz", "-o", tmp_path / "run.trace.jsonl")
    assert (ran.status, len(of_code(json.loads(ran.out), "RP804"))) == (1, 3)
    answer = walks("nan", "trajectory", 1, tmp_path / "clip.npz", "--mode", "teacher")
    origin = json.loads(answer.out)["origin"]
    assert (answer.status, origin["stage"], origin["frame"], origin["channel"]) == (1, "trajectory", 5, 1)


@refused("a NaN that a threshold turns into 0: the output is finite, and made of it", "NONFINITE, exit 1")
def test_a_nan_that_a_stage_swallows_is_read(walks, tmp_path):
    """A foot that is not a number is called lifted, and every later stage is finite."""
    stage = '{ name = "far", operation = "threshold", of = "unused", limit = 0.5, side = "above" },'
    contract = (tmp_path / "walker.toml").read_text(encoding="utf-8").replace("stages = [", f"stages = [\n{stage}")
    (tmp_path / "walker.toml").write_text(contract, encoding="utf-8")
    answer = walks("nan", "unused", 0, tmp_path / "clip.npz", "--mode", "teacher")
    assert (answer.status, json.loads(answer.out)["origin"]["stage"]) == (1, "unused")


@refused("a file of poses given as recorded network output", "exit 2: the place, and what was expected")
def test_poses_are_not_replayed_as_answers(run, demo_bundle):
    """Each pose is applied as a step of a frame: every bone spins."""
    poses = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    status, error = run(replay=poses)
    assert (status, "poses" in error, "output_mode=absolute" in error) == (2, True, True)
    assert run("--set", "output_mode=absolute", replay=poses)[0] == 0  # there a pose is the answer


@passes("a recording of the network's own output in place of the model; exact steps near the identity")
def test_answers_are_replayed(run, demo_bundle, tmp_path):
    """A recording of steps that is refused takes away the only way to judge without the model."""
    kept = tmp_path / "answers.trace.jsonl"
    run()
    (tmp_path / "run.trace.jsonl").rename(kept)
    assert run(replay=kept)[0] == 0
    trace = read_trace(kept)
    still = {**trace.stages, "y_norm": np.zeros_like(trace.stages["y_norm"])}
    write_trace(replace(trace, stages=still), tmp_path / "still.trace.jsonl")
    assert run(replay=tmp_path / "still.trace.jsonl")[0] == 0  # every step is exactly the identity
