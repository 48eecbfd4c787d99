"""RP720 to RP730: recordings and data sets of the hosted systems, judged by the declared kind of each field.

Training also runs on a data set of a single pose, on a packet of zeros, or on quaternions of length 0, and its loss falls.
The rules take rows as arrays; they do not read files.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules import answers
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.system_view import RecordedRows
from rigpact.contract.rules.wording import at_first, listed
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.system import System

NOT_FINITE = Rule.of("""RP720 error system-value-not-finite
    {vector}: {address} is {value} in row {row} ({count} such values)
    hint: find where it is born; rigpact explain names the first stage
    why: one such value spreads through the whole pose, and ends a training""")
OUT_OF_RANGE = Rule.of("""RP721 error system-value-out-of-range
    {vector}: {address} is {value:g} in row {row}, declared are {low} to {high} ({count} such values)
    hint: another unit, or another field's number?
    why: the network never saw such a value; its answer to it means nothing""")
QUATERNION_NOT_UNIT = Rule.of("""RP722 error system-quaternion-not-unit
    {vector}: {field} has length {length:.4g} in row {row} ({count} such quaternions)
    hint: normalise; a length of 0 is a packet that was never filled
    why: rotating by it scales, and composing it scales more with each bone""")
DIRECTION_NOT_UNIT = Rule.of("""RP723 error system-direction-not-unit
    {vector}: {field} has length {length:.4g} in row {row} ({count} such directions)
    hint: normalise, or give the default direction where nothing was hit
    why: the network reads its length as part of the slope""")
FLAG_IN_BETWEEN = Rule.of("""RP724 error system-flag-neither-0-nor-1
    {vector}: the flag {field} is {value:g} in row {row} ({count} such values)
    hint: write 0 or 1; anything between belongs to another field
    why: a mask of it weighs losses and targets by a number that nobody chose""")
DEAD_COLUMNS = Rule.of("""RP725 info system-columns-dead
    {vector}: {count} of {width} numbers never change in {rows} rows: {fields}
    hint: were they filled at all? compare the sender's byte count with 4 bytes a float
    why: weights of a constant input stay as they were drawn: the first other value gives noise""")
ALL_ZERO = Rule.of("""RP726 error system-vector-tail-zero
    {vector}: everything from number {start} ({address}) to the end is 0 in all {rows} rows
    hint: a copy by numbers instead of bytes? 63 floats are 252 bytes
    why: flags of 0 mask the loss: training converges at once and has learned nothing""")
ONE_POSE = Rule.of("""RP727 error system-data-set-is-one-pose
    {vector}: {unique} different rows in {rows}
    hint: record motion; augmentation noise does not make poses
    why: a constant answers every row, so any loss on it is meaningless""")
DATA_CONTRADICTS = Rule.of("""RP728 error system-data-contradicts-rig
    {found}, expected {expected}: {consequence}
    hint: compare the exporter's geometry with the contract's constants, one row by hand
    why: the loss teaches another geometry than the rig has""")
OTHER_SYSTEM = Rule.of("""RP729 error system-of-recording-differs
    recorded as {found}, the contract is of {expected}
    hint: check it with its own contract
    why: stages of equal names mean other things""")
OTHER_CONTRACT = Rule.of("""RP730 warning system-contract-of-recording-differs
    recorded under the contract {found}, this one is {expected}
    hint: record again under the contract that ships
    why: conventions or constants may have changed between the two""")

UNIT_WITHIN = 1e-3
"""Six printed digits of four numbers, composed a few times, stay far below this; a quaternion of another order does not."""
FEWEST_ROWS = 16
"""With fewer rows, the rules do not judge variety: a short recording may stand still."""
LEAST_DIFFERENT = 0.05
_UNIT_RULE: Mapping[FieldKind, Rule] = {
    FieldKind.QUATERNION_XYZW: QUATERNION_NOT_UNIT,
    FieldKind.DIRECTION: DIRECTION_NOT_UNIT,
}


def _check_recording(contract: Contract, recorded: RecordedRows) -> Iterator[Finding]:
    """Judge a recording; one that holds only the stages up to the network's answer is a data set, its answers are labels."""
    system, path = contract.system, recorded.path
    if recorded.system != system.name:
        found = recorded.system or "no declared system"
        yield OTHER_SYSTEM.at(path, "/system", found=found, expected=system.name)
        return
    yield from _check_header(contract, recorded)
    graph = system.graph
    behind = set(graph.names) - set(graph.given) - set(graph.answers) - _before_the_model(system)
    is_data_set = not behind & set(recorded.stages)
    varied = {*graph.given, *system.inputs} - set(system.outputs) if is_data_set else set()
    found_in_rows = list(_check_rows(contract, recorded, varied))
    yield from found_in_rows
    if is_data_set and not any(each.rule is NOT_FINITE for each in found_in_rows):
        for problem in system.data_problems(contract, recorded.stages):  # what the system's own gate finds in its data
            values = {"found": problem.found, "expected": problem.expected, "consequence": problem.why}
            yield DATA_CONTRADICTS.at(path, f"/stages/{problem.pointer.lstrip('/')}", **values)


