"""Neighbouring frames and the time between them: shift, difference, integrate, integrate a rotation."""

from collections.abc import Mapping, Sequence

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.errors import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS, Bounds
from rigpact.reference_runtime.operations.geometry import PRODUCTS, exponential
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.vocabulary.building import (
    computed,
    of_any_frame,
    only_moved,
    operation,
    samples,
    sum_of,
    wide,
)
from rigpact.reference_runtime.vocabulary.quaternions import order_knob, order_written, split


def _shift(use: Use) -> Built:
    """frames: how much later; -1 is the frame before. start: what stands before the first; behind the last nothing is known."""
    source, lag = use.inputs[0], use.table.get("frames")
    if not isinstance(lag, int) or isinstance(lag, bool) or abs(lag) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "frames", shown(lag), f"a whole number of frames, at most {MOST_FRAMES}")
    near = dict.fromkeys((lag, 0, lag - 1, lag + 1, -lag))
    knob = use.knob("frames", {f"{each:+d}": each for each in near}, f"the frame that {use.stage} is taken from", {
        f"{each:+d}": f"the frame is {each:+d} from the current one; the contract takes {lag:+d}" for each in near if each != lag
    })  # fmt: skip
    start = use.choice(
        "start", {"first": "first", "zeros": "zeros"}, f"{use.stage} before the first frame", default="first",
        shows=lambda word: np.array([float(lag < 0 and word == "zeros")]),
    )  # fmt: skip

    def taken(frames: Frames) -> tuple[list[Read], list[int], Sequence[int]]:
        width = source.fields.width
        return [Read(source.name, knob.of(frames), start.of(frames))], [width], range(width)

    return only_moved(source.fields, taken, reach=(max(0, -min(near)), max(0, *near)))


SHIFT = operation("shift", _shift, choices=("start",))


_SPANS = {"backward": (-1, 0), "forward": (0, 1), "reversed": (0, -1)}
"""The frames whose difference is taken: later minus earlier."""
_RATES = {"per_second": lambda fps: fps, "per_frame": lambda _fps: 1.0, "inverse": lambda fps: 1.0 / fps}


def _difference(use: Use) -> Built:
    """The first frame has no frame before it: its difference is zero."""
    source, fps = use.inputs[0], use.fps
    if fps is None:
        raise use.missing("rate", "fps at the top of the file")
    span = use.choice("span", _SPANS, "which two frames the difference is taken of")
    meaning = "whether the difference is of a second or of a frame"
    rate = use.choice("rate", _RATES, meaning, shows=lambda factor: np.array([factor(fps)]))

    def ends(frames: Frames) -> list[FloatArray]:
        return [frames.at(source.name, lag, start="first").astype(np.float64) for lag in span.of(frames)]

    def rows_of(frames: Frames) -> FloatArray:
        earlier, later = ends(frames)
        return np.asarray((later - earlier) * rate.of(frames)(fps))

    def bound(frames: Frames, _rows: FloatArray, upstream: Bounds) -> FloatArray:
        """The difference of stored numbers rounds as the larger does; unrecorded numbers add their bound, twice."""
        earlier, later = ends(frames)
        moved = 2.0 * of_any_frame(upstream, source.name, earlier.shape)
        return np.asarray((gamma(3) * (np.abs(earlier) + np.abs(later)) + moved) * rate.of(frames)(fps))

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, lag, "first") for lag in span.of(frames))
        return Step("difference", tuple(reads), numbers=[rate.of(frames)(fps)])

    return computed(source.fields, rows_of, bound, planned, reach=(1, 1), is_propagated=True)


DIFFERENCE = operation("difference", _difference, choices=("span", "rate"))


_STEP_READINGS: Mapping[str, Reading] = {
    "left_out": np.ones_like,
    "squared": lambda step: step * step,
    "half_of_it": lambda step: 0.5 * step,
    "divided_by": lambda step: 1.0 / step,
}
_MEANINGS = {
    "derivative": lambda state, rate, step: state + step * rate,
    "absolute": lambda _state, rate, _step: rate,
    "delta": lambda state, rate, _step: state + rate,
    "negated": lambda state, rate, step: state - step * rate,
    "skipped": lambda state, _rate, _step: state,
}


