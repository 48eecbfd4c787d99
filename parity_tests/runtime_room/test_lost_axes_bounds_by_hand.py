"""The bounds of axes that are lost or nearly so, and of stages that nobody recorded, worked out again by hand."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames, replay_bound, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.six_numbers import Replacement, Rot6d, gram_schmidt_bound, rotation_errors
from rigpact.reference_runtime.recordings.precision import Precision

from .bounds_by_hand import IDENTITY, close, g, with_scores

X, Y, Z = np.eye(3)
THRESHOLD = 1e-4
"""An axis shorter than this is replaced."""
SLACK = THRESHOLD * g(24)
"""How near to the threshold two correct sides may decide differently."""


def bound_of_axes(plain, a, b, off=0.0, *, policy="canonical", spare=(X, Z)):
    """The bounds of both axes, where the input is off by a Euclidean length."""
    codec = Rot6d(plain.with_conventions({"degenerate_axis": policy}).conventions)
    instead = Replacement(codec.reproject_guard, lambda: np.concatenate(spare))
    found = gram_schmidt_bound(codec, np.concatenate((a, b))[None].astype(np.float64), float(off), instead)[0]
    assert found[0] == found[1] == found[2]
    assert found[3] == found[4] == found[5]
    return found[0], found[3]


def test_axes_that_are_kept_or_replaced_on_both_sides_have_a_bound(plain):
    """The first axis is replaced exactly; the second by what is left of the given one across the first."""
    close(bound_of_axes(plain, 0.0 * X, 2.0 * Z, 1e-5), [g(24), g(24) + (1e-5 + 2.0 * g(24)) / 2.0])
    first = g(24) + 1e-5
    found = bound_of_axes(plain, X, 5e-5 * Z, 1e-5, spare=(X, 0.6 * X + 0.8 * Z))
    close(found, [first, g(24) + first / 0.8])
    close(bound_of_axes(plain, 0.0 * X, 5e-5 * Z, spare=(X, 0.6 * X + 0.8 * Z)), [g(24), g(24) + g(24) / 0.8])


@pytest.mark.parametrize("off", [0.0, 1e-6])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_axis_near_the_threshold_is_not_judged_and_one_beside_it_is(plain, off, side):
    """Too wide a zone waves through a limb that jumped; too narrow a zone blames an engine that rounded."""
    inside, outside = (THRESHOLD + side * (SLACK + off) * part for part in (0.99, 1.01))
    assert np.isposinf(bound_of_axes(plain, inside * X, Z, off)).all()
    first = g(24) + (off / outside if side > 0 else 0.0)
    close(bound_of_axes(plain, outside * X, Z, off), [first, g(24) + off + first])


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_axis_exactly_where_two_sides_may_part_is_not_judged(plain, side):
    """The next number farther from the threshold is."""
    end = THRESHOLD + side * SLACK
    assert np.isposinf(bound_of_axes(plain, end * X, Z)).all()
    close(bound_of_axes(plain, math.nextafter(end, 0.5 + 0.5 * side) * X, Z), [g(24), 2.0 * g(24)])


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_second_axis_near_the_threshold_is_not_judged_and_one_beside_it_is(plain, side):
    """What is left of it across the first decides, and the first axis's own error moves that."""
    first = g(24) + 1e-6
    for part, is_judged in ((0.99, False), (1.01, True)):
        size = THRESHOLD
        for _ in range(5):  # the zone's width depends on the length itself
            size = THRESHOLD + side * part * (SLACK + 1e-6 + size * first)
        found = bound_of_axes(plain, X, size * Z, 1e-6)
        kept = (1e-6 + size * first) / size
        close(found[0], first)
        if is_judged:
            close(found[1], g(24) + (kept if side > 0 else first))
        else:
            assert math.isinf(found[1])


def test_a_replacement_that_is_itself_nearly_lost_is_not_judged(plain):
    """A given axis that lies along the first leaves nothing across it: another one is chosen, and sides may differ."""
    first = g(24) + 1e-5
    for part, is_judged in ((0.99, False), (1.01, True)):
        across = THRESHOLD + first
        spare = X, math.sqrt(1.0 - (across * part) ** 2) * X + across * part * Z
        found = bound_of_axes(plain, X, 0.0 * Z, 1e-5, spare=spare)[1]
        assert math.isfinite(found) is is_judged
    at_the_threshold = THRESHOLD + g(24)
    assert math.isinf(bound_of_axes(plain, X, 0.0 * Z, spare=(X, at_the_threshold * Z))[1])
    assert math.isfinite(bound_of_axes(plain, X, 0.0 * Z, spare=(X, math.nextafter(at_the_threshold, 1.0) * Z))[1])
    assert np.isposinf(bound_of_axes(plain, 0.0 * X, Z, spare=(np.full(3, np.nan), Z))).all()
    assert np.isposinf(bound_of_axes(plain, 0.0 * X, Z, spare=(np.array([np.nan, 1.0, 0.0]), Z))).all()


