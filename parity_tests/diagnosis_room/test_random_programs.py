"""The drawn programs: an interpreter that shares no code with rigpact agrees with it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ..every_case import every_case
from ..measuring.scores.random_programs import benign, drawing, edits, interpreter, planting, program
from ..measuring.scores.random_programs.trial import asked, written


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_drawn_program_without_a_mistake_agrees(seed: int, tmp_path: Path) -> None:
    """An interpreter that computes another thing would plant mistakes that nobody made."""
    _, drawn, columns = benign.variant(seed)
    answer = asked(drawn, *written(drawn, columns, tmp_path), {})
    assert answer["verdict"] in ("agrees", "undetermined")


@every_case("module", (program, interpreter, edits, drawing, planting, benign), ids=lambda module: module.__name__)
def test_the_interpreter_is_on_its_own(module: object) -> None:
    """An oracle that calls the code under test agrees with its mistakes."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names
    assert not [name for name in names if name.startswith("rigpact")]
