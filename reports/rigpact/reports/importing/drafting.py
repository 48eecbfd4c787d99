"""`rigpact init --contract`: a first declaration from what lies in a folder: models, a recording, statistics.

Only what the files show is written; everything that is concluded from numbers or names is marked GUESSED, everything that must be
found out LEFT OPEN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, read_json
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.named_columns import CLOCK, vectors_of
from rigpact.reference_runtime.recordings.tables import column_suffixes
from rigpact.reports.importing.draft import Draft, Entry, lower_word, word
from rigpact.reports.importing.model_beside import Model, read_model_beside


@dataclass(eq=False)
class _Folder:
    """What lies in the folder. rows: the recorded vectors by name, (T, width)."""

    path: Path
    models: Sequence[Model]
    statistics: Sequence[Statistics]
    recording: Path | None
    rows: Mapping[str, FloatArray]
    used: set[str] = field(default_factory=set)

    def statistics_of(self, width: int | None, name: str) -> Sequence[Statistics]:
        """The statistics of that width; the ones that name the tensor, if some do."""
        fitting = [each for each in self.statistics if each.width == width]
        named = [each for each in fitting if each.label and each.label in name.lower()]
        return named or fitting


def draft_of_folder(folder: Path) -> Draft:
    """A declaration of the networks in a folder; UnusableInput where there is none."""
    found = _look(folder)
    draft = Draft(lower_word(folder.resolve().name, "contract"), f"drafted from {folder.resolve().name}")
    draft.header = [
        f"Drafted by `rigpact init --contract` from {', '.join(_names_of(found))}.",
        "GUESSED marks what is concluded from names or numbers, LEFT OPEN what must be found out. Then: rigpact check.",
    ]
    draft.fps = _rate(found)
    if draft.fps is None:
        draft.header.append("LEFT OPEN: fps. Write the number of frames a second, fps = 60")
    for model in found.models:
        _network(draft, found, model, is_alone=len(found.models) == 1)
    _recordings(draft, found)
    return draft


def _look(folder: Path) -> _Folder:
    if not folder.is_dir():
        raise UnusableInput(folder, "no folder", "the folder that holds the model")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    models = [read_model_beside(path) for path in files if path.suffix.lower() == ".onnx"]
    if not models:
        names = ", ".join(path.name for path in files[:8]) or "nothing"
        raise UnusableInput(
            folder, names, "an .onnx file", "`rigpact import` reads files of weights and other stacks' files"
        )
    statistics = [each for path in files for each in find_statistics(path, folder)]
    own = {each.path for each in statistics}
    recordings = [path for path in files if path.name.lower().endswith(column_suffixes()) and path not in own]
    for path in recordings:
        rows = vectors_of(path)
        lengths = {len(each) for each in rows.values()}
        if len(lengths) == 1 and lengths.pop() > 1:
            return _Folder(folder, models, statistics, path, rows)
    return _Folder(folder, models, statistics, None, {})


def _names_of(found: _Folder) -> list[str]:
    paths = [*(model.path for model in found.models), found.recording, *(each.path for each in found.statistics)]
    return list(dict.fromkeys(path.name for path in paths if path is not None))


def _rate(found: _Folder) -> float | None:
    time = next((found.rows[name] for name in CLOCK[2:] if name in found.rows), None)
    if time is None or time.shape[1] != 1:
        return None
    step = float(np.median(np.diff(time[:, 0])))
    return round(1.0 / step, 3) if 1e-5 < step < 10.0 else None


def _network(draft: Draft, found: _Folder, model: Model, *, is_alone: bool) -> None:
    name = "policy" if is_alone else word(model.path.stem, "network")
    inputs = {each: _input(draft, found, model, each, width) for each, width in model.inputs.items()}
    outputs = []
    for each, width in model.outputs.items():
        outputs.append(draft.free_name(word(each, "output")))
        draft.stages.append(Entry({"name": outputs[-1], "operation": "network", **_answer_fields(draft, model, width)}))
    for each, stage in zip(model.outputs, outputs, strict=True):
        _denormalised(draft, found, each, stage, model.outputs[each])
    _feed_back(draft, found, outputs)
    table: dict[str, Any] = {"file": model.path.name, "inputs": inputs, "outputs": outputs}
    draft.networks[name] = Entry(table)


def _answer_fields(draft: Draft, model: Model, width: int | None) -> dict[str, Any]:
    """Names of the metadata that are as many as the numbers, else the size."""
    if width is None:
        raise UnusableInput(model.path, "an output of a free width", "fixed axes behind the rows")
    for key, text in sorted(model.metadata.items()):
        names = [each.strip() for each in text.split(",")]
        if width > 1 and "name" in key and len(names) == width == len(set(names)) and all(names):
            return {"names": draft.list_of(names, word(key, "names"))}
    return {"size": width}


def _input(draft: Draft, found: _Folder, model: Model, name: str, width: int | None) -> str:
    """The stage that the network takes: normalised if statistics fit, put together if the recording shows of what."""
    if width is None:
        raise UnusableInput(model.path, f"the input {name} of a free width", "fixed axes behind the rows")
    vector = draft.free_name(word(name, "input"))
    fitting = found.statistics_of(width, name)
    statistics = fitting[0] if len(fitting) == 1 else None
    raw = vector if statistics is None else draft.free_name(f"{vector}_raw")
    _source(draft, found, name, raw, width, statistics)
    if statistics is not None:
        _add_statistics(draft, statistics)
        draft.compute(
            vector, "normalise", raw, f"GUESSED: {statistics.path.name} has a mean and a std of {width} numbers",
            mean=statistics.mean_name, std=statistics.std_name,
        )  # fmt: skip
    elif fitting:
        names = ", ".join(each.mean_name for each in fitting)
        draft.header.append(f"LEFT OPEN: several statistics of {width} numbers fit {name}: {names}")
    return vector


def _add_statistics(draft: Draft, statistics: Statistics) -> None:
    draft.numbers[statistics.mean_name] = Entry({"": {"file": statistics.file, "at": statistics.mean_at}})
    draft.numbers[statistics.std_name] = Entry({"": {"file": statistics.file, "at": statistics.std_at}})


def _source(draft: Draft, found: _Folder, name: str, raw: str, width: int, statistics: Statistics | None) -> None:
    """The vector before statistics: end to end of recorded columns if the recording shows it, else given."""
    recorded = found.rows.get(name)
    rows = None if recorded is None or recorded.shape[1] != width else recorded
    if rows is not None and statistics is not None:
        rows = rows * statistics.std + statistics.mean
    others = {each: values for each, values in found.rows.items() if each not in (name, *CLOCK)}
    blocks = [] if rows is None else blocks_of(rows, others)
    if blocks and _covers(blocks, width) and len(blocks) > 1:
        for block in blocks:
            _give_column(draft, found, block.name)
        comment = "GUESSED: in the recording these columns stand in it end to end, with the same numbers"
        draft.compute(raw, "concatenate", [word(block.name, "column") for block in blocks], comment)
        return
    shown = ", ".join(f"{each.start}:{each.stop} = {each.name}" for each in blocks)
    comments = [f"LEFT OPEN: write the stages that make {raw}; then it is no longer given"]
    comments += [f"GUESSED: the recording holds {shown}"] if shown else []
    draft.give(raw, *comments, size=width)


def _covers(blocks: Sequence[Block], width: int) -> bool:
    ends = [0, *(block.stop for block in blocks)]
    return ends[-1] == width and all(block.start == end for block, end in zip(blocks, ends, strict=False))


def _give_column(draft: Draft, found: _Folder, column: str) -> None:
    rows = found.rows[column]
    comments = []
    if rows.shape[1] == 4 and is_unit_length(rows):
        comments.append(
            'GUESSED: a quaternion (its length is 1). LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw"'
        )
    draft.give(word(column, "column"), *comments, size=int(rows.shape[1]))


def _feed_back(draft: Draft, found: _Folder, outputs: Sequence[str]) -> None:
    """Given vectors that hold the network's answer of the frame before."""
    for place, entry in enumerate(draft.given):
        name = entry.table["name"]
        rows = next((values for column, values in found.rows.items() if word(column, "column") == name), None)
        source = None if rows is None or "carried" in entry.table else previous_of(rows, found.rows, outputs)
        if source is None or rows is None:
            continue
        start = {"start": "zeros"} if not rows[0].any() else {}
        said = "GUESSED: in the recording it is the answer of the frame before"
        said += "" if start else ". LEFT OPEN: start, what it holds in the first frame"
        draft.given[place] = Entry({**entry.table, "carried": source, **start}, (said,))


