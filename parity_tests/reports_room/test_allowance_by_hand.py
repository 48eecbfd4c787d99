"""How far two sides of a very small system may differ, and what is needed around a piece of frames: worked out by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, Measure, NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import distance
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.comparing import allowance as module
from rigpact.reports.comparing.allowance import Allowance, _assumed, _bound, _Side, _without_long_gaps

from ..every_case import every_case

THREE = FieldLayout(tuple(Field(name, place, 1, FieldKind.RAW) for place, name in enumerate("xyz")))
ONE = FieldLayout((Field("x", 0, 1, FieldKind.RAW),))
ROUNDING = 2.0**-23
"""Of a number that is computed once and stored once, relative to it; to seven digits."""


def share(part):
    """A bound that is a part of each number."""
    return lambda _frames, rows, _upstream: np.abs(rows, dtype=np.float64) / part


def refusing(_frames):
    raise UnusableInput("the clip", "nothing", "a clip")


def not_known(*_):
    raise NotKnown("the stage before")


def both(_frames, rows, upstream):
    return np.full(rows.shape, 0.5) + sum(upstream.values())


GIVEN = Stage("given", THREE, bound=share(64))
DOUBLED = Stage("doubled", THREE, needs=("given",), compute=lambda frames: frames["given"] * 2, bound=share(32))
PASSED_ON = Stage(
    "passed_on", THREE, needs=("given", "missing"), may_use=("doubled",), is_propagated=True, bound=both,
    compute=lambda frames: frames["given"],
)  # fmt: skip
ANSWER = Stage(
    "answer", THREE, needs=("given",), is_answer=True, bound=both,
    compute=lambda frames: frames.network([frames["given"]])[0],
)  # fmt: skip
STAGES = (GIVEN, DOUBLED, PASSED_ON, ANSWER)


def contract_of(*stages, fps=50.0):
    widths, system = {each.name: None for each in stages}, SimpleNamespace(stages=stages, graph=Graph(stages))
    return SimpleNamespace(stage_widths=widths, system=system, fps=fps, conventions={})


def rows(*numbers):
    """A row of three equal numbers for each."""
    return np.float32(numbers)[:, None].repeat(3, axis=1)


def side(values, *stages, frames=(0, 1), fps=50.0, is_free=False, precision=None, network=None):
    contract = contract_of(*(stages or STAGES), fps=fps)
    return _Side(contract, values, np.array(frames), is_free=is_free, precision=precision, network=network)


def allowed(a, b, *, around=slice(0, 2), part=slice(0, 2), **how):
    return Allowance(contract_of(*STAGES), np.arange(10), is_free=False, **how).of(a, b, around, part)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0.0, strict=True)


def test_values_within_the_smaller_of_both_bounds_agree():
    """The bound of a side with a huge wrong number would allow that number."""
    a, b = {"doubled": rows(2.0, 4.0)}, {"doubled": rows(2.0625, 4.0)}
    found = allowed(a, b)
    assert found.keys() == {"doubled"}
    close(found["doubled"], np.array([[2.0 / 32] * 3, [4.0 / 32] * 3]))
    close(allowed(b, a)["doubled"], np.array([[2.0 / 32] * 3, [4.0 / 32] * 3]))


def test_a_difference_that_the_inputs_lead_to_is_allowed():
    """The inputs are 0.25 apart, so twice of them 0.5; each side may round its own by a 32nd of it."""
    a, b = {"given": rows(1.0, 1.0), "doubled": rows(2.0, 2.0)}, {"given": rows(1.25, 1.0), "doubled": rows(2.5, 2.0)}
    allowance = Allowance(contract_of(*STAGES), np.arange(10), is_free=False)
    found = allowance.of(a, b, slice(0, 2), slice(0, 2))
    close(found["given"], np.array([[1.0 / 64] * 3, [1.0 / 64] * 3]))
    close(found["doubled"], np.array([[0.5 + 4.5 / 32] * 3, [4.0 / 32] * 3]))
    assert allowance.inheriting == {"doubled"}


def test_only_asked_frames_of_stages_of_both_sides_have_a_tolerance():
    """A piece knows the frames around it, and is as long as it is; of one side or two widths there is nothing to compare."""
    values = {"given": rows(1.0, 2.0, 4.0, 8.0, 16.0)}
    close(allowed(values, values, around=slice(3, 8), part=slice(4, 6))["given"], rows(2.0, 4.0).astype(float) / 64)
    a = {"given": rows(1.0, 2.0), "doubled": rows(1.0, 2.0), "passed_on": rows(1.0, 2.0)}
    assert allowed(a, {"given": rows(1.0, 2.0), "doubled": rows(1.0, 2.0)[:, :2]}).keys() == {"given"}
    assert allowed({"given": rows(1.0, 2.0)}, a).keys() == {"given"}


def test_without_a_contract_poses_may_differ_by_a_long_sum_and_two_roundings():
    """There is no deviation then that would reduce the rounding of the network."""
    values = {"y_out": np.zeros((5, 12), np.float32)}
    found = Allowance(None, np.arange(10), is_free=False).of(values, values, slice(2, 7), slice(3, 5))
    assert found["y_out"].shape == (2, 12)
    assert 2048 * 2.0**-24 < found["y_out"].min() == found["y_out"].max() < 2200 * 2.0**-24


@every_case(
    ("frames", "numbers"),
    [((0, 1, 2), [0, 1, 2]), ((0, 2, 5), [0, 2, 5]), ((1, 2), [1, 2]), ((7, 8, 11), [1, 2, 5]), ((2,), [1])],
)
@every_case(("fps", "is_free", "expected"), [(50.0, False, [50.0, 0.0]), (None, True, [1.0, 1.0])])
def test_a_stage_sees_the_first_frame_of_a_run_only_where_it_is_there(frames, numbers, fps, is_free, expected):
    """Any other frame has a frame before it; a system without a rate has one frame a second."""
    seen = Stage(
        "seen", THREE, compute=lambda found: np.stack([[each, found.fps, found.mode == "free"] for each in found.frame])
    )
    values = {"seen": np.zeros((len(frames), 3), np.float32)}
    rows = side(values, seen, frames=frames, fps=fps, is_free=is_free).recomputed(seen)
    np.testing.assert_array_equal(rows, [[each, *expected] for each in numbers])


def test_what_cannot_be_recomputed_is_none():
    """What comes from outside, what lacks its inputs or its clip, and what has another width than it was recorded with."""
    carried = Stage("carried", THREE, carried="doubled")
    known = {"given": rows(1.0, 2.0), "carried": rows(1.0, 2.0), "doubled": rows(1.0, 2.0)}
    of_clip, of_nothing = Stage("doubled", THREE, compute=refusing), Stage("doubled", THREE, compute=not_known)
    wide = Stage("doubled", THREE, compute=lambda frames: np.zeros((2, 4)))
    for stage in (of_clip, of_nothing, wide):
        assert side(known, GIVEN, stage).recomputed(stage) is None
    assert side(known).recomputed(GIVEN) is None
    close(
        side(known, carried, DOUBLED, is_free=True).recomputed(carried), rows(1.0, 1.0)
    )  # the frame before handed it on
    close(side(known).recomputed(DOUBLED), rows(2.0, 4.0))


class Tripled:
    """A network that can bound its answers; what moves its inputs moves them ten times as far."""

    def bounded(self, inputs, moved):
        return SimpleNamespace(exact=[inputs[0] * 3.0], bound=[moved[0] * 10.0 + 0.125])


def test_an_answer_is_recomputed_by_the_model_in_double_precision():
    """A float32 inference has a rounding of its own."""
    values = {"given": rows(1.0, 2.0), "answer": rows(9.0, 9.0)}
    with_model = side(values, network=Tripled())
    found = with_model.recomputed(ANSWER)
    close(found, rows(3.0, 6.0).astype(float))
    assert side(values).recomputed(ANSWER) is None
    close(with_model.own_bound(ANSWER, found), np.full((2, 3), 0.125))
    close(with_model.propagated(ANSWER), rows(1.0, 2.0).astype(float) / 64 * 10 + 0.125)
    close(with_model.bound(ANSWER), np.full((2, 3), 0.5))


def test_bounds_of_recorded_inputs_count_where_a_stage_passes_them_on():
    """Those that it may use count too; those that nobody recorded cannot."""
    known = side({"given": rows(64.0, 128.0), "doubled": rows(32.0, 0.0), "passed_on": rows(1.0, 1.0)})
    close(known.bound(PASSED_ON), rows(0.5 + 1 + 1, 0.5 + 2).astype(float))
    close(known.bound(DOUBLED), rows(1.0, 0.0).astype(float))
    close(known.propagated(PASSED_ON), known.bound(PASSED_ON))


@pytest.mark.parametrize("is_answer", [False, True])
def test_a_stage_whose_bound_needs_what_is_not_recorded_may_differ_by_storing(is_answer):
    """One rounding on each side."""
    lost = Stage("lost", THREE, bound=not_known, compute=not_known, is_answer=is_answer)
    close(
        side({"lost": rows(1.0, -4.0)}, lost, network=Tripled()).bound(lost), rows(ROUNDING, 4 * ROUNDING).astype(float)
    )


def test_what_either_side_lost_in_writing_is_allowed():
    """One decimal may be off by a twentieth, on each side that writes so; and a little for the float32."""
    decimal, values = Precision(decimals=1), {"given": rows(2.0, 4.0)}
    lost = 0.05 + rows(2.0, 4.0).astype(float) * 2.0**-24
    bound = rows(2.0, 4.0).astype(float) / 64
    for precisions, factor in (((None, None), 0), ((decimal, None), 1), ((None, decimal), 1), ((decimal, decimal), 2)):
        found = _bound(GIVEN, *(side(values, precision=precision) for precision in precisions))
        close(found, bound + factor * lost)


def test_a_recomputed_stage_of_coarse_numbers_may_be_off_by_what_they_lead_to():
    """The recorded numbers of the stage itself are coarse, too; what the inputs lead to has a margin of four."""
    values = {"given": rows(2.0, 4.0), "doubled": rows(4.0, 8.0)}
    coarse = side(values, precision=Precision(decimals=1))
    recomputed = rows(4.0, 8.0)
    lost_before, lost_here = 0.05 + rows(2.0, 4.0) * 2.0**-24, 0.05 + recomputed * 2.0**-24
    found = coarse.own_bound(DOUBLED, recomputed)
    np.testing.assert_allclose(found, recomputed / 32 + 4 * 2 * lost_before + lost_here, rtol=1e-5)


def test_a_difference_is_taken_in_double_precision_and_of_quaternions_without_their_sign():
    """Two infinite numbers have none: no warning about it is worth reading."""
    a, b = np.float32([[0.0, 0.0, 0.25, 1.0]]), np.float32([[0.0, -(2.0**-30), 0.0, -1.0]])
    close(distance(Measure(), a, b), np.array([[0.0, 2.0**-30, 0.25, 2.0]]))
    close(distance(Measure(has_signless_quaternions=True), a, b), np.array([[0.0, 2.0**-30, 0.25, 0.0]]))
    beside = np.float32([[3.0]]), np.float32([[-3.0]])  # a number before the quaternion has a sign
    one, other = (np.hstack(each) for each in zip(beside, (a, b), strict=True))
    close(distance(Measure(quaternions_at=(1,)), one, other), np.array([[6.0, 0.0, 2.0**-30, 0.25, 0.0]]))


def numbers_of(values, bound=0.0):
    return SimpleNamespace(
        values=values, stage=lambda name: Stage(name, THREE),
        bound=lambda stage: np.full(values[stage.name].shape, bound), lost_in_writing=lambda _: 0.0,
    )  # fmt: skip


def test_an_answer_without_its_model_may_move_as_far_as_its_inputs_differ():
    """As far as all of them together; where one of them differs by more than rounding, as far as it likes."""
    stage = Stage("answer", THREE, needs=("one", "two", "of_a", "of_b"), is_answer=True)
    one, two = np.zeros((4, 3)), np.zeros((4, 2))
    one[0], one[1, 1], one[2] = [0.25, 0.5, 0.125], 0.5, [0.0, 0.625, 0.0]
    two[0], two[3] = [0.0, -0.25], [-0.75, 0.0]
    a = numbers_of({"one": np.zeros((4, 3)), "two": np.zeros((4, 2)), "of_a": np.zeros((4, 3))}, bound=0.5)
    b = numbers_of({"one": one, "two": two, "of_b": np.ones((4, 3))}, bound=0.5)
    bound = np.array([[1.0, 2.0, 4.0]] * 4)
    moved = np.array([[1.125], [0.5], [math.inf], [math.inf]])
    close(_assumed(stage, a, b, bound), bound + moved)
    close(_assumed(stage, b, a, bound), bound + moved)


def recomputing(rows, part):
    return SimpleNamespace(
        recomputed=lambda _: None if rows is None else np.array(rows), own_bound=lambda _, found: np.abs(found) / part
    )


ALLOWANCE = Allowance(None, np.arange(2), is_free=False)


def test_two_recomputed_sides_may_differ_by_both_roundings_and_as_they_do():
    """Each side's own rounding, of its own numbers."""
    a, b = recomputing([[1.0, -4.0]], 4), recomputing([[3.0, -2.0]], 8)
    close(ALLOWANCE._inherited(GIVEN, a, b), np.array([[1 / 4 + 3 / 8 + 2, 4 / 4 + 2 / 8 + 2]]))
    for one, other in ((None, [[1.0]]), ([[1.0]], None), (None, None)):
        assert ALLOWANCE._inherited(GIVEN, recomputing(one, 4), recomputing(other, 8)) is None


