"""RP700 to RP719: contract files of the hosted systems (rigpact-system), and the models that belong to them.

Two orders of the same 63 numbers pass every check of sizes. So fields are compared one by one with what the system means,
and the first that moved is named. What is in recordings and data sets is for system_data.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.signature import ModelSignature, TensorSignature
from rigpact.contract.rules.bundle.structure import check_structure
from rigpact.contract.rules.json_text import check_json_text
from rigpact.contract.rules.wording import listed
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.registry import ENEMY_ANIMATION, canonical_name, find_system, known_systems
from rigpact.contract.systems.system import System

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

UNKNOWN_SYSTEM = Rule(
    code="RP700", name="system-unknown", severity=_ERROR, engine_refuses=True,
    message="{name!r} is no system that rigpact hosts (it hosts {known})",
    hint="correct the name; rigpact systems lists them",
    why="without its definition nothing can be said about any number in the file",
)  # fmt: skip
HASH_OF_OTHER_FIELDS = Rule(
    code="RP701", name="system-hash-of-other-fields", severity=_ERROR, engine_refuses=True,
    message="{vector}: the layout hash {found} is not that of the fields beside it ({expected})",
    hint="export the file anew; the hash is not for editing by hand",
    why="one of the two is stale: an engine that trusts the hash would not notice that a field moved",
)  # fmt: skip
FIELD_DIFFERS = Rule(
    code="RP702", name="system-field-moved", severity=_ERROR, engine_refuses=True,
    message="{vector}: {width} numbers as expected, but number {start} begins {found}, expected {expected}",
    hint="rename or reorder on the side that exports; the definition's order is shown by rigpact systems NAME",
    why="equal size, different meaning: every size check passes and the character takes one number for another",
)  # fmt: skip
WIDTH_DIFFERS = Rule(
    code="RP703", name="system-width-differs", severity=_ERROR, engine_refuses=True,
    message="{vector}: {found} numbers, expected {expected}; the first difference is number {start}: {what}",
    hint="export with the layout of this version of the system",
    why="a datagram or a tensor of another size is cut or padded somewhere on its way",
)  # fmt: skip
FIELDS_OVERLAP = Rule(
    code="RP704", name="system-fields-overlap", severity=_ERROR, engine_refuses=True,
    message="{vector}: {second} begins at {start}, inside {first}, which ends at {stop}",
    hint="give every field its own numbers",
    why="writing one field changes the other",
)  # fmt: skip
FIELDS_GAP = Rule(
    code="RP705", name="system-fields-gap", severity=_ERROR, engine_refuses=True,
    message="{vector}: nothing is said about the numbers {stop} to {start}, before {second}",
    hint="declare them, or move the field",
    why="a parser that adds up sizes instead of reading starts is off by as many from here on",
)  # fmt: skip
REPEATED_NAME = Rule(
    code="RP706", name="system-field-name-repeated", severity=_ERROR, engine_refuses=True,
    message="{vector}: two fields are called {name}",
    hint="rename one",
    why="code that looks a field up by its name gets one of the two",
)  # fmt: skip
VECTOR_MISSING = Rule(
    code="RP707", name="system-vector-missing", severity=_ERROR, engine_refuses=True,
    message="the vector {vector} ({width} numbers) is not declared",
    hint="export every vector that rigpact systems NAME lists",
    why="what is not declared cannot be compared: a change of it would go unseen",
)  # fmt: skip
UNKNOWN_VECTOR = Rule(
    code="RP708", name="system-vector-unknown", severity=_WARNING,
    message="the vector {vector} is none of this system's ({known})",
    hint="correct the name, or leave it out",
    why="nobody reads it; the vector that was meant stays undeclared",
)  # fmt: skip
UNKNOWN_KNOB = Rule(
    code="RP709", name="system-knob-unknown", severity=_ERROR, engine_refuses=True,
    message="{knob!r} is no convention of this system (it has {known})",
    hint="correct the name; rigpact systems NAME lists the knobs",
    why="the convention that was meant keeps its default without a word",
)  # fmt: skip
UNKNOWN_VALUE = Rule(
    code="RP710", name="system-knob-value-unknown", severity=_ERROR, engine_refuses=True,
    message="{knob} is {value!r}, not one of {known}",
    hint="correct the value; rigpact systems NAME lists them",
    why="no runtime knows what to do under it",
)  # fmt: skip
CONSTANT_WRONG = Rule(
    code="RP711", name="system-constant-wrong", severity=_ERROR, engine_refuses=True,
    message="{found}, expected {expected}: {consequence}",
    hint="export the constants of the rig that the network was trained with",
    why="skeleton, limits and calibration enter every frame; both sides must have the same numbers",
)  # fmt: skip
RATE_DIFFERS = Rule(
    code="RP712", name="system-rate-differs", severity=_WARNING,
    message="{found:g} frames a second, the system's are {expected:g}",
    hint="resample, or say why the rate is another one",
    why="what is learned of velocities and windows holds for one rate",
)  # fmt: skip
MODEL_TENSORS = Rule(
    code="RP713", name="system-model-tensor-count", severity=_ERROR,
    message="the model has {found} {what} ({names}), expected {expected}: {wanted}",
    hint="export the network with the inputs and outputs of the contract, in their order",
    why="a runtime binds by position and takes one for another",
)  # fmt: skip
MODEL_WIDTH = Rule(
    code="RP714", name="system-model-width", severity=_ERROR,
    message="the model's {what} {name!r} is {found} wide, {vector} has {expected} numbers",
    hint="export the network that was trained under this contract",
    why="the runtime stops, pads or cuts",
)  # fmt: skip
MODEL_TYPE = Rule(
    code="RP715", name="system-model-type", severity=_ERROR,
    message="the model's {what} {name!r} is {found}, expected float32",
    hint="convert before the export: model.float()",
    why="vectors are float32 between stages",
)  # fmt: skip
MODEL_FIXED_AXIS = Rule(
    code="RP716", name="system-model-axis-fixed", severity=_WARNING,
    message="the model's {what} {name!r} takes exactly {size} {axis}",
    hint="export with that axis dynamic, and test at another length than the traced one",
    why="it runs at the length it was traced at and fails in the field at any other",
)  # fmt: skip
MODEL_REFUSED = Rule(
    code="RP717", name="system-model-refused", severity=_ERROR,
    message="onnxruntime does not load the model: {reason}",
    hint="export it again with an opset that the runtime has",
    why="the character does not start",
)  # fmt: skip
RULES = (
    UNKNOWN_SYSTEM, HASH_OF_OTHER_FIELDS, FIELD_DIFFERS, WIDTH_DIFFERS, FIELDS_OVERLAP, FIELDS_GAP, REPEATED_NAME,
    VECTOR_MISSING, UNKNOWN_VECTOR, UNKNOWN_KNOB, UNKNOWN_VALUE, CONSTANT_WRONG, RATE_DIFFERS, MODEL_TENSORS, MODEL_WIDTH,
    MODEL_TYPE, MODEL_FIXED_AXIS, MODEL_REFUSED,
)  # fmt: skip


def check_contract_file(document: Document) -> Iterator[Finding]:
    """Yield every finding about a system's contract file; its meaning is judged only where its shape is right."""
    yield from check_json_text(document)
    shape = list(check_structure(document))
    yield from shape
    if shape:
        return
    root = document.data
    known = [name for name in known_systems() if name != ENEMY_ANIMATION]  # whose contract is a schema bundle
    if canonical_name(root["system"]) not in known:
        yield UNKNOWN_SYSTEM.at(document.path, "/system", name=root["system"], known=", ".join(known))
        return
    system = find_system(root["system"])
    yield from _check_vectors(document, system)
    yield from _check_knobs(document, system)
    for problem in system.constant_problems(root.get("constants", {})):
        yield CONSTANT_WRONG.at(
            document.path, f"/constants{problem.pointer}", found=problem.found, expected=problem.expected,
            consequence=problem.why,
        )  # fmt: skip
    fps, expected = root.get("fps"), system.fps
    if fps is not None and expected is not None and fps != expected:
        yield RATE_DIFFERS.at(document.path, "/fps", found=fps, expected=expected)