def _denormalised(draft: Draft, found: _Folder, name: str, stage: str, width: int | None) -> None:
    inputs = {size for model in found.models for size in model.inputs.values()}
    fitting = found.statistics_of(width, name)
    if len(fitting) != 1 or (width in inputs and not fitting[0].label):
        return
    statistics = fitting[0]
    if statistics.mean_name in draft.numbers:
        return
    _add_statistics(draft, statistics)
    draft.compute(
        draft.free_name(f"{stage}_raw"), "denormalise", stage,
        f"GUESSED: {statistics.path.name} has a mean and a std of {width} numbers",
        mean=statistics.mean_name, std=statistics.std_name,
    )  # fmt: skip


def _recordings(draft: Draft, found: _Folder) -> None:
    """The columns that no vector takes, for the stages that are still to be written."""
    if found.recording is None:
        draft.notes.append("no recording lies here: with one, init looks for the parts of the network's input")
        return
    names = {entry.table["name"]: entry for entry in (*draft.given, *draft.stages)}
    draft.recordings = {word(name, "column"): name for name in found.rows if word(name, "column") != name}
    draft.recordings = {vector: name for vector, name in draft.recordings.items() if vector in names}
    left = [
        f"{name} ({rows.shape[1]}{', length 1: a quaternion?' if rows.shape[1] == 4 and is_unit_length(rows) else ''})"
        for name, rows in found.rows.items()
        if word(name, "column") not in names and name not in CLOCK
    ]
    if left:
        draft.recordings_comments = [
            f"Columns of {found.recording.name} that belong to no vector yet: {', '.join(left)}."
        ]


