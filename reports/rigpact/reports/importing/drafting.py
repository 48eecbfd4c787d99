"""`rigpact init`: a first declaration from what lies in a folder: models, a recording, statistics.

Only what the files show is written; everything that is concluded from numbers or names is marked GUESSED, everything that must be
found out LEFT OPEN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Kind
from rigpact.contract.errors import ModelFailed, UnusableInput
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.named_columns import CLOCK, NoVector
from rigpact.reference_runtime.recordings.opened import labelled_vectors, listed_endings, open_file
from rigpact.reference_runtime.recordings.precision import precision_of
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.importing.columns_by_value import SAME, StatisticsPair, find_statistics
from rigpact.reports.importing.draft import Draft, Entry, lower_word, mark_unusual, unlike, word
from rigpact.reports.importing.formats import Imported, drafted_contract, finished
from rigpact.reports.importing.segments import is_quaternion
from rigpact.reports.importing.stages import Columns, is_read_by, own_names
from rigpact.reports.importing.values import ImportRequest, Model, read_model_beside

# Which recorded columns a model takes and gives: by running it on them, else by name, else by the only fitting width
_ROWS, _MOST = 6, 64
_NEAR = 1e-3
"""Relative to the largest answer: far above rounding, far below what another column gives."""
Rows = Mapping[str, FloatArray]
_session = cache(open_session)


def columns_of_tensors(model: Model, rows: Rows) -> dict[str, str]:
    """Tensor -> column, of inputs and outputs."""
    fitting = [[name for name, each in rows.items() if each.shape[1] == width] for width in model.inputs.values()]
    for named in islice(product(*fitting), _MOST) if all(fitting) and rows else ():
        inputs = dict(zip(model.inputs, named, strict=True))
        outputs = _given(model, inputs, rows) if len(set(named)) == len(named) else None
        if outputs is not None:
            return {**inputs, **outputs}
    widths = {**model.inputs, **model.outputs}
    found = {name: name for name, width in widths.items() if name in rows and rows[name].shape[1] == width}
    for name, width in widths.items():
        alone = [column for column, each in rows.items() if each.shape[1] == width and column not in found.values()]
        if name not in found and len(alone) == 1 and list(widths.values()).count(width) == 1:
            found[name] = alone[0]
    return found


def _given(model: Model, inputs: Mapping[str, str], rows: Rows) -> dict[str, str] | None:
    """Output -> the recorded column that it gives in every frame that is tried; None where one gives none."""
    session = _session(model.path)
    shapes = {each.name: [size if isinstance(size, int) else 1 for size in each.shape] for each in session.get_inputs()}
    count = len(next(iter(rows.values())))
    answers: dict[str, list[FloatArray]] = {name: [] for name in model.outputs}
    frames = np.unique(np.linspace(0, count - 1, _ROWS).astype(int))
    for frame in frames:
        fed = {name: rows[column][frame].astype(np.float32) for name, column in inputs.items()}
        if any(prod(shapes[name]) != each.size for name, each in fed.items()):
            return None
        shaped = {name: each.reshape(shapes[name]) for name, each in fed.items()}
        try:
            values = run_session(session, list(model.outputs), shaped, model.path)
        except ModelFailed:
            return None
        for name, value in zip(model.outputs, values, strict=True):
            answers[name].append(np.asarray(value, np.float64).reshape(-1))
    found = {name: _equal_column(np.array(each), frames, rows) for name, each in answers.items()}
    known = {name: column for name, column in found.items() if column is not None}
    return known if len(known) == len(found) else None


def _equal_column(answer: FloatArray, frames: FloatArray, rows: Rows) -> str | None:
    near = _NEAR * max(float(np.abs(answer).max(initial=0.0)), 1e-6)
    for name, each in rows.items():
        if each.shape[1] == answer.shape[1] and np.abs(each[frames] - answer).max() <= near:
            return name
    return None


@dataclass(eq=False)
class Folder:
    """What lies in a folder. rows: the recorded vectors by name, (T, width); labels: what the file calls their numbers."""

    path: Path
    models: Sequence[Model]
    statistics: Sequence[StatisticsPair]
    recording: Path | None
    rows: Mapping[str, FloatArray]
    labels: Mapping[str, tuple[str, ...]]

    def statistics_of(self, width: int | None, name: str) -> Sequence[StatisticsPair]:
        """The statistics of that width; the ones that name the tensor, if some do."""
        fitting = [each for each in self.statistics if each.width == width and each.is_said]
        named = [each for each in fitting if each.label and each.label in name.lower()]
        return named or fitting


def draft_of_folder(found: Folder, refused: Collection[str] = ()) -> Draft:
    """A declaration of the networks in a folder.

    refused: stages that a trial showed to be wrong.
    """
    folder = found.path.resolve().name
    file = None if found.recording is None else open_file(found.recording)
    own = file.trace.header.system if file is not None and file.kind is Kind.TRACE else None
    draft = Draft(own or lower_word(folder, "contract"), f"drafted from {folder}")
    paths = [*(model.path for model in found.models), found.recording, *(each.path for each in found.statistics)]
    names = dict.fromkeys(path.name for path in paths if path is not None)
    draft.header = [
        f"Drafted by `rigpact init` from {', '.join(names)}.",
        "It states what the recording does, and so every mistake of the side that recorded it. CAUTION marks what looks unusual, "
        "GUESSED conclusions from names or numbers, LEFT OPEN gaps. Units, and what never changed here, no recording says.",
    ]
    draft.fps = _rate(found)
    recorded = {name: rows for name, rows in found.rows.items() if name not in CLOCK and np.isfinite(rows).all()}
    refused_columns = {name for name in recorded if word(name, "column") in refused}
    precision = precision_of({name: rows.astype(np.float32) for name, rows in recorded.items()})
    columns = Columns(draft, recorded, found.labels, _follows(found), found.statistics, refused_columns, precision)
    networks = [_Network(draft, found, columns, model, columns_of_tensors(model, recorded)) for model in found.models]
    for network in networks:
        columns.answers |= {network.columns[each]: network.add for each in network.answered}
        columns.busy |= {network.columns[each] for each in network.model.inputs if each in network.columns}
    for network in networks:
        network.add()
    columns.finish()
    _recordings(draft, found)
    mark_unusual(draft)
    return draft


def _follows(found: Folder) -> NDArray[np.bool_]:
    """(T,): whether the row before is the frame before."""
    count = len(next(iter(found.rows.values()), ()))
    frame = next((found.rows[name][:, 0] for name in CLOCK[:2] if name in found.rows), np.arange(count))
    return np.concatenate(([False], np.diff(frame) == 1)) if count else np.zeros(0, bool)


def look_into(folder: Path, only: Sequence[Path] = ()) -> Folder:
    """The models, the first recording and the statistics of a folder; UnusableInput where no model is there.

    only: the files to look at; empty for all.
    """
    files = sorted(path for path in only or folder.iterdir() if path.is_file())
    models = [read_model_beside(path) for path in files if path.suffix.lower() == ".onnx"]
    if not models:
        names = ", ".join(path.name for path in files[:8]) or "nothing"
        raise UnusableInput(
            folder, names, "an .onnx file", "`rigpact init --from FILE` makes a contract of another stack's file"
        )
    statistics = [each for path in files for each in find_statistics(path, folder)]
    own = {each.path for each in statistics}
    recordings = [path for path in files if path.name.lower().endswith(listed_endings()) and path not in own]
    for path in recordings:
        vectors = labelled_vectors(open_file(path))
        lengths = {len(rows) for rows, _ in vectors.values()}
        if len(lengths) == 1 and lengths.pop() > 1:
            rows = {name: each for name, (each, _) in vectors.items()}
            labels = {name: each for name, (_, each) in vectors.items()}
            return Folder(folder, models, statistics, path, rows, labels)
    return Folder(folder, models, statistics, None, {}, {})


def _rate(found: Folder) -> float | None:
    time = next((found.rows[name] for name in CLOCK[2:] if name in found.rows), None)
    if time is None or time.shape[1] != 1:
        return None
    step = float(np.median(np.diff(time[:, 0])))
    rate = 1.0 / step if 1e-5 < step < 10.0 else None
    return None if rate is None else round(rate) if abs(rate - round(rate)) < 1e-3 * rate else round(rate, 3)


@dataclass(eq=False)
class _Network:
    """A model, and the columns that hold its inputs and outputs, as far as they are known."""

    draft: Draft
    found: Folder
    recorded: Columns
    model: Model
    columns: Mapping[str, str]
    is_there: bool = False

    @property
    def answered(self) -> list[str]:
        """Outputs that were recorded."""
        return [each for each in self.model.outputs if each in self.columns]

    def add(self) -> None:
        """Its inputs, its answers, and itself; once."""
        if self.is_there:
            return
        self.is_there = True
        draft, found, model = self.draft, self.found, self.model
        inputs = {each: self._input(each, width) for each, width in model.inputs.items()}
        outputs = []
        for each, width in model.outputs.items():
            column = self.columns.get(each)
            fields = _answer_fields(draft, model, width)
            if column is not None and "size" in fields:
                fields = self.recorded.numbers_of(column, fields["size"], "policy")
            outputs.append(draft.compute(self._name(each, column, "output"), "network", None, **fields))
            if column is not None:
                self.recorded.made[column] = outputs[-1]
        for each, stage in zip(model.outputs, outputs, strict=True) if found.recording is None else ():
            _denormalised(draft, found, each, stage, model.outputs[each])
        name = "policy" if len(found.models) == 1 else word(model.path.stem, "network")
        bound = dict(zip(model.outputs, outputs, strict=True)) if model.left_out else outputs
        draft.networks[name] = Entry({"file": model.path.name, "inputs": inputs, "outputs": bound})
        if model.left_out:
            draft.notes.append(
                f"of {model.path.name} left out, since no answer needs them: {', '.join(model.left_out)} (inputs that nothing "
                "is computed from, outputs of constants and copies)"
            )

    def _name(self, tensor: str, column: str | None, fallback: str) -> str:
        """The column's name; else the tensor's, unlike every column: a vector of that name would be read from it."""
        if column is not None:
            return self.draft.free_name(word(column, fallback))
        vectors = [entry.table["name"] for entry in (*self.draft.given, *self.draft.stages)]
        return unlike(word(tensor, fallback), [*vectors, *(word(each, "column") for each in self.found.rows)])

    def _input(self, name: str, width: int | None) -> str:
        """The stage that the network takes: normalised if statistics fit, put together if the recording shows of what."""
        draft, found = self.draft, self.found
        if width is None:
            raise UnusableInput(self.model.path, f"the input {name} of a free width", "fixed axes behind the rows")
        column = self.columns.get(name)
        if column is not None and column in self.recorded.made:
            return self.recorded.made[column]
        vector = self._name(name, column, "input")
        if column is not None:
            self.recorded.made[column] = vector
        fitting = found.statistics_of(width, name)
        statistics = fitting[0] if len(fitting) == 1 else None
        if column is not None and not _is_normalised(self.recorded, column, statistics):
            statistics = None
        raw = vector if statistics is None else draft.free_name(f"{vector}_raw")
        self._source(column, raw, width, statistics)
        if statistics is not None:
            statistics.stage(draft, vector, "normalise", raw)
        elif len(fitting) > 1:
            names = ", ".join(each.mean_name for each in fitting)
            draft.header.append(f"LEFT OPEN: several statistics of {width} numbers fit {name}: {names}")
        return vector

    def _source(self, column: str | None, raw: str, width: int, statistics: StatisticsPair | None) -> None:
        """The vector before statistics: made of what was recorded if the recording shows it, else given."""
        if column is not None and self.recorded.input_of(column, raw, *_before(self.recorded.rows[column], statistics)):
            return
        said = f"LEFT OPEN: write the stages that make {raw}; then it is no longer given"
        self.draft.give(raw, said, size=width, left_open=["operation"])


def _before(held: FloatArray, statistics: StatisticsPair | None) -> tuple[FloatArray, FloatArray]:
    """A recorded input before the statistics, and how far they may have moved each number."""
    if statistics is None:
        return held, np.zeros(held.shape)
    before = held * statistics.std + statistics.mean
    return before, np.full(held.shape, SAME * float(np.abs(before).max(initial=0.0)))


def _is_normalised(recorded: Columns, column: str, statistics: StatisticsPair | None) -> bool:
    """Whether a recorded input says less before the statistics than behind them: then they stand between."""
    if statistics is None or column in recorded.refused:
        return False
    held = recorded.rows[column]
    missing, cost = recorded.cost_of(*_before(held, statistics))
    return cost <= held.shape[1] and (missing, cost) < recorded.cost_of(*_before(held, None))


def _answer_fields(draft: Draft, model: Model, width: int | None) -> dict[str, Any]:
    """Names of the metadata that are as many as the numbers, else the size."""
    if width is None:
        raise UnusableInput(model.path, "an output of a free width", "fixed axes behind the rows")
    for key, text in sorted(model.metadata.items()):
        names = [each.strip() for each in text.split(",")]
        if width > 1 and "name" in key and len(names) == width == len(set(names)) and all(names):
            return {"names": draft.list_of(names, word(key, "names"))}
    return {"size": width}


def _denormalised(draft: Draft, found: Folder, name: str, stage: str, width: int | None) -> None:
    inputs = {size for model in found.models for size in model.inputs.values()}
    fitting = found.statistics_of(width, name)
    if len(fitting) != 1 or (width in inputs and not fitting[0].label):
        return
    if fitting[0].mean_name not in draft.numbers:
        fitting[0].stage(draft, draft.free_name(f"{stage}_raw"), "denormalise", stage)


def _recordings(draft: Draft, found: Folder) -> None:
    if found.recording is None:
        draft.notes.append("no recording lies here: with one, init looks for the parts of the network's input")
        return
    names = {entry.table["name"]: entry for entry in (*draft.given, *draft.stages)}
    for column, labels in found.labels.items():
        vector = word(column, "column")
        if vector in names:
            _say_columns(draft, vector, column, labels)
    unused = {
        name: rows for name, rows in found.rows.items() if word(name, "column") not in names and name not in CLOCK
    }
    notes = {name: ", length 1: a quaternion?" if is_quaternion(rows) else "" for name, rows in unused.items()}
    left = [f"{name} ({rows.shape[1]}{notes[name]})" for name, rows in unused.items()]
    if left:
        said = f"Columns of {found.recording.name} that belong to no vector yet: {', '.join(left)}."
        draft.recordings_comments = [said]


def _say_columns(draft: Draft, vector: str, column: str, labels: Sequence[str]) -> None:
    """Under which columns the recording holds a vector, where its own name does not say it; a caution where names contradict."""
    said = draft.names_of(vector) or ()
    names = draft.names[said] if isinstance(said, str) else tuple(said)
    own = own_names(column, labels)
    if is_read_by(column, labels, names):
        draft.recordings |= {vector: column} if vector != column else {}
        return
    draft.recordings[vector] = list(labels)
    if names != own and sorted(names) == sorted(own):
        place = next(place for place, name in enumerate(own) if name != names[place])
        many = sum(name != other for name, other in zip(names, own, strict=True))
        draft.caution(
            vector,
            f"the column {labels[place]} holds the number of {names[place]}, and {many} columns so: numbers in the order of "
            "another list, or columns with wrong names. Here each column is what its number is",
        )


def draft_folder(request: ImportRequest) -> Imported:
    """The contract of a folder, which is the source. UnusableInput where no model lies there."""
    found, refused = look_into(request.source, request.files), set[str]()
    while True:
        draft = draft_of_folder(found, refused)
        tried = drafted_contract(replace(draft, fps=draft.fps or 1.0), request)  # any rate replays a frame
        differ = set() if found.recording is None else _differing(tried, found.recording)
        if differ <= refused:
            return finished(draft, request)
        refused |= differ


def _differing(contract: Contract, recording: Path) -> set[str]:
    try:
        gathered = read_evidence(recording, contract, EvidenceFiles())
    except NoVector:
        return set()
    found = diagnose_gathered(gathered, with_pairs=False, budget=Budget.spent())
    return {stage.stage for stage in found.stages if stage.ok is False}
