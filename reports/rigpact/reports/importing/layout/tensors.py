"""Which recorded columns a model takes and gives: by running it on them, else by name, else by the only fitting width."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice, product
from math import prod

import numpy as np

from rigpact.contract.errors import ModelFailed
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.model_beside import Model

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
