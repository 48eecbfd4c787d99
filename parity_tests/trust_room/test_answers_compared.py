"""A network's answers in a comparison

Both sides have the same model, and an inference of their own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import CallableNetwork, OnnxNetwork, open_run, read_clip, run_frames, write_trace

from .five_inputs import HIDDEN, Network
from .tried import passes, refused

FRAMES = 24


class Sides:
    """The demo character with a network of its own; what the reference and an engine record."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        """Read the contract."""
        self.files = bundle / "norm_template.json", bundle / "pretrain_template.json"
        self.clip, self.folder = bundle / "clips" / "Sneak_Turn.json", folder
        self.contract = load_contract(*self.files)

    def record(self, network: Any, name: str) -> Path:
        """A driven run with this network."""
        runner = open_run(self.contract, network, read_clip(self.clip), "teacher")
        path = self.folder / f"{name}.trace.safetensors"
        write_trace(run_frames(runner, range(FRAMES), "Sneak_Turn", "teacher"), path)
        return path

    def compared(self, command: Any, model: Network, engine: Network) -> Any:
        """`rigpact diff` of onnxruntime with the model and of the engine's own inference."""
        path = model.save(self.folder / "model.onnx")
        sides = (
            self.record(OnnxNetwork(path, self.contract), "reference"),
            self.record(CallableNetwork(engine), "engine"),
        )
        words: tuple[object, ...] = ("--contract", self.files[0], "--companion", self.files[1], "--onnx", path)
        return command("diff", *sides, *words)


@pytest.fixture
def sides(demo_bundle: Path, tmp_path: Path) -> Sides:
    return Sides(demo_bundle, tmp_path)


def plain(_network: Network) -> None:
    """Weights of ordinary size."""


def cancelling(network: Network) -> None:
    """Large terms of opposite sign, which leave a small answer."""
    half = HIDDEN // 2
    network.weights[0][half:], network.weights[1][half:] = network.weights[0][:half], network.weights[1][:half]
    network.weights[2][:, half:] = -network.weights[2][:, :half]
    network.weights[2] *= np.float32(100.0)
    network.weights[3] *= np.float32(1e-3)


@passes("an engine with its own inference, where large terms of the network cancel")
@pytest.mark.parametrize("change", [plain, cancelling], ids=lambda change: change.__name__)
def test_another_inference_agrees(sides: Sides, command: Any, change: Callable[[Network], None]) -> None:
    """A tolerance of the answer's size is an alarm about every correct engine with another sum."""
    model = Network(sides.contract)
    change(model)
    answer = sides.compared(command, model, model)
    assert answer.status == 0, answer.out


@refused("a bias that is off by two hundred-thousandths, beside answers of size 1", "RP801 in y_norm")
def test_a_small_defect_is_seen_beside_large_answers(sides: Sides, command: Any) -> None:
    """A tolerance of the largest answer's size hides what is wrong with a bone that stands."""
    model, wrong = Network(sides.contract), Network(sides.contract)
    wrong.weights[3][7] += np.float32(2e-5)
    answer = sides.compared(command, model, wrong)
    assert answer.status == 1, answer.out
    assert "RP801 error: y_norm differs from frame 0 on" in answer.out
