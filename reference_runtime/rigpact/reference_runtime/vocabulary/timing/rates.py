"""Neighbouring frames and the time between them: shift, difference, integrate, integrate a rotation."""

from collections.abc import Mapping, Sequence

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.errors import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS, Bounds
from rigpact.reference_runtime.operations.geometry import PRODUCTS, exponential
from rigpact.reference_runtime.operations.scalars import gamma, stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame, only_moved, samples, sum_of, wide
from rigpact.reference_runtime.vocabulary.turning.quaternions import order_knob, order_written, split


def _shift(use: Use) -> Built:
    """frames: how much later; -1 is the frame before. start: what stands before the first; behind the last nothing is known."""
    source, lag = use.inputs[0], use.table.get("frames")
    if not isinstance(lag, int) or isinstance(lag, bool) or abs(lag) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "frames", shown(lag), f"a whole number of frames, at most {MOST_FRAMES}")
    near = dict.fromkeys((lag, 0, lag - 1, lag + 1, -lag))
    knob = use.knob("frames", {f"{each:+d}": each for each in near}, f"the frame that {use.stage} is taken from", {
        f"{each:+d}": f"the frame is {each:+d} from the current one; the contract takes {lag:+d}" for each in near if each != lag
    })  # fmt: skip
    start = use.choice("start", {"first": "first", "zeros": "zeros"}, f"{use.stage} before the first frame", {
        "zeros": "it starts with zeros: start it with the first value",
        "first": "it starts with the first value: start it with zeros",
    }, default="first", shows=lambda word: np.array([float(lag < 0 and word == "zeros")]))  # fmt: skip

    def taken(frames: Frames) -> tuple[list[Read], list[int], Sequence[int]]:
        width = source.fields.width
        return [Read(source.name, knob.of(frames), start.of(frames))], [width], range(width)

    return only_moved(source.fields, taken, reach=(max(0, -min(near)), max(0, *near)))


SHIFT = Operation(
    "shift",
    "a vector of another frame",
    _shift,
    {
        "frames": "how many frames later; -1 is the frame before",
        "start": "the value before the first frame: first (its own value, the default) or zeros",
    },
    choices=("start",),
    code=CODE_HINTS["shift"],
)


_SPANS = {"backward": (-1, 0), "forward": (0, 1), "reversed": (0, -1)}
"""The frames whose difference is taken: later minus earlier."""
_RATES = {"per_second": lambda fps: fps, "per_frame": lambda _fps: 1.0, "inverse": lambda fps: 1.0 / fps}


def _difference(use: Use) -> Built:
    """The first frame has no frame before it: its difference is zero."""
    source, fps = use.inputs[0], use.fps
    if fps is None:
        raise use.missing("rate", "fps at the top of the file")
    span = use.choice("span", _SPANS, "which two frames the difference is taken of", {
        "forward": "the velocity of frame t is taken towards frame t + 1: the causal one looks back",
        "backward": "the velocity of frame t is taken from frame t - 1",
        "reversed": "the earlier frame is subtracted from by the later one: the sign is turned round",
    })  # fmt: skip
    rate = use.choice("rate", _RATES, "whether the difference is of a second or of a frame", {
        "per_frame": f"multiply by {fps:g} frames a second", "per_second": "the difference of two frames, without the rate",
    }, shows=lambda factor: np.array([factor(fps)]))  # fmt: skip

    def ends(frames: Frames) -> tuple[FloatArray, FloatArray]:
        earlier, later = span.of(frames)
        one, other = (frames.at(source.name, lag, start="first").astype(np.float64) for lag in (earlier, later))
        return one, other

    def compute(frames: Frames) -> FloatArray:
        earlier, later = ends(frames)
        return stored((later - earlier) * rate.of(frames)(fps))

    def bound(frames: Frames, _rows: FloatArray, upstream: Bounds) -> FloatArray:
        """The difference of stored numbers rounds as the larger does; unrecorded numbers add their bound, twice."""
        earlier, later = ends(frames)
        moved = 2.0 * of_any_frame(upstream, source.name, earlier.shape)
        return np.asarray((gamma(3) * (np.abs(earlier) + np.abs(later)) + moved) * rate.of(frames)(fps))

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, lag, "first") for lag in span.of(frames))
        return Step("difference", tuple(reads), numbers=[rate.of(frames)(fps)])

    return Built(source.fields, compute, bound, reach=(1, 1), is_propagated=True, planned=planned)


DIFFERENCE = Operation(
    "difference", "how fast a vector changes", _difference,
    {"span": "backward, forward or reversed", "rate": "per_second, per_frame or inverse"}, choices=("span", "rate"),
    code=CODE_HINTS["difference"],
)  # fmt: skip


_STEP_READINGS: Mapping[str, Reading] = {
    "left_out": np.ones_like,
    "squared": lambda step: step * step,
    "half_of_it": lambda step: 0.5 * step,
    "divided_by": lambda step: 1.0 / step,
}
_STEP_HINTS = {
    "left_out": "rates are added whole, as if a frame took a second",
    "squared": "the time of a frame is multiplied in twice: on the rate, and once more where it is added",
    "half_of_it": "half a frame's time: the loop runs twice as often as the step says, or the rate is halved",
    "divided_by": "frames per second instead of seconds per frame",
}
_MEANINGS = {
    "derivative": lambda state, rate, step: state + step * rate,
    "absolute": lambda _state, rate, _step: rate,
    "delta": lambda state, rate, _step: state + rate,
    "negated": lambda state, rate, step: state - step * rate,
    "skipped": lambda state, _rate, _step: state,
}


