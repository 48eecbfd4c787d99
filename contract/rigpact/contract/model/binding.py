"""Binding: what of a model a network takes, and which input orders an engine cannot tell apart.

The engine binds five vectors to five inputs by position, as bytes. What follows from the widths alone stands here. Games'
exporters add outputs of constants and copies, and inputs that no answer is made of: those may be left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

from rigpact.contract.layout import INPUTS
from rigpact.contract.model.graph import ModelGraph, TensorSignature, open_model
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.systems.system import NetworkBinding

Order = tuple[str, ...]
"""Which vector is bound at each of the five positions."""
Widths = Mapping[str, int | None]
"""Width by input name, None where any width fits (a dynamic axis, or one that only the network knows)."""
ORDERS: tuple[Order, ...] = tuple(permutations(INPUTS))
"""All 120 input orders, the contract's first."""


@dataclass(frozen=True)
class Misfit:
    """A vector bound at an input of another width: the engine cuts it or pads it with zeros silently."""

    position: int
    input: str
    vector: str
    given: int
    bound: int

    @property
    def action(self) -> str:
        """What happens to the vector, in words."""
        return (
            f"cut by {self.given - self.bound}" if self.given > self.bound else f"padded by {self.bound - self.given}"
        )


def misfits(order: Order, vectors: Widths, inputs: Widths | None = None) -> tuple[Misfit, ...]:
    """The vectors that an order binds at another width than their own.

    vectors: what the engine hands over; inputs: what the model takes, the same where None.
    """
    bound = inputs or vectors
    pairs = ((place, name, vector) for place, (name, vector) in enumerate(zip(INPUTS, order, strict=True)))
    return tuple(
        Misfit(place, name, vector, given, width)
        for place, name, vector in pairs
        if (given := vectors[vector]) is not None and (width := bound[name]) is not None and given != width
    )


def accepted_orders(vectors: Widths, inputs: Widths | None = None) -> tuple[Order, ...]:
    """The orders, of 120, that an engine lets through when it checks nothing but byte sizes.

    Where all widths differ, only the contract's own order remains. Any other order plays noise, and no error appears.
    """
    return tuple(order for order in ORDERS if not misfits(order, vectors, inputs))


def interchangeable_pairs(widths: Widths) -> tuple[tuple[str, str], ...]:
    """Pairs of inputs with the same byte size: only the pose shows that they are swapped."""
    return tuple(
        (first, second) for first, second in combinations(INPUTS, 2) if widths[first] == widths[second] is not None
    )


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
