"""RP720 to RP730: recordings and data sets of the hosted systems, judged by the declared kind of each field.

Training also runs on a data set of a single pose, on a packet of zeros, or on quaternions of length 0, and its loss falls.
The rules take rows as arrays; they do not read files.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Need, Rules, answers
from rigpact.contract.rules.system_view import RecordedRows
from rigpact.contract.rules.wording import at_first, listed
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.system import System

rules = Rules("system_data")


UNIT_WITHIN = 1e-3
"""Six printed digits of four numbers, composed a few times, stay far below this; a quaternion of another order does not."""
FEWEST_ROWS = 16
"""With fewer rows, the rules do not judge variety: a short recording may stand still."""
LEAST_DIFFERENT = 0.05
_UNIT_RULE: Mapping[FieldKind, Rule] = {
    FieldKind.QUATERNION_XYZW: rules.QUATERNION_NOT_UNIT,
    FieldKind.DIRECTION: rules.DIRECTION_NOT_UNIT,
}


def _check_recording(contract: Contract, recorded: RecordedRows) -> Iterator[Finding]:
    """Judge a recording; one that holds only the stages up to the network's answer is a data set, its answers are labels."""
    system, path = contract.system, recorded.path
    if recorded.system != system.name:
        found = recorded.system or "no declared system"
        yield rules.OTHER_SYSTEM.at(path, "/system", found=found, expected=system.name)
        return
    yield from _check_header(contract, recorded)
    graph = system.graph
    behind = set(graph.names) - set(graph.given) - set(graph.answers) - _before_the_model(system)
    is_data_set = not behind & set(recorded.stages)
    varied = {*graph.given, *system.inputs} - set(system.outputs) if is_data_set else set()
    found_in_rows = list(_check_rows(contract, recorded, varied))
    yield from found_in_rows
    if is_data_set and not any(each.rule is rules.NOT_FINITE for each in found_in_rows):
        for problem in system.data_problems(contract, recorded.stages):  # what the system's own gate finds in its data
            values = {"found": problem.found, "expected": problem.expected, "consequence": problem.why}
            yield rules.DATA_CONTRADICTS.at(path, f"/stages/{problem.pointer.lstrip('/')}", **values)


def _check_header(contract: Contract, recorded: RecordedRows) -> Iterator[Finding]:
    meaning, own = recorded.meaning_sha256, contract.sha256
    has_same_meaning = meaning is not None and meaning == contract.hashes["meaning_sha256"]
    if recorded.contract_sha256 not in (None, own) and not has_same_meaning:
        found = str(recorded.contract_sha256)[:12]
        yield rules.OTHER_CONTRACT.at(recorded.path, "/contract/bundle_sha256", found=found, expected=own[:12])
    if recorded.truncation:
        yield answers.CUT_OFF.at(recorded.path, "", holder=recorded.path.name, truncation=recorded.truncation)


def _before_the_model(system: System) -> set[str]:
    """The model's inputs, and every stage from which they are computed."""
    found: set[str] = set()
    open_names = list(system.inputs)
    while open_names:
        name = open_names.pop()
        found.add(name)
        open_names += [each for each in system.graph[name].needs if each not in found]
    return found


@dataclass(frozen=True, eq=False)
class _Vector:
    """A recorded vector: rows (T, width), and how far each number may be from the one that was written."""

    path: Path
    name: str
    layout: FieldLayout
    rows: FloatArray
    off: FloatArray


def _check_rows(contract: Contract, recorded: RecordedRows, varied: Collection[str]) -> Iterator[Finding]:
    """Yield every finding about recorded rows; every vector is one of the contract's.

    varied: vectors that training learns from, so that their rows must not be one pose.
    """
    for name, rows in recorded.stages.items():
        off = np.zeros(rows.shape) if recorded.lost is None else recorded.lost(rows)
        vector = _Vector(recorded.path, name, contract.fields(name), rows, off)
        not_finite = list(_check_finite(vector))
        yield from not_finite
        if not not_finite:
            for field in vector.layout:
                yield from _check_field(vector, field)
            if name in varied:
                yield from _check_variety(vector)


def _check_finite(vector: _Vector) -> Iterator[Finding]:
    rows, place = vector.rows, ("stages", vector.name, lambda _, channel: channel)
    values = {"address": lambda _, channel: vector.layout.address(channel), "value": lambda *place: str(rows[place])}
    yield from at_first(
        rules.NOT_FINITE, vector.path, place, ~np.isfinite(rows), "", "row", vector=vector.name, **values
    )


def _check_field(vector: _Vector, field: Field) -> Iterator[Finding]:
    values, off = vector.rows[:, field.range].astype(np.float64), vector.off[:, field.range]
    place, texts = ("stages", vector.name, field.start), {"vector": vector.name, "field": field.name}
    if field.kind in _UNIT_RULE:
        lengths = np.sqrt(np.sum(values**2, axis=1))
        bad = np.abs(lengths - 1.0) > UNIT_WITHIN + np.linalg.norm(off, axis=1)
        yield from at_first(_UNIT_RULE[field.kind], vector.path, place, bad, "", "row", length=lengths, **texts)
    elif field.kind is FieldKind.FLAG:
        between = (values != 0.0) & (values != 1.0)
        yield from at_first(rules.FLAG_IN_BETWEEN, vector.path, place, between, "", "row", value=values, **texts)
    elif field.low is not None or field.high is not None:
        low, high = (-np.inf if field.low is None else field.low), (np.inf if field.high is None else field.high)
        bad, here = (values + off < low) | (values - off > high), lambda _, inner: field.start + inner
        shown = {"address": lambda _, inner: vector.layout.address(field.start + inner), "low": low, "high": high}
        yield from at_first(
            rules.OUT_OF_RANGE, vector.path, (*place[:2], here), bad, "", "row", value=values, **shown, **texts
        )


def _check_variety(vector: _Vector) -> Iterator[Finding]:
    rows, layout, place = vector.rows, vector.layout, ("stages", vector.name)
    count, width = rows.shape
    if count < FEWEST_ROWS:
        return
    unique = len(np.unique(np.round(rows.astype(np.float64), 6), axis=0))
    if unique < max(2, LEAST_DIFFERENT * count):
        yield rules.ONE_POSE.at(vector.path, place, vector=vector.name, unique=unique, rows=count)
        return
    filled = np.flatnonzero((rows != 0.0).any(axis=0))
    start = int(filled[-1]) + 1 if len(filled) else 0
    if width - start > width // 4:
        values = {"vector": vector.name, "start": start, "address": layout.address(start)}
        yield rules.ALL_ZERO.at(vector.path, (*place, start), rows=count, **values)
        return
    dead = np.flatnonzero(np.ptp(rows, axis=0) == 0.0).tolist()
    if dead:
        values = {"vector": vector.name, "count": len(dead), "width": width, "rows": count}
        fields = listed([layout.address(channel) for channel in dead])
        yield rules.DEAD_COLUMNS.at(vector.path, (*place, dead[0]), fields=fields, **values)


FAMILY = rules.family("FAMILY", (Need.SYSTEM_CONTRACT, Need.SYSTEM_DATA), _check_recording)
