"""What rigpact's operations are built of: their words, fields by their names, and how far rounding moves a result.

operations.toml says what an operation is, what its parameters mean and what each reading is in code; `operation` takes it from
there. Bounds that several share: Higham, Accuracy and Stability of Numerical Algorithms, ch. 3 (gamma_n).
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.errors import Wrong, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Planned, Read, moved
from rigpact.contract.systems.stage import Bound, Bounds
from rigpact.reference_runtime.operations.scalars import gamma, stored


@cache
def _words() -> Mapping[str, Any]:
    return tomllib.loads((Path(__file__).parent / "operations.toml").read_text(encoding="utf-8"))


def operation(name: str, build: Callable[[Use], Built], inputs: tuple[int, int] = (1, 1), **facts: Any) -> Operation:
    """One of rigpact's own, with the words of operations.toml; facts: what else an `Operation` says."""
    said = _words()[name]
    rows = {
        key: _words()["shared"][each] if isinstance(each, str) else each
        for key, each in said.get("readings", {}).items()
    }
    code = {key: {word: CodeHint(*row) for word, row in each.items()} for key, each in rows.items()}
    return Operation(name, said["summary"], build, said.get("parameters", {}), inputs, code=code, **facts)


def found_fields(use: Use, source: Input, place: tuple[Token, ...], names: Sequence[str]) -> list[Field]:
    """The fields of these names."""
    for index, name in enumerate(names):
        if name not in source.fields:
            others = [each.name for each in source.fields]
            raise unknown(use.at(*place, index), name, others, f"a field of {source.name}")
    return [source.fields[name] for name in names]


def channels_of(fields: Iterable[Field]) -> list[int]:
    """The numbers of fields, in their order."""
    return [channel for each in fields for channel in range(each.start, each.stop)]


def whole_count(use: Use, source: Input, size: int, expected: str) -> int:
    """How many vectors of `size` numbers each a vector holds."""
    count, rest = divmod(source.fields.width, size)
    if rest:
        raise use.wrong(Wrong.WIDTH, "of", f"{source.name}, {source.fields.width} numbers", expected)
    return count


def refuse_other_widths(use: Use) -> None:
    """Misdeclared unless every input is as wide as the first."""
    width = use.inputs[0].fields.width
    for each in use.inputs:
        if each.fields.width != width:
            raise use.wrong(
                Wrong.WIDTH, "of", f"{each.fields.width} numbers of {each.name}", f"{width}, one width for all"
            )


def named_layout(names: Sequence[str]) -> FieldLayout:
    """A field of one number for each name."""
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


Rows = Callable[[Frames], FloatArray]
"""Frames -> numbers of each frame, (N, …)."""
Moved = Callable[[Frames, Bounds], FloatArray]
"""Frames and the bounds of what is read -> what these lead to, (N, width)."""


def flat(rows: FloatArray) -> FloatArray:
    """Numbers of each frame as a vector, (N, width)."""
    return rows.reshape(len(rows), -1)


def computed(fields: FieldLayout, rows: Rows, bound: Bound, planned: Planned | None = None, **built: Any) -> Built:
    """A result that is computed in float64 and stored; `built` is what else a `Built` says."""
    return Built(fields, lambda frames: stored(flat(np.asarray(rows(frames)))), bound, planned=planned, **built)


def sum_of(operations: int, terms: Rows, leads_to: Moved | None = None) -> Bound:
    """A sum of terms: gamma(operations) times the sum of their sizes, whatever the result cancels to.

    terms: for each channel the sum of the sizes of the terms that are added up. leads_to: a stage that derives it is propagated.
    """

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        through = 0.0 if leads_to is None else np.nan_to_num(leads_to(frames, upstream))
        return np.broadcast_to(gamma(operations) * flat(terms(frames)) + through, rows.shape)

    return bound


def of_result(operations: int) -> Bound:
    """A chain without sums of both signs: relative to the result."""
    return lambda _frames, rows, _upstream: np.asarray(gamma(operations) * np.abs(rows, dtype=np.float64))


def wide(frames: Frames, name: str, size: int = 0) -> FloatArray:
    """A stage in float64, (N, width), or (N, B, size): stages are stored as float32, and operations compute in float64."""
    rows = np.asarray(frames[name], np.float64)
    return rows.reshape(len(rows), -1, size) if size else rows


def samples(width: int, count: int = 5) -> FloatArray:
    """Numbers on which readings are told apart, (count, width): of both signs, below 1 and above, no two alike."""
    steps = np.arange(1.0, count * width + 1.0) * 0.6180339887498949  # the golden ratio's: never a multiple of another
    return np.asarray((steps % 1.0 - 0.5).reshape(count, width) * np.geomspace(0.5, 8.0, count)[:, None])


def of_same_frame(upstream: Bounds, name: str, shape: tuple[int, ...]) -> FloatArray:
    """The bound of a stage at the frames that are evaluated: 0 where it was recorded."""
    return np.broadcast_to(np.asarray(upstream.get(name, 0.0), np.float64), shape)


def of_any_frame(upstream: Bounds, name: str, shape: tuple[int, ...]) -> FloatArray:
    """The bound of a stage that was not recorded, for whichever frame is looked at: the largest of the run, by channel."""
    if name not in upstream or not len(upstream[name]):
        return np.zeros(shape)
    with np.errstate(invalid="ignore"):
        return np.broadcast_to(np.nan_to_num(upstream[name]).max(axis=0), shape)


Taken = Callable[[Frames], tuple[Sequence[Read], Sequence[int], Sequence[int]]]
"""Frames -> the vectors that are read, their widths, and of each number of the result its place among them end to end."""


def only_moved(fields: FieldLayout, taken: Taken, reach: tuple[int, int] = (0, 0)) -> Built:
    """Numbers are only moved, each with its own bound; of frames within `reach`, with the largest of the run."""
    bound_of = of_any_frame if any(reach) else of_same_frame

    def compute(frames: Frames) -> FloatArray:
        reads, _, places = taken(frames)
        rows = [frames.at(each.stage, each.lag, each.start) if any(reach) else frames[each.stage] for each in reads]
        return np.hstack(rows)[:, places]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        reads, widths, places = taken(frames)
        pairs = zip(reads, widths, strict=True)
        return np.hstack([bound_of(upstream, each.stage, (len(rows), width)) for each, width in pairs])[:, places]

    return Built(fields, compute, bound, reach=reach, is_propagated=True, planned=lambda frames: moved(*taken(frames)))