def test_an_error_as_long_as_the_axis_decides_nothing(plain):
    """An axis half as long again as the threshold, and off by as much: the other side may have lost it."""
    assert np.isposinf(bound_of_axes(plain, 1.5e-4 * X, Z, 1e-4)).all()
    codec = Rot6d(plain.conventions)
    # a turn's axis is lost by its components, and the largest is 1/sqrt(3) of the length
    slanting = (2e-4 + 1.5e-3) / math.sqrt(3.0) * np.ones(3)
    instead = Replacement(codec.decode_guard, lambda: np.concatenate((X, Z)))
    for second in (Z, X - Y):
        assert np.isposinf(gram_schmidt_bound(codec, np.concatenate((slanting, second))[None], 1e-3, instead)).all()


def test_one_bone_is_judged_whatever_the_others_are(plain):
    """One bone of forty that lost an axis must not be judged as if nothing were lost; a short one's direction does not matter."""
    codec = Rot6d(plain.with_conventions({"degenerate_axis": "canonical"}).conventions)
    instead, kept, none = Replacement(codec.reproject_guard, lambda: np.concatenate((X, Z) * 2)), g(24) + 1e-5, 0.0 * X
    for axes, off, first, second in (
        ((none, Z), 0.0, [g(24), 2.0 * g(24)], [g(24), 2.0 * g(24)]),
        ((X, none), 0.0, [g(24), 2.0 * g(24)], [g(24), 2.0 * g(24)]),
        ((5e-5 * X, Z), 1e-5, [kept, kept + 1e-5 + g(24)], [g(24), 1e-5 + 2.0 * g(24)]),
    ):  # fmt: skip
        found = gram_schmidt_bound(codec, np.concatenate((X, Z, *axes))[None], off, instead)
        close(found, [np.repeat([*first, *second], 3)])


def test_without_replacing_short_axes_are_divided_by_the_floor(plain):
    """The training side divides by 1e-8 at least: below it an axis is not a unit vector, and its error grows no further."""
    found = bound_of_axes(plain, 1e-9 * X, Z, 1e-12, policy="zero")
    first = g(24) + 1e-12 / 1e-8
    close(found, [first, g(24) + 1e-12 + first])
    found = bound_of_axes(plain, X, 1e-9 * Z, 1e-12, policy="zero")
    first = g(24) + 1e-12
    close(found, [first, g(24) + (1e-12 + 1e-9 * first) / 1e-8])
    # a short first axis does not take its whole part from the second
    found = bound_of_axes(plain, 5e-9 * X, X, policy="zero")
    close(found, [g(24), g(24) + g(24) / 0.75])


def test_an_error_as_wide_as_a_rotation_judges_nothing(plain):
    """No two entries of rotations differ by more than 2: such a bound is none, and must not count as agreement."""
    narrow, wide = 2.0 - 1e-3, 2.0 + 1e-3
    close(bound_of_axes(plain, X, Z, narrow - g(24), policy="zero")[0], narrow)
    assert math.isinf(bound_of_axes(plain, X, Z, wide - g(24), policy="zero")[0])
    exact = 2.0 - g(24)
    assert exact + g(24) == 2.0
    assert math.isinf(bound_of_axes(plain, X, Z, exact, policy="zero")[0])
    codec = Rot6d(plain.conventions)
    for size, expected in ((narrow, narrow), (2.0, math.inf), (wide, math.inf)):
        found = rotation_errors(codec, np.array([[size, 0, 0, 0, 0, 0, 0, 0, 0, 0, size, 0]]) * math.sqrt(3.0))
        close(found, [[[expected], [expected]]])
    close(rotation_errors(codec, np.array([[0.3, 0, 0.4, 0, 1.2, 0]])), [[[1.3 / math.sqrt(3.0)]]])


def test_the_axis_of_the_pose_before_replaces_a_lost_one_where_the_convention_says_so(plain):
    """A replacement that nobody recorded is not known: nothing is judged; the coordinate axes always are."""
    still = np.zeros((1, 18), np.float32)
    for policy, is_judged in (("canonical", True), ("previous_frame", False)):
        contract = plain.with_conventions({"output_mode": "absolute", "degenerate_axis": policy})
        stages = {"next6d": still, "y_out": np.array([IDENTITY], np.float32)}
        frames = ReplayedFrames(Evidence(np.array([1]), 30.0, "free", stages), contract)
        stage = contract.system.graph["y_out"]
        assert np.isfinite(stage.bound(frames, stages["y_out"], {"next6d": still})).all() == is_judged


