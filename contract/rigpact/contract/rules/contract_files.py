"""RP700-RP717, RP740-RP749, RP772, RP956, RP957: contract files: what no runtime loads, what it does not refuse, their models.

Two orders of the same 63 numbers pass every check of sizes. So each field of a hosted system's file is compared with what the
system means, and the finding names the first field that moved. The mistakes of your own contract are found by
`rigpact.contract.declared`, which builds the system; here each becomes a finding.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import Wrong
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.pages.registry import ENEMY_ANIMATION, canonical_name, find_system, known_systems
from rigpact.contract.rules.bundle_view import need
from rigpact.contract.rules.family import Need, family, findings_of
from rigpact.contract.rules.structure import has_its_shape
from rigpact.contract.rules.system_view import SystemFiles
from rigpact.contract.rules.wording import listed
from rigpact.contract.systems.layout import Field, FieldLayout, json_to_fields
from rigpact.contract.systems.system import System

UNKNOWN_SYSTEM = Rule.of("""RP700 error system-unknown refused
    {name!r} is not a system that rigpact hosts (it hosts {known})
    hint: correct the name; `rigpact show` lists them
    why: without its definition nothing can be said about any number in the file""")
HASH_OF_OTHER_FIELDS = Rule.of("""RP701 error system-hash-of-other-fields refused
    {vector}: the layout hash {found} is not that of the fields beside it ({expected})
    hint: export the file anew; the hash is not for editing by hand
    why: one of the two is stale: an engine that trusts the hash would not notice that a field moved""")
FIELD_DIFFERS = Rule.of("""RP702 error system-field-moved refused
    {vector}: {width} numbers as expected, but number {start} begins {found}, expected {expected}
    hint: rename or reorder on the side that exports; the definition's order is shown by rigpact show NAME
    why: equal size, different meaning: every size check passes and the character takes one number for another""")
WIDTH_DIFFERS = Rule.of("""RP703 error system-width-differs refused
    {vector}: {found} numbers, expected {expected}; the first difference is number {start}: {what}
    hint: export with the layout of this version of the system
    why: a datagram or a tensor of another size is cut or padded somewhere on its way""")
FIELDS_OVERLAP = Rule.of("""RP704 error system-fields-overlap refused
    {vector}: {second} begins at {start}, inside {first}, which ends at {stop}
    hint: give every field its own numbers
    why: writing one field changes the other""")
FIELDS_GAP = Rule.of("""RP705 error system-fields-gap refused
    {vector}: nothing is said about the numbers {stop} to {start}, before {second}
    hint: declare them, or move the field
    why: a parser that adds up sizes instead of reading starts is off by as many from here on""")
REPEATED_NAME = Rule.of("""RP706 error system-field-name-repeated refused
    {vector}: two fields are called {name}
    hint: rename one
    why: code that looks a field up by its name gets one of the two""")
VECTOR_MISSING = Rule.of("""RP707 error system-vector-missing refused
    the vector {vector} ({width} numbers) is not declared
    hint: export every vector that rigpact show NAME lists
    why: an undeclared convention cannot be compared: a change of it would go unseen""")
UNKNOWN_KNOB = Rule.of("""RP709 error system-knob-unknown refused
    {knob!r} is not a convention of this system (it has {known})
    hint: correct the name; rigpact show NAME lists the knobs
    why: the convention that was meant keeps its default silently""")
UNKNOWN_VALUE = Rule.of("""RP710 error system-knob-value-unknown refused
    {knob} is {value!r}, not one of {known}
    hint: correct the value; rigpact show NAME lists them
    why: no runtime knows what to do under it""")
CONSTANT_WRONG = Rule.of("""RP711 error system-constant-wrong refused
    {found}, expected {expected}: {consequence}
    hint: export the constants of the rig that the network was trained with
    why: skeleton, limits and calibration enter every frame; both sides must have the same numbers""")


def _check_loading(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.SYSTEM_CONTRACT and has_its_shape(document))
    root, system = document.data, hosted_system(document)
    if system is None:
        yield UNKNOWN_SYSTEM.at(document.path, "/system", name=root["system"], known=", ".join(_hosted_names()))
        return
    for name, expected in system.vectors.items():
        if name in root["vectors"]:
            yield from _check_vector(document, system, name)
        elif name not in system.graph.handed_on:  # it has the fields of the vector that it is carried into
            yield VECTOR_MISSING.at(document.path, "/vectors", vector=name, width=expected.width)
    for name, value in root.get("conventions", {}).items():
        place, knob = ("conventions", name), system.knobs.get(name)
        if knob is None:
            yield UNKNOWN_KNOB.at(document.path, place, knob=name, known=", ".join(system.knobs))
        elif value not in knob.values:
            yield UNKNOWN_VALUE.at(document.path, place, knob=name, value=value, known=", ".join(knob.values))
    for problem in system.problems_of(root.get("constants", {})):
        values = {"found": problem.found, "expected": problem.expected, "consequence": problem.why}
        yield CONSTANT_WRONG.at(document.path, f"/constants{problem.pointer}", **values)


_ABOUT = "what keeps a runtime from loading the contract file of a hosted system"
LOADING = family(globals(), (Need.CONTRACT_FILE,), _check_loading, about=_ABOUT)


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
        yield HASH_OF_OTHER_FIELDS.at(document.path, f"{place}/layout_hash", **values)
    meant = system.expected_fields(name, layout)
    if not tiling and layout.layout_hash != meant.layout_hash:
        yield _moved(document, place, name, layout, meant)


def _check_tiling(document: Document, place: str, vector: str, layout: FieldLayout) -> Iterator[Finding]:
    names: set[str] = set()
    stop, before = 0, "the beginning"
    for index, field in enumerate(layout):
        pointer = f"{place}/fields/{index}"
        if field.name in names:
            yield REPEATED_NAME.at(document.path, f"{pointer}/name", vector=vector, name=field.name)
        names.add(field.name)
        values = {"vector": vector, "first": before, "second": field.name, "start": field.start, "stop": stop}
        if field.start != stop:
            yield (FIELDS_OVERLAP if field.start < stop else FIELDS_GAP).at(document.path, f"{pointer}/start", **values)
        stop, before = max(stop, field.stop), field.name


def _moved(document: Document, place: str, vector: str, found: FieldLayout, expected: FieldLayout) -> Finding:
    pairs = enumerate(zip(map(_meaning, found), map(_meaning, expected), strict=False))
    shorter = min(len(found.fields), len(expected.fields))
    index = next((index for index, (one, other) in pairs if one != other), shorter)
    pointer, (one, other) = f"{place}/fields/{index}", (_at(layout, index) for layout in (found, expected))
    start = found.fields[index].start if index < len(found.fields) else found.width
    if found.width != expected.width:
        values = {"vector": vector, "found": found.width, "expected": expected.width, "start": start}
        return WIDTH_DIFFERS.at(document.path, pointer, what=f"{one}, expected {other}", **values)
    values = {"vector": vector, "width": found.width, "start": start}
    return FIELD_DIFFERS.at(document.path, pointer, found=one, expected=other, **values)


def _meaning(field: Field) -> tuple[object, ...]:
    return field.name, field.start, field.size, field.kind, field.unit, field.space


def _at(layout: FieldLayout, index: int) -> str:
    if index >= len(layout.fields):
        return "nothing"
    field = layout.fields[index]
    meaning = ", ".join(filter(None, (field.kind.value, field.unit, field.space)))
    return f"{field.name} ({field.size}: {meaning})"


UNKNOWN_VECTOR = Rule.of("""RP708 warning system-vector-unknown
    the vector {vector} is not one of this system ({known})
    hint: correct the name, or leave it out
    why: nobody reads it; the vector that was meant stays undeclared""")
RATE_DIFFERS = Rule.of("""RP712 warning system-rate-differs
    {found:g} frames a second, the system's are {expected:g}
    hint: resample, or say why the rate is another one
    why: velocities and windows are learned for one rate""")
MODEL_TENSORS = Rule.of("""RP713 error system-model-tensor-count
    the model has {found} {what} ({names}), expected {expected}: {wanted}
    hint: export the network with the inputs and outputs of the contract, in their order, or bind them by name in [networks]: what
    no answer needs may be left out
    why: a runtime binds by position and takes one for another""")
MODEL_WIDTH = Rule.of("""RP714 error system-model-width
    the model's {what} {name!r} is {found} wide, {vector} has {expected} numbers
    hint: export the network that was trained under this contract
    why: the runtime stops, pads or cuts""")
MODEL_TYPE = Rule.of("""RP715 error system-model-type
    the model's {what} {name!r} is {found}, expected float32
    hint: convert before the export: model.float()
    why: vectors are float32 between stages""")
MODEL_FIXED_AXIS = Rule.of("""RP716 warning system-model-axis-fixed
    the model's {what} {name!r} takes exactly {size} {axis}
    hint: export with that axis dynamic, and test at another length than the traced one
    why: it runs at the length it was traced at and fails in the field at any other""")
MODEL_REFUSED = Rule.of("""RP717 error system-model-refused
    onnxruntime does not load the model: {reason}
    hint: export it again with an opset that the runtime has
    why: the character does not start""")
MODEL_PARAMETERS = Rule.of("""RP956 error system-model-parameters
    the model has {found} parameters, the network of this contract {expected}
    hint: export the network of the contract; of a network of your own, write its number of parameters under constants
    why: another network with the same inputs and outputs loads, and answers what nobody trained""")
MODEL_ACTIVATIONS = Rule.of("""RP957 error system-model-activations
    the model has {found} between its layers, the network of this contract {expected}
    hint: export the network of the contract; of a network of your own, write its functions as activations under constants
    why: the same weights with another function between the layers load, and every answer is another one""")

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
            yield UNKNOWN_VECTOR.at(document.path, ("vectors", name), vector=name, known=known)
    fps, expected = root.get("fps"), system.fps
    if fps is not None and expected is not None and fps != expected:
        yield RATE_DIFFERS.at(document.path, "/fps", found=fps, expected=expected)


def _check_models(files: SystemFiles) -> Iterator[Finding]:
    for model in files.bound:
        yield from _check_model(model.signature, need(model.part))
        constants = None if files.contract is None else files.contract.constants
        yield from findings_of((_check_architecture,), model.signature, need(model.part), constants)


_ABOUT = "what an engine does not refuse in a system's contract file, and its models"
HOSTED = family(globals(), (Need.SYSTEM_CONTRACT,), _check_contract_file, _check_models, about=_ABOUT)


def _check_model(model: ModelSignature, system: System) -> Iterator[Finding]:
    if model.refusal:
        yield MODEL_REFUSED.at(model.path, "", reason=model.refusal)
    own, (inputs, outputs) = system.binding, bound_tensors(model, system.binding)
    for what, bound, found, wanted, names in (
        ("input", inputs, model.inputs, system.inputs, own.input_names),
        ("output", outputs, model.outputs, system.outputs, own.output_names),
    ):
        if bound is None:
            values = {"found": len(found), "expected": len(wanted), "wanted": ", ".join(names or wanted)}
            shown = listed([tensor.name for tensor in found]) or "none"
            yield MODEL_TENSORS.at(model.path, f"/{what}s", what=f"{what}s", names=shown, **values)
        for tensor, vector in zip(bound or (), wanted, strict=bound is not None):
            yield from _check_tensor(model, what, tensor, vector, system)


def _check_architecture(
    model: ModelSignature, system: System, constants: Mapping[str, Any] | None
) -> Iterator[Finding]:
    expected, graph = need(system.architecture).declared(need(constants)), need(model.graph)
    if graph.parameters != expected.parameters:
        yield MODEL_PARAMETERS.at(model.path, "", found=graph.parameters, expected=expected.parameters)
    found, wanted = sorted({node.op for node in graph.nodes if node.op in ACTIVATIONS}), list(expected.activations)
    if found != sorted(wanted):
        words = {"found": listed(found) or "no function", "expected": listed(wanted) or "none"}
        yield MODEL_ACTIVATIONS.at(model.path, "", **words)


def _check_tensor(
    model: ModelSignature, what: str, tensor: TensorSignature, vector: str, system: System
) -> Iterator[Finding]:
    place, expected = (tensor.name,), system.vectors[vector].width
    values: dict[str, Any] = {"what": what, "name": tensor.name}
    if tensor.dtype != "float32":
        yield MODEL_TYPE.at(model.path, place, found=tensor.dtype, **values)
    whole = not system.windowed and tensor.holds_one_row(expected)
    width = expected if whole else _flat_width(tensor.shape, system)
    if width != expected:
        found = "?" if width is None else width
        yield MODEL_WIDTH.at(model.path, place, found=found, vector=vector, expected=expected, **values)
    if what == "input" and not whole:
        names = ("windows at a time", "samples a window") if system.windowed else ("rows at a time",)
        for size, axis in zip(tensor.shape, names, strict=False):
            if isinstance(size, int):
                yield MODEL_FIXED_AXIS.at(model.path, place, size=size, axis=axis, **values)


def _flat_width(shape: Sequence[int | str | None], system: System) -> int | None:
    """Numbers in a row: the product of the axes after the batch, and after the samples if the system has windows.

    One axis alone is the batch: one number a row.
    """
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    if len(shape) == 1 and not system.windowed:
        return 1
    return math.prod(sizes[-1:] if system.windowed else sizes) if sizes else None


_TEXTS = {
    Wrong.UNKNOWN_WORD: """RP740 error declared-word-unknown
    hint: correct the word; `rigpact show` lists the operations and their parameters
    why: a word that names nothing is a parameter, a joint or a stage that nobody reads""",
    Wrong.MISSING: """RP741 error declared-part-missing
    hint: say it: a contract that leaves it out can be read in several ways
    why: the stage cannot be computed without it""",
    Wrong.OUT_OF_ORDER: """RP742 error declared-stage-out-of-order
    hint: move the stage, or take the value of the frame before
    why: within a frame a stage can use only the stages before it""",
    Wrong.WIDTH: """RP743 error declared-vector-width-differs
    hint: count the numbers on both sides; a joint or a term is missing, or one too many
    why: a runtime that goes on with it reads beyond its data, or pads with zeros""",
    Wrong.NUMBERS: """RP744 error declared-numbers-wrong
    hint: write numbers, without quotation marks
    why: nothing can be computed with it""",
    Wrong.SOURCE: """RP745 error declared-source-not-read
    hint: name a file in the contract's folder, and with `at` the place inside it
    why: the numbers that both sides share are not known""",
    Wrong.CHOICE: """RP746 error declared-choice-unknown
    hint: take one of the words that the operation knows
    why: no runtime knows what to do under it""",
    Wrong.NAMED_TWICE: """RP747 error declared-name-repeated
    hint: rename one of the two
    why: code that looks a name up gets one of them""",
    Wrong.KIND: """RP748 error declared-kind-unfit
    hint: declare the kind of the numbers: kind = "quaternion_wxyz", "rot6d", …
    why: an operation on rotations needs to know which numbers are one""",
}
_MESSAGE = "\n    found {found}, expected {expected}{advice}\n"
_RULES: Mapping[Wrong, Rule] = {
    kind: Rule.of(text.replace("\n", f" refused{_MESSAGE}", 1)) for kind, text in _TEXTS.items()
}
LEFT_OPEN = Rule.of("""RP749 warning declared-convention-open
    {knob} is not declared; {assumed} is assumed, it may be {others}
    hint: ask the side that trained the network, and write the word here
    why: both sides compute something sensible, and not the same""")
VECTOR_OPEN = Rule.of("""RP772 warning declared-vector-open
    {what}
    hint: write it, then take it out of `left_open`; a vector that comes from outside as it is needs no stages
    why: the file says what the network is given, and not what it is: nobody can compare what the two sides make of it""")


def _check_declaration(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.DECLARATION and has_its_shape(document))
    declaration = declaration_of(document)
    for problem in declaration.problems:
        advice = f"; {problem.hint}" if problem.hint else ""
        values = {"found": problem.found, "expected": problem.expected, "advice": advice}
        yield _RULES[problem.kind].at(document.path, problem.pointer, **values)
    for choice in declaration.left_open:
        if not choice.values:
            vector, key = choice.knob.rsplit(".", 1)
            what = f"nothing computes {vector}" if key == "operation" else f"the {key} of {vector} is not declared"
            yield VECTOR_OPEN.at(document.path, choice.pointer, what=what)
            continue
        assumed, *others = choice.values
        yield LEFT_OPEN.at(document.path, choice.pointer, knob=choice.knob, assumed=assumed, others=" or ".join(others))


_ABOUT = "what is wrong in your own contract, and what it leaves open"
DECLARED = family(globals(), (Need.DECLARATION,), _check_declaration, about=_ABOUT)