def _time_step(use: Use) -> Number:
    """The seconds that a rate is multiplied by: the time of a frame where the stage does not say them."""
    frame = None if use.fps is None else 1.0 / use.fps
    meaning = f"the seconds of a frame in {use.stage}"
    return use.number("step", 1, default=frame, meaning=meaning, misread=_STEP_READINGS)


_INTEGRATE = 4
"""Roundings: the step is stored, a product, a sum, and the result is stored on the other side."""


def _integrate(use: Use) -> Built:
    """of = [state, rate]; the step is a frame's duration if it is left out."""
    state, rate = use.inputs
    if state.fields.width != rate.fields.width:
        found = f"{state.fields.width} and {rate.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "of", found, "a state and a rate of one width")
    step, probe = _time_step(use), samples(1)
    means = use.choice(
        "rate_means", _MEANINGS, f"the meaning of {rate.name}", default="derivative",
        shows=lambda combine: combine(probe, probe[::-1], use.value_of(step).reshape(-1)),
    )  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray, FloatArray]:
        return wide(frames, state.name), wide(frames, rate.name), step.of(frames).reshape(-1)

    def terms(frames: Frames) -> FloatArray:
        """The sizes of the two terms: what is left of each without the other."""
        (rows, rates, size), combine = parts(frames), means.of(frames)
        only_rows, only_rates = combine(np.abs(rows), 0.0 * rates, size), combine(0.0 * rows, np.abs(rates), size)
        return np.asarray(np.abs(only_rows) + np.abs(only_rates))

    return computed(
        state.fields, lambda frames: means.of(frames)(*parts(frames)), sum_of(_INTEGRATE, terms),
        lambda frames: Step(
            "integrate", (Read(state.name), Read(rate.name)), (means.word_of(frames),), step.row(frames, 1)
        ),
    )  # fmt: skip


INTEGRATE = operation("integrate", _integrate, (2, 2), readings=_MEANINGS)


_SIDES = {"left": PRODUCTS["first_second"], "right": PRODUCTS["second_first"]}
_ANGLES = {"half": 0.5, "full": 1.0, "quarter": 0.25, "negated": -0.5}
"""The factor of ω · step in the quaternion's exponential: half the angle of the turn."""
_INTEGRATE_ROTATION = 16
"""Roundings of the exponential (length, a library's sine, a division) and of the product (four terms, storing)."""


def _integrate_rotation(use: Use) -> Built:
    """of = [quaternion, angular velocity]; left: ω is of the frame that the quaternion leads into (the world)."""
    quaternion, rate = use.inputs
    if rate.fields.width * 4 != quaternion.fields.width * 3:
        found = f"{quaternion.fields.width} and {rate.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "of", found, "quaternions and as many angular velocities")
    order, step = order_knob(use, quaternion), _time_step(use)
    side = use.choice("side", _SIDES, "the side on which the turn of one frame is multiplied")
    angle = use.choice("angle", _ANGLES, "the part of the angle that goes into the exponential", default="half")
    written = order_written(use, quaternion)

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        """The quaternions, and the rotation vector of the turn times the part of the angle."""
        q, omega = split(frames, quaternion, order), wide(frames, rate.name, 3)
        return q, np.asarray(omega * step.of(frames) * angle.of(frames))

    def rows_of(frames: Frames) -> FloatArray:
        q, turn = parts(frames)
        return np.asarray(side.of(frames)(exponential(turn), q)[..., written])

    def terms(frames: Frames) -> FloatArray:
        """Four products with the sizes of two quaternions; the argument of sine and cosine rounds with the turn's size."""
        q, turn = parts(frames)
        sizes = np.linalg.norm(q, axis=-1, keepdims=True) * (1.0 + np.linalg.norm(turn, axis=-1, keepdims=True))
        return np.broadcast_to(sizes, q.shape)

    def planned(frames: Frames) -> Step:
        words = side.word_of(frames), *order.of(frames), *written
        numbers = step.row(frames, 1)[0], angle.of(frames)
        return Step("integrate_rotation", (Read(quaternion.name), Read(rate.name)), words, numbers)

    bound = sum_of(_INTEGRATE_ROTATION, terms)
    return computed(quaternion.fields, rows_of, bound, planned, measure=QUATERNIONS)


INTEGRATE_ROTATION = operation(
    "integrate_rotation", _integrate_rotation, (2, 2), choices=("side", "quaternion_order"), readings=_SIDES
)