def _check_header(contract: Contract, recorded: RecordedRows) -> Iterator[Finding]:
    meaning, own = recorded.meaning_sha256, contract.sha256
    has_same_meaning = meaning is not None and meaning == contract.hashes["meaning_sha256"]
    if recorded.contract_sha256 not in (None, own) and not has_same_meaning:
        found = str(recorded.contract_sha256)[:12]
        yield OTHER_CONTRACT.at(recorded.path, "/contract/bundle_sha256", found=found, expected=own[:12])
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
    yield from at_first(NOT_FINITE, vector.path, place, ~np.isfinite(rows), "", "row", vector=vector.name, **values)


def _check_field(vector: _Vector, field: Field) -> Iterator[Finding]:
    values, off = vector.rows[:, field.range].astype(np.float64), vector.off[:, field.range]
    place, texts = ("stages", vector.name, field.start), {"vector": vector.name, "field": field.name}
    if field.kind in _UNIT_RULE:
        lengths = np.sqrt(np.sum(values**2, axis=1))
        bad = np.abs(lengths - 1.0) > UNIT_WITHIN + np.linalg.norm(off, axis=1)
        yield from at_first(_UNIT_RULE[field.kind], vector.path, place, bad, "", "row", length=lengths, **texts)
    elif field.kind is FieldKind.FLAG:
        between = (values != 0.0) & (values != 1.0)
        yield from at_first(FLAG_IN_BETWEEN, vector.path, place, between, "", "row", value=values, **texts)
    elif field.low is not None or field.high is not None:
        low, high = (-np.inf if field.low is None else field.low), (np.inf if field.high is None else field.high)
        bad, here = (values + off < low) | (values - off > high), lambda _, inner: field.start + inner
        shown = {"address": lambda _, inner: vector.layout.address(field.start + inner), "low": low, "high": high}
        yield from at_first(
            OUT_OF_RANGE, vector.path, (*place[:2], here), bad, "", "row", value=values, **shown, **texts
        )


def _check_variety(vector: _Vector) -> Iterator[Finding]:
    rows, layout, place = vector.rows, vector.layout, ("stages", vector.name)
    count, width = rows.shape
    if count < FEWEST_ROWS:
        return
    unique = len(np.unique(np.round(rows.astype(np.float64), 6), axis=0))
    if unique < max(2, LEAST_DIFFERENT * count):
        yield ONE_POSE.at(vector.path, place, vector=vector.name, unique=unique, rows=count)
        return
    filled = np.flatnonzero((rows != 0.0).any(axis=0))
    start = int(filled[-1]) + 1 if len(filled) else 0
    if width - start > width // 4:
        values = {"vector": vector.name, "start": start, "address": layout.address(start)}
        yield ALL_ZERO.at(vector.path, (*place, start), rows=count, **values)
        return
    dead = np.flatnonzero(np.ptp(rows, axis=0) == 0.0).tolist()
    if dead:
        values = {"vector": vector.name, "count": len(dead), "width": width, "rows": count}
        fields = listed([layout.address(channel) for channel in dead])
        yield DEAD_COLUMNS.at(vector.path, (*place, dead[0]), fields=fields, **values)


FAMILY = family(globals(), (Need.SYSTEM_CONTRACT, Need.SYSTEM_DATA), _check_recording)
