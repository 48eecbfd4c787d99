"""Small versions of three score pages: labelled situations, coarse numbers, one recorded stage."""

import numpy as np
import pytest

from rigpact.contract.skeleton import Skeleton
from rigpact.reports.diagnosing.relations.families.turned import _depths

from ..measuring.scores.engine.defects import DEFECTS
from ..measuring.scores.engine.precision_score import ALSO_TRUE, FORMATS, MISTAKES, rows
from ..measuring.scores.engine.situations import SITUATIONS
from ..measuring.scores.engine.situations_score import answer_to, files_in
from ..measuring.scores.engine.sparse_score import cases
from ..measuring.scores.planted import TEACHER

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
    assert {*ALSO_TRUE} <= {planted.name for planted in DEFECTS}


@pytest.mark.parametrize("name", ["4 decimals"])
def test_coarse_numbers_do_not_hide_a_mistake(game, tmp_path, name):
    """The answer to such a recording used to be an invented cause."""
    planted = next(each for each in MISTAKES if each.truths and each.truths[0].convention)
    (row,) = rows(game, tmp_path, [planted], [name])
    assert set(row.honest.values()) == {"agrees"}
    assert [answer.word for answer in row.answers] == ["named"]
    assert name in FORMATS


def test_the_published_pose_alone_names_a_declaration(game, tmp_path, monkeypatch):
    """An engine that records its pose and no more can still be asked."""
    monkeypatch.setattr(
        "parity_tests.measuring.scores.engine.sparse_score.wrong_declarations",
        lambda _contract: [("compose_order", "prev_delta"), ("angvel_squash", "linear")],
    )
    assert [case.word for case in cases(game, tmp_path, [("y_out", TEACHER)])] == ["named", "named"]


def test_a_skeleton_may_name_a_child_before_its_parent():
    """A bundle may list its bones in any order; the relation of component space must not fail on it."""
    skeleton = Skeleton(("hand", "arm", "root"), (1, 2, -1), np.zeros((3, 3), np.float32))
    assert _depths(skeleton).ravel().tolist() == [3.0, 2.0, 1.0]
