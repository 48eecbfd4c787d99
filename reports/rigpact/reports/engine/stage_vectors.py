"""Conformance vectors of a declared system: generated inputs, and the reference's values of each stage.

The inputs are the input stages and the network's answers, so no model is needed. Each number follows its field's kind
and unit. Nothing is random: the same contract gives the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.units import Kind, is_si, sized
from rigpact.reference_runtime.graph.bounds import stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.precision import stored

FRAMES = 4
_SIZES: Mapping[Kind, float] = {"length": 0.4}
"""Positions are as large as a character's limbs, in metres; 1 in metres themselves."""
Rows = Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class StageVectors:
    """Rows (FRAMES, width) by stage: given, expected, and the tolerance; NaN where the tolerance is unknown."""

    given: Rows
    expected: Rows
    tolerance: Rows


def stage_vectors(contract: Contract) -> StageVectors:
    """Evaluate the graph on generated inputs; UnusableInput where no stage can be computed from them."""
    graph = contract.system.graph
    outside = [name for name in graph.names if name in (*graph.given, *graph.answers)]
    given = {name: made_up_rows(contract.fields(name)) for name in outside}
    frames = ReplayedFrames(Evidence(np.arange(FRAMES), contract.fps or 1.0, "teacher", given), contract)
    expected: dict[str, FloatArray] = {}
    bounds: dict[str, FloatArray] = {name: np.zeros(rows.shape) for name, rows in given.items()}
    for stage in graph:
        rows = None if stage.name in given else frames.computed(stage.name)
        if rows is None or not np.isfinite(rows).all():
            continue
        upstream = {name: bounds[name] for name in (*stage.needs, *stage.may_use) if name in bounds}
        expected[stage.name], bounds[stage.name] = rows, stage_bound(stage, frames, rows, upstream)
    if not expected:
        found, wanted = "no stage that made-up inputs lead to", "at least one, to test an engine with"
        raise UnusableInput(contract.path, found, wanted)
    return StageVectors(given, expected, {name: bounds[name] for name in expected})


def made_up_rows(layout: FieldLayout) -> FloatArray:
    """Rows (FRAMES, width) that are legal for every field of a vector."""
    rows = np.zeros((FRAMES, layout.width))
    for field in layout:
        rows[:, field.range] = _field_rows(field)
    return stored(rows)


def _field_rows(field: Field) -> FloatArray:
    waves = np.sin(1.7 * np.arange(field.start, field.stop) + 0.6 * np.arange(1, FRAMES + 1)[:, None])
    if field.kind is FieldKind.FLAG:
        return np.asarray(waves > 0.0, np.float64)
    if field.low is not None and field.high is not None:
        return np.asarray(field.low + (0.5 + 0.4 * waves) * (field.high - field.low))
    rows = _MADE_UP[field.kind](waves) if field.kind in _MADE_UP else waves
    return np.asarray(rows if is_si(field.unit) else sized(field.unit, _SIZES, 1.0) * rows)


def _unit(lead: tuple[float, ...], waves: FloatArray) -> FloatArray:
    """As many unit vectors near `lead` as fit; remaining numbers stay unchanged."""
    size = len(lead)
    whole = waves.shape[1] // size * size
    rows = 0.5 * waves[:, :whole].reshape(len(waves), -1, size) + lead
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.concatenate([rows.reshape(len(waves), whole), waves[:, whole:]], axis=1)


def _axes(waves: FloatArray) -> FloatArray:
    """The two columns of each rotation: unit vectors at right angles."""
    whole = waves.shape[1] // 6 * 6
    pairs = (0.4 * waves[:, :whole]).reshape(len(waves), -1, 2, 3) + np.eye(3)[:2]
    first = pairs[..., 0, :] / np.linalg.norm(pairs[..., 0, :], axis=-1, keepdims=True)
    second = pairs[..., 1, :] - (pairs[..., 1, :] * first).sum(axis=-1, keepdims=True) * first
    second /= np.linalg.norm(second, axis=-1, keepdims=True)
    rows = np.concatenate([first, second], axis=-1).reshape(len(waves), whole)
    return np.concatenate([rows, waves[:, whole:]], axis=1)


_MADE_UP: Mapping[FieldKind, Callable[[FloatArray], FloatArray]] = {
    FieldKind.QUATERNION_XYZW: lambda waves: _unit((0.0, 0.0, 0.0, 1.0), waves),
    FieldKind.DIRECTION: lambda waves: _unit((0.0, 0.0, 1.0), waves),
    FieldKind.ROT6D: _axes,
    FieldKind.PROBABILITY: lambda waves: 0.5 + 0.4 * waves,
    FieldKind.RIG_PARAMETER: lambda waves: 0.5 + 0.4 * waves,
    FieldKind.LOG_VARIANCE: lambda waves: waves - 2.0,
}
"""Kind -> function from waves between -1 and 1 to legal numbers; any other kind keeps the waves."""
