"""What counts frames: a slower loop, a chunk of answers that a queue plays, the phase of a gait."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import gamma, stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame


def asked_every(use: Use) -> Choice:
    """How many frames lie between two questions. Sides take the length of the whole chunk for it, or ask in each frame."""
    every, length = use.whole("every", low=1), use.whole("length", low=1, default=1)
    if max(every, length) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", max(every, length), f"at most {MOST_FRAMES} frames")
    readings = {"declared": every, **({"whole_chunk": length} if length > 1 else {}), "each_frame": 1}
    return use.knob("every", readings, "after how many frames the slower loop ticks, or the network is asked, again", {
        "each_frame": "the loop ticks, or the network is asked, in each frame: a queue is missing, or emptied each time",
        "whole_chunk": f"all {length} frames of the chunk are played before the network is asked again",
    }, shows=lambda frames: np.array([float(frames)]))  # fmt: skip


def _held(use: Use) -> Built:
    """every: frames between two ticks. first: the frame of the first one. length: of the chunk that a network answers with."""
    source, every = use.inputs[0], asked_every(use)
    most = max(use.whole("every", low=1), use.whole("length", low=1, default=1))
    declared, last = use.whole("first", low=0, default=0), use.whole("every", low=1) - 1
    if declared > last:
        raise use.wrong(Wrong.NUMBERS, "first", declared, f"a frame below {last + 1}, the frames between two ticks")
    readings = {"declared": declared, "frame_0": 0, "last_of_every": last}
    first = use.knob("first", readings, "the frame of the first tick", {
        "frame_0": "the counter is raised behind the test: frame 0 ticks",
        "last_of_every": "the counter is raised before the test",
    }, shows=lambda frame: np.array([float(frame)]))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        since = (frames.frame - first.of(frames)) % every.of(frames)
        return frames.rows_at(source.name, np.maximum(frames.frame - since, 0))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_any_frame(upstream, source.name, rows.shape)

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, -since, "first") for since in range(every.of(frames)))
        return Step("held", tuple(reads), (every.of(frames), first.of(frames)))

    return Built(source.fields, compute, bound, reach=(most, 0), is_propagated=True, planned=planned)


EVERY_CODE = {
    "declared": CodeHint("if (frame % every == 0) ask();", "if not self.queue: self.queue = chunk[:n_action_steps]"),
    "whole_chunk": CodeHint("if (frame % chunk_length == 0) ask();", "if not self.queue: self.queue = chunk"),
    "each_frame": CodeHint("ask();", "action = policy.predict_action_chunk(batch)[:, 0]"),
}
_FIRST_CODE = {
    "declared": CodeHint("if ((frame - first) % every == 0) tick();", "if (step - first) % decimation == 0: tick()"),
    "frame_0": CodeHint("if (frame++ % every == 0) tick();", "if step % decimation == 0: tick()"),
    "last_of_every": CodeHint("if (++frame % every == 0) tick();", "if (step + 1) % decimation == 0: tick()"),
}
HELD = Operation(
    "held", "a vector as it was when a slower loop last ticked, or a network was last asked", _held,
    {
        "every": "frames between two ticks", "length": "frames of the chunk that the network answers with, 1 if left out",
        "first": "the frame of the first tick, 0 if left out; before it the numbers are those of frame 0",
    },
    code={"every": EVERY_CODE, "first": _FIRST_CODE},
)  # fmt: skip


_INDEX = {"+0": 0, "+1": 1, "-1": -1}
_CHUNK = {"newest": 0, "one_before": 1}
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
    source, layout = use.inputs[0], use.declared
    length = use.whole("length", low=1)
    layout = _of_one_frame(use, source, length, layout)
    first = use.whole("first", low=0, default=0)
    if first >= length:
        raise use.wrong(Wrong.NUMBERS, "first", first, f"a frame of the chunk, below {length}")
    nested = use.choice("layout", _LAYOUTS, "how frames and numbers are nested in the chunk", {
        "number_by_number": "the queue runs along the wrong axis of the chunk",
    }, default="frame_by_frame", shows=lambda nest: nest(np.arange(float(source.fields.width))[None], length))  # fmt: skip
    if "blend" in use.table:
        return _blended(use, source, layout, nested, (length, first))
    every = asked_every(use)
    most = max(use.whole("every", low=1), length)
    index = use.knob("index", _INDEX if length > 1 else {"+0": 0}, "which frame of the chunk is played", {
        "+1": "the first frame of each chunk is left out", "-1": "each frame of the chunk is played one frame late",
    })  # fmt: skip
    chunk = use.knob("chunk", _CHUNK, "which chunk is played", {
        "one_before": "the chunk of the question before is played: the answer arrives one question late",
    })  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        since = frames.frame % every.of(frames)
        asked = np.maximum(frames.frame - since - chunk.of(frames) * every.of(frames), 0)
        rows = nested.of(frames)(frames.rows_at(source.name, asked), length)
        place = np.clip(first + since + index.of(frames), 0, length - 1)
        return np.asarray(np.take_along_axis(rows, place[:, None, None], axis=1)[:, 0])

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        moved = of_any_frame(upstream, source.name, (len(rows), source.fields.width))
        return np.asarray(nested.of(frames)(moved, length).max(axis=1))

    return Built(layout, compute, bound, reach=(2 * most, 0), is_propagated=True)


def _of_one_frame(use: Use, source: Input, length: int, declared: FieldLayout | None) -> FieldLayout:
    width = source.fields.width
    if declared is None:
        raise use.missing("names", f"the fields of one of {length} frames: names or size")
    if declared.width * length != width:
        expected = f"{declared.width * length}: {length} frames of {declared.width}"
        raise use.wrong(Wrong.WIDTH, "length", f"{width} numbers of {source.name}", expected)
    return declared


def _blended(use: Use, source: Input, layout: FieldLayout, nested: Choice, places: tuple[int, int]) -> Built:
    """Every chunk that reaches now, weighed: exp(-m i), i = 0 for the oldest of them."""
    length, first = places
    m = use.number("blend", 1, meaning="how fast weights fall from one chunk to the next")
    weigh = use.choice("weights", _WEIGHTS, "which of overlapping chunks weighs most", {
        "newest_heaviest": "the weights stand in the opposite order", "newest_only": "the newest chunk is taken alone",
        "equal": "the plain mean is taken",
    }, default="oldest_heaviest")  # fmt: skip
    count = length - first

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        """(N, count, width) frames of the chunks, and their weights (N, count)."""
        age = np.broadcast_to(np.arange(float(count)), (len(frames.frame), count))
        oldest = np.minimum(frames.frame, count - 1)[:, None]
        weights = np.where(age <= oldest, weigh.of(frames)(age, oldest, float(m.of(frames).reshape(-1)[0])), 0.0)
        nest = nested.of(frames)
        rows = [nest(frames.at(source.name, -back, start="first"), length)[:, first + back] for back in range(count)]
        return np.stack(rows, axis=1).astype(np.float64), weights / weights.sum(axis=1, keepdims=True)

    def compute(frames: Frames) -> FloatArray:
        rows, weights = parts(frames)
        return stored((rows * weights[..., None]).sum(axis=1))

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Weights of an exponential and a sum, a product, the sum of all, stored."""
        rows, weights = parts(frames)
        return np.asarray(gamma(2 * count + 8) * (np.abs(rows) * weights[..., None]).sum(axis=1))

    return Built(layout, compute, bound, reach=(length, 0))


