"""Which inputs and outputs of a model a network of a contract takes: by name, else by position.

Games' exporters add outputs of constants and copies, and inputs that no answer is made of: those may be left out.
"""

from collections.abc import Iterable

from rigpact.contract.model.graph import ModelGraph, TensorSignature, open_model
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.systems.system import NetworkBinding

Bound = tuple[TensorSignature, ...]


def bound_tensors(model: ModelSignature, network: NetworkBinding) -> tuple[Bound | None, Bound | None]:
    """The model's inputs and outputs in the order of the network's stages; None where they cannot be those of the network."""
    outputs = _outputs(model, network)
    return _inputs(model, network, outputs or model.outputs), outputs


def _outputs(model: ModelSignature, network: NetworkBinding) -> Bound | None:
    """Those that are named, by the network or by its stages; else all that the model computes."""
    if network.output_names:
        return _named(model.outputs, network.output_names)
    if len(model.outputs) == len(network.outputs):
        return model.outputs
    computed = tuple(each for each in model.outputs if not _graph(model).is_copied(each.name))
    return _named(model.outputs, network.outputs) or (computed if len(computed) == len(network.outputs) else None)


def _inputs(model: ModelSignature, network: NetworkBinding, outputs: Bound) -> Bound | None:
    """Those that are named, else all; without those that no bound output is computed from."""
    named = _named(model.inputs, network.input_names)
    if len(model.inputs) == len(network.inputs):
        return named if network.input_names else model.inputs
    needed = _graph(model).inputs_of(each.name for each in outputs)
    found = named if network.input_names else tuple(each for each in model.inputs if each.name in needed)
    is_whole = found is not None and needed <= {each.name for each in found}
    return found if is_whole and found is not None and len(found) == len(network.inputs) else None


def _graph(model: ModelSignature) -> ModelGraph:
    return model.graph or open_model(model.path)


def _named(tensors: Iterable[TensorSignature], names: tuple[str, ...]) -> Bound | None:
    known = {each.name: each for each in tensors}
    return tuple(known[name] for name in names) if names and known.keys() >= set(names) else None
