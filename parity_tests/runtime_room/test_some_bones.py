"""Recordings of some bones, and the contract of some bones: each bone keeps its own numbers, in any order."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rigpact.contract.character import Character, columns_of_bones, contract_of_bones
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.recordings import recording
from rigpact.reference_runtime.recordings.recording import held_stages, read_recording

from ..every_case import every_case
from . import tiny_character as tiny
from .test_recordings import held_by, numbers, saved, trace
from .trace_files import refused


def test_some_bones_of_a_recording_keep_their_own_numbers(tmp_path):
    """An engine that draws two of three bones: the hand must not get the numbers of the foot; nothing of all bones is None."""
    contract, poses = tiny.contract(tmp_path), numbers(2, 18)
    held = held_by({"y_out": poses}, poses6d=poses, bone_names=contract.numbers.bone_names)
    two = recording.of_bones(held, contract, (2, 0))
    expected = np.concatenate((poses[:, 12:], poses[:, :6]), axis=1)
    np.testing.assert_array_equal(two.poses6d, expected)
    np.testing.assert_array_equal(two.trace.stages["y_out"], expected)
    assert (two.bones, two.bone_names) == ((2, 0), None)
    one = recording.of_bones(two, contract, (0,))
    np.testing.assert_array_equal(one.poses6d, poses[:, :6])
    assert recording.of_bones(one, contract, (0,)) is one
    whole = recording.with_all_bones(held_by({"cond": numbers(2, 3)}, bones=(1, 2), whole={"cond": numbers(2, 7)}))
    assert (whole.bones, whole.whole, whole.trace.stages["cond"].shape) == ((), {}, (2, 7))
    assert recording.with_all_bones(whole) is None


def test_a_trace_of_some_bones_is_read_as_these_bones_and_as_all_where_it_has_all(tmp_path):
    """The network has all inputs, whatever is drawn; what is drawn is the two legs, the right one first."""
    contract, whole = tiny.contract(tmp_path), numbers(2, 33)
    path = saved(tmp_path, trace("teacher", bones=(2, 1), x_raw=whole, y_out=numbers(2, 12), cond=numbers(2, 7)))
    assert refused(read_recording, path)[0] == "#/bones"
    held = read_recording(path, contract)
    columns = [*range(6), *range(18, 24), *range(12, 18), 30, 31, 32, 27, 28, 29]
    assert (held.bones, set(held.whole)) == ((2, 1), {"x_raw", "cond"})
    for found, expected in ((held.trace.stages["x_raw"], whole[:, columns]), (held.trace.stages["y_out"], numbers(2, 12)),
                            (held.whole["x_raw"], whole), (held.poses6d, whole[:, columns][:, 6:18])):  # fmt: skip
        np.testing.assert_array_equal(found, expected)
    assert recording.judging_contract(held, contract).numbers.bone_names == ("thigh_r", "thigh_l")
    assert (
        recording.judging_contract(read_recording(saved(tmp_path, trace(y_out=numbers(2, 18)))), contract) is contract
    )
    path = saved(tmp_path, trace(bones=("thigh_ll",), y_out=numbers(2, 6)))
    with pytest.raises(UnusableInput) as raised:
        read_recording(path, contract)
    assert raised.value.hint == "did you mean thigh_l?"  # left and right differ by a letter


KNEE, HIP, SCALAR = "knee", "hip", FieldKind.SCALAR
OF_TWO_BONES = FieldLayout(
    (Field("root", 0, 1, SCALAR), Field("turn", 1, 2, SCALAR, bone=KNEE), Field("turn", 3, 2, SCALAR, bone=HIP))
)
LAYOUTS = {
    "q": OF_TWO_BONES, "p": FieldLayout((Field("phase", 0, 3, SCALAR),)), "free": FieldLayout(()), "r": OF_TWO_BONES,
}  # fmt: skip
CONTRACT = SimpleNamespace(read_numbers=Character((KNEE, HIP), *[None] * 10), fields=LAYOUTS.__getitem__)


def held_of(bones, **widths):
    return held_stages(
        trace(bones=bones, **{name: numbers(1, width) for name, width in widths.items()}), CONTRACT, "run"
    )


@every_case(
    ("bones", "width", "place", "expected", "hint"),
    [
        ((HIP, "hipp"), 5, "/bones/1", "one of the contract's 2", "did you mean hip?"),
        ((HIP, "nee"), 5, "/bones/1", "one of the contract's 2", "did you mean knee?"),
        ((HIP, "tail"), 5, "/bones/1", "one of the contract's 2", "is it the right --contract?"),
        ((1, 2), 5, "/bones/1", "an index from 0 to 1", ""),
        ((1, -1), 5, "/bones/1", "an index from 0 to 1", ""),
        ((HIP,), 4, "/stages/q", "3 for the 1 bones of the header, or 5 for all", None),
    ],
)  # fmt: skip
def test_a_bone_that_the_contract_does_not_have_is_refused(bones, width, place, expected, hint):
    """The nearest name is said: most are misspelt."""
    with pytest.raises(UnusableInput) as raised:
        held_of(bones, q=width)
    said = raised.value
    assert (said.place, said.expected, said.hint) == (f"run#{place}", expected, said.hint if hint is None else hint)


def test_the_columns_are_those_of_the_bones_that_are_named(tmp_path: Path) -> None:
    """A recording of two legs that is read as pelvis and left leg shows a broken character."""
    whole = tiny.contract(tmp_path, tiny.bundle(auxiliary=False))
    some = contract_of_bones(whole, (2, 1))
    legs = [*range(12, 18), *range(6, 12)]
    assert some.numbers.bone_names == ("thigh_r", "thigh_l")
    assert columns_of_bones(some, "y_out").tolist() == legs
    state = [*range(6), *(6 + channel for channel in legs), 30, 31, 32, 27, 28, 29]
    assert columns_of_bones(some, "x_raw").tolist() == state
    np.testing.assert_array_equal(some.numbers.state_statistics.mean, whole.numbers.state_statistics.mean[state])
    # a bundle without statistics of its own for the auxiliary inputs has none for some bones either
    assert (some.numbers.pose_history, some.numbers.angular_velocity) == (None, None)
    with pytest.raises(ValueError, match="all bones"):
        columns_of_bones(whole, "y_out")


@every_case(
    ("name", "place", "more", "found"),
    [
        ("RootVelocity", {"start": 2}, {}, "slices that overlap"),
        ("BoneAngularVelocities", {"start": 27, "size": 6}, {"tanh_scales_angvel": [4.0] * 6},
        "2 bones in BoneAngularVelocities"),
    ],
)  # fmt: skip
def test_slices_that_cannot_be_cut_are_refused(tmp_path: Path, name: str, place: Any, more: Any, found: str) -> None:
    """Velocities of two bones beside rotations of three: which two is not said."""
    document = tiny.bundle(auxiliary=False) | more
    document["meta"]["state_layout"][name] |= place
    with pytest.raises(UnusableInput, match=found):
        contract_of_bones(tiny.contract(tmp_path, document), (0,))


def test_an_order_of_published_bones_is_kept_within_the_recorded_ones(tmp_path: Path) -> None:
    """An engine that publishes the legs in each other's places does so when only the legs are recorded."""
    whole = tiny.contract(tmp_path, bone_order="0,2,1")
    assert contract_of_bones(whole, (1, 2)).conventions.bone_order == (1, 0)
    assert contract_of_bones(whole, (0,)).conventions.bone_order == (0,)
    with pytest.raises(UnusableInput, match="in each other's places with others"):
        contract_of_bones(whole, (0, 1))
