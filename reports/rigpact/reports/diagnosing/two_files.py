"""Two files of named arrays and no contract: where they part, and which edit makes one of the other.

The first file is taken for what should be computed, the second for what was: each array of the second is a stage that copies the
one of the first, and is explained as every other recording is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.declared.reading import declared_contract
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile
from rigpact.contract.findings import EXIT_FINDINGS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import QUATERNIONS, Stage
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.recordings.named_columns import CLOCK
from rigpact.reference_runtime.recordings.opened import labelled_vectors, open_file
from rigpact.reference_runtime.recordings.precision import Precision, precision_of, words_to_precision
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis, StageVerdict, together
from rigpact.reports.diagnosing.diagnosis_text import changes_text, divergence_text, effect_text, remains_texts
from rigpact.reports.diagnosing.relations.relation import listed
from rigpact.reports.diagnosing.script_side import Made, named_script, results_of
from rigpact.reports.terminal import Answer, Figures, Sentence, number_text

# Two files of named arrays in words: each array, where it first differs, what makes one of the other, and the next step.
NEXT = (
    "A contract would say which stage computes it: `rigpact init` drafts one from a model and its recording, "
    "`rigpact init --from deploy.yaml` makes one for a robot."
)


def answer_of_two_files(found: TwoFiles) -> Answer:
    """The arrays, and what makes the second file of the first."""
    return Answer(found.word, found.headline, found.exit_code, tuple(_body(found)))


def _body(found: TwoFiles) -> Iterator[Sentence | Figures]:
    diagnosis, columns = found.diagnosis, ("array", "largest difference", "tolerance", "")
    first, differing = diagnosis.first_divergence, [each for each in diagnosis.stages if each.differs is not None]
    rows = [*map(_row, diagnosis.stages)]
    yield from (Sentence(f"note: {note}", "yellow", 9) for note in found.notes)
    yield Figures(f"Arrays; tolerance: {found.tolerance}", columns, rows)
    yield Figures("", columns, [row for row in rows if row[-1] != "same"], is_short=True)
    yield from (Sentence(f"{each.stage} differs: {each.differs.sentence}", "", 2) for each in differing if each.differs)
    if first is not None:
        yield Sentence(f"First difference: {divergence_text(first)}", "bold", 0)
    if diagnosis.verdict != "explained":  # else the last line says it
        yield from (Sentence(each, "", 1) for each in found.edits)
    yield from (Sentence(f"left: {each}", "", 1) for each in remains_texts(diagnosis))
    if found.exit_code:
        yield Sentence(NEXT, "dim", 3)


def _row(stage: StageVerdict) -> tuple[str, ...]:
    verdict = {True: "same", False: "DIFFERS", None: "not judged"}[stage.ok]
    return stage.stage, number_text(stage.local_error, "not finite"), number_text(stage.tolerance), verdict


_ALIKE = 0.9
"""Arrays of other names are the same array where their numbers rise and fall together: a correlation of this size."""
_ROUNDINGS = 64
"""No contract says what computed a number. A vector turned by a product of two unit quaternions, with its normalisation, takes
fewer roundings of float32 than this, each of a number as large as the largest of its column."""
_UNIT = 1e-3
"""How far the length of four numbers may be from 1: a quaternion of float16 or of four decimals is that near."""
_A = "a_"
"""What the arrays of the first file are called in the contract of the comparison."""


@dataclass(frozen=True)
class Arrays:
    """A file: (T, width) rows by name, what it calls each number, the frame of each row where it says it; notes on its rows."""

    path: Path
    rows: Mapping[str, FloatArray]
    labels: Mapping[str, tuple[str, ...]]
    frame: FloatArray | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path, only: Sequence[str]) -> Arrays:
        """Read a table, a file of arrays or a trace. only: the arrays that are asked for; empty for all."""
        file = open_file(path)
        found = labelled_vectors(file)
        frame = next((found[name][0][:, 0] for name in CLOCK if name in found and found[name][0].shape[1] == 1), None)
        kept = {name: each for name, each in found.items() if name not in CLOCK and (not only or name in only)}
        if not kept:
            raise UnusableInput(path, "no arrays", f"{', '.join(only) or 'arrays or columns of numbers'}")
        rows, labels = {name: own for name, (own, _) in kept.items()}, {name: said for name, (_, said) in kept.items()}
        return cls(path, rows, labels, frame, tuple(f"{path.name}: {note}" for note in file.notes))


@dataclass(frozen=True, eq=False)
class TwoFiles:
    """What was found of two files. notes: what was taken for the same under other names, and what was not compared.

    tolerance: what two equal numbers may differ by, in words.
    """

    diagnosis: Diagnosis
    notes: tuple[str, ...]
    tolerance: str

    @property
    def word(self) -> str:
        """The verdict: SAME, DIFFERS, or UNDETERMINED where a part was not compared."""
        return {0: "SAME", 1: "DIFFERS"}.get(self.exit_code, self.diagnosis.word)

    @property
    def exit_code(self) -> int:
        """The exit status: that something differs is known, also where the search for what explains it was cut."""
        return EXIT_FINDINGS if any(each.ok is False for each in self.diagnosis.stages) else self.diagnosis.exit_code

    @property
    def edits(self) -> list[str]:
        """What makes the second file of the first, a sentence each."""
        changes = [f"with {changes_text(each.changes)} {effect_text(each)}" for each in self.diagnosis.causes]
        return [*changes, *(_of_files(each.sentence, each.stage) for each in self.diagnosis.relations)]

    @property
    def headline(self) -> str:
        """The answer in a sentence: what makes the second file of the first, or which arrays differ."""
        differ = [each.stage for each in self.diagnosis.stages if each.ok is False]
        if self.diagnosis.verdict == "explained":
            return "; ".join(self.edits)
        if differ:
            search = self.diagnosis.search
            cut = f"; not tried: {', '.join(search.not_tried)}" if search is not None and self.diagnosis.is_cut else ""
            more = cut or ("" if self.edits else ", and no known edit makes one of the other")
            return f"{_listed(differ)} of {len(self.diagnosis.stages)} arrays{more}"
        same = f"{len(self.diagnosis.stages)} arrays are the same"
        return same if self.exit_code == 0 else f"{same}, and the rest was not compared"


@dataclass(frozen=True)
class TwoFilesRequest:
    """Two files, of which one may be a function, `FILE.py:FUNCTION`.

    only: the arrays that are asked for; empty for all. state: what the function carries, PARAMETER=RESULT each. resolution: how
    finely the numbers are written; None where they show it. tolerance: how far two numbers may be apart in their own unit; None
    for what rounding does. millions: of numbers that the search may compute; None without a limit.
    """

    a: Path
    b: Path
    only: Sequence[str] = ()
    state: Sequence[str] = ()
    resolution: str | None = None
    tolerance: float | None = None
    millions: float | None = None


def holds_arrays(path: Path) -> bool:
    """Whether a side of a comparison is a function, a model, or a file of named arrays."""
    return named_script(path) is not None or open_file(path).kind in (Kind.COLUMNS, Kind.MODEL)


def compare_files(request: TwoFilesRequest) -> TwoFiles:
    """Compare every array of two files, or what a function makes of a recording's inputs with what the recording holds.

    What only one of two files has leaves the answer undetermined, unless something differs besides.
    """
    paths = (request.a, request.b)
    first, second = (named_script(each, request.state) for each in paths)
    script = first or second
    if script is None:
        if request.state:
            raise UnusableInput("--state", "no function beside it", "FILE.py:FUNCTION as one of the two sides")
        a, b = (Arrays.of(each, request.only) for each in paths)
        return compare_arrays(a, b, request.resolution, request.tolerance, request.millions)
    if first and second:
        raise UnusableInput(request.b, "two functions", "a recording that holds their inputs", "compare each with it")
    recorded = Arrays.of(request.b if first else request.a, ())
    made, held = compared_sides(results_of(script, recorded.rows), recorded, script.path, request.only)
    a, b = (made, held) if first else (held, made)
    return compare_arrays(a, b, request.resolution, request.tolerance, request.millions)


def compared_sides(made: Made, recorded: Arrays, path: Path, only: Sequence[str] = ()) -> tuple[Arrays, Arrays]:
    """What a function made, and the recorded arrays that it is held against; one result of another name by its width."""
    results = made.results
    if len(results) == 1 and not results.keys() & recorded.rows.keys():
        rows = next(iter(results.values()))
        wide = [name for name, own in recorded.rows.items() if own.shape == rows.shape and name not in made.inputs]
        results = {wide[0]: rows} if len(wide) == 1 else results
    shared = [name for name in results if name in recorded.rows and (not only or name in only)]
    if not shared:
        expected = f"a result of the name of a recorded array: {_listed(recorded.rows)}"
        raise UnusableInput(path, f"results named {_listed(results)}", expected, "return {NAME: numbers}")
    labels = {name: recorded.labels[name] for name in shared}
    own = Arrays(path, {name: results[name] for name in shared}, labels, None)
    return own, replace(recorded, rows={name: recorded.rows[name] for name in shared}, labels=labels, frame=None)


def compare_arrays(
    a: Arrays,
    b: Arrays,
    resolution: str | None = None,
    tolerance: float | None = None,
    millions: float | None = None,
) -> TwoFiles:
    """Compare the arrays of two sides: `a` is taken for what should be computed."""
    pairs = dict(_pairs(a, b))
    if not pairs:
        held = f"{_listed(a.rows)} and {_listed(b.rows)}"
        raise UnusableInput(f"{a.path}, {b.path}", held, "an array in both, by its name or its numbers")
    notes = [*a.notes, *b.notes]
    notes += [
        f"{one} of {a.path.name} is taken for {other} of {b.path.name}" for one, other in pairs.items() if one != other
    ]
    lost = [f"{name} stands only in {a.path.name}" for name in a.rows if name not in pairs]
    lost += [f"{name} stands only in {b.path.name}" for name in b.rows if name not in pairs.values()]
    by_length: dict[int, dict[str, FloatArray]] = {}
    for one, other in pairs.items():
        own, theirs = _side_by_side(a, one, b, other)
        rest = sorted({len(a.rows[one]) - len(own), len(b.rows[other]) - len(theirs)} - {0})
        lost += [f"{other}: {' and '.join(map(str, rest))} rows have no partner, and were not compared"] if rest else []
        by_length.setdefault(len(own), {}).update({f"{_A}{other}": own, other: theirs})
    contract, precision = (
        _contract(a, b, pairs, tolerance),
        _precision((*a.rows.values(), *b.rows.values()), resolution),
    )
    parts = [diagnose(_evidence(rows, precision), contract, budget=Budget(millions)) for rows in by_length.values()]
    found = together(parts, contract.system.graph, complete=not lost)
    said = f"{tolerance:g}" if tolerance is not None else "rounding" if precision is None else f"numbers of {precision}"
    return TwoFiles(found, (*notes, *lost), said)


def _pairs(a: Arrays, b: Arrays) -> Iterator[tuple[str, str]]:
    """The same array under its name in both; then, of those that are left, the ones of one shape that are most alike."""
    shared = [name for name in a.rows if name in b.rows and a.rows[name].shape[1] == b.rows[name].shape[1]]
    yield from ((name, name) for name in shared)
    left = [[name for name in side.rows if name not in shared] for side in (a, b)]
    alike = [
        (_likeness(a.rows[one], b.rows[other]), one, other)
        for one in left[0]
        for other in left[1]
        if a.rows[one].shape == b.rows[other].shape
    ]
    taken = set[tuple[int, str]]()
    for likeness, one, other in sorted(alike, key=lambda each: -each[0]):
        if likeness >= _ALIKE and not taken & {(0, one), (1, other)}:
            taken |= {(0, one), (1, other)}
            yield one, other


def _likeness(one: FloatArray, other: FloatArray) -> float:
    """The correlation of all numbers, without sign; 1 of equal arrays that do not move."""
    if np.array_equal(one, other):
        return 1.0
    both = [side.ravel() - side.mean() for side in (one, other)]
    sizes = float(np.linalg.norm(both[0]) * np.linalg.norm(both[1]))
    return abs(float(both[0] @ both[1])) / sizes if sizes > 0.0 else 0.0


def _side_by_side(a: Arrays, one: str, b: Arrays, other: str) -> tuple[FloatArray, FloatArray]:
    """The rows of both that belong together: of the same frame where both say it, else from the first row on."""
    own, theirs = a.rows[one], b.rows[other]
    if a.frame is not None and b.frame is not None and (len(own), len(theirs)) == (len(a.frame), len(b.frame)):
        _, first, second = np.intersect1d(a.frame, b.frame, return_indices=True)
        return own[first], theirs[second]
    count = min(len(own), len(theirs))
    return own[:count], theirs[:count]


def _contract(a: Arrays, b: Arrays, pairs: Mapping[str, str], tolerance: float | None) -> Contract:
    """A contract that says of every array of the second file that it is the one of the first."""
    names = {other: one for one, other in pairs.items()}

    def within(stage: Stage) -> Stage:
        if stage.name not in names:
            return stage
        own = rounding_of(a.rows[names[stage.name]])
        own = own if tolerance is None else np.full_like(own, tolerance)
        measure = QUATERNIONS if _is_unit(a.rows[names[stage.name]]) else stage.measure
        return replace(stage, measure=measure, bound=lambda _frames, rows, _upstream: np.broadcast_to(own, rows.shape))

    given = [{"name": f"{_A}{other}", **_fields(a.rows[one], b.labels[other], other)} for one, other in pairs.items()]
    stages = [{"name": other, "operation": "affine", "of": f"{_A}{other}", "scale": 1} for other in pairs.values()]
    root = {"format": "rigpact-contract", "version": 1, "name": "two_files", "given": given, "stages": stages}
    contract = declared_contract(Document(Kind.DECLARATION, JsonFile(a.path, orjson.dumps(root), root, standard=True)))
    return replace(contract, system=replace(contract.system, stages=tuple(map(within, contract.system.stages))))


def rounding_of(rows: FloatArray) -> FloatArray:
    """How far rounding may move each column, (width,)."""
    size = np.abs(rows)
    return np.asarray(gamma(_ROUNDINGS) * np.max(size, axis=0, where=np.isfinite(size), initial=0.0))


def _fields(rows: FloatArray, labels: tuple[str, ...], name: str) -> dict[str, Any]:
    """The numbers of an array by their names; four that make a unit are a quaternion, whose order its letters say."""
    if _is_unit(rows):
        letters = "".join(label[-1] for label in labels)
        return {"fields": [{"name": name, "kind": f"quaternion_{'xyzw' if letters == 'xyzw' else 'wxyz'}"}]}
    return {"names": list(labels)}


def _is_unit(rows: FloatArray) -> bool:
    return rows.shape[1] == 4 and np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=_UNIT)


def _evidence(rows: Mapping[str, FloatArray], precision: Precision | None) -> Evidence:
    frame = np.arange(len(next(iter(rows.values()))))
    recorded = {name: each.astype(np.float32) for name, each in rows.items()}
    return Evidence(frame, 1.0, "teacher", recorded, precision=precision)


def _precision(arrays: Sequence[FloatArray], resolution: str | None) -> Precision | None:
    """As said, or as the numbers of both files show."""
    if resolution is not None:
        return words_to_precision(resolution)
    return precision_of({str(place): rows.astype(np.float32) for place, rows in enumerate(arrays)})


def _of_files(sentence: str, name: str) -> str:
    """A relation of an array, whose numbers carry its name already, in words of two files."""
    plain = sentence.replace("what it should be", "that of the first file").replace(f"{name} of {name}", name)
    return re.sub(rf"(?<!\w){re.escape(name)}\[({re.escape(name)}\[\d+\])\]", r"\1", plain)


def _listed(names: Iterable[str]) -> str:
    return listed(list(names))
