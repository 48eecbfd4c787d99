"""RP700-RP749, RP772, RP956, RP957: contract files: what no runtime loads, what it does not refuse, their models and recordings.

Two orders of the same 63 numbers pass every check of sizes. So each field of a hosted system's file is compared with what the
system means, and the finding names the first field that moved. The mistakes of your own contract are found by
`rigpact.contract.declared`, which builds the system; here each becomes a finding.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.pages.registry import ENEMY_ANIMATION, canonical_name, find_system, known_systems
from rigpact.contract.rules.bundle_view import need
from rigpact.contract.rules.family import Need, Rules, answers, findings_of
from rigpact.contract.rules.structure import has_its_shape
from rigpact.contract.rules.system_view import RecordedRows, SystemFiles
from rigpact.contract.rules.wording import at_first, listed
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout, json_to_fields
from rigpact.contract.systems.system import System

rules = Rules("contract_files")


def _check_loading(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.SYSTEM_CONTRACT and has_its_shape(document))
    root, system = document.data, hosted_system(document)
    if system is None:
        yield rules.UNKNOWN_SYSTEM.at(document.path, "/system", name=root["system"], known=", ".join(_hosted_names()))
        return
    for name, expected in system.vectors.items():
        if name in root["vectors"]:
            yield from _check_vector(document, system, name)
        elif name not in system.graph.handed_on:  # it has the fields of the vector that it is carried into
            yield rules.VECTOR_MISSING.at(document.path, "/vectors", vector=name, width=expected.width)
    for name, value in root.get("conventions", {}).items():
        place, knob = ("conventions", name), system.knobs.get(name)
        if knob is None:
            yield rules.UNKNOWN_KNOB.at(document.path, place, knob=name, known=", ".join(system.knobs))
        elif value not in knob.values:
            yield rules.UNKNOWN_VALUE.at(document.path, place, knob=name, value=value, known=", ".join(knob.values))
    for problem in system.problems_of(root.get("constants", {})):
        values = {"found": problem.found, "expected": problem.expected, "consequence": problem.why}
        yield rules.CONSTANT_WRONG.at(document.path, f"/constants{problem.pointer}", **values)


LOADING = rules.family("LOADING", (Need.CONTRACT_FILE,), _check_loading)


def hosted_system(document: Document) -> System | None:
    """The system that a contract file names; None where rigpact hosts no such system."""
    name = document.data.get("system")
    return find_system(name) if isinstance(name, str) and canonical_name(name) in _hosted_names() else None


def _hosted_names() -> list[str]:
    return [name for name in known_systems() if name != ENEMY_ANIMATION]  # whose contract is a schema bundle


def _check_vector(document: Document, system: System, name: str) -> Iterator[Finding]:
    declared, place = document.data["vectors"][name], json_pointer("vectors", name)
    layout = json_to_fields(declared["fields"])
    tiling = list(_check_tiling(document, place, name, layout))
    yield from tiling
    if layout.layout_hash != declared["layout_hash"]:
        values = {"vector": name, "found": declared["layout_hash"][:12], "expected": layout.layout_hash[:12]}
        yield rules.HASH_OF_OTHER_FIELDS.at(document.path, f"{place}/layout_hash", **values)
    meant = system.expected_fields(name, layout)
    if not tiling and layout.layout_hash != meant.layout_hash:
        yield _moved(document, place, name, layout, meant)


def _check_tiling(document: Document, place: str, vector: str, layout: FieldLayout) -> Iterator[Finding]:
    names: set[str] = set()
    stop, before = 0, "the beginning"
    for index, field in enumerate(layout):
        pointer = f"{place}/fields/{index}"
        if field.name in names:
            yield rules.REPEATED_NAME.at(document.path, f"{pointer}/name", vector=vector, name=field.name)
        names.add(field.name)
        values = {"vector": vector, "first": before, "second": field.name, "start": field.start, "stop": stop}
        if field.start != stop:
            yield (rules.FIELDS_OVERLAP if field.start < stop else rules.FIELDS_GAP).at(
                document.path, f"{pointer}/start", **values
            )
        stop, before = max(stop, field.stop), field.name


def _moved(document: Document, place: str, vector: str, found: FieldLayout, expected: FieldLayout) -> Finding:
    pairs = enumerate(zip(map(_meaning, found), map(_meaning, expected), strict=False))
    shorter = min(len(found.fields), len(expected.fields))
    index = next((index for index, (one, other) in pairs if one != other), shorter)
    pointer, (one, other) = f"{place}/fields/{index}", (_at(layout, index) for layout in (found, expected))
    start = found.fields[index].start if index < len(found.fields) else found.width
    if found.width != expected.width:
        values = {"vector": vector, "found": found.width, "expected": expected.width, "start": start}
        return rules.WIDTH_DIFFERS.at(document.path, pointer, what=f"{one}, expected {other}", **values)
    values = {"vector": vector, "width": found.width, "start": start}
    return rules.FIELD_DIFFERS.at(document.path, pointer, found=one, expected=other, **values)


def _meaning(field: Field) -> tuple[object, ...]:
    return field.name, field.start, field.size, field.kind, field.unit, field.space


def _at(layout: FieldLayout, index: int) -> str:
    if index >= len(layout.fields):
        return "nothing"
    field = layout.fields[index]
    meaning = ", ".join(filter(None, (field.kind.value, field.unit, field.space)))
    return f"{field.name} ({field.size}: {meaning})"


ACTIVATIONS = frozenset({
    "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Gelu", "Tanh", "Sigmoid", "Softplus", "Softsign", "HardSigmoid",
    "HardSwish", "Mish", "ThresholdedRelu",
})  # fmt: skip
"""ONNX's functions of one number that networks have between their layers."""


