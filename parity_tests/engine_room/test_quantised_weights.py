"""A deployed network whose weights have fewer bits than the exported model's: said as what it is, and of no other network.

The weights are quantised here, in numpy, and the deployed network runs in onnxruntime.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip, run_frames, write_trace
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

FRAMES, CLIP = 24, "clips/Sneak_Turn.json"
Weights = Callable[[np.ndarray], np.ndarray]


def _eight_bits(number: float) -> float:
    """The nearest number with eight significant bits."""
    share, exponent = math.frexp(number)
    return math.ldexp(round(share * 256.0), exponent - 8)


def _whole_steps(numbers: np.ndarray) -> np.ndarray:
    """Whole multiples of one step, of which the largest number is 127."""
    step = float(np.max(np.abs(numbers))) / 127.0
    return np.round(numbers / step) * step


QUANTISED: dict[str, tuple[Weights, str]] = {
    "float16": (lambda w: w.astype(np.float16), "rounded to float16"),
    "bfloat16": (np.vectorize(_eight_bits), "rounded to bfloat16"),
    "int8 by tensor": (lambda w: _whole_steps(w) if w.ndim > 1 else w, "quantised to int8, with one scale for each tensor"),
    "int8 by channel": (
        lambda w: np.stack([_whole_steps(row) for row in w]) if w.ndim > 1 else w,
        "quantised to int8, with one scale for each channel",
    ),
}  # fmt: skip


def _deployed(demo_bundle: Path, folder: Path, change: Weights) -> Path:
    """The demo's model with other numbers. Its layers are Gemm with transposed weights: a row is an output."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(demo_bundle / "model.onnx"))
    for tensor in model.graph.initializer:
        changed = np.asarray(change(numpy_helper.to_array(tensor)), np.float32)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, str(folder / "deployed.onnx"))
    return folder / "deployed.onnx"


def _explained(
    demo_bundle: Path, folder: Path, change: Weights, stages: tuple[str, ...] = (), noise: float = 0.0
) -> Any:
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    network = OnnxNetwork(_deployed(demo_bundle, folder, change), contract)
    runner = open_run(contract, network, read_clip(demo_bundle / CLIP), "teacher")
    trace = run_frames(runner, range(FRAMES), "Sneak_Turn", "teacher")
    rows = trace.stages["y_norm"]
    trace.stages["y_norm"][:] = rows + noise * np.random.default_rng(0).standard_normal(rows.shape)
    if stages:
        trace = replace(trace, stages={name: trace.stages[name] for name in stages})
    write_trace(trace, folder / "engine.trace.safetensors")
    files = ContractFiles(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    given = EvidenceFiles(demo_bundle / CLIP, demo_bundle / "model.onnx")
    request = ExplainRequest(folder / "engine.trace.safetensors", files, given)
    return explain(request)[0]


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("int8 by channel", ()),
        *(pytest.param(name, (), marks=pytest.mark.nightly) for name in ("float16", "bfloat16", "int8 by tensor")),
        pytest.param("int8 by tensor", ("y_out",), marks=pytest.mark.nightly),
    ],
)
def test_quantised_weights_are_said_with_their_fit(
    demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, stages: tuple[str, ...]
) -> None:
    """Every answer is a little off, and no line of the loop is wrong: a team would search it for days.

    Other files are tried before relations are, whose search takes ten times as long.
    """
    monkeypatch.delattr("rigpact.reports.diagnosing.relations.search.find_relations")
    change, words = QUANTISED[name]
    found = _explained(demo_bundle, tmp_path, change, stages)
    stage = stages[0] if stages else "y_norm"
    fit = f"{stage} is then within its bound in {FRAMES} of {FRAMES} frames"
    assert found.supposition == f"the network's weights were {words} ({fit})"
    assert (found.verdict, found.causes) == ("explained", ())


OTHERS: dict[str, tuple[Weights, float]] = {
    "weights of another training": (lambda w: w * np.float32(1.001), 0.0),
    "int8 with steps of a power of two": (lambda w: np.round(w * 64.0) / 64.0, 0.0),
    "float16 and noise": (lambda w: w.astype(np.float16), 1e-3),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", OTHERS)
def test_other_weights_are_not_said_to_be_quantised(demo_bundle: Path, tmp_path: Path, name: str) -> None:
    """A wrong hint that it is only the precision ships a wrong network."""
    change, noise = OTHERS[name]
    found = _explained(demo_bundle, tmp_path, change, noise=noise)
    assert found.supposition is None
    assert found.verdict in ("unexplained", "partly_explained")  # of rounded weights some answers are 0 in every frame