ONE = FieldLayout((Field("x", 0, 1, FieldKind.RAW),))
OFF = 0.5
"""The bound that `half` gives itself."""


def of(name, needs=(), compute=None, **said):
    return Stage(name, ONE, needs=tuple(needs), compute=compute, **said)


def frames_of(stages, recorded, mode="teacher", frame=(0, 1, 2)):
    widths = {each.name: None for each in stages}
    system = SimpleNamespace(graph=Graph(tuple(stages)), knobs={})
    contract = SimpleNamespace(system=system, stage_widths=widths, conventions={}, numbers={})
    rows = {name: np.array(numbers, np.float32)[:, None] for name, numbers in recorded.items()}
    return ReplayedFrames(Evidence(np.array(frame), 60.0, mode, rows), contract)


START = of("start")
HALF = of("half", ["start"], lambda frames: frames["start"] / 2, bound=lambda *_: np.full((3, 1), OFF))
TRIPLE = of("triple", ["half"], lambda frames: 3 * frames["half"])
SUM = of("sum", ["triple", "start"], lambda frames: frames["triple"] + frames["start"])
CHAIN = (START, HALF, TRIPLE, SUM)


def bound_by_hand(frames, stage):
    return replay_bound(frames, stage, frames.computed(stage))[:, 0]


def test_a_recorded_input_adds_nothing_and_an_unrecorded_one_all_that_it_may_be_wrong_by():
    """A recording of poses alone: the bound of every stage between them is inherited, and no recorded one's."""
    start = np.array([2.0, -4.0, 8.0])
    triple = 1.5 * start
    known = frames_of(CHAIN, {"start": start, "half": start / 2, "triple": triple})
    close(bound_by_hand(known, "sum"), g(2) * np.abs(triple + start))
    close(bound_by_hand(known, "triple"), g(2) * np.abs(triple))
    close(bound_by_hand(known, "half"), [OFF] * 3)
    unknown = frames_of(CHAIN, {"start": start})
    of_triple = g(2) * np.abs(triple) + 3 * OFF
    np.testing.assert_allclose(bound_by_hand(unknown, "triple"), of_triple, rtol=1e-6)
    np.testing.assert_allclose(bound_by_hand(unknown, "sum"), g(2) * np.abs(triple + start) + of_triple, rtol=1e-6)
    # one that was recorded on the way ends the inheritance
    kept = frames_of(CHAIN, {"start": start, "triple": triple})
    close(bound_by_hand(kept, "sum"), g(2) * np.abs(triple + start))


def test_a_bound_of_its_own_is_told_which_inputs_are_exact():
    """A stage that derives what its inputs lead to reads every one of them: exact ones are zero, and none is left out."""
    told, before = {}, {}

    def bound(_frames, rows, upstream):
        told.update({name: each.copy() for name, each in upstream.items()})
        return np.zeros(rows.shape)

    def first_bound(_frames, rows, upstream):
        before.update(upstream)
        return np.full(rows.shape, OFF)

    half = replace(HALF, bound=first_bound, is_propagated=True)
    last = of(
        "last", ["triple", "start"], lambda frames: frames["triple"] + frames["start"], bound=bound, is_propagated=True
    )
    found = bound_by_hand(frames_of((START, half, TRIPLE, last), {"start": [1.0, 2.0, 4.0]}), "last")
    assert not found.any()
    np.testing.assert_allclose(told["triple"][:, 0], g(2) * np.array([1.5, 3.0, 6.0]) + 3 * OFF, rtol=1e-6)
    assert told["start"].tolist() == [[0.0]] * 3
    np.testing.assert_allclose(told["half"], [[OFF]] * 3)
    assert {name: rows.tolist() for name, rows in before.items()} == {"start": [[0.0]] * 3}


def test_a_stage_that_only_looks_at_an_input_is_moved_with_it():
    """An input that a stage reads where it is known moves the stage as any other does."""
    looking = of(
        "looking", ["triple"], lambda frames: frames.get("triple") + (0.0 if frames.get("other") is None else 1.0)
    )
    found = bound_by_hand(frames_of((START, HALF, TRIPLE, looking, of("other")), {"start": [2.0, 4.0, 8.0]}), "looking")
    triple = np.array([3.0, 6.0, 12.0])
    np.testing.assert_allclose(found, g(2) * triple + g(2) * triple + 3 * OFF, rtol=1e-6)


OWN = 0.125
BACK = of(
    "back", carried="half", start=lambda _contract: np.array([1.0], np.float32), bound=lambda *_: np.full((3, 1), OWN)
)
NEXT = of("next", ["back", "start"], lambda frames: frames["back"] + frames["start"])


