"""NeuraRig's public loop, transcribed without rigpact: it agrees as it is, and its mistakes are named."""

import ast
from pathlib import Path

import pytest

from ..measuring.scores.planted import judged
from ..measuring.scores.upstream import neurarig_loop
from ..measuring.scores.upstream.neurarig import DEFECTS, every_answer, explained, honest_verdicts
from ..measuring.scores.upstream.neurarig_loop import AS_PUBLISHED

BY_NAME = {planted.name: planted for planted in DEFECTS}
FEW = (
    "target_not_moved", "hits_swapped", "normalised_together", "legs_swapped", "read_one_float_late", "reply_smoothed",
    "product_y_sign", "inverse_rotation", "hip_one_float_late", "w_first_in_formula", "knee_by_calf", "pelvis_not_turned",
    "right_hip_for_both", "target_without_pelvis", "squared_distance",
)  # fmt: skip


def test_the_loop_shares_nothing_with_rigpact() -> None:
    """A loop that calls what it is compared with agrees with every mistake of that."""
    tree = ast.parse(Path(neurarig_loop.__file__).read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {name.split(".")[0] for name in imported} <= {
        "__future__",
        "collections",
        "pathlib",
        "typing",
        "numpy",
        "onnx",
    }


def test_a_right_loop_agrees_and_so_does_the_public_server_under_its_own_conventions() -> None:
    """A false alarm about the published build is the first thing that its users would see."""
    assert set(honest_verdicts().values()) == {"agrees"}


def test_what_the_public_server_does_differently_is_named_without_being_declared() -> None:
    """Four differences at three stages at once: an engineer needs each of them."""
    said = {name: value for cause in explained(AS_PUBLISHED).causes for name, value in cause.changes.items()}

    assert said == {
        "input_scale": "none", "normalisation": "none", "quaternion_sign": "as_it_comes", "leg_lengths": "rounded",
    }  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_a_mistake_of_the_loop_is_named(name: str) -> None:
    """Only located, it leaves an engineer to read the whole stage."""
    answer = judged(BY_NAME[name], explained((name,)))

    assert answer.word == "named", answer.said


def test_another_activation_is_named_as_one_and_no_convention_is_blamed() -> None:
    """No convention of the loop is to blame for what stands inside the network."""
    answer = judged(BY_NAME["leaky_relu"], explained(("leaky_relu",)))

    assert answer.word == "named"
    assert all("LeakyRelu in place of Relu" in each for each in answer.said), answer.said


@pytest.mark.nightly
def test_every_mistake_of_the_loop_is_named() -> None:
    """The ordinary tests plant one of each kind; here are all 36."""
    assert [(each.planted.name, each.said) for each in every_answer() if each.word != "named"] == []
