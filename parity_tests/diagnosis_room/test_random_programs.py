"""The drawn programs: an interpreter that shares no code with rigpact agrees with it, and every mistake moves something."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..every_case import every_case
from ..measuring.scores.random_programs import benign, drawing, edits, interpreter, planting, program
from ..measuring.scores.random_programs.grading import WORDS, Case, differing, grade, recorded_run
from ..measuring.scores.random_programs.trial import asked, drawn_case, written

SEEDS = range(12)
NUMBERS = {
    "exchanged": (1.0, 0.0, 2.0), "permuted": (1.0, 2.0, 0.0), "signed_axes": (1.0, 0.0, 2.0, 1.0, -1.0, 1.0),
    "clip": (-0.5, 0.5), "glitch": (1.0, 2.0), "delay": (2.0,), "hold": (3.0,), "frozen": (4.0,),
}  # fmt: skip
SMALL = program.Program(
    50,
    (program.Given("q", 3),),
    (program.Operation("scaled", "affine", ("q",), {"scale": (0.5, 1.5, 2.0), "offset": 0.25}, 3),),
    {},
    {},
    {},
)
Q = np.asarray(np.random.default_rng(5).normal(size=(60, 3)), np.float32)


def planted(*made: edits.Edit) -> Case:
    """The small program with some mistakes, all recorded."""
    return recorded_run(SMALL, {"q": Q}, made, ("q", "scaled"), np.float64)


def said(words: str, place: str) -> dict[str, Any]:
    """An answer with one relation."""
    sentence = f"{place} is {words}: explains 60 of 60 frames"
    fits = {"frames_explained": 60, "frames": 60}
    relation = {"stage": "scaled", "place": place, "words": words, "sentence": sentence, **fits}
    first = {"stage": "scaled", "frame": 0}
    return {"verdict": "unexplained", "first_divergence": first, "causes": [], "relations": [relation], "stages": []}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_program_without_a_mistake_agrees(seed: int, tmp_path: Path) -> None:
    """An interpreter that computes another thing would plant mistakes that nobody made."""
    _, drawn, columns = benign.variant(seed)
    answer = asked(drawn, *written(drawn, columns, tmp_path), {})
    assert answer["verdict"] in ("agrees", "undetermined")


def test_a_trial_comes_from_its_seed() -> None:
    """A score that cannot be repeated tells nobody what to mend."""
    one, other = drawn_case(3), drawn_case(3)
    assert [each.shown for each in one.edits] == [each.shown for each in other.edits]
    assert all(np.array_equal(one.values[name], other.values[name]) for name in one.recorded)
    assert differing(one)


@every_case("kind", edits.MOVES)
def test_every_move_changes_rows(kind: str) -> None:
    """A mistake that changes nothing is counted as unseen."""
    numbers = NUMBERS.get(kind, (0.3,))
    assert differing(planted(edits.Edit(kind, "scaled", numbers=numbers))).keys() == {"scaled"}


MOVED = (
    ("smoothed", (0.25,), (0.0, 1.0, 1.75, 0.3125)),
    ("rate_limit", (1.5,), (0.0, 1.5, 3.0, 1.5)),
    ("delay", (2.0,), (0.0, 0.0, 0.0, 4.0)),
    ("hold", (3.0,), (0.0, 0.0, 0.0, -4.0)),
    ("deadband", (4.5,), (0.0, 0.0, 0.0, 0.0)),
    ("clip", (-1.0, 2.0), (0.0, 2.0, 2.0, -1.0)),
    ("glitch", (2.0, 1.0), (1.0, 9.0, 9.0, -7.0)),
)


@every_case(("kind", "numbers", "wanted"), MOVED)
def test_a_move_gives_the_numbers_that_its_words_say(
    kind: str, numbers: tuple[float, ...], wanted: tuple[float, ...]
) -> None:
    """An answer that names the number of another move is graded as right."""
    x = np.array([[0.0], [4.0], [4.0], [-4.0]], np.float32)
    y = np.zeros_like(x)
    for frame in range(len(x)):
        y[frame] = edits.moved_row(edits.Edit(kind, "scaled", numbers=numbers), frame, x, y)
    assert y[:, 0].tolist() == list(wanted)


def test_every_kind_has_its_words() -> None:
    """A kind without a row would end the score in a traceback."""
    values = interpreter.run(SMALL, {"q": Q})
    draw = np.random.default_rng(1)
    kinds = {planting.drawn_edit(SMALL, values, draw).kind for _ in range(300)}
    many = {
        planting.drawn_edit(each.program, each.values, draw).kind
        for each in map(drawn_case, range(4))
        for _ in range(60)
    }
    assert len(kinds | many) > 20
    assert kinds | many <= WORDS.keys()


GRADED = (
    ("named", "0.8 times what it should be", "scaled"),
    ("vague", "scaled by a constant of its own in each channel", "scaled"),
    ("vague", "0.8 times what it should be", "scaled[1]"),
    ("false", "0.7 times what it should be", "scaled"),
)


@pytest.mark.parametrize(("word", "words", "place"), GRADED)
def test_a_claim_is_tried(word: str, words: str, place: str) -> None:
    """A number that does not hold, or holds in one channel, is not a name of the mistake."""
    case = planted(edits.Edit("scale", "scaled", numbers=(0.8,)))
    assert grade(case, said(words, place), lambda _changes: {}).word == word


def test_another_edit_with_the_same_numbers_counts() -> None:
    """A factor of -1 is a changed sign: both are right answers."""
    case = planted(edits.Edit("sign", "scaled", channels=(2,)))
    assert grade(case, said("-1 times what it should be", "scaled[2]"), lambda _changes: {}).word == "named"


def test_the_interpreter_is_on_its_own() -> None:
    """An oracle that calls the code under test agrees with its mistakes."""
    for module in (program, interpreter, edits, drawing, planting, benign):
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        names = {name for node in ast.walk(tree) for name in _imported(node)}
        assert not {name for name in names if name.startswith("rigpact")}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
