"""The demo character as a small sweep, and the command line in this process."""

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from rigpact.contract import load_contract
from rigpact.reports.sweep.plan import Cell, plan_sweep


@pytest.fixture
def counted(monkeypatch):
    """counted_cells.py under a name that other processes can import too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("counted_cells")


@pytest.fixture
def marks(tmp_path):
    """Where measured cells leave their marks."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


Plan = Callable[..., list[Cell]]


@pytest.fixture
def demo_plan(demo_bundle):
    """Plan a sweep of the demo character: its clips and model unless others are given."""

    def plan(models=None, clips=None, knobs=(), **options):
        companion = demo_bundle / "pretrain_template.json"
        contract = load_contract(demo_bundle / "norm_template.json", companion)
        models = models or [demo_bundle / "model.onnx"]
        clips = clips or [demo_bundle / "clips"]
        return plan_sweep(contract, companion, [*map(str, models)], [*map(str, clips)], knobs, **options)

    return plan


@pytest.fixture
def checkpoint(demo_bundle, tmp_path):
    """Write the demo model with its last layer's weights multiplied, under another name."""
    onnx, numpy = pytest.importorskip("onnx"), import_module("numpy")

    def write(name, factor):
        model = onnx.load(str(demo_bundle / "model.onnx"))
        (weight,) = (entry for entry in model.graph.initializer if entry.name == "output.weight")
        values = onnx.numpy_helper.to_array(weight) * numpy.float32(factor)
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


@pytest.fixture
def clip_copy(demo_bundle, tmp_path):
    """Copy a demo clip under another name, cut to so many bytes if that is asked for."""

    def write(name, size=None):
        path = tmp_path / name
        shutil.copyfile(demo_bundle / "clips" / "Sneak_Turn.json", path)
        if size is not None:
            path.write_bytes(path.read_bytes()[:size])
        return path

    return write


@pytest.fixture
def sweep_command(command, demo_bundle):
    """Run `rigpact sweep` on the demo bundle in this process."""
    files = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    return lambda *words: command("sweep", *files, *words)