def _check_contract_file(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.SYSTEM_CONTRACT and has_its_shape(document))
    root, system = document.data, need(hosted_system(document))
    for name in root["vectors"]:
        if name not in system.vectors:
            known = listed(list(system.vectors), 12)
            yield rules.UNKNOWN_VECTOR.at(document.path, ("vectors", name), vector=name, known=known)
    fps, expected = root.get("fps"), system.fps
    if fps is not None and expected is not None and fps != expected:
        yield rules.RATE_DIFFERS.at(document.path, "/fps", found=fps, expected=expected)


def _check_models(files: SystemFiles) -> Iterator[Finding]:
    for model in files.bound:
        yield from _check_model(model.signature, need(model.part))
        constants = None if files.contract is None else files.contract.constants
        yield from findings_of((_check_architecture,), model.signature, need(model.part), constants)


HOSTED = rules.family("HOSTED", (Need.SYSTEM_CONTRACT,), _check_contract_file, _check_models)


def _check_model(model: ModelSignature, system: System) -> Iterator[Finding]:
    if model.refusal:
        yield rules.MODEL_REFUSED.at(model.path, "", reason=model.refusal)
    own, (inputs, outputs) = system.binding, bound_tensors(model, system.binding)
    for what, bound, found, wanted, names in (
        ("input", inputs, model.inputs, system.inputs, own.input_names),
        ("output", outputs, model.outputs, system.outputs, own.output_names),
    ):
        if bound is None:
            values = {"found": len(found), "expected": len(wanted), "wanted": ", ".join(names or wanted)}
            shown = listed([tensor.name for tensor in found]) or "none"
            yield rules.MODEL_TENSORS.at(model.path, f"/{what}s", what=f"{what}s", names=shown, **values)
        for tensor, vector in zip(bound or (), wanted, strict=bound is not None):
            yield from _check_tensor(model, what, tensor, vector, system)


def _check_architecture(
    model: ModelSignature, system: System, constants: Mapping[str, Any] | None
) -> Iterator[Finding]:
    expected, graph = need(system.architecture).declared(need(constants)), need(model.graph)
    if graph.parameters != expected.parameters:
        yield rules.MODEL_PARAMETERS.at(model.path, "", found=graph.parameters, expected=expected.parameters)
    found, wanted = sorted({node.op for node in graph.nodes if node.op in ACTIVATIONS}), list(expected.activations)
    if found != sorted(wanted):
        words = {"found": listed(found) or "no function", "expected": listed(wanted) or "none"}
        yield rules.MODEL_ACTIVATIONS.at(model.path, "", **words)


def _check_tensor(
    model: ModelSignature, what: str, tensor: TensorSignature, vector: str, system: System
) -> Iterator[Finding]:
    place, expected = (tensor.name,), system.vectors[vector].width
    values: dict[str, Any] = {"what": what, "name": tensor.name}
    if tensor.dtype != "float32":
        yield rules.MODEL_TYPE.at(model.path, place, found=tensor.dtype, **values)
    whole = not system.windowed and tensor.holds_one_row(expected)
    width = expected if whole else _flat_width(tensor.shape, system)
    if width != expected:
        found = "?" if width is None else width
        yield rules.MODEL_WIDTH.at(model.path, place, found=found, vector=vector, expected=expected, **values)
    if what == "input" and not whole:
        names = ("windows at a time", "samples a window") if system.windowed else ("rows at a time",)
        for size, axis in zip(tensor.shape, names, strict=False):
            if isinstance(size, int):
                yield rules.MODEL_FIXED_AXIS.at(model.path, place, size=size, axis=axis, **values)


def _flat_width(shape: Sequence[int | str | None], system: System) -> int | None:
    """Numbers in a row: the product of the axes after the batch, and after the samples if the system has windows.

    One axis alone is the batch: one number a row.
    """
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    if len(shape) == 1 and not system.windowed:
        return 1
    return math.prod(sizes[-1:] if system.windowed else sizes) if sizes else None


def _check_declaration(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.DECLARATION and has_its_shape(document))
    declaration = declaration_of(document)
    for problem in declaration.problems:
        advice = f"; {problem.hint}" if problem.hint else ""
        values = {"found": problem.found, "expected": problem.expected, "advice": advice}
        yield getattr(rules, problem.kind.name).at(document.path, problem.pointer, **values)
    for choice in declaration.left_open:
        if not choice.values:
            vector, key = choice.knob.rsplit(".", 1)
            what = f"nothing computes {vector}" if key == "operation" else f"the {key} of {vector} is not declared"
            yield rules.VECTOR_OPEN.at(document.path, choice.pointer, what=what)
            continue
        assumed, *others = choice.values
        yield rules.LEFT_OPEN.at(
            document.path, choice.pointer, knob=choice.knob, assumed=assumed, others=" or ".join(others)
        )


DECLARED = rules.family("DECLARED", (Need.DECLARATION,), _check_declaration)


# RP720 to RP730: recordings and data sets of the hosted systems, judged by the declared kind of each field.
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


RECORDED = rules.family("RECORDED", (Need.SYSTEM_CONTRACT, Need.SYSTEM_DATA), _check_recording)