_PLAYED_CODE = {
    "every": EVERY_CODE,
    "index": {
        "+0": CodeHint("y = chunk[since];", "self.queue.popleft()"),
        "+1": CodeHint("y = chunk[since + 1];", "chunk[:, 1:]"),
        "-1": CodeHint("y = chunk[max(since - 1, 0)];", "self.queue.appendleft(last_action)"),
    },
    "chunk": {
        "newest": CodeHint("y = chunk[since];", "self.queue.extend(policy(batch))"),
        "one_before": CodeHint("y = last_chunk[since]; // asked in another thread", "self.queue.extend(self.waiting)"),
    },
    "layout": {
        "frame_by_frame": CodeHint("chunk[frame * width + i]", "chunk.reshape(length, -1)"),
        "number_by_number": CodeHint("chunk[i * length + frame]", "chunk.reshape(-1, length).T"),
    },
    "weights": {
        "oldest_heaviest": CodeHint("w[i] = exp(-m * i); // 0 is the oldest", "np.exp(-m * np.arange(len(actions)))"),
        "newest_heaviest": CodeHint("w[i] = exp(-m * age[i]);", "np.exp(-m * np.arange(len(actions)))[::-1]"),
        "equal": CodeHint("w[i] = 1;", "actions.mean(axis=0)"),
        "newest_only": CodeHint("y = chunk[0];", "actions[-1]"),
    },
}
PLAYED = Operation(
    "played", "the frame of a chunk of answers that is played now", _played,
    {
        "length": "frames of the chunk", "every": "frames between two questions, where a queue plays them",
        "first": "the frame of the chunk that is now, 0 if left out",
        "blend": "instead of every: the network is asked in each frame, and chunks are weighed by exp(-blend · i)",
        "layout": "frame_by_frame, as if left out, or number_by_number",
        "weights": "oldest_heaviest, as if left out, newest_heaviest, equal, newest_only",
    },
    choices=("layout", "weights"), code=_PLAYED_CODE,
)  # fmt: skip