def _check_vectors(document: Document, system: System) -> Iterator[Finding]:
    from rigpact.contract.systems.reading import json_to_fields

    declared: Mapping[str, Any] = document.data["vectors"]
    for name in declared:
        if name not in system.vectors:
            yield UNKNOWN_VECTOR.at(
                document.path, json_pointer("vectors", name), vector=name, known=listed(list(system.vectors), 12)
            )
    for name, expected in system.vectors.items():
        if name not in declared:
            if name in system.graph.handed_on:
                continue  # it has the fields of the vector that it is carried into, which are declared
            yield VECTOR_MISSING.at(document.path, "/vectors", vector=name, width=expected.width)
            continue
        place = json_pointer("vectors", name)
        layout = json_to_fields(declared[name]["fields"])
        tiling = list(_check_tiling(document, place, name, layout))
        yield from tiling
        if layout.layout_hash != declared[name]["layout_hash"]:
            yield HASH_OF_OTHER_FIELDS.at(
                document.path, f"{place}/layout_hash", vector=name, found=declared[name]["layout_hash"][:12],
                expected=layout.layout_hash[:12],
            )  # fmt: skip
        if not tiling and layout.layout_hash != expected.layout_hash:
            yield _moved(document, place, name, layout, expected)


def _check_tiling(document: Document, place: str, vector: str, layout: FieldLayout) -> Iterator[Finding]:
    names: set[str] = set()
    stop, before = 0, "the beginning"
    for index, field in enumerate(layout):
        pointer = f"{place}/fields/{index}"
        if field.name in names:
            yield REPEATED_NAME.at(document.path, f"{pointer}/name", vector=vector, name=field.name)
        names.add(field.name)
        values = {"vector": vector, "first": before, "second": field.name, "start": field.start, "stop": stop}
        if field.start < stop:
            yield FIELDS_OVERLAP.at(document.path, f"{pointer}/start", **values)
        elif field.start > stop:
            yield FIELDS_GAP.at(document.path, f"{pointer}/start", **values)
        stop, before = max(stop, field.stop), field.name


