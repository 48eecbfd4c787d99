"""Played: one frame of a chunk of answers. The network gives frames ahead; a queue plays them until it is asked again."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.declared.values import Choice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame
from rigpact.reference_runtime.vocabulary.timing.held import EVERY_CODE, asked_every

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


def build(use: Use) -> Built:
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


_CODE = {
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
OPERATION = Operation(
    "played", "the frame of a chunk of answers that is played now", build,
    {
        "length": "frames of the chunk", "every": "frames between two questions, where a queue plays them",
        "first": "the frame of the chunk that is now, 0 if left out",
        "blend": "instead of every: the network is asked in each frame, and chunks are weighed by exp(-blend · i)",
        "layout": "frame_by_frame, as if left out, or number_by_number",
        "weights": "oldest_heaviest, as if left out, newest_heaviest, equal, newest_only",
    },
    choices=("layout", "weights"), code=_CODE,
)  # fmt: skip
