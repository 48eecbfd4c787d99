"""Which column of a recording holds which vector of a contract: by the numbers that its stages make of the columns.

A column is a given vector where what the contract makes of it stands in the recording too, in a column of its own or inside the
network's input. A given vector that was not recorded is left out where a column holds what is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.declared.sources import numbers_inside
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reports.importing.draft import Draft, word

# A mean and a std of a file beside the model: found by the words of their names, used where the numbers bear it out
_MEAN, _STD = ("mean", "mu", "offset"), ("std", "sigma", "scale")
_SUFFIXES = (".npz", ".safetensors", ".json")


@dataclass(frozen=True, eq=False)
class StatisticsPair:
    """A mean and a std: their file, the word that both names share, their places in it, their names in a declaration.

    is_said: whether the words are those of statistics: an offset and a scale may be anything.
    """

    path: Path
    file: str
    label: str
    is_said: bool
    mean_at: str
    std_at: str
    mean_name: str
    std_name: str
    mean: FloatArray
    std: FloatArray

    @property
    def width(self) -> int:
        """How many numbers each has."""
        return int(self.mean.size)

    def stage(self, draft: Draft, name: str, operation: str, of: str, comment: str = "") -> str:
        """Write both arrays among the numbers of a draft, and the stage that normalises or denormalises with them."""
        draft.numbers[self.mean_name] = {"file": self.file, "at": self.mean_at}
        draft.numbers[self.std_name] = {"file": self.file, "at": self.std_at}
        said = comment or f"GUESSED: {self.path.name} has a mean and a std of {self.width} numbers"
        return draft.compute(name, operation, of, said, mean=self.mean_name, std=self.std_name)


def is_near(one: FloatArray, other: FloatArray) -> bool:
    """Whether two recorded vectors hold the same numbers, but for rounding."""
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME * float(np.abs(other).max(initial=0.0))))


SAME = 2.0**-18
"""Relative to the largest number: a float32 that went through a mean and a std and back, and a little more."""


def find_statistics(path: Path, folder: Path) -> Iterator[StatisticsPair]:
    """The pairs that a file holds; none where it is no such file."""
    if path.suffix.lower() not in _SUFFIXES:
        return
    vectors = dict(_vectors(path))
    for key, mean in vectors.items():
        for one, other in zip(_MEAN, _STD, strict=True):
            partner = _partner(key, one, (other, *_STD), vectors)
            if partner is not None and vectors[partner].size == mean.size:
                label = re.sub(r"[^a-z0-9]+", "_", re.sub(one, "", key.lower())).strip("_")
                is_said, file = "offset" not in key.lower(), path.relative_to(folder).as_posix()
                own = {"mean": "mean" if is_said else key.lower(), "std": "std" if is_said else partner.lower()}
                names = {usual: word(f"{label}_{usual}" if label else said, usual) for usual, said in own.items()}
                of_file = (path, file, label, is_said, key, partner)
                yield StatisticsPair(*of_file, names["mean"], names["std"], mean, vectors[partner])
                break


def _partner(key: str, one: str, others: tuple[str, ...], vectors: Mapping[str, FloatArray]) -> str | None:
    if one not in key.lower():
        return None
    for other in others:
        wanted = key.lower().replace(one, other)
        found = next((each for each in vectors if each.lower() == wanted), None)
        if found is not None:
            return found
    return None


def _vectors(path: Path) -> Iterator[tuple[str, FloatArray]]:
    try:
        inside = numbers_inside(read_bytes(path), path)
    except UnusableInput:
        if path.suffix.lower() == ".json":
            raise
        return  # a file that holds no arrays holds no statistics; reading it as a recording says what is wrong
    for name, array in inside.items():
        if array.ndim <= 1:
            yield name, array.reshape(-1)


FRAMES = 256
"""The first frames of a recording test each guess."""
_MOST = 64
"""Choices of open words that are tried for one vector."""
Likeness = Callable[[str, str], float]


@dataclass(eq=False)
class Pairing:
    """The search. named: vector -> column, by name. frame: the numbers of the rows.

    It finds: columns, vector -> column; cut, stages that are given, for nothing recorded holds what they are made of; misnamed,
    stages that have the name of a column that holds another vector.
    """

    contract: Contract
    rows: Mapping[str, FloatArray]
    frame: NDArray[np.int64]
    named: Mapping[str, str]
    likeness: Likeness

    def __post_init__(self) -> None:
        self.graph: Graph = self.contract.system.graph
        self.known: dict[str, FloatArray] = {}
        self.words: dict[str, Any] = {}
        self.columns: dict[str, str] = {}
        self.cut: list[str] = []
        self.misnamed: list[str] = []
        for name in self.graph.answers:
            self._take(name, self.named.get(name))
        for stage in self.graph:
            is_carried = stage.compute is None and stage.carried is not None
            if is_carried and not self._take(stage.name, self.named.get(stage.name)):
                before = self.known.get(str(stage.carried))
                if before is not None:
                    self.known[stage.name] = np.vstack([np.zeros_like(before[:1]), before[:-1]])

    def run(self) -> Pairing:
        """Given vectors by their numbers, then by name; stages in place of those that were not recorded; all other stages."""
        waiting = [stage.name for stage in self.graph if stage.compute is None and stage.carried is None]
        waiting = self._not_paired(waiting)
        waiting = self._not_paired([name for name in waiting if not self._take(name, self.named.get(name))])
        for find in (self._cut_by_value, self._cut_by_name, self._alone):
            waiting = [name for name in waiting if not find(name)]
        self._pair_stages()
        return self

    def _take(self, name: str, column: str | None) -> bool:
        if column is None or column in self.columns.values():
            return False
        self.columns[name], self.known[name] = column, self.rows[column]
        return True

    def _cut_by_value(self, given: str) -> bool:
        return any(self._cut(stage) for stage in self._consumers(given) if self._pair(stage))

    def _cut_by_name(self, given: str) -> bool:
        """The same where a column is called like something that is made of it: a recorded command stands in for sticks."""
        for stage in self._consumers(given):
            behind = self._behind(stage)
            for column in self._candidates(stage):
                if any(self.likeness(each, column) > 0.0 for each in (stage, *behind)) and self._take(stage, column):
                    return self._cut(stage)
        return False

    def _alone(self, given: str) -> bool:
        left = self._candidates(given)
        return len(left) == 1 and self._take(given, left[0])

    def _cut(self, stage: str) -> bool:
        self.cut.append(stage)
        return True

    def _not_paired(self, waiting: Sequence[str]) -> list[str]:
        """The given vectors that are left: one that is paired may show what another one is."""
        left = [name for name in waiting if not self._pair(name)]
        return left if len(left) == len(waiting) else self._not_paired(left)

    def _consumers(self, name: str) -> list[str]:
        """The stages that are made of a given vector alone, as far as it is not known what they are made of."""
        made = [stage for stage in self.graph if name in stage.needs and stage.name not in self.known]
        return [stage.name for stage in made if all(need in (name, *self.known) for need in stage.needs)]

    def _pair(self, name: str) -> bool:
        behind = self._behind(name)
        best: tuple[int, str, dict[str, Any]] | None = None
        for column in self._candidates(name):
            for words in self._choices(behind):
                made = self._made({**self.known, name: self.rows[column]}, behind, words)
                count = sum(self._tells(column, stage, rows) for stage, rows in made.items())
                if count and (best is None or count > best[0]):
                    best = count, column, words
        if best is None:
            return False
        _, column, words = best
        self.words |= words
        return self._take(name, column)

    def _tells(self, column: str, stage: str, rows: FloatArray) -> bool:
        """Whether what a stage makes of a column was recorded; a stage that changes nothing tells only in its place."""
        places = set(self.places(rows)) - {(column, 0)}
        if column not in (name for name, _ in self.places(rows, is_whole=True)):
            return bool(places)
        return any(name == stage for name, _ in places) or bool(places & self._slots(stage))

    def _slots(self, stage: str) -> set[tuple[str, int]]:
        """Where the newest frame of a term may stand in a recorded input of a network, in any layout and order of a history."""
        found = set()
        inputs = (self.graph[name] for name in self.contract.system.network_inputs)
        for taker in (each for each in inputs if stage in each.needs):
            widths = [self.contract.fields(name).width for name in taker.needs]
            place = taker.needs.index(stage)
            before, all_terms = sum(widths[:place]), sum(widths)
            length = self.contract.fields(taker.name).width // max(all_terms, 1)
            last = length - 1
            starts = (length * before, length * before + last * widths[place], before, last * all_terms + before)
            found |= {(self.named.get(taker.name, taker.name), start) for start in starts}
        return found

    def _candidates(self, name: str) -> list[str]:
        width = self.contract.fields(name).width
        taken = set(self.columns.values())
        fitting = [column for column, rows in self.rows.items() if rows.shape[1] == width and column not in taken]
        own = [
            column for column in fitting if column == name or column not in self.graph.names
        ]  # else it says another's
        return sorted(own or fitting, key=lambda column: -self.likeness(name, column))

    def _behind(self, name: str) -> list[str]:
        """The stages made of a vector, and of nothing else that is not known yet."""
        can, found = {*self.known, name}, []
        for stage in self.graph:
            if stage.compute is None or stage.name in can or not stage.needs or stage.name in self.graph.answers:
                continue
            if all(need in can for need in stage.needs):
                can.add(stage.name)
                if name in stage.needs or any(need in found for need in stage.needs):
                    found.append(stage.name)
        return found

    def _choices(self, stages: Sequence[str]) -> Iterator[dict[str, Any]]:
        own = {knob.name: knob for stage in stages for knob in self.graph[stage].every_knob}
        is_open = self.contract.system.left_open
        knobs = [knob for name, knob in own.items() if name in is_open and name not in self.words]
        assumed = [sorted(knob.values, key=lambda value, knob=knob: value != knob.default) for knob in knobs]  # type: ignore[misc]
        for values in islice(product(*assumed), _MOST):
            yield {knob.name: value for knob, value in zip(knobs, values, strict=True)}

    def _made(
        self, known: Mapping[str, FloatArray], stages: Sequence[str], words: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        recorded = {name: rows.astype(np.float32) for name, rows in known.items()}
        evidence = Evidence(self.frame, self.contract.fps or 1.0, "teacher", recorded)
        frames = ReplayedFrames(evidence, self.contract.with_conventions({**self.words, **words}))
        made = {stage: rows for stage in stages if (rows := frames.computed(stage)) is not None}
        return {stage: rows.astype(np.float64) for stage, rows in made.items() if np.isfinite(rows).all()}

    def places(self, rows: FloatArray, *, is_whole: bool = False) -> list[tuple[str, int]]:
        """Columns, and where in them, that hold these numbers in every frame; none of what never changes.

        is_whole: only columns of the same width, of numbers that stand still too.
        """
        if not is_whole and not np.ptp(rows, axis=0).any():
            return []
        width, near = rows.shape[1], SAME * float(np.abs(rows).max(initial=0.0))
        found = []
        for column, held in self.rows.items():
            last = held.shape[1] - width
            for start in range(int(last == 0) if is_whole else last + 1):
                window = held[:, start : start + width]
                if (np.abs(window[0] - rows[0]) <= near).all() and (np.abs(window - rows) <= near).all():
                    found.append((column, start))
        return found

    def _equal(self, name: str, rows: FloatArray) -> Iterator[str]:
        """The columns that hold a stage; of constants, which are equal by chance or exchanged, those that are called like it."""
        moves = bool(np.ptp(rows, axis=0).any())
        for column, _ in self.places(rows, is_whole=True):
            if moves or self.likeness(name, column) > 0.0:
                yield column

    def _pair_stages(self) -> None:
        stages = [stage.name for stage in self.graph if stage.compute is not None and stage.name not in self.known]
        made = self._made(self.known, stages, {})
        equal = {name: list(self._equal(name, rows)) for name, rows in made.items()}
        for name, rows in made.items():
            if name in self.rows and name not in equal[name] and self.places(rows):
                self.misnamed.append(name)
        kept = {name for name in self.graph.names if name in self.rows and name not in self.misnamed}
        taken = set(self.columns.values())
        for name in stages:
            own = [each for each in equal.get(name, ()) if each == name or each not in taken | kept]
            if name in own or (name in kept and name not in taken):
                self.columns[name] = name
            elif own:
                self.columns[name] = max(own, key=lambda column, name=name: self.likeness(name, column))  # type: ignore[misc]
            taken.add(self.columns.get(name, name))
        held = {column for columns in equal.values() for column in columns} | taken
        for name in stages:
            column = self.named.get(name)
            if name not in self.columns and column is not None and column not in held:
                self.columns[name] = column
                taken.add(column)
        for name, rows in made.items():
            if name not in self.columns and not equal[name] and not self.places(rows):
                self._pair_similar(name, rows, taken | kept)

    def _pair_similar(self, name: str, rows: FloatArray, taken: set[str]) -> None:
        """A column that moves as a stage does, and is not another vector: it may be the stage, computed wrongly."""
        left = [each for each, held in self.rows.items() if each not in taken and held.shape == rows.shape]
        alike = {each: _similarity(self.rows[each], rows) for each in left}
        best = max(left, key=lambda each: (alike[each], self.likeness(name, each)), default=None)
        if best is not None and alike[best] > _SIMILAR:
            self.columns[name] = best
            taken.add(best)


_SIMILAR = 0.5
"""The mean correlation of the channels from which a column may be a stage."""


def _similarity(one: FloatArray, other: FloatArray) -> float:
    a, b = (rows - rows.mean(axis=0) for rows in (one, other))
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    moves = size > 0.0
    return float(((a * b).sum(axis=0)[moves] / size[moves]).mean()) if moves.any() else 0.0
