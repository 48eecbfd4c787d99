"""A small version of docs/situations.md."""

import numpy as np
import pytest

from rigpact.contract.skeleton import Skeleton
from rigpact.reports.diagnosing.relations.families.turned import _depths

from ..measuring.scores.engine.situations import SITUATIONS
from ..measuring.scores.engine.situations_score import answer_to, files_in

FEW = (
    "the wrong clip",
    "the wrong bundle",
    "the recorder began 5 frames late",
    "one frame was recorded twice",
    "one frame was lost",
)


@pytest.fixture(scope="module")
def game(engine_of, tmp_path_factory):
    """The loop on files of its own, with another bundle beside them."""
    return engine_of(files_in(tmp_path_factory.mktemp("situations") / "game"))


@pytest.mark.parametrize("what", FEW)
def test_what_is_no_convention_is_named(game, tmp_path, what):
    """A wrong file or a slip of the recorder used to be answered by relations of every stage."""
    situation = next(each for each in SITUATIONS if each.what == what)
    answer = answer_to(game, tmp_path, situation)
    assert answer.word == "named", answer.said


def test_there_are_forty_situations_with_labels():
    """A label that names nothing passes for every answer."""
    assert len({situation.what for situation in SITUATIONS}) == 40
    assert {situation.what for situation in SITUATIONS if not situation.groups} == {
        "float16, sound",
        "four decimals, sound",
    }


def test_a_skeleton_may_name_a_child_before_its_parent():
    """A bundle may list its bones in any order; the relation of component space must not fail on it."""
    skeleton = Skeleton(("hand", "arm", "root"), (1, 2, -1), np.zeros((3, 3), np.float32))
    assert _depths(skeleton).ravel().tolist() == [3.0, 2.0, 1.0]
