"""What commands say about your own contract: which network is missing, which file is needed, and how to give it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

CONTRACT = """format = "rigpact-contract"
version = 1
name = "doubler"
fps = 50
given = [{ name = "x", size = 2 }]
stages = [
    { name = "obs", operation = "affine", of = "x", scale = 0.5 },
    { name = "action", operation = "network", size = 2 },
]
[networks.walker]
inputs = ["obs"]
outputs = ["action"]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a contract and a recording."""
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.savez(tmp_path / "run.npz", x=x, obs=x * np.float32(0.5), action=x)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("own")
def test_a_network_that_is_missing_is_named_with_the_way_to_give_it(command: Any) -> None:
    """`'network'` alone sends its reader to the source."""
    answer = command("explain", "run.npz", "--contract", "contract.toml")
    assert answer.status == 2
    expected = (
        "action: not judged; give the model of the network walker: --onnx FILE, or file = FILE in [networks.walker]"
    )
    assert expected in " ".join(answer.out.split())


@pytest.mark.usefixtures("own")
def test_columns_without_a_contract_are_answered_with_what_is_needed(command: Any) -> None:
    """`expected JSON (a truncated file?)` was the answer to a whole table."""
    answer = command("explain", "run.npz")
    assert answer.status == 2
    assert "--contract: found none" in answer.err
    assert "contract" in answer.err


@pytest.mark.parametrize("name", ["run", "show", "explain", "nan", "codegen", "sweep"])
def test_the_help_says_that_any_contract_is_taken(command: Any, name: str) -> None:
    """`The schema bundle` alone tells people with a contract of their own that the command is not for them."""
    assert "or a contract" in " ".join(command(name, "--help").out.split())