def test_a_recomputed_number_without_a_bound_cannot_be_judged():
    """A number that is none has no bound; one that is infinite on one side differs by anything. Others keep theirs."""
    a, b = recomputing([[1.0, math.nan, math.inf, 0.0]], 4), recomputing([[3.0, 1.0, 1.0, 0.0]], 8)
    close(ALLOWANCE._inherited(GIVEN, a, b), np.array([[2.625, math.inf, math.inf, 0.0]]))
    known = SimpleNamespace(
        recomputed=lambda _: np.array([[math.nan, 2.0]]), own_bound=lambda *_: np.array([[0.5, 0.25]])
    )
    close(ALLOWANCE._inherited(GIVEN, known, known), np.array([[1.0, 0.5]]))


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        ("given", "given", [1.0, 1.0]), ("given doubled", "given", [1.0, 4.0]), ("given", "given doubled", [2.0, 1.0]),
        ("given", "doubled", [1.0, 1.0]), ("given passed_on", "given doubled", [1.0, 1.0]),
    ],
)  # fmt: skip
def test_the_side_that_holds_more_knows_how_far_rounding_leads(of_a, of_b, expected):
    """The other one has the bound of less; where neither holds all that the other does, the smaller one counts."""
    a, b = (
        SimpleNamespace(values=dict.fromkeys(names.split()), propagated=lambda _, bound=bound: np.array(bound))
        for names, bound in ((of_a, [1.0, 4.0]), (of_b, [2.0, 1.0]))
    )
    close(ALLOWANCE._propagated(GIVEN, a, b), np.array(expected))


