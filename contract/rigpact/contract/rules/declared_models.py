"""RP765 to RP769: a model against the contract that declares its network.

Normalisers and factors stand in the graph, or the contract applies them outside. The keys of the metadata are those that
exporters of walking policies write: joint_names, default_joint_pos, action_scale, observation_names,
observation_terms_history_length. Lists are text with commas, numbers have three decimals.
"""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.edges import Edge, before_output, behind_input
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.rules.bundle_view import need
from rigpact.contract.rules.declared_contract import changes_much, shown_numbers, unused_numbers
from rigpact.contract.rules.family import Need, Rules, findings_of
from rigpact.contract.rules.system_view import DeclaredNetwork, DeclaredView
from rigpact.contract.rules.wording import first_unlike, listed
from rigpact.contract.statistics import FloatArray

rules = Rules("declared_models")


_SAME = 0.01
"""An exporter's three digits move a number by up to half a percent, on either side."""
_PRINTED = 0.5e-3
"""Metadata has three decimals: half a step of the last one."""


def _check_edges(said: DeclaredNetwork) -> Iterator[Finding]:
    """Yield what a declaration applies outside of a network that its graph applies inside, and what neither does."""
    view, network = said.view, said.network
    graph, (inputs, outputs) = need(said.model.graph), bound_tensors(said.model, network)
    for tensor, vector in zip(inputs or (), network.inputs, strict=False):
        yield from _input(view, graph, tensor.name, vector)
    for tensor, vector in zip(outputs or (), network.outputs, strict=False):
        yield from _output(view, graph, tensor.name, vector)


def _input(view: DeclaredView, graph: ModelGraph, tensor: str, vector: str) -> Iterator[Finding]:
    edge = behind_input(graph, tensor)
    if not edge.operators:
        yield from _nowhere(view, vector)
        return
    for stage, inside in _scaled_outside(view, vector, edge):
        values = {"stage": stage, "operators": ", ".join(edge.operators)}
        if edge.normalises and view.operation(stage) == "normalise":
            yield rules.TWO_NORMALISERS.at(graph.path, (tensor,), input=tensor, **values)
        else:
            yield rules.SCALED_INSIDE.at(graph.path, (tensor,), tensor=tensor, numbers=shown_numbers(inside), **values)


def _scaled_outside(view: DeclaredView, vector: str, edge: Edge) -> Iterator[tuple[str, FloatArray]]:
    """Yield each stage whose numbers reach the input unchanged and that multiplied them by what the model does there."""
    channels = view.channels(vector)
    if edge.scale.size not in (1, len(channels)):
        return
    inside = np.broadcast_to(edge.scale, len(channels))
    for stage in dict.fromkeys(name for name, _ in channels):
        scale = view.scale(stage) if view.operation(stage) in ("affine", "normalise") else None
        if scale is not None and changes_much(scale):
            own = np.broadcast_to(scale, view.layout(stage).width)
            pairs = np.array([(own[place], inside[at]) for at, (name, place) in enumerate(channels) if name == stage])
            if np.allclose(pairs[:, 0], pairs[:, 1], rtol=_SAME, atol=0.0):
                yield stage, scale


def _nowhere(view: DeclaredView, vector: str) -> Iterator[Finding]:
    """Numbers as wide as the input that nobody applies: what stands in a contract beside its network are its statistics."""
    width = view.layout(vector).width
    is_normalised = any(view.operation(name) == "normalise" for name, _ in view.channels(vector))
    for name in unused_numbers(view) if not is_normalised and width > 1 else ():
        if np.size(view.declaration.constants["numbers"][name]) == width:
            yield rules.NO_NORMALISER.at(view.path, ("numbers", name), numbers=name, count=width, vector=vector)


def _output(view: DeclaredView, graph: ModelGraph, tensor: str, vector: str) -> Iterator[Finding]:
    edge = before_output(graph, tensor)
    for stage, _ in view.stages_of("affine", "denormalise"):
        scale = view.scale(stage)
        is_behind = {name for name, _ in view.channels(view.inputs_of(stage)[0])} == {vector}
        if scale is None or not is_behind or not changes_much(scale) or edge.scale.size not in (1, scale.size):
            continue
        if np.allclose(edge.scale, scale, rtol=_SAME, atol=0.0):
            values = {"stage": stage, "numbers": shown_numbers(scale), "operators": ", ".join(edge.operators)}
            yield rules.SCALED_INSIDE.at(graph.path, (tensor,), tensor=tensor, **values)


def _differs(said: DeclaredNetwork, key: str, found: str, expected: str) -> Finding:
    return rules.DIFFERS.at(said.model.path, ("metadata", key), key=key, found=found, expected=expected)


