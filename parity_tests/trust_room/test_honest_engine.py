"""An honest engine on a deployed character

Real bundles have channels that hardly move: their deviation is a floor of 1e-6, and one float32 step of the raw value is a
tenth of a z. An engine with its own arithmetic is then off by thousands of roundings behind the network, and is right.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract import Contract, load_contract
from rigpact.contract.layout import INPUTS
from rigpact.reference_runtime import CallableNetwork, OnnxNetwork, open_run, read_clip, run_frames, write_trace

from .honest_engine import Engine, backwards, recorded
from .tried import passes, refused

CONVENTIONS = {"angvel_source": "state_slice"}
CLIPS = ("Walk_F", "Walk_L_To_R")
WRONG = 0.01
Stages = dict[str, Any]
Array = NDArray[Any]
F = np.float32
HIDDEN = 64


class Network:
    """Two layers; `weights` are those of the file until a test changes them."""

    def __init__(self, contract: Contract, seed: int = 0, first: float = 1.0) -> None:
        """first: the size of the first layer's weights; at 1 its sums have the size of an input."""
        rng, self.widths = (
            np.random.default_rng(seed),
            [int(contract.numbers.input_widths[name] or 2) for name in INPUTS],
        )
        count, answer = sum(self.widths), contract.numbers.output.width
        self.weights = [
            (first * rng.normal(size=(HIDDEN, count)) / np.sqrt(count)).astype(F),
            (0.1 * rng.normal(size=HIDDEN)).astype(F),
            (0.3 * rng.normal(size=(answer, HIDDEN)) / np.sqrt(HIDDEN)).astype(F),
            (0.1 * rng.normal(size=answer)).astype(F),
        ]

    def save(self, path: Path) -> Path:
        """Write the model."""
        nodes = [
            helper.make_node("Concat", list(INPUTS), ["x"], axis=1),
            helper.make_node("Gemm", ["x", "w0", "w1"], ["h"], transB=1),
            helper.make_node("Elu", ["h"], ["e"]),
            helper.make_node("Gemm", ["e", "w2", "w3"], ["motion_pred"], transB=1),
        ]
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", width])
            for name, width in zip((*INPUTS, "motion_pred"), (*self.widths, len(self.weights[3])), strict=True)
        ]
        weights = [numpy_helper.from_array(values, f"w{place}") for place, values in enumerate(self.weights)]
        graph = helper.make_graph(nodes, "model", ends[:-1], ends[-1:], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path

    def __call__(self, *inputs: Array) -> Array:
        """The engine's own inference: float32, from the last term to the first."""
        h = backwards(np.concatenate(inputs, axis=1), *self.weights[:2])
        return backwards(np.where(h > 0, h, np.exp(np.minimum(h, F(0))) - F(1)), *self.weights[2:])

    @property
    def of_list(self) -> Callable[[Sequence[Array]], Array]:
        """The same, of a list of inputs."""
        return lambda inputs: self(*inputs)


class Project:
    """The real bundle, a network for it, and what engine and reference record on a clip."""

    def __init__(self, real: Path, folder: Path) -> None:
        """Write the model and the settings of a gate."""
        self.real, self.folder = real, folder
        self.bundle, self.companion = real / "norm_template.json", real / "pretrain_template.json"
        self.contract: Contract = load_contract(self.bundle, self.companion, CONVENTIONS)
        self.network = Network(self.contract)
        self.model = self.network.save(folder / "model.onnx")
        self.words: list[object] = ["--contract", self.bundle, "--companion", self.companion]
        for knob, value in CONVENTIONS.items():
            self.words += ["--set", f"{knob}={value}"]

    def engine(self, clip: Path, network: Network | None = None) -> Stages:
        """What the engine computes."""
        return Engine(self.bundle, self.companion, (network or self.network).of_list).run(clip)

    def write(self, stages: Stages, name: str = "engine") -> Path:
        """The engine's recording."""
        path = self.folder / f"{name}.trace.safetensors"
        write_trace(recorded(stages), path)
        return path

    def reference(self, clip: Path, frames: int, kept: Stages) -> Path:
        """The reference's recording of the stages that the engine records too."""
        runner = open_run(self.contract, OnnxNetwork(self.model, self.contract), read_clip(clip), "teacher")
        trace = run_frames(runner, range(frames), clip.stem, "teacher")
        path = self.folder / "reference.trace.safetensors"
        for name in set(trace.stages) - set(kept):
            del trace.stages[name]
        write_trace(trace, path)
        return path


@pytest.fixture
def project(real_project: Path) -> Project:
    return Project(real_project, real_project)


def compared(project: Project, command: Any, clip: Path, stages: Stages, *more: object) -> Any:
    """`rigpact diff` of reference and engine."""
    engine = project.write(stages)
    reference = project.reference(clip, len(stages["state"]), stages)
    return command("diff", reference, engine, *project.words, "--onnx", project.model, *more)


@passes("an engine in float32 with its own sums, on a bundle with deviations of 1e-6")
@pytest.mark.parametrize("name", CLIPS)
def test_an_honest_engine_agrees_on_every_stage(project: Project, command: Any, name: str) -> None:
    """An alarm about a correct engine teaches a team to ignore alarms."""
    clip = project.real / f"{name}.json"
    answer = compared(project, command, clip, project.engine(clip))
    assert answer.status == 0, answer.out


@passes("nothing but the published pose, on a bundle whose history has deviations of 1e-6: a sampled bound judges")
def test_an_output_behind_a_wide_worst_case_agrees(project: Project, command: Any) -> None:
    """One rounding of the history may be hundreds of z here: by the worst case alone no pose could be judged."""
    clip = project.real / "Walk_F.json"
    engine = project.write({"y_out": project.engine(clip)["y_out"]})
    answer = command("explain", engine, *project.words, "--clip", clip, "--onnx", project.model)
    assert answer.status == 0, answer.out
    assert "a sampled bound judged" in answer.out


class Demo:
    """The demo character, an engine in float32 with its own inference, and its published pose alone."""

    def __init__(self, demo_bundle: Path, folder: Path) -> None:
        """Write a model with weights of ordinary size."""
        self.clip = demo_bundle / "clips" / "Sneak_Turn.json"
        files = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
        self.contract = load_contract(*files)
        self.network, self.engine = Network(self.contract), folder / "engine.trace.safetensors"
        self.words = ("--contract", files[0], "--companion", files[1], "--clip", self.clip)
        self.model = self.network.save(folder / "model.onnx")

    def record(self, network: Network) -> Path:
        """The published pose of a run in float32."""
        contract = self.contract.with_conventions({"math": "f32"})
        runner = open_run(contract, CallableNetwork(network), read_clip(self.clip), "teacher")
        trace = run_frames(runner, range(24), "Sneak_Turn", "teacher")
        write_trace(recorded({"y_out": trace.stages["y_out"]}, trace.header.fps), self.engine)
        return self.engine


@passes("an engine in float32 that records nothing but what it publishes")
def test_the_output_alone_agrees(demo_bundle: Path, tmp_path: Path, command: Any) -> None:
    """What the inputs are uncertain by is carried through the network, so the output can be judged without them."""
    demo = Demo(demo_bundle, tmp_path)
    answer = command("explain", demo.record(demo.network), *demo.words, "--onnx", demo.model)
    assert answer.status == 0, answer.out


@refused("the same engine with one row of weights off by a tenth", "DIFFERS in y_out")
@pytest.mark.usefixtures("no_search")
def test_a_wrong_weight_shows_in_the_output_alone(demo_bundle: Path, tmp_path: Path, command: Any) -> None:
    """The carried uncertainty must not hide a wrong model."""
    demo = Demo(demo_bundle, tmp_path)
    wrong = Network(demo.contract)
    wrong.weights[2][7] *= np.float32(1.1)
    answer = command("explain", demo.record(wrong), *demo.words, "--onnx", demo.model)
    assert answer.status == 1, answer.out


@refused("an engine whose last layer has one weight off by a hundredth", "RP801 in y_norm")
def test_a_wrong_weight_is_seen(project: Project, command: Any) -> None:
    """The tolerance is wide where the inputs differ; it must not hide a wrong model."""
    clip = project.real / "Walk_F.json"
    wrong = Network(project.contract)
    wrong.weights[2][7, 3] *= np.float32(1.0 + WRONG)
    answer = compared(project, command, clip, project.engine(clip, wrong))
    assert answer.status == 1
    assert "RP801 error: y_norm differs" in answer.out