@every_case(
    ("frames", "reach", "expected"),
    [
        ([], 3, []), ([0], 3, [0]), ([5], 3, [1]), ([0, 1, 2], 0, [0, 1, 2]), ([0, 2, 3], 0, [0, 2, 3]), ([0, 3], 0, [0, 2]),
        ([7, 8, 11, 12], 1, [1, 2, 5, 6]), ([7, 8, 13], 1, [1, 2, 5]), ([1, 2, 10**9], 2, [1, 2, 6]), ([0, 4, 9], 3, [0, 4, 9]),
    ],
)  # fmt: skip
def test_a_gap_is_as_long_as_stages_reach_across_and_one_more(frames, reach, expected):
    """A gap of an hour must not take memory; a short one must stay as long as it is: a stage looks across it."""
    assert _without_long_gaps(np.array(frames, np.int64), reach).tolist() == expected


def column(numbers):
    return np.array(numbers, float)[:, None]


def contract_reaching(*reaches):
    stages = tuple(Stage(f"s{place}", ONE, reach=reach) for place, reach in enumerate(reaches))
    return SimpleNamespace(system=SimpleNamespace(stages=stages, graph=Graph(stages)))


def test_frames_around_a_piece_are_those_that_any_stage_reaches():
    """Too few, and the first frames of every piece are judged by something else."""
    frames = np.arange(3)
    allowance = Allowance(contract_reaching((0, 0), (3, 0), (1, 2)), frames, is_free=False)
    assert (allowance.back, allowance.ahead) == (3, 2)
    assert Allowance(contract_reaching((3, 0), (1, 2)), np.array([0, 50]), is_free=False)._frames.tolist() == [0, 7]
    for nothing in (None, contract_reaching()):
        allowance = Allowance(nothing, frames, is_free=False)
        assert (allowance.back, allowance.ahead) == (0, 0)


