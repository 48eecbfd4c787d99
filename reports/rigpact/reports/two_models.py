"""Two ONNX models and no contract: the first value that parts, of those that both compute under one name.

Both are given the same drawn rows. The first value that parts and the answers are then compared as the arrays of two files are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import ModelSignature, read_model_signature
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.two_files import Arrays, TwoFiles, TwoFilesRequest, compare_arrays, rounding_of
from rigpact.reports.nonfinite.network_node import ObservedModel, Values

_ROWS = 16
"""Rows that are drawn: enough for an exchange of columns to be no chance."""


def compare_models(request: TwoFilesRequest) -> TwoFiles:
    """Compare two models on drawn rows; UnusableInput where they take other inputs or compute nothing under one name."""
    paths = (request.a, request.b)
    drawn = list(_drawn(*map(read_model_signature, paths)))
    graphs = [ObservedModel(path) for path in paths]
    both = {*graphs[0].computed} & {*graphs[1].computed} & {*(request.only or graphs[0].computed)}
    own, theirs = (_computed(graph, [name for name in graphs[0].computed if name in both], drawn) for graph in graphs)
    shared = [name for name in own if name in theirs and own[name].shape == theirs[name].shape]
    if not shared:
        raise UnusableInput(
            request.b, "no value of the name and size of one of the first model", "a value that both compute"
        )
    first = next((name for name in shared if _parts(own[name], theirs[name], request.tolerance)), None)
    shown = (
        shared if first is None else [first, *(name for name in graphs[0].outputs if name in shared and name != first)]
    )
    a, b = (
        _arrays(path, {name: held[name] for name in shown}) for path, held in zip(paths, (own, theirs), strict=True)
    )
    found = compare_arrays(a, b, None, request.tolerance, request.millions)
    notes = [f"{_ROWS} drawn rows were given to both; {len(shared)} values stand under one name in both"]
    return replace(found, notes=(*notes, *([] if first is None else _origin(first, *graphs)), *found.notes))


def _drawn(a: ModelSignature, b: ModelSignature) -> Iterator[list[FloatArray]]:
    """The inputs of each run: all rows at once, or one run for each row of a model of one row."""
    said = [", ".join(f"{each.name} {each.dtype} {list(each.shape)}" for each in side.inputs) for side in (a, b)]
    if [each.shape[1:] for each in a.inputs] != [each.shape[1:] for each in b.inputs]:
        raise UnusableInput(b.path, f"the inputs {said[1]}", f"those of {a.path.name}: {said[0]}")
    fixed = [each for each in (*a.inputs, *b.inputs) if each.shape and isinstance(each.shape[0], int)]
    rows = 1 if fixed else _ROWS
    inner = [tuple(size for size in each.shape[1:] if isinstance(size, int)) for each in a.inputs]
    is_drawn = (
        each.dtype == "float32" and len(own) == len(each.shape) - 1 for each, own in zip(a.inputs, inner, strict=True)
    )
    if not all(is_drawn):
        raise UnusableInput(a.path, f"the inputs {said[0]}", "rows of float32 of fixed widths, which can be drawn")
    if any(each.shape[0] != 1 for each in fixed):
        raise UnusableInput(fixed[0].name, f"{fixed[0].shape[0]} rows at once", "one row, or any number of them")
    random = np.random.default_rng(0)
    for _ in range(_ROWS // rows):
        yield [random.normal(size=(rows, *each)).astype(np.float32) for each in inner]


def _computed(graph: ObservedModel, names: list[str], drawn: list[list[FloatArray]]) -> Values:
    """The values of some names, (rows, width) each; those that have no row for each row of the inputs are left out."""
    run = graph.prepared(names)
    made = [run(inputs) for inputs in drawn]
    found: Values = {}
    for name in names:
        pieces = [each[name] for each in made]
        if all(each.dtype.kind == "f" and each.ndim and len(each) == len(drawn[0][0]) for each in pieces):
            found[name] = np.concatenate([each.reshape(len(each), -1) for each in pieces])
    return found


def _parts(own: FloatArray, theirs: FloatArray, tolerance: float | None) -> bool:
    limit = rounding_of(own) if tolerance is None else tolerance
    return not bool(np.all((np.abs(own - theirs) <= limit) | (own == theirs) | (np.isnan(own) & np.isnan(theirs))))


def _arrays(path: Path, rows: Mapping[str, FloatArray]) -> Arrays:
    labels = {name: tuple(f"{name}[{place}]" for place in range(each.shape[1])) for name, each in rows.items()}
    return Arrays(path, {name: each.astype(np.float64) for name, each in rows.items()}, labels, None)


def _origin(first: str, a: ObservedModel, b: ObservedModel) -> Iterator[str]:
    """Which node makes the first value that parts, and which of its weights are others in the second model."""
    node = next(each for each in a.nodes if first in each.outputs)
    yield f"the first that parts is {first}, of the node {node.name or first} ({node.op})"
    for name in node.inputs:
        own, theirs = a.weights.get(name), b.weights.get(name)
        if own is not None and theirs is not None and own.shape == theirs.shape and (own != theirs).any():
            yield f"its weight {name} is another in {int((own != theirs).sum())} of {own.size} numbers"