def _moved(document: Document, place: str, vector: str, found: FieldLayout, expected: FieldLayout) -> Finding:
    """The first field of a vector that is not what the system means there."""
    index = next(
        (
            index
            for index, (one, other) in enumerate(zip(found, expected, strict=False))
            if _meaning(one) != _meaning(other)
        ),
        min(len(found.fields), len(expected.fields)),
    )
    pointer = f"{place}/fields/{index}"
    one, other = (_at(layout, index) for layout in (found, expected))
    start = found.fields[index].start if index < len(found.fields) else found.width
    if found.width != expected.width:
        what = f"{one}, expected {other}"
        return WIDTH_DIFFERS.at(
            document.path, pointer, vector=vector, found=found.width, expected=expected.width, start=start, what=what
        )
    return FIELD_DIFFERS.at(
        document.path, pointer, vector=vector, width=found.width, start=start, found=one, expected=other
    )


def _meaning(field: Field) -> tuple[object, ...]:
    return field.name, field.start, field.size, field.kind, field.unit, field.space


def _at(layout: FieldLayout, index: int) -> str:
    if index >= len(layout.fields):
        return "nothing"
    field = layout.fields[index]
    told = ", ".join(filter(None, (field.kind.value, field.unit, field.space)))
    return f"{field.name} ({field.size}: {told})"


def _check_knobs(document: Document, system: System) -> Iterator[Finding]:
    for name, value in document.data.get("conventions", {}).items():
        pointer, knob = json_pointer("conventions", name), system.knobs.get(name)
        if knob is None:
            yield UNKNOWN_KNOB.at(document.path, pointer, knob=name, known=", ".join(system.knobs))
        elif value not in knob.values:
            yield UNKNOWN_VALUE.at(document.path, pointer, knob=name, value=value, known=", ".join(knob.values))


def check_system_model(model: ModelSignature, system: System) -> Iterator[Finding]:
    """Yield every finding about a model's inputs and outputs against the vectors of its system."""
    if model.refusal:
        yield MODEL_REFUSED.at(model.path, "", reason=model.refusal)
    sides = (("input", model.inputs, system.inputs), ("output", model.outputs, system.outputs))
    for what, tensors, wanted in sides:
        if len(tensors) != len(wanted):
            yield MODEL_TENSORS.at(
                model.path, f"/{what}s", found=len(tensors), what=f"{what}s", expected=len(wanted),
                wanted=", ".join(wanted), names=listed([tensor.name for tensor in tensors]) or "none",
            )  # fmt: skip
            continue
        for tensor, vector in zip(tensors, wanted, strict=True):
            yield from _check_tensor(model, what, tensor, vector, system)


def _check_tensor(
    model: ModelSignature, what: str, tensor: TensorSignature, vector: str, system: System
) -> Iterator[Finding]:
    place = json_pointer(tensor.name)
    expected = system.vectors[vector].width
    if tensor.dtype != "float32":
        yield MODEL_TYPE.at(model.path, place, what=what, name=tensor.name, found=tensor.dtype)
    width = _flat_width(tensor.shape, system)
    if width != expected:
        yield MODEL_WIDTH.at(
            model.path, place, what=what, name=tensor.name, found="?" if width is None else width, vector=vector,
            expected=expected,
        )  # fmt: skip
    if what == "input":
        names = ("windows at a time", "samples a window") if system.windowed else ("rows at a time",)
        for size, axis in zip(tensor.shape, names, strict=False):
            if isinstance(size, int):
                yield MODEL_FIXED_AXIS.at(model.path, place, what=what, name=tensor.name, size=size, axis=axis)


def _flat_width(shape: Sequence[int | str | None], system: System) -> int | None:
    """Numbers a row: the axes behind the batch (and, of a row of a window, behind the samples) multiplied."""
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    if not sizes:
        return None
    width = 1
    for size in sizes if not system.windowed else sizes[-1:]:
        width *= size
    return width