@pytest.mark.parametrize(("is_free", "factors"), [(False, [1, 1, 1]), (True, [5, 6, 7])])
def test_an_unseen_difference_of_a_free_run_may_be_the_rounding_of_all_frames_before(is_free, factors):
    """Frame 4 is the fifth: five frames have rounded. A clip's frames start anew each time."""
    allowance = Allowance(None, np.arange(10), is_free=is_free)
    bound = np.full((3, 2), 0.5)
    found = allowance._unseen(Stage("s", ONE), bound, slice(4, 7))
    np.testing.assert_array_equal(found, bound * np.array(factors)[:, None])


@every_case(
    ("error", "bound", "inherited", "expected", "is_noted"),
    [
        ([1, 0], [math.inf, math.inf], [2, 3], [2, 3], True),
        ([1, 0], [math.inf, math.inf], [math.inf, 3], [math.inf, 3], False),
        ([0, 1], [math.inf, math.inf], [math.inf, math.inf], [math.inf, math.inf], False),
        ([1, 0], [0.5, 0.5], [2, 0], [2, 0.5], True), ([1, 0], [0.5, 0.5], [0.25, 0], [0.5, 0.5], False),
        ([1, 1], [0.5, math.inf], [0.5, 4], [0.5, 4], True), ([0.25, 1], [0.5, math.inf], [0.25, 4], [0.5, 4], True),
        ([0.5, 0.25], [0.5, 0.5], [2, 2], [0.5, 0.5], False),
    ],
)  # fmt: skip
def test_a_difference_of_the_stages_before_is_noted_where_it_widens_a_bound(
    monkeypatch, error, bound, inherited, expected, is_noted
):
    """It comes from the stage before: that must be said of a stage that would be blamed otherwise, and of no other."""
    allowance, stage = Allowance(None, np.arange(2), is_free=False), Stage("s", ONE)
    monkeypatch.setattr(module, "_bound", lambda *_: column(bound))
    monkeypatch.setattr(allowance, "_inherited", lambda *_: column(inherited))
    found = allowance._tolerance_of(stage, SimpleNamespace(), SimpleNamespace(), column(error), slice(0, 2))
    np.testing.assert_array_equal(found, column(expected))
    assert allowance.inheriting == ({"s"} if is_noted else set())


