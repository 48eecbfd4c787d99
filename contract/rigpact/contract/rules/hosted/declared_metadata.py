"""RP768 and RP769: what a model's metadata says against the contract: joints, pose, factors, terms.

The keys are those that exporters of walking policies write: joint_names, default_joint_pos, action_scale, observation_names,
observation_terms_history_length. Lists are text with commas, numbers have three decimals.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.family import Family, Need, on_declared_networks, rules_in
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.rules.wording import listed
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import NetworkBinding

DIFFERS = Rule.titled(
    "RP768 warning model-metadata-differs",
    message="{key} in the model's metadata: {found}; the contract has {expected}",
    hint="ask the side that trained which one the network was trained with; correct the other",
    why="the exporter wrote the numbers of the training; the contract has those of the engine",
)
ROUNDED = Rule.titled(
    "RP769 info model-metadata-has-more-digits",
    message="{what} is rounded: {declared:g} for {found:g} at {address}, {error:.1%} off ({count} such numbers)",
    hint="take the numbers that training computed with, not those that an exporter printed",
    why="the network was trained with the exact factor: every command is off by that share",
)
Said = tuple[str, str, tuple[str, ...], FloatArray]
"""A key of the metadata, the parameter that it speaks of, the joints that its numbers follow, the numbers."""
_PRINTED = 0.5e-3
"""Metadata has three decimals: half a step of the last one."""


def check_metadata(view: DeclaredView, network: NetworkBinding, model: ModelSignature) -> Iterator[Finding]:
    """Yield where the metadata of a model contradicts the declaration; keys that are not there say nothing."""
    metadata = model.graph.metadata if model.graph is not None else {}
    joints = _words(metadata, "joint_names")
    # Compare the order of the joints that both name; names of which none is known say nothing of the order
    for vector in network.outputs:
        own = _own_names(view, vector)
        shared = [name for name in joints if name in own]
        if shared and len(shared) < len(own):
            missing = listed([name for name in own if name not in joints])
            yield _differs(model, "joint_names", f"no {missing}", f"it in {vector}")
        elif shared and shared != list(own):
            place = next(index for index, pair in enumerate(zip(shared, own, strict=True)) if pair[0] != pair[1])
            found = f"joint {place} is {shared[place]}"
            yield _differs(model, "joint_names", found, f"{own[place]} there in {vector}")
    for key, parameter in (("action_scale", "scale"), ("default_joint_pos", "offset")):
        value = _numbers(metadata, key)
        if value is not None:
            yield from _behind_answer(view, network, model, (key, parameter, joints, value))
    yield from _terms(view, network, model, metadata)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION, Need.MODEL), on_declared_networks(check_metadata))


def _differs(model: ModelSignature, key: str, found: str, expected: str) -> Finding:
    return DIFFERS.at(model.path, ("metadata", key), key=key, found=found, expected=expected)


def _words(metadata: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(word.strip().removesuffix("_joint") for word in metadata.get(key, "").split(",") if word.strip())


def _numbers(metadata: Mapping[str, str], key: str) -> FloatArray | None:
    try:
        return np.array([float(word) for word in metadata[key].split(",")])
    except (KeyError, ValueError):  # not there, or another encoding, of which nothing is known
        return None


def _own_names(view: DeclaredView, vector: str) -> tuple[str, ...]:
    return tuple(name.removesuffix("_joint") for name in view.names(vector))


def _behind_answer(view: DeclaredView, network: NetworkBinding, model: ModelSignature, said: Said) -> Iterator[Finding]:
    """Compare what a stage applies to the network's answer with what the metadata says of it, joint by joint."""
    key, parameter, joints, value = said
    for vector in network.outputs:
        for stage, table in view.stages_of("affine"):
            declared = view.numbers(stage, parameter) if view.inputs_of(stage) == (vector,) else None
            expected = None if declared is None else _for_each(_own_names(view, vector), joints, value)
            if declared is not None and expected is not None:
                names = view.names(vector)
                yield from _compared(model, (key, f"{parameter} of {table['name']}"), names, declared, expected)


def _for_each(own: tuple[str, ...], joints: tuple[str, ...], value: FloatArray) -> FloatArray | None:
    """The metadata's numbers in the order of the answer; None where they do not belong to it."""
    if value.size == 1:
        return np.broadcast_to(value, len(own))
    if value.size == len(joints) and set(own) <= set(joints):
        return np.asarray(value[[joints.index(name) for name in own]])
    return value if value.size == len(own) else None


def _compared(
    model: ModelSignature, words: tuple[str, str], names: tuple[str, ...], declared: FloatArray, expected: FloatArray
) -> Iterator[Finding]:
    (key, what), own = words, np.broadcast_to(declared, expected.shape)
    apart = np.abs(own - expected)
    differs = apart > _PRINTED * (1.0 + 1e-9)
    is_rounding = differs & (apart <= _half_steps(own) + _PRINTED)
    for chosen in (differs & ~is_rounding, is_rounding):
        if not chosen.any():
            continue
        shares = np.where(chosen, apart / np.maximum(np.abs(expected), _PRINTED), 0.0)
        worst = int(np.argmax(shares))
        values: dict[str, Any] = {"declared": float(own[worst]), "found": float(expected[worst])}
        if chosen is is_rounding:
            yield ROUNDED.at(
                model.path,
                ("metadata", key),
                what=what,
                address=names[worst],
                error=float(shares[worst]),
                count=int(chosen.sum()),
                **values,
            )
        else:
            more = f" ({int(chosen.sum())} such numbers)" if chosen.sum() > 1 else ""
            found = f"{values['found']:g} at {names[worst]}{more}"
            yield _differs(model, key, found, f"{values['declared']:g} as {what}")


def _half_steps(declared: FloatArray) -> FloatArray:
    """Half a step of the last decimal that a declared list has: what rounding to it can move a number."""
    texts = (np.format_float_positional(value, trim="-").partition(".")[2] for value in declared)
    return np.full(declared.shape, 0.5 * 10.0 ** -max(map(len, texts)))


def _terms(
    view: DeclaredView, network: NetworkBinding, model: ModelSignature, metadata: Mapping[str, str]
) -> Iterator[Finding]:
    """Compare the terms of the observation and the length of its history; each side may call a term otherwise."""
    terms = _words(metadata, "observation_names")
    vector = network.inputs[0]
    table = view.tables[vector]
    if not terms or len(network.inputs) != 1 or view.operation(vector) not in ("concatenate", "history"):
        return
    own = view.inputs_of(vector)
    if len(own) != len(terms):
        yield _differs(model, "observation_names", f"{len(terms)} terms", f"{len(own)} in {vector}")
    elif set(own) == set(terms) and own != terms:
        yield _differs(model, "observation_names", ", ".join(terms), ", ".join(own))
    lengths = _numbers(metadata, "observation_terms_history_length")
    length = table.get("length", 1)
    if lengths is not None and np.any(np.maximum(lengths, 1) != length):
        key = "observation_terms_history_length"
        yield _differs(model, key, f"{np.max(lengths):g} frames", f"{length} in {vector}")
