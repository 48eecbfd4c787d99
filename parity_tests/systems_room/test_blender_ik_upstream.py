"""Blender IK against the add-on's formulas, written again without rigpact: they agree, and their mistakes are named."""

import re
from pathlib import Path

import numpy as np
import pytest

from ..measuring.scores.upstream import blender_ik, blender_ik_side
from ..measuring.scores.upstream.scene import Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    """The committed files, read once."""
    return blender_ik.scene()


def test_the_add_ons_formulas_agree_in_every_stage(scene: Scene) -> None:
    """A tool that alarms on the upstream itself is not tried twice."""
    found = scene.explained()
    assert found.verdict == "agrees"
    assert [stage.stage for stage in found.stages if stage.ok] == list(scene.contract.system.graph.names)[4:]


@pytest.mark.parametrize("name", blender_ik.FEW)
def test_a_mistake_in_the_add_ons_formulas_is_named(scene: Scene, name: str) -> None:
    """ "It differs in context" sends an animator searching for a day; "the feet are swapped" is a line of code."""
    planted = next(each for each in blender_ik.MISTAKES if each.name == name)
    (answer,) = scene.answers([planted])
    assert (answer.word, answer.first) == ("named", planted.stages[0]), answer.said


def test_every_mistake_of_the_table_changes_the_recording(scene: Scene) -> None:
    """A misspelt name plants nothing, and its row says so of nothing."""
    honest = scene.upstream.record()
    for planted in blender_ik.MISTAKES:
        rows = scene.upstream.record(planted.name)
        first = next((stage for stage in rows if not np.array_equal(rows[stage], honest[stage])), "")
        assert first == planted.stages[0], planted.name
    assert len(blender_ik.MISTAKES) >= 14


def test_the_formulas_share_no_code_with_rigpact() -> None:
    """A transcription that calls the code under test agrees with it whatever it computes."""
    source = Path(blender_ik_side.__file__).read_text(encoding="utf-8")
    assert not re.findall(r"^(?:from|import) (?:rigpact|\.)", source, re.MULTILINE)