TRIED = {
    "rounding": (False, None, False, [0.25, 0.5], [0.5, 0.5], [1, 1], [0.5, 0.5], False),
    "rounding with a model": (False, "model", False, [0.25, 0.5], [0.5, 0.5], [1, 1], [0.5, 0.5], False),
    "rounding where a piece before inherited": (False, None, True, [0.25, 1], [4, 4], [0.25, 1], [0.25, 1], True),
    "more than is inherited": (False, None, True, [0.25, 2], [1, 1], [0.5, 0.5], [1, 1], True),
    "nothing to inherit from": (False, None, True, [0.25, 2], [1, 1], None, [3, 3], True),
    "an answer": (True, "model", False, [0.5, 2], [0.5, 4], [1, 1], [1, 1], False),
    "an answer beyond its bound": (True, "model", False, [0.25, 0.75], [0.5, 0.5], [1, 1], [1, 1], True),
    "a wrong answer": (True, "model", False, [8, 8], [0.5, 0.5], [1, 1], [1, 1], True),
    "an answer without its inputs": (True, "model", False, [8, 8], [0.5, 0.5], None, [3, 3], False),
    "an answer without its model": (True, None, False, [8, 8], [0.5, 0.5], None, [7, 7], False),
    "a stage after an answer": (False, None, False, [8, 8], [0.5, 0.5], None, [3, 3], False),
}


