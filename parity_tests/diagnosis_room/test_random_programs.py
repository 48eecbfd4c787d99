"""The drawn programs: an interpreter that shares no code with rigpact agrees with it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ..every_case import every_case
from ..measuring.scores.random_programs import drawing, interpreter, planting, program
from ..measuring.scores.random_programs.trial import asked, trial, written


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_drawn_program_without_a_mistake_agrees(seed: int, tmp_path: Path) -> None:
    """An interpreter that computes another thing would plant mistakes that nobody made."""
    _, drawn, columns = drawing.variant(seed)
    answer = asked(drawn, *written(drawn, columns, tmp_path), {})
    assert answer["verdict"] in ("agrees", "undetermined")


@every_case("module", (program, interpreter, drawing, planting), ids=lambda module: module.__name__)
def test_the_interpreter_is_on_its_own(module: object) -> None:
    """An oracle that calls the code under test agrees with its mistakes."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names
    assert not [name for name in names if name.startswith("rigpact")]


KINDS = {
    "high_pass": 6000022, "summed": 6000020, "changes": 6000013, "averaged": 6000015, "steps": 6000002, "turned": 6000013,
    "uncarried": 5000003, "unbiased": 5000000,
}  # fmt: skip
"""Kinds that are drawn equally often, each with the seed of a program."""


@every_case("kind", KINDS)
def test_an_edit_in_time_or_of_a_turn_is_named(kind: str) -> None:
    """In a program that nobody wrote: behind a limit that hides numbers, before a network, in a vector that was not recorded."""
    assert KINDS.keys() == planting.OF_TIME_AND_TURNS.keys()
    assert trial(KINDS[kind], kind).graded.word == "named"


def test_the_frame_that_a_convention_leaves_is_told() -> None:
    """A cause that explains all but one frame is not the whole answer: that frame has other numbers of its own."""
    _, rest = trial(77000048).graded.claims
    assert "other numbers in frame 25 only" in rest


def test_a_value_that_stands_still_is_held_and_not_of_a_far_frame() -> None:
    """Of a command that seldom changes the frame 18 before holds the same; nobody has such a delay."""
    (claim,) = trial(77000045).graded.claims
    assert "held at the value of" in claim
