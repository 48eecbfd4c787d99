"""Words that a contract leaves open: a recording answers them, and nobody is blamed for what was only assumed."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Command = Callable[..., Any]
CONTRACT = """\
format = "rigpact-contract"
version = 1
name = "two_frames"
fps = 50

given = [{ name = "x", size = 2 }]
stages = [
    { name = "bent", operation = "affine", of = "x", scale = 0.5 },
    { name = "obs", operation = "history", of = ["bent"], length = 2, layout = "term_major", start = "first", order = "oldest_first", left_open = ["order"] },
]
"""  # noqa: E501 - one stage a line, as in a file


def _project(folder: Path, *, scale: float = 0.5) -> tuple[Path, Path]:
    """An engine that keeps the newest frame first."""
    x = np.random.default_rng(2).normal(size=(20, 2)).astype("f")
    bent = (x * np.float32(scale)).astype("f")
    np.savez(folder / "run.npz", x=x, obs=np.hstack([bent, np.vstack([bent[:1], bent[:-1]])]))
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    return folder / "run.npz", folder / "contract.toml"


def test_an_open_word_is_answered(tmp_path: Path, command: Command) -> None:
    """The contract only assumed a word: an engine that does otherwise makes no mistake."""
    run, contract = _project(tmp_path)
    answer = command("explain", run, "--contract", contract)
    assert answer.status == 0, answer.out
    assert "AGREES: open: obs.order is newest_first; everything else agrees" in answer.out
    assert "physics" in answer.out
    answered = json.loads(command("explain", run, "--contract", contract, "--format", "json").out)
    assert (answered["verdict"], answered["answered"]) == ("agrees", {"obs.order": ["newest_first"]})


def test_an_answer_is_written_into_the_contract(tmp_path: Path, command: Command) -> None:
    """A word that stays open is asked again of every recording."""
    run, contract = _project(tmp_path)
    assert "now says: obs.order is newest_first" in command("explain", run, "--contract", contract, "--fill").out
    assert contract.read_text("utf-8") == CONTRACT.replace(
        ', order = "oldest_first", left_open = ["order"]', ', order = "newest_first"'
    )
    assert "RP749" not in command("check", contract).out
    assert "nothing that the contract leaves open" in command("explain", run, "--contract", contract, "--fill").out


def test_no_mistake_hides_behind_an_open_word(tmp_path: Path, command: Command) -> None:
    """Whoever says the word wants to hear that the engine does otherwise; another mistake is named under the answered words."""
    run, contract = _project(tmp_path, scale=0.25)
    answer = command("explain", run, "--contract", contract, "--format", "json")
    assert (answer.status, "obs.order" in str(json.loads(answer.out)["causes"])) == (1, False)
    _project(tmp_path)
    contract.write_text(CONTRACT.replace(', left_open = ["order"]', ""), encoding="utf-8")
    assert command("explain", run, "--contract", contract).status == 1


def test_columns_that_the_contract_does_not_know_are_said(tmp_path: Path, command: Command) -> None:
    """A column that is passed over in silence looks as if it had agreed."""
    run, contract = _project(tmp_path)
    np.savez(run, **dict(np.load(run)), extra=np.zeros((20, 3)))
    assert "note: the contract does not know extra: not judged" in command("explain", run, "--contract", contract).out


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_an_agreement_says_what_the_recording_could_not_tell_and_where_to_look(
    tmp_path: Path, command: Command, output: str
) -> None:
    """An agreement that says no more sends its reader through the same files again."""
    x = np.zeros((20, 2), "f")
    np.savez(tmp_path / "run.npz", x=x, obs=np.hstack([x, x]), action=x)
    (tmp_path / "contract.toml").write_text(FED_BACK, encoding="utf-8")
    files = (tmp_path / "run.npz", "--contract", tmp_path / "contract.toml")
    answer = command("explain", *files, "--format", output)
    assert answer.status == 0, answer.out
    assert "action.scale=none" in html.unescape(answer.out)
    assert "2 of 3 stages judged" in answer.out
    for word in ("physics", "gains", "latency", "task"):
        assert word in answer.out


FED_BACK = """\
format = "rigpact-contract"
version = 1
name = "fed_back"
fps = 50
given = [{ name = "x", size = 2 }, { name = "last", size = 2, carried = "action", start = "zeros" }]
stages = [
    { name = "obs", operation = "concatenate", of = ["x", "last"] },
    { name = "action", operation = "affine", of = "x", scale = 2 },
]
"""


def test_a_wrong_last_action_is_answered_and_not_refused(tmp_path: Path, command: Command) -> None:
    """The first thing that goes wrong in a port ended without an answer, because no file says who drove the robot."""
    x = np.random.default_rng(3).normal(size=(20, 2)).astype("f")
    last = np.vstack([np.zeros((2, 2), "f"), 2 * x[:-2]])  # one frame late
    np.savez(tmp_path / "run.npz", x=x, last=last, obs=np.hstack([x, last]), action=2 * x)
    (tmp_path / "contract.toml").write_text(FED_BACK, encoding="utf-8")
    answer = command("explain", tmp_path / "run.npz", "--contract", tmp_path / "contract.toml", "--format", "json")
    assert answer.status == 1, answer.err
    differs = [each["stage"] for each in json.loads(answer.out)["stages"] if each["ok"] is False]
    assert differs == ["last"]
    said = command("explain", tmp_path / "run.npz", "--contract", tmp_path / "contract.toml")
    assert "--mode teacher if what it feeds back came from outside" in said.out
