"""RP708, RP712 to RP717, RP956, RP957: what an engine does not refuse in a system's contract file, and its models.

What is in recordings and data sets is for system_data.py.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.family import Need, family, findings_of
from rigpact.contract.rules.files.structure import has_its_shape
from rigpact.contract.rules.hosted.system_loading import hosted_system
from rigpact.contract.rules.views.bundle import need
from rigpact.contract.rules.views.system_files import SystemFiles
from rigpact.contract.rules.wording import listed
from rigpact.contract.systems.system import System

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


FAMILY = family(globals(), (Need.SYSTEM_CONTRACT,), _check_contract_file, _check_models)


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
