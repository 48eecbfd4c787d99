"""From one frame to the next: neighbours, rates and their sums; a slower loop, a chunk of answers that a queue plays, a clock."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Input, Reading, Use
from rigpact.contract.declared.values import Choice, Number
from rigpact.contract.errors import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS, Bounds
from rigpact.reference_runtime.operations.geometry import PRODUCTS, exponential
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.vocabulary.building import (
    computed,
    named_layout,
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


def _asked_every(use: Use) -> Choice:
    """How many frames lie between two questions. Sides take the length of the whole chunk for it, or ask in each frame."""
    every, length = use.whole("every", low=1), use.whole("length", low=1, default=1)
    if max(every, length) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", max(every, length), f"at most {MOST_FRAMES} frames")
    readings = {"declared": every, **({"whole_chunk": length} if length > 1 else {}), "each_frame": 1}
    meaning = "after how many frames the slower loop ticks, or the network is asked, again"
    return use.knob("every", readings, meaning, shows=lambda frames: np.array([float(frames)]))


def _held(use: Use) -> Built:
    """every: frames between two ticks. first: the frame of the first one. length: of the chunk that a network answers with."""
    source, every = use.inputs[0], _asked_every(use)
    most = max(use.whole("every", low=1), use.whole("length", low=1, default=1))
    declared, last = use.whole("first", low=0, default=0), use.whole("every", low=1) - 1
    if declared > last:
        raise use.wrong(Wrong.NUMBERS, "first", declared, f"a frame below {last + 1}, the frames between two ticks")
    readings = {"declared": declared, "frame_0": 0, "last_of_every": last}
    meaning = "the frame of the first tick"
    first = use.knob("first", readings, meaning, shows=lambda frame: np.array([float(frame)]))

    def compute(frames: Frames) -> FloatArray:
        since = (frames.frame - first.of(frames)) % every.of(frames)
        return frames.rows_at(source.name, np.maximum(frames.frame - since, 0))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_any_frame(upstream, source.name, rows.shape)

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, -since, "first") for since in range(every.of(frames)))
        return Step("held", tuple(reads), (every.of(frames), first.of(frames)))

    return Built(source.fields, compute, bound, reach=(most, 0), is_propagated=True, planned=planned)


HELD = operation("held", _held)


_LAYOUTS: Mapping[str, Callable[[FloatArray, int], FloatArray]] = {
    "frame_by_frame": lambda rows, length: rows.reshape(len(rows), length, -1),
    "number_by_number": lambda rows, length: rows.reshape(len(rows), -1, length).swapaxes(1, 2),
}
_WEIGHTS: Mapping[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    "oldest_heaviest": lambda age, oldest, m: np.exp(-m * (oldest - age)),
    "newest_heaviest": lambda age, _oldest, m: np.exp(-m * age),
    "equal": lambda age, _oldest, _m: np.ones_like(age),
    "newest_only": lambda age, _oldest, _m: np.where(age == 0, 1.0, 0.0),
}


def _played(use: Use) -> Built:
    """A chunk of `length` frames; the fields are those of one frame. first: which of its frames is now."""
    source, layout, length = use.inputs[0], use.declared, use.whole("length", low=1)
    width = source.fields.width
    if layout is None:
        raise use.missing("names", f"the fields of one of {length} frames: names or size")
    if layout.width * length != width:
        expected = f"{layout.width * length}: {length} frames of {layout.width}"
        raise use.wrong(Wrong.WIDTH, "length", f"{width} numbers of {source.name}", expected)
    first = use.whole("first", low=0, default=0)
    if first >= length:
        raise use.wrong(Wrong.NUMBERS, "first", first, f"a frame of the chunk, below {length}")
    nested = use.choice(
        "layout", _LAYOUTS, "how frames and numbers are nested in the chunk", default="frame_by_frame",
        shows=lambda nest: nest(np.arange(float(width))[None], length),
    )  # fmt: skip
    if "blend" in use.table:
        return _blended(use, source, layout, nested, (length, first))
    every = _asked_every(use)
    most = max(use.whole("every", low=1), length)
    places = {"+0": 0, "+1": 1, "-1": -1} if length > 1 else {"+0": 0}
    index = use.knob("index", places, "which frame of the chunk is played")
    chunk = use.knob("chunk", {"newest": 0, "one_before": 1}, "which chunk is played")

    def compute(frames: Frames) -> FloatArray:
        since = frames.frame % every.of(frames)
        asked = np.maximum(frames.frame - since - chunk.of(frames) * every.of(frames), 0)
        rows = nested.of(frames)(frames.rows_at(source.name, asked), length)
        place = np.clip(first + since + index.of(frames), 0, length - 1)
        return np.asarray(np.take_along_axis(rows, place[:, None, None], axis=1)[:, 0])

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        moved = of_any_frame(upstream, source.name, (len(rows), width))
        return np.asarray(nested.of(frames)(moved, length).max(axis=1))

    return Built(layout, compute, bound, reach=(2 * most, 0), is_propagated=True)


def _blended(use: Use, source: Input, layout: FieldLayout, nested: Choice, places: tuple[int, int]) -> Built:
    """Every chunk that reaches now, weighed: exp(-m i), i = 0 for the oldest of them."""
    length, first = places
    count = length - first
    m = use.number("blend", 1, meaning="how fast weights fall from one chunk to the next")
    meaning = "which of overlapping chunks weighs most"
    weigh = use.choice("weights", _WEIGHTS, meaning, default="oldest_heaviest")

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        """(N, count, width) frames of the chunks, and their weights (N, count, 1)."""
        age = np.broadcast_to(np.arange(float(count)), (len(frames.frame), count))
        oldest = np.minimum(frames.frame, count - 1)[:, None]
        weights = np.where(age <= oldest, weigh.of(frames)(age, oldest, float(m.of(frames).reshape(-1)[0])), 0.0)
        nest = nested.of(frames)
        rows = [nest(frames.at(source.name, -back, start="first"), length)[:, first + back] for back in range(count)]
        return np.stack(rows, axis=1).astype(np.float64), (weights / weights.sum(axis=1, keepdims=True))[..., None]

    def rows_of(frames: Frames) -> FloatArray:
        rows, weights = parts(frames)
        return np.asarray((rows * weights).sum(axis=1))

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Weights of an exponential and a sum, a product, the sum of all, stored."""
        rows, weights = parts(frames)
        return np.asarray(gamma(2 * count + 8) * (np.abs(rows) * weights).sum(axis=1))

    return computed(layout, rows_of, bound, reach=(length, 0))