@pytest.mark.parametrize("frame", [(0, 1, 2), (4, 5, 7)])
def test_what_a_frame_takes_over_has_the_bound_that_it_had_there(frame):
    """An engine that recorded poses alone feeds its own rounding back: the bound of one frame is that of the next."""
    start = np.array([2.0, -4.0, 8.0])
    stages = (START, BACK, HALF, NEXT)
    frames = frames_of(stages, {"start": start}, "free", frame)
    back = frames.computed("back")[:, 0].astype(np.float64)
    inherited = [0.0, OFF, OFF if frame[0] == 0 else 0.0]  # nothing is known of the frame before a gap
    if frame[0] == 0:
        assert back.tolist() == [1.0, 1.0, -2.0]
    known = np.isfinite(back)
    expected = OWN + np.array(inherited) + g(2) * np.abs(back + start)
    np.testing.assert_allclose(bound_by_hand(frames, "next")[known], expected[known], rtol=1e-6)
    # recorded, the stage that is taken over adds nothing
    kept = frames_of(stages, {"start": start, "half": start / 2}, "free", frame)
    expected = OWN + g(2) * np.abs(back + start)
    np.testing.assert_allclose(bound_by_hand(kept, "next")[known], expected[known], rtol=1e-6)


# --- bounds that are measured, and numbers written with few digits ----------------------------------------------------


def test_bound_of_a_stage_without_one_is_two_roundings_and_what_moves_it(plain):
    """Five times an input: its bound counts five times, once, and inputs that are exact count nothing."""
    stage = Stage("five", plain.system.graph["cond"].layout, needs=("x",), compute=lambda frames: 5.0 * frames["x"])
    rows = np.array([[1.0, -2.0, 4.0]])
    frames = KnownFrames(plain, {"x": rows / 5.0})
    close(stage_bound(stage, frames, rows, {}), g(2) * np.abs(rows))
    close(stage_bound(stage, frames, rows, {"x": np.zeros((1, 3))}), g(2) * np.abs(rows))
    moved = np.array([[0.25, 0.0, np.nan]])
    np.testing.assert_allclose(stage_bound(stage, frames, rows, {"x": moved}), [[5.0 * 0.25, 0, 0]], atol=1e-5)
    assert stage_bound(replace(stage, is_propagated=True), frames, rows, {"x": moved})[0, 0] < 1e-5


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0)])
def test_a_measured_bound_finds_inputs_that_add_up_and_that_cancel(plain, signs):
    """Both inputs up, or one up and one down: whichever moves the result most counts."""
    layout, compute = plain.system.graph["cond"].layout, lambda frames: signs[0] * frames["x"] + signs[1] * frames["y"]
    stage = Stage("two", layout, needs=("x", "y"), compute=compute)
    frames = KnownFrames(plain, {"x": np.zeros((4, 3)), "y": np.zeros((4, 3))})
    found = stage_bound(stage, frames, np.zeros((4, 3)), {"x": np.full((4, 3), 0.5), "y": np.full((4, 3), 0.25)})
    if signs[1] > 0:
        close(found, np.full((4, 3), 0.75))
    else:
        assert found.max() == pytest.approx(0.75)
        assert found.min() >= 0.25


def test_numbers_of_few_digits_are_allowed_four_times_what_their_last_digit_moves(plain):
    """The recorder's rounding is not a defect; more than four times its effect is one."""
    contract = with_scores(plain, 8.0, 0.0, 1.0)
    y_norm = np.array([np.linspace(-1.0, 1.0, 18)], np.float32)
    y_raw, found = 8.0 * y_norm, []
    for precision in (None, Precision(decimals=3)):
        stages = {"y_norm": y_norm, "y_raw": y_raw}
        frames = ReplayedFrames(Evidence(np.array([0]), 30.0, "free", stages, precision=precision), contract)
        found.append(replay_bound(frames, "y_raw", y_raw))
    close(found[0], g(4) * np.abs(y_raw, dtype=np.float64))
    np.testing.assert_allclose(found[1] - found[0], np.full((1, 18), 4.0 * 8.0 * 0.5e-3), rtol=1e-2)


def test_frames_count_from_zero_and_know_their_network_where_there_is_one(plain):
    """Without frame numbers there are as many frames as the longest stage has; a bound must not ask nothing for its weights."""
    frames = KnownFrames(plain, {"cond": np.zeros((2, 7)), "contacts": np.zeros((3, 2))})
    found = [each.frame.tolist() for each in (frames, KnownFrames(plain, {}), KnownFrames(plain, {}, np.array([7, 8])))]
    assert found == [[0, 1, 2], [], [7, 8]]
    network = object()
    assert KnownFrames(plain, {}, network=network).network is network
    with pytest.raises(NotKnown):
        _ = frames.network
