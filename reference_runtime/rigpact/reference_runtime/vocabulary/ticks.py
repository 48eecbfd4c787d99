"""What counts frames: a slower loop, a chunk of answers that a queue plays, the phase of a gait."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Input, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.vocabulary.building import computed, named_layout, of_any_frame, operation


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
