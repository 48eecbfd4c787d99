"""The demo character as a subject, and the command line in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_clip
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reports.command_line import run_command_line


@dataclass(frozen=True)
class Answer:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Answer]


@pytest.fixture
def nan_command(capfd: pytest.CaptureFixture[str], demo_bundle: Path) -> Command:
    """Run `rigpact nan` with the demo's companion, model and clip; `bundle` is the demo's own if not given."""

    def call(*words: object, bundle: Path | None = None, companion: Path | None = None, network: bool = True) -> Answer:
        files = ["--companion", companion or demo_bundle / "pretrain_template.json"]
        if network:
            files += ["--onnx", demo_bundle / "model.onnx", demo_bundle / "clips" / "Sneak_Turn.json"]
        capfd.readouterr()
        chosen = bundle or demo_bundle / "norm_template.json"
        status = run_command_line([str(word) for word in ("nan", "--contract", chosen, *files, *words)])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(status, captured.out, captured.err)

    return call


@pytest.fixture
def damaged_bundle(demo_bundle: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write the demo bundle with one number of one array replaced, or the array's last number dropped."""

    def write(key: str, index: int | None = None, value: float = 0.0) -> Path:
        document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
        if index is None:
            document[key].pop()
        else:
            document[key][index] = value
        path = tmp_path / "norm_template.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def demo_subject(demo_bundle: Path) -> Subject:
    """The demo character in free-run on a turning walk."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    return Subject(contract, network, read_clip(demo_bundle / "clips" / "Walk_Spin.json"))