def _check_joints(said: DeclaredNetwork) -> Iterator[Finding]:
    """Compare the order of the joints that both name; names of which none is known say nothing of the order."""
    joints = said.words("joint_names")
    for vector in said.network.outputs:
        own = said.own_names(vector)
        shared = [name for name in joints if name in own]
        if shared and len(shared) < len(own):
            missing = listed([name for name in own if name not in joints])
            yield _differs(said, "joint_names", f"no {missing}", f"it in {vector}")
        elif shared != list(own):
            for place, _ in first_unlike(shared, own, ""):
                yield _differs(
                    said, "joint_names", f"joint {place} is {shared[place]}", f"{own[place]} there in {vector}"
                )


def _check_applied(said: DeclaredNetwork) -> Iterator[Finding]:
    for key, parameter in (("action_scale", "scale"), ("default_joint_pos", "offset")):
        yield from findings_of((_behind_answer,), said, key, parameter)


def _behind_answer(said: DeclaredNetwork, key: str, parameter: str) -> Iterator[Finding]:
    """Compare what a stage applies to the network's answer with what the metadata says of it, joint by joint."""
    value, joints, view = said.numbers(key), said.words("joint_names"), said.view
    for vector in said.network.outputs:
        own, expected = said.own_names(vector), value
        if value.size == len(joints) != 1 and set(own) <= set(joints):
            expected = value[[joints.index(name) for name in own]]
        if expected.size not in (1, len(own)):
            continue
        for stage, table in view.stages_of("affine"):
            declared = view.numbers(stage, parameter) if view.inputs_of(stage) == (vector,) else None
            if declared is not None:
                pair = (np.broadcast_to(each, len(own)) for each in (declared, expected))
                yield from _compared(said, (key, f"{parameter} of {table['name']}"), view.names(vector), *pair)


def _compared(
    said: DeclaredNetwork, words: tuple[str, str], names: tuple[str, ...], own: FloatArray, expected: FloatArray
) -> Iterator[Finding]:
    (key, what), apart = words, np.abs(own - expected)
    differs = apart > _PRINTED * (1.0 + 1e-9)
    is_rounding = differs & (apart <= _half_steps(own) + _PRINTED)
    for chosen in (differs & ~is_rounding, is_rounding):
        if not chosen.any():
            continue
        shares = np.where(chosen, apart / np.maximum(np.abs(expected), _PRINTED), 0.0)
        worst, count = int(np.argmax(shares)), int(chosen.sum())
        declared, found = float(own[worst]), float(expected[worst])
        if chosen is is_rounding:
            values = {"what": what, "address": names[worst], "error": float(shares[worst]), "count": count}
            yield rules.ROUNDED.at(said.model.path, ("metadata", key), declared=declared, found=found, **values)
        else:
            more = f" ({count} such numbers)" if count > 1 else ""
            yield _differs(said, key, f"{found:g} at {names[worst]}{more}", f"{declared:g} as {what}")


def _half_steps(declared: FloatArray) -> FloatArray:
    """Half a step of the last decimal that a declared list has: what rounding to it can move a number."""
    texts = (np.format_float_positional(value, trim="-").partition(".")[2] for value in declared)
    return np.full(declared.shape, 0.5 * 10.0 ** -max(map(len, texts)))


def _observed(said: DeclaredNetwork) -> str:
    vector = said.network.inputs[0]
    is_of_terms = len(said.network.inputs) == 1 and said.view.operation(vector) in ("concatenate", "history")
    return need(vector, when=is_of_terms and bool(said.words("observation_names")))


def _check_terms(said: DeclaredNetwork) -> Iterator[Finding]:
    vector, terms, key = _observed(said), said.words("observation_names"), "observation_names"
    own = said.view.inputs_of(vector)
    if len(own) != len(terms):
        yield _differs(said, key, f"{len(terms)} terms", f"{len(own)} in {vector}")
    elif set(own) == set(terms) and own != terms:
        yield _differs(said, key, ", ".join(terms), ", ".join(own))


def _check_lengths(said: DeclaredNetwork) -> Iterator[Finding]:
    vector, key = _observed(said), "observation_terms_history_length"
    lengths, length = said.numbers(key), said.view.tables[vector].get("length", 1)
    if np.any(np.maximum(lengths, 1) != length):
        yield _differs(said, key, f"{np.max(lengths):g} frames", f"{length} in {vector}")


_METADATA = (_check_joints, _check_applied, _check_terms, _check_lengths)
FAMILY = rules.family("FAMILY", (Need.DECLARATION, Need.MODEL), _check_edges, *_METADATA)