@every_case("case", TRIED)
def test_what_is_allowed_where_values_differ(monkeypatch, case):
    """With its model an answer has exactly what its inputs lead to; without it something is assumed, for answers alone."""
    is_answer, network, is_known, error, bound, inherited, expected, is_noted = TRIED[case]
    allowance, stage = (
        Allowance(None, np.arange(2), is_free=False, network=network),
        Stage("s", ONE, is_answer=is_answer),
    )
    allowance.inheriting |= {"s"} if is_known else set()
    monkeypatch.setattr(module, "_bound", lambda *_: column(bound))
    monkeypatch.setattr(module, "_assumed", lambda *_: column([7, 7]))
    monkeypatch.setattr(allowance, "_inherited", lambda *_: None if inherited is None else column(inherited))
    monkeypatch.setattr(allowance, "_propagated", lambda *_: column([3, 3]))
    found = allowance._tolerance_of(stage, SimpleNamespace(), SimpleNamespace(), column(error), slice(0, 2))
    np.testing.assert_array_equal(found, column(expected))
    assert allowance.inheriting == ({"s"} if is_noted else set())


@pytest.mark.parametrize(
    ("is_answer", "found", "expected"),
    [
        (False, [0.5, 2, 0.25], [0.5, 2, 0.25]), (False, [math.inf, 2, 0.25], [0, 2, 0.25]),
        (False, [math.inf] * 3, [0, math.inf, 0]), (False, [0.5, math.inf, 0.25], [0.5, math.inf, 0.25]),
        (True, [math.inf] * 3, [math.inf] * 3), (True, [0.5, 2, 0.25], [0.5, 2, 0.25]),
    ],
)  # fmt: skip
def test_equal_values_agree_where_nothing_can_be_judged(monkeypatch, is_answer, found, expected):
    """But for answers, which may be equal by chance: the network's inputs differ."""
    allowance, stage = Allowance(None, np.arange(3), is_free=False), Stage("s", ONE, is_answer=is_answer)
    monkeypatch.setattr(allowance, "_tolerance_of", lambda *_: column(found))
    a, b = (SimpleNamespace(values={"s": column(numbers)}) for numbers in ([1, 2, 3], [1, 4, 3]))
    np.testing.assert_array_equal(allowance._tolerance(stage, a, b, slice(0, 3)), column(expected))