_FORMS = {
    "sin_cos": lambda phase: np.stack([np.sin(2.0 * np.pi * phase), np.cos(2.0 * np.pi * phase)], axis=1),
    "cos_sin": lambda phase: np.stack([np.cos(2.0 * np.pi * phase), np.sin(2.0 * np.pi * phase)], axis=1),
    "phase": lambda phase: phase[:, None] % 1.0,
}


def _phase_clock(use: Use) -> Built:
    """period in seconds. first: the step that frame 0 counts as. form: the pair, or the phase itself from 0 to 1."""
    if use.fps is None:
        raise use.missing("period", "fps of the contract, which counts the steps")
    step = 1.0 / use.fps
    period = use.number("period", 1, meaning="seconds of a whole phase", misread={
        "half": lambda value: 0.5 * value, "twice": lambda value: 2.0 * value,
    })  # fmt: skip
    declared = use.whole("first", low=0, default=0)
    readings = {f"{each}": each for each in dict.fromkeys((declared, 0, 1, 2))}
    first = use.knob("first", readings, "which step the first frame counts as", {
        "0": "the phase starts at 0", "1": "the counter is raised before it is used",
        "2": "the phase is advanced at the reset too",
    })  # fmt: skip
    if (word := use.table.get("form", "sin_cos")) not in _FORMS:
        raise use.not_one_of("form", _FORMS)
    alike = {name: each for name, each in _FORMS.items() if (name == "phase") == (word == "phase")}
    form = use.choice("form", alike, "the form of the clock's answer", default="sin_cos")

    def phase(frames: Frames) -> FloatArray:
        return np.asarray((frames.frame + first.of(frames)) * step / period.of(frames).reshape(-1)[0])

    def compute(frames: Frames) -> FloatArray:
        return stored(form.of(frames)(phase(frames)))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Step, product and quotient are rounded relative to the whole time that has passed; 2 pi times that moves the sine.

        A phase that is that near to a whole turn may be 0 or 1.
        """
        turns = np.abs(phase(frames))[:, None]
        moved = gamma(8) * (2.0 * np.pi * turns + 1.0)
        jumps = (form.word_of(frames) == "phase") & (np.abs(turns - np.round(turns)) <= moved)
        return np.asarray((moved + jumps) * np.ones_like(rows, np.float64))

    names = ("phase",) if word == "phase" else ("sin", "cos")
    fields = FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))
    return Built(fields, compute, bound)


_PHASE_CLOCK_CODE = {
    "period": {
        "declared": CodeHint("phase = fmod(k * dt, period) / period;", "phase = (k * dt) % period / period"),
        "half": CodeHint("phase = fmod(k * dt, period / 2) / (period / 2);", "(k * dt) % (period / 2) / (period / 2)"),
        "twice": CodeHint("phase = fmod(k * dt, 2 * period) / (2 * period);", "(k * dt) % (2 * period) / (2 * period)"),
    },
    "first": {
        "0": CodeHint("k = 0;", "episode_length_buf"),
        "1": CodeHint("++k; phase(k);", "episode_length_buf + 1"),
        "2": CodeHint("reset(): ++k; step(): ++k;", "episode_length_buf + 2"),
    },
    "form": {
        "sin_cos": CodeHint("{sin(2 * pi * phase), cos(2 * pi * phase)}", "torch.cat((sin_phase, cos_phase), -1)"),
        "cos_sin": CodeHint("{cos(2 * pi * phase), sin(2 * pi * phase)}", "torch.cat((cos_phase, sin_phase), -1)"),
    },
}
PHASE_CLOCK = Operation(
    "phase_clock", "sine and cosine of a phase that counts the frames of the run", _phase_clock,
    {
        "period": "seconds of a whole phase", "first": "the step that the first frame counts as, 0 if left out",
        "form": "sin_cos, as if left out, cos_sin, or phase",
    }, (0, 0), choices=("form",), code=_PHASE_CLOCK_CODE,
)  # fmt: skip