def time_step(use: Use) -> Number:
    """The seconds that a rate is multiplied by: the time of a frame where the stage does not say them."""
    frame = None if use.fps is None else 1.0 / use.fps
    meaning = f"the seconds of a frame in {use.stage}"
    return use.number("step", 1, default=frame, meaning=meaning, misread=_STEP_READINGS, hints=_STEP_HINTS)


def _integrate(use: Use) -> Built:
    """of = [state, rate]; the step is a frame's duration if it is left out."""
    state, rate = use.inputs
    if state.fields.width != rate.fields.width:
        found = f"{state.fields.width} and {rate.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "of", found, "a state and a rate of one width")
    step = time_step(use)
    probe = samples(1)
    means = use.choice("rate_means", _MEANINGS, f"the meaning of {rate.name}", {
        "delta": "the numbers are added without the step: they are a rate per second",
        "absolute": "the numbers are taken as the new state: they are a rate",
    }, default="derivative", shows=lambda combine: combine(probe, probe[::-1], use.value_of(step).reshape(-1)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        rows = (wide(frames, each.name) for each in (state, rate))
        return stored(means.of(frames)(*rows, step.of(frames).reshape(-1)))

    def terms(frames: Frames) -> FloatArray:
        """The sizes of the two terms: what is left of each without the other."""
        rows, rates = np.abs(wide(frames, state.name)), np.abs(wide(frames, rate.name))
        combine, size = means.of(frames), step.of(frames).reshape(-1)
        return np.asarray(np.abs(combine(rows, 0.0 * rates, size)) + np.abs(combine(0.0 * rows, rates, size)))

    def planned(frames: Frames) -> Step:
        words = (means.word_of(frames),)
        return Step("integrate", (Read(state.name), Read(rate.name)), words, step.row(frames, 1))

    return Built(state.fields, compute, sum_of(_INTEGRATE_OPERATIONS, terms), planned=planned)


_INTEGRATE_OPERATIONS = 4
"""The step is stored, a product, a sum, and the result is stored on the other side."""
INTEGRATE = Operation(
    "integrate", "state + step · rate", _integrate,
    {"step": "seconds of a frame, 1/fps if left out", "rate_means": ", ".join(_MEANINGS)}, (2, 2),
    code=CODE_HINTS["integrate"], readings=_MEANINGS,
)  # fmt: skip


_SIDES = {"left": PRODUCTS["first_second"], "right": PRODUCTS["second_first"]}
_ANGLES = {"half": 0.5, "full": 1.0, "quarter": 0.25, "negated": -0.5}
"""The factor of ω · step in the quaternion's exponential: half the angle of the turn."""
_INTEGRATE_ROTATION_OPERATIONS = 16
"""Roundings of the exponential (length, a library's sine, a division) and of the product (four terms, storing)."""


def _integrate_rotation(use: Use) -> Built:
    """of = [quaternion, angular velocity]; left: ω is of the frame that the quaternion leads into (the world)."""
    quaternion, rate = use.inputs
    if rate.fields.width * 4 != quaternion.fields.width * 3:
        found = f"{quaternion.fields.width} and {rate.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "of", found, "quaternions and as many angular velocities")
    order = order_knob(use, quaternion)
    step = time_step(use)
    side = use.choice("side", _SIDES, "the side on which the turn of one frame is multiplied", {
        "right": "the turn is about the body's own axes there: q ⊗ exp", "left": "the turn is about the world's axes: exp ⊗ q",
    })  # fmt: skip
    angle = use.choice("angle", _ANGLES, "the part of the angle that goes into the exponential", default="half")
    written = order_written(use, quaternion)

    def compute(frames: Frames) -> FloatArray:
        q = split(wide(frames, quaternion.name), order.of(frames))
        omega = wide(frames, rate.name).reshape(len(q), -1, 3)
        turn = exponential(omega * step.of(frames) * angle.of(frames))
        return stored(side.of(frames)(turn, q)[..., written].reshape(len(q), -1))

    def terms(frames: Frames) -> FloatArray:
        """Four products with the sizes of two quaternions; the argument of sine and cosine rounds with the turn's size."""
        q = split(wide(frames, quaternion.name), order.of(frames))
        turn = wide(frames, rate.name).reshape(len(q), -1, 3) * step.of(frames) * angle.of(frames)
        sizes = np.linalg.norm(q, axis=-1, keepdims=True) * (1.0 + np.linalg.norm(turn, axis=-1, keepdims=True))
        return np.broadcast_to(sizes, q.shape).reshape(len(q), -1)

    def planned(frames: Frames) -> Step:
        words = side.word_of(frames), *order.of(frames), *written
        numbers = step.row(frames, 1)[0], angle.of(frames)
        return Step("integrate_rotation", (Read(quaternion.name), Read(rate.name)), words, numbers)

    return Built(
        quaternion.fields, compute, sum_of(_INTEGRATE_ROTATION_OPERATIONS, terms), measure=QUATERNIONS, planned=planned
    )


INTEGRATE_ROTATION = Operation(
    "integrate_rotation", "a quaternion turned by an angular velocity", _integrate_rotation,
    {
        "step": "seconds of a frame, 1/fps if left out", "side": "left: exp ⊗ q; right: q ⊗ exp",
        "angle": ", ".join(_ANGLES), "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (2, 2), ("side", "quaternion_order"),
    code=CODE_HINTS["integrate_rotation"], readings=_SIDES,
)  # fmt: skip