PLAYED = operation("played", _played, choices=("layout", "weights"))


_FORMS = {
    "sin_cos": lambda phase: np.stack([np.sin(2.0 * np.pi * phase), np.cos(2.0 * np.pi * phase)], axis=1),
    "cos_sin": lambda phase: np.stack([np.cos(2.0 * np.pi * phase), np.sin(2.0 * np.pi * phase)], axis=1),
    "phase": lambda phase: phase[:, None] % 1.0,
}
_PERIODS = {"half": lambda value: 0.5 * value, "twice": lambda value: 2.0 * value}


def _phase_clock(use: Use) -> Built:
    """period in seconds. first: the step that frame 0 counts as. form: the pair, or the phase itself from 0 to 1."""
    if use.fps is None:
        raise use.missing("period", "fps of the contract, which counts the steps")
    step = 1.0 / use.fps
    period = use.number("period", 1, meaning="seconds of a whole phase", misread=_PERIODS)
    declared = use.whole("first", low=0, default=0)
    readings = {f"{each}": each for each in dict.fromkeys((declared, 0, 1, 2))}
    first = use.knob("first", readings, "which step the first frame counts as")
    if (word := use.table.get("form", "sin_cos")) not in _FORMS:
        raise use.not_one_of("form", _FORMS)
    alike = {name: each for name, each in _FORMS.items() if (name == "phase") == (word == "phase")}
    form = use.choice("form", alike, "the form of the clock's answer", default="sin_cos")

    def phase(frames: Frames) -> FloatArray:
        return np.asarray((frames.frame + first.of(frames)) * step / period.of(frames).reshape(-1)[0])

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Step, product and quotient are rounded relative to the whole time that has passed; 2 pi times that moves the sine.

        A phase that is that near to a whole turn may be 0 or 1.
        """
        turns = np.abs(phase(frames))[:, None]
        moved = gamma(8) * (2.0 * np.pi * turns + 1.0)
        jumps = (form.word_of(frames) == "phase") & (np.abs(turns - np.round(turns)) <= moved)
        return np.asarray((moved + jumps) * np.ones_like(rows, np.float64))

    fields = named_layout(("phase",) if word == "phase" else ("sin", "cos"))
    return computed(fields, lambda frames: form.of(frames)(phase(frames)), bound)


PHASE_CLOCK = operation("phase_clock", _phase_clock, (0, 0), choices=("form",))