_SAME = 2.0**-18
"""Relative to the largest number: a float32 that went through a mean and a std and back, and a little more."""


@dataclass(frozen=True)
class Block:
    """Columns start:stop of a vector hold a recorded vector."""

    name: str
    start: int
    stop: int


def blocks_of(rows: FloatArray, others: Mapping[str, FloatArray]) -> list[Block]:
    """Where each of the other vectors stands in `rows`, in order; one that stands nowhere, or never changes, is left out."""
    found: list[Block] = []
    for name, values in sorted(others.items(), key=lambda each: -each[1].shape[1]):
        width = values.shape[1]
        if not np.any(values != values[0]):
            continue
        for start in range(rows.shape[1] - width + 1):
            is_free = all(start + width <= each.start or each.stop <= start for each in found)
            if is_free and is_same(rows[:, start : start + width], values):
                found.append(Block(name, start, start + width))
                break
    return sorted(found, key=lambda block: block.start)


def is_same(one: FloatArray, other: FloatArray) -> bool:
    """Whether two recorded vectors hold the same numbers, but for rounding."""
    largest = float(np.abs(other).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=_SAME, atol=_SAME * largest))


def previous_of(rows: FloatArray, recorded: Mapping[str, FloatArray], outputs: Sequence[str]) -> str | None:
    """The answer whose numbers of the frame before these rows hold."""
    for name, values in recorded.items():
        if word(name, "output") not in outputs or values.shape != rows.shape or len(rows) < 3:
            continue
        if np.any(values[1:] != values[0]) and np.array_equal(rows[1:], values[:-1]):
            return word(name, "output")
    return None


def is_unit_length(rows: FloatArray) -> bool:
    """Whether each row has the length 1, within what storing as float32 rounds."""
    return bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-4))


_MEAN, _STD = ("mean", "mu"), ("std", "sigma")
_SUFFIXES = (".npz", ".safetensors", ".json")


@dataclass(frozen=True, eq=False)
class Statistics:
    """A mean and a std: their file, their places in it, the word that both names share."""

    path: Path
    file: str
    label: str
    mean_at: str
    std_at: str
    mean: FloatArray
    std: FloatArray

    @property
    def width(self) -> int:
        """How many numbers each has."""
        return int(self.mean.size)

    @property
    def mean_name(self) -> str:
        """A name among the declaration's numbers."""
        return word(f"{self.label}_mean" if self.label else "mean", "mean")

    @property
    def std_name(self) -> str:
        """A name among the declaration's numbers."""
        return word(f"{self.label}_std" if self.label else "std", "std")


def find_statistics(path: Path, folder: Path) -> Iterator[Statistics]:
    """The pairs that a file holds; none where it is no such file."""
    if path.suffix.lower() not in _SUFFIXES:
        return
    vectors = dict(_vectors(path))
    for key, mean in vectors.items():
        for one, other in zip(_MEAN, _STD, strict=True):
            partner = _partner(key, one, (other, *_STD), vectors)
            if partner is not None and vectors[partner].size == mean.size:
                label = re.sub(r"[^a-z0-9]+", "_", re.sub(one, "", key.lower())).strip("_")
                yield Statistics(path, path.relative_to(folder).as_posix(), label, key, partner, mean, vectors[partner])
                break


def _partner(key: str, one: str, others: tuple[str, ...], vectors: Mapping[str, FloatArray]) -> str | None:
    """The key that says std where this one says mean."""
    if one not in key.lower():
        return None
    for other in others:
        wanted = key.lower().replace(one, other)
        found = next((each for each in vectors if each.lower() == wanted), None)
        if found is not None:
            return found
    return None


def _vectors(path: Path) -> Iterator[tuple[str, FloatArray]]:
    if path.suffix.lower() == ".json":
        entries: Mapping[str, Any] = _lists(read_json(path).data)
    else:
        try:
            arrays = read_arrays(read_bytes(path), path)
        except UnusableInput:
            return  # a file that holds no arrays is no statistics; reading it as a recording says what is wrong
        entries = arrays if isinstance(arrays, Mapping) else {}
    for name, value in entries.items():
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.ndim <= 1 and array.size and np.isfinite(array).all():
            yield str(name), array.astype(np.float64).reshape(-1)


def _lists(root: Any, prefix: str = "") -> dict[str, Any]:
    """The lists of numbers of a JSON object and of the objects in it, by their path."""
    found: dict[str, Any] = {}
    for key, value in root.items() if isinstance(root, dict) else ():
        if isinstance(value, dict) and not prefix:
            found |= _lists(value, f"{prefix}/{key}")
        elif isinstance(value, list) and value and all(type(each) in (int, float) for each in value):
            found[f"{prefix}/{key}" if prefix else key] = np.array(value, np.float64)
    return found
