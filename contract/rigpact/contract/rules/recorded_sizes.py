"""RP731: how large a recorded vector is beside the means and deviations, ranges and limits that a contract declares for it.

Two things tell a wrong unit or table from a robot that stands still; a small motion alone does not:

- **Too far.** The squared distance from the mean, in deviations, is 1 on average over the training data. So of recordings in
  which it is 100 there is less than 1 in 100, whatever the distribution (Markov's inequality): where it is in most channels of
  a vector, the vector is of other data.
- **In proportion.** A robot that stands where training stood has means near the declared ones; one at rest has small means,
  which have nothing to do with them. The declared means, made smaller by the ratio of two units, are neither. Among C channels
  a direction lies so near by chance in less than 1 of 100 vectors (a cap of the sphere in C dimensions): one channel never
  decides and two hardly ever.

Either is of another unit if the ratio of two units brings it within a factor of 2 of the size that it should have, three of four
channels within a factor of 4 (units differ in all of them alike, a run that blows up does not), and the whole among the declared
data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np

from rigpact.contract.declared.sources import numbers_inside
from rigpact.contract.findings import Finding
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.contract_files import FEWEST_ROWS
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.system_view import DeclaredView, RecordedRows
from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import UNITS, is_si, kind_of, numerator

rules = Rules("recorded_sizes")


PAIRS = (("mean", "std"), ("min", "max"), ("q01", "q99"), ("q10", "q90"), ("lowest", "highest"))
"""Parameters of any operation that say where the numbers lie: a mean and a deviation, or two ends."""
_FAR = 10.0
"""In deviations: the root of 100. Nearer units than this, 6.28 for a turn, are within what motions differ by."""
_FITS = 2.0
"""In deviations: the root of 4; three in four pieces of the training data are nearer (Markov)."""
_BY_CHANCE = 0.01
Pair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Expected:
    """What a stage declares of a vector, (W,) each, NaN where it says nothing. is_limit: nothing has to lie near the middle."""

    stage: str
    keys: tuple[str, str]
    vector: str
    centre: FloatArray
    spread: FloatArray

    @property
    def is_limit(self) -> bool:
        """Whether the numbers are ends that are kept, and none that training measured."""
        return self.keys[0] in ("lowest", "low")

    @property
    def words(self) -> str:
        return "deviations" if self.keys[1] == "std" else "half ranges"


def size_findings(view: DeclaredView, stages: Mapping[str, FloatArray], path: object) -> Iterator[Finding]:
    """Yield a warning for each part of a recorded vector that is of another size than declared. stages: (T, width) by name."""
    for expected in _expected(view):
        rows = _rows(view, expected, stages)
        if rows is None or len(rows) < FEWEST_ROWS:
            continue
        for (source, unit), channels in _groups(view, expected.vector).items():
            fits = _misfit(view, expected, rows[:, channels], channels, unit)
            if fits is not None:
                whole = len(channels) == rows.shape[1]
                vector = expected.vector if whole else f"{source} in {expected.vector}"
                pointer = json_pointer("stages", expected.vector, *(() if whole else (channels[0],)))
                yield rules.OTHER_SIZE.at(path, pointer, vector=vector, stage=expected.stage, frames=len(rows), **fits)


def _check(view: DeclaredView, recording: RecordedRows) -> Iterator[Finding]:
    yield from size_findings(view, recording.stages, recording.path)


FAMILY = rules.family("FAMILY", (Need.DECLARATION, Need.SYSTEM_DATA), _check)


def _expected(view: DeclaredView) -> Iterator[Expected]:
    for stage, table in view.tables.items():
        low, high = next((pair for pair in PAIRS if set(pair) <= table.keys()), ("", ""))
        ends = view.numbers(stage, low), view.numbers(stage, high)
        of = (stage,) if view.operation(stage).endswith("denormalise") else view.inputs_of(stage)
        is_bounded_answer = low == "lowest" and view.operation(of[0]) == "network"  # a policy may lean on its limits
        if len(of) == 1 and ends[0] is not None and ends[1] is not None and not is_bounded_answer:
            yield _spread(view, stage, (low, high), of[0], ends[0], ends[1])
        fields = view.layout(stage)
        bounds = [[np.nan if end is None else end for end in (field.low, field.high)] * field.size for field in fields]
        limits = np.array([end for each in bounds for end in each], np.float64).reshape(-1, 2)
        if np.isfinite(limits).all(axis=1).any():
            yield _spread(view, stage, ("low", "high"), stage, limits[:, 0], limits[:, 1])


def _spread(
    view: DeclaredView, stage: str, keys: tuple[str, str], vector: str, low: FloatArray, high: FloatArray
) -> Expected:
    """A mean and a deviation as they are; two ends as their middle and half of what lies between."""
    floor = view.numbers(stage, "floor")
    spread = np.maximum(high, 0.0 if floor is None else floor) if keys[1] == "std" else (high - low) / 2
    width = view.layout(vector).width
    centre = low if keys[1] == "std" else (high + low) / 2
    return Expected(stage, keys, vector, *(np.broadcast_to(each, (width,)) for each in (centre, spread)))


def _rows(view: DeclaredView, expected: Expected, stages: Mapping[str, FloatArray]) -> FloatArray | None:
    """The recorded vector in its own unit; where only its scores were recorded, from them."""
    if expected.vector in stages:
        return stages[expected.vector].astype(np.float64)
    if expected.keys[1] != "std":
        return None
    scores = view.inputs_of(expected.stage)[0] if expected.vector == expected.stage else expected.stage
    if scores not in stages:
        return None
    return stages[scores].astype(np.float64) * expected.spread + expected.centre


def _groups(view: DeclaredView, vector: str) -> dict[tuple[str, str], list[int]]:
    units = [field.unit for field in view.layout(vector) for _ in range(field.size)]
    groups: dict[tuple[str, str], list[int]] = {}
    for channel, ((source, _), unit) in enumerate(zip(view.channels(vector), units, strict=True)):
        groups.setdefault((source, numerator(unit or "")), []).append(channel)
    return groups


def _misfit(
    view: DeclaredView, expected: Expected, rows: FloatArray, channels: Sequence[int], unit: str
) -> dict[str, object] | None:
    """How a part of a vector does not fit what is declared, and what would: the values of a finding."""
    centre, spread = expected.centre[channels], expected.spread[channels]
    known = np.isfinite(rows).all(axis=0) & np.isfinite(centre) & (spread > 0.0)
    if not known.any():
        return None
    rows = rows[:, known]
    beside = _Beside(rows, centre[known], spread[known], is_limit=expected.is_limit)
    words = beside.unit(_ratios(unit))
    if not words and (expected.is_limit or not beside.is_far):
        return None
    fits = [words] if words else []
    for name, pair in _other_tables(view, expected):
        mean, std = (each.reshape(-1)[np.array(channels)[known]] for each in pair)
        if np.all(std > 0.0) and (other := _Beside(rows, mean, std)).fits(1.0) and not other.unit(_ratios(unit)):
            fits.append(f"as it is it fits {name}")
    sizes = np.hypot(beside.deviation, beside.mean - beside.declared)
    far = f"lies {np.median(sizes):.3g} times as far off as the {expected.words}"
    moved = np.sqrt(np.mean(beside.deviation**2 + beside.mean**2))
    return {
        "size": far if beside.is_far else f"moves by {moved:.2g} of the {expected.words}",
        "count": int(np.sum(sizes >= _FAR)) if beside.is_far else len(sizes), "width": len(channels),
        "fits": "; or ".join(fits) or "no ratio of units and no other table of these files fits",
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Beside:
    """Rows (T, C) beside a centre and a spread of each channel, (C,); the properties are in spreads."""

    rows: FloatArray
    centre: FloatArray
    spread: FloatArray
    is_limit: bool = False

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self.rows.mean(axis=0) / self.spread)

    @cached_property
    def deviation(self) -> FloatArray:
        return np.asarray(self.rows.std(axis=0) / self.spread)

    @cached_property
    def declared(self) -> FloatArray:
        return self.centre / self.spread

    @property
    def is_far(self) -> bool:
        """Whether most channels lie too far off to belong to the data that was declared."""
        return bool(np.mean(np.hypot(self.deviation, self.mean - self.declared) >= _FAR) > 0.5)

    def fits(self, factor: float) -> bool:
        """Whether the rows times a factor lie where they are declared to."""
        off = np.hypot(factor * self.deviation, factor * self.mean - self.declared)
        return bool(np.sqrt(np.mean(off**2)) <= (1.0 if self.is_limit else _FITS))

    def unit(self, ratios: Mapping[str, float]) -> str:
        """The ratio of units by which the rows differ from what is declared, in words; of several the nearest in size."""
        sizes = np.hypot(self.deviation, self.mean) / np.hypot(1.0, self.declared)
        found: dict[float, str] = {}
        for words, factor in ratios.items():
            is_in_most = np.mean((factor * sizes >= _FITS**-2) & (factor * sizes <= _FITS**2)) >= 0.75
            for size in (self._proportion(), np.median(sizes) if self.is_far else 0.0):
                if is_in_most and 1.0 / _FITS <= factor * size <= _FITS and self.fits(factor):
                    found[abs(np.log(factor * size))] = f"times {factor:.3g} it would fit, {words}"
        return found[min(found)] if found else ""

    def _proportion(self) -> float:
        """How many times as large as declared the means are; 0 where they are not in proportion, or may be by chance."""
        size, whole = np.linalg.norm(self.mean), np.linalg.norm(self.declared)
        if self.is_limit or len(self.mean) < 2 or not size or not whole:
            return 0.0
        slope = float(self.mean @ self.declared / whole**2)
        angles = np.linspace(0.0, np.pi, 4001)
        cap = angles <= np.arccos(np.clip(slope * whole / size, -1.0, 1.0))
        weights = np.sin(angles) ** (len(self.mean) - 2)
        return slope if weights[cap].sum() <= _BY_CHANCE * weights.sum() else 0.0


def _ratios(unit: str) -> dict[str, float]:
    """Between the SI unit and smaller ones of a kind, of every kind where no unit is said: recorded times ratio is declared."""
    found: dict[str, float] = {}
    for whole, small in ((whole, small) for whole in UNITS if is_si(whole) for small in UNITS):
        ratio = UNITS[whole].si / UNITS[small].si
        if kind_of(whole) == kind_of(small) and (not unit or kind_of(unit) == kind_of(whole)) and ratio >= _FAR:
            found |= {f"{whole} recorded, {small} declared": ratio, f"{small} recorded, {whole} declared": 1.0 / ratio}
    return found


def _other_tables(view: DeclaredView, expected: Expected) -> Iterator[tuple[str, Pair]]:
    """Pairs of the same width in the file that both numbers come from, else in the contract, named as the pair is."""
    given = [view.tables[expected.stage].get(key) for key in expected.keys]
    if not all(isinstance(name, str) for name in given) or given[0] == given[1]:
        return
    said = [view.root["numbers"][name] for name in given]
    file, *other = {str(each["file"]) if isinstance(each, Mapping) and "at" in each else "" for each in said}
    names, inside = [str(name) for name in given], view.declaration.constants["numbers"]
    if file and not other:
        names = [str(each["at"]).strip("/") for each in said]
        inside = numbers_inside(view.declaration.read[file], Path(file))
    start = next(at for at, pair in enumerate(zip_longest(*names)) if pair[0] != pair[1])
    end = next(at for at, pair in enumerate(zip_longest(*(name[start:][::-1] for name in names))) if pair[0] != pair[1])
    one, two = (name[start : len(name) - end] for name in names)
    for name in inside if one else ():
        pair = np.array(inside[name]), np.array(inside.get(name.replace(one, two, 1), ()))
        if name != names[0] and one in name and {each.size for each in pair} == {expected.centre.size}:
            yield f"{name} and {name.replace(one, two, 1)} of {file or view.path}", pair
