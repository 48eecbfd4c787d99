"""A damaged contract of one's own: one clear answer for each mistake, with place, found, expected and a hint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .declared_cases import DAMAGES, SMALL, write_small

Command = Callable[..., Any]


def test_the_small_contract_is_well(tmp_path: Path, command: Command) -> None:
    """If the undamaged file had findings, every case below could be answered by them."""
    answer = command("check", write_small(tmp_path))
    assert answer.status == 0, answer.out


@pytest.mark.parametrize("name", DAMAGES)
def test_a_mistake_is_answered_at_its_place(name: str, tmp_path: Path, command: Command) -> None:
    """An engineer who writes the first contract makes these mistakes, and has only the answer to find them."""
    text, replacement, code, pointer, found, expected = DAMAGES[name]
    assert SMALL.count(text) >= 1, "the case damages nothing"
    path = write_small(tmp_path, SMALL.replace(text, replacement, 1))
    answer = command("check", path, "--format", "json")
    if not code:
        assert answer.status == 2
        assert found in answer.err
        assert expected in answer.err
        return
    assert answer.status != 0, "the mistake passes"
    findings = [each for each in json.loads(answer.out)["findings"] if each["severity"] == "error"]
    at_place = [each for each in findings if each["code"].startswith(code) and each["pointer"].startswith(pointer)]
    assert at_place, [(each["code"], each["pointer"], each["message"]) for each in findings]
    finding = at_place[0]
    assert found in finding["message"]
    assert expected in finding["message"] + finding["hint"]
    assert finding["hint"]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_contract_is_not_used(name: str, tmp_path: Path, command: Command) -> None:
    """A command that went on with half a contract would judge an engine by it."""
    text, replacement, *_ = DAMAGES[name]
    path = write_small(tmp_path, SMALL.replace(text, replacement, 1))
    (tmp_path / "run.csv").write_text("joint_q[0],joint_q[1]\n0,0\n", encoding="utf-8")
    answer = command("explain", tmp_path / "run.csv", "--bundle", path)
    assert answer.status == 2
    assert answer.err.startswith("rigpact: error:")
