"""History: the last frames of several terms in one vector.

What people get wrong: whether a term's frames stand together or a frame's terms; which end is the oldest; what stands before
the first frame; whether the current frame is in it.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES, refuse_wide
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.history import ORDERS, ages
from rigpact.reference_runtime.vocabulary.arranging.concatenate import orders_of
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame, samples

Layout = Callable[[list[list[FloatArray]]], list[FloatArray]]
"""[term][place in time] -> the blocks in the order of the vector."""

_LAYOUTS: Mapping[str, Layout] = {
    "term_major": lambda blocks: [block for term in blocks for block in term],
    "frame_major": lambda blocks: [block for moment in zip(*blocks, strict=True) for block in moment],
    "channel_major": lambda blocks: [np.stack(term, axis=-1).reshape(len(term[0]), -1) for term in blocks],
}
_STARTS = {"first": "first", "zeros": "zeros"}


def build(use: Use) -> Built:
    """`length` frames of every term; a run that begins fills the buffer as `start` says."""
    names = [each.name for each in use.inputs]
    length = use.whole("length", low=1)
    widths = [each.fields.width for each in use.inputs]
    refuse_wide(length * sum(widths), use.at("length"))
    apart = use.whole("every", low=1, default=1)
    if length * apart > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", apart, f"at most {MOST_FRAMES} frames in the whole history")
    readings = {"declared": apart, "each_frame": 1}
    stride = use.knob("every", readings, "how many frames lie between two entries of the history", {
        "each_frame": "an entry is pushed in each frame: push it when the slower loop ticks",
    }, shows=lambda frames: np.array([float(length > 1) * frames]))  # fmt: skip
    blocks = [[sample[None] for sample in samples(width, length) + place] for place, width in enumerate(widths)]
    layout = use.choice("layout", _LAYOUTS, "how terms and frames are nested in the history", {
        "term_major": "the frames of one term stand together, then the next term follows",
        "frame_major": "all terms of one frame stand together, then the next frame follows",
        "channel_major": "the frames of one channel stand together",
    }, shows=lambda nest: np.hstack(nest(blocks)))  # fmt: skip
    order = use.choice("order", ORDERS, "the end of the history where the oldest frame stands", {
        "newest_first": "the buffer is read from its other end",
        "oldest_first": "the buffer is read from its other end",
    }, shows=lambda taken: np.arange(float(length))[taken])  # fmt: skip
    start = use.choice("start", _STARTS, "the value before the first frame", {
        "zeros": "the buffer starts with zeros: fill it with the first value at the reset",
        "first": "the buffer is filled with the first value: start it with zeros",
    }, shows=lambda word: np.array([float(length > 1 and word == "zeros")]))  # fmt: skip
    delay = use.knob("delay", {"none": 0, "one_frame": 1}, "how old the newest frame of the history is", {
        "one_frame": "the history is read before the current frame is pushed",
    })  # fmt: skip
    terms = use.knob("terms", orders_of(names), "the order of the terms in the history")

    def compute(frames: Frames) -> FloatArray:
        places = ages(length, order.of(frames), delay.of(frames))
        lags = [-age * stride.of(frames) for age in places]
        blocks = [[frames.at(name, lag, start=start.of(frames)) for lag in lags] for name in terms.of(frames)]
        return np.hstack(layout.of(frames)(blocks)).astype(np.float32)

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved. A term that was not recorded has the largest bound of the run, at any age."""
        widths = {each.name: each.fields.width for each in use.inputs}
        moved = {name: of_any_frame(upstream, name, (len(rows), width)) for name, width in widths.items()}
        return np.hstack(layout.of(frames)([[moved[name]] * length for name in terms.of(frames)]))

    def planned(frames: Frames) -> Step:
        places, word = ages(length, order.of(frames), delay.of(frames)), start.of(frames)
        sizes = {each.name: each.fields.width for each in use.inputs}
        reads = [Read(name, -age * stride.of(frames), word) for name in terms.of(frames) for age in places]
        every = [sizes[read.stage] for read in reads]
        numbered = np.split(np.arange(sum(every))[None], np.cumsum(every)[:-1], axis=1)
        blocks = [numbered[first : first + length] for first in range(0, len(reads), length)]
        return moved(reads, every, np.hstack(layout.of(frames)(blocks))[0])

    return Built(_fields(use, length), compute, bound, reach=(length * apart, 0), is_propagated=True, planned=planned)


def _fields(use: Use, length: int) -> FieldLayout:
    """One field for each term and age, as the declared layout and order place them."""
    places = ages(length, ORDERS[use.table.get("order", "oldest_first")], 0)
    terms = [(source.name, source.fields.width) for source in use.inputs]
    return FieldLayout(tuple(_tiled(_entries(use.table.get("layout", "term_major"), terms, places))))


def _entries(layout: str, terms: Sequence[tuple[str, int]], places: Sequence[int]) -> list[tuple[str, int]]:
    if layout == "frame_major":
        return [(f"{name}_{age}", width) for age in places for name, width in terms]
    if layout == "channel_major":
        return [(f"{name}_{channel}_{age}", 1) for name, width in terms for channel in range(width) for age in places]
    return [(f"{name}_{age}", width) for name, width in terms for age in places]


def _tiled(entries: Sequence[tuple[str, int]]) -> list[Field]:
    starts = np.cumsum([0, *(width for _, width in entries)])
    return [
        Field(name, int(start), width, FieldKind.RAW)
        for (name, width), start in zip(entries, starts, strict=False)
    ]  # fmt: skip


OPERATION = Operation(
    "history",
    "the last frames of several vectors",
    build,
    {
        "length": "number of frames, the current one included",
        "layout": "term_major, frame_major or channel_major",
        "order": "oldest_first or newest_first",
        "start": "the value before the first frame: first (its own value) or zeros",
        "every": "frames between two entries, 1 if left out: of a loop that ticks every n-th frame, whose vectors are `held`",
    },
    (1, 1 << 16),
    ("layout", "order", "start"),
    code=CODE_HINTS["history"],
)
