"""Gather: numbers of a vector by their places, in any order, some of them several times: what a view or a permutation does."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame

_SHAPED = {"shape", "order", "part"}


def build(use: Use) -> Built:
    """places: of every `of_each` groups of `together` numbers the groups that are taken; or the shape of a view and its order."""
    source = use.inputs[0]
    width = source.fields.width
    own = use.table.get("places")
    channels = _channels(use, own, width)
    meaning = f"where {use.stage} takes its numbers in {source.name}"
    knob = use.named("places", own, channels, lambda places: _channels(use, places, width), meaning)

    def compute(frames: Frames) -> FloatArray:
        return frames[source.name][:, knob.of(frames)]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved, each with its own bound."""
        return of_same_frame(upstream, source.name, (len(rows), width))[:, knob.of(frames)]

    def planned(frames: Frames) -> Step:
        return moved([Read(source.name)], [width], knob.of(frames))

    is_whole = len(channels) == width
    fields = source.fields if is_whole else FieldLayout((Field(use.stage, 0, len(channels), FieldKind.RAW),))
    return Built(use.declared or fields, compute, bound, is_propagated=True, planned=planned)


def _channels(use: Use, places: Any, width: int) -> list[int]:
    """The channels that are taken."""
    every, size = np.arange(width), use.whole("together", low=1, default=1)
    if places is None:
        return every.tolist()
    if isinstance(places, str) and places in use.numbers:
        places = use.numbers[places].value
    try:
        if isinstance(places, Mapping) and places.keys() <= _SHAPED:
            part, parts = places.get("part", (0, 1))
            view = every.reshape(places["shape"])
            return [int(each) for each in np.split(view.transpose(places["order"]).ravel(), parts)[part]]
        groups = every.reshape(-1, use.whole("of_each", low=1, default=max(width // size, 1)), size)
        return [int(each) for each in groups[:, np.array(places, np.int64).reshape(-1)].ravel()]
    except (ValueError, TypeError, LookupError) as error:
        expected = f"places of {width} numbers: a list, or {{ shape = [...], order = [...], part = [k, n] }}"
        raise use.wrong(Wrong.WIDTH, "places", shown(places), expected) from error


OPERATION = Operation(
    "gather",
    "numbers of a vector by their places: a view, a permutation, a part",
    build,
    {
        "places": "those that are taken, from 0; or { shape, order, part } of a view whose axes change places; all if left out",
        "together": "how many numbers are one group, 1 if left out",
        "of_each": "the places count within so many groups, and so in each of them; within all if left out",
    },
)
