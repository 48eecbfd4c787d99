"""Rig inversion against the published scripts, written again without rigpact: they agree, and their mistakes are named."""

import re
from pathlib import Path

import numpy as np
import pytest

from ..measuring.scores.upstream import rig_inversion, rig_inversion_side
from ..measuring.scores.upstream.scene import Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    """The committed files, read once."""
    return rig_inversion.scene()


def test_the_published_scripts_agree_in_every_stage(scene: Scene) -> None:
    """A tool that alarms on the upstream itself is not tried twice."""
    found = scene.explained()
    assert found.verdict == "agrees"
    assert [stage.stage for stage in found.stages if stage.ok] == list(scene.contract.system.graph.names)[1:]


@pytest.mark.parametrize("name", rig_inversion.FEW)
def test_a_mistake_in_the_published_scripts_is_named(scene: Scene, name: str) -> None:
    """ "It differs in transform" sends a rigger searching for a day; "the scales of x and y are swapped" is a line of code."""
    planted = next(each for each in rig_inversion.MISTAKES if each.name == name)
    (answer,) = scene.answers([planted])
    assert (answer.word, answer.first) == ("named", planted.stages[0]), answer.said


def test_every_mistake_of_the_table_changes_the_recording(scene: Scene) -> None:
    """A misspelt name plants nothing, and its row says so of nothing."""
    honest = scene.upstream.record()
    for planted in rig_inversion.MISTAKES:
        rows = scene.upstream.record(planted.name)
        first = next((stage for stage in rows if not np.array_equal(rows[stage], honest[stage])), "")
        assert first == planted.stages[0], planted.name
    assert len(rig_inversion.MISTAKES) >= 14


def test_the_scripts_share_no_code_with_rigpact() -> None:
    """A transcription that calls the code under test agrees with it whatever it computes."""
    source = Path(rig_inversion_side.__file__).read_text(encoding="utf-8")
    assert not re.findall(r"^(?:from|import) (?:rigpact|\.)", source, re.MULTILINE)
