"""A model without a contract: its file, its first operations, its answers, the next step.

Nothing here is a rule: a rule needs to know what the model is for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import ModelFailed
from rigpact.contract.model.graph import ModelGraph, Node, open_model
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.statistics import FloatArray

_POINTS = 3
"""Drawn inputs at which each number of an input is moved: what changes no answer at any of them is dead."""
_MOST = 4096
"""Numbers of an input that are moved one by one."""
_MOST_GIVEN = 1 << 24
"""Numbers that a model is given at once: ten pictures of a camera. A shape of a stranger's model may say more than fits."""
_SIZES = (1.0, 1e2, 1e4, 1e8)
"""Of inputs: what a sensor, a wrong unit and a division by almost nothing give."""
_RECURRENT = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}
"""Recurrent operations, and at which of their inputs the state of the frame before comes in."""


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model, in lines, and which command comes next."""

    lines: tuple[str, ...]
    next_step: str


def facts_of(path: Path) -> ModelFacts:
    """The facts; UnusableInput where onnxruntime does not load the model."""
    session = open_session(path)
    graph = open_model(path)
    meta = session.get_modelmeta()
    lines = [*_of_file(session, graph), *_of_graph(graph), *_of_answers(session, path)]
    return ModelFacts(tuple(lines), _next(path, meta.custom_metadata_map))


def _of_file(session: Any, graph: ModelGraph) -> Iterator[str]:
    for word, nodes in (("input", session.get_inputs()), ("output", session.get_outputs())):
        for node in nodes:
            yield f"{word} {node.name}: {node.type.removeprefix('tensor(').removesuffix(')')} {list(node.shape)}"
    meta = session.get_modelmeta()
    exported = f"exported by {meta.producer_name or 'nobody named'}"
    sets = ", ".join(f"{name or 'ai.onnx'} {version}" for name, version in graph.opsets.items())
    common = ", ".join(f"{count} {op}" for op, count in Counter(node.op for node in graph.nodes).most_common(6))
    yield f"{exported}; operators {sets}; {graph.parameters:,} numbers in weights; {common}"
    keys = sorted(meta.custom_metadata_map)
    yield f"metadata: {', '.join(keys[:12])}" if keys else "no metadata: names, scales and rates stand in another file"


def _of_graph(graph: ModelGraph) -> Iterator[str]:
    if idle := [tensor.name for tensor in graph.outputs if graph.is_copied(tensor.name)]:
        yield f"constants or copies, of which no contract needs one: {', '.join(idle)}"
    for tensor in graph.inputs:
        said = _normaliser(graph, tensor.name)
        if said:
            yield f"{tensor.name} is normalised inside: {said}; an engine must not do it again"
    for node in graph.nodes:
        if not all("".join(node.inputs[place : place + 1]) for place in _RECURRENT.get(node.op, ())):
            yield f"{node.op} at {node.pointer}: its state is not an input, so it begins with zeros in every frame"


def _normaliser(graph: ModelGraph, name: str) -> str:
    """`- mean, / std` of the first operations on an input, where they are constants as wide as it; '' for none."""
    weights, words = graph.weight, []
    nodes = defaultdict[str, list[Node]](list)
    for node in graph.nodes:
        for each in node.inputs if len(node.inputs) <= 2 else ():
            nodes[each].append(node)
    while len(after := nodes[name]) == 1 and after[0].op in ("Sub", "Div", "Mul", "Add", "Clip"):
        (node,) = after
        other = next((weights[each] for each in node.inputs if each != name and each in weights), None)
        if other is not None and other.values and len(other.values) > 1:
            values = np.array(other.values)
            words.append(f"{_SIGNS[node.op]} {other.name} ({values.min():.3g} to {values.max():.3g}{_steps(values)})")
        name = node.outputs[0]
    return ", ".join(words)


_SIGNS = {"Sub": "minus", "Div": "divided by", "Mul": "times", "Add": "plus", "Clip": "within"}
_FEWEST = 2


def _steps(values: FloatArray) -> str:
    """Where runs of one equal number begin, if there are few: boundaries of terms."""
    starts = [0, *(int(each) + 1 for each in np.flatnonzero(np.diff(values) != 0.0))]
    return f", the same from {', '.join(map(str, starts))} on" if _FEWEST <= len(starts) <= 12 < len(values) else ""


def _of_answers(session: Any, path: Path) -> Iterator[str]:
    fixed = {each.name: each.shape for each in session.get_inputs()}
    shapes = {name: [max(size, 1) if isinstance(size, int) else 1 for size in each] for name, each in fixed.items()}
    if any(each.type != "tensor(float)" for each in session.get_inputs()):
        return
    count = sum(map(prod, shapes.values()))
    if count > _MOST_GIVEN:
        yield f"its inputs are {count:,} numbers: its answers were not tried"
        return
    rng = np.random.default_rng(0)
    try:
        for name, shape in shapes.items():
            dead = _dead(session, path, shapes, name, rng) if prod(shape) <= _MOST else []
            if dead:
                yield f"{len(dead)} of {prod(shape)} numbers of {name} change no answer: {_runs(dead)}"
        beyond = next((size for size in _SIZES if not _is_finite(session, path, shapes, size, rng)), None)
    except ModelFailed as failed:
        yield f"it fails on numbers of ordinary size: {failed}"
        return
    said = f"finite up to inputs of {_SIZES[-1]:g}" if beyond is None else f"not finite at inputs of {beyond:g}"
    yield f"answers are {said}"


def _answers(session: Any, path: Path, inputs: Mapping[str, FloatArray]) -> FloatArray:
    names = [each.name for each in session.get_outputs()]
    with np.errstate(over="ignore"):
        fed = {name: each.astype(np.float32) for name, each in inputs.items()}
    return np.concatenate([np.asarray(each, np.float64).reshape(-1) for each in run_session(session, names, fed, path)])


def _dead(session: Any, path: Path, shapes: Mapping[str, list[int]], name: str, rng: np.random.Generator) -> list[int]:
    left = list(range(prod(shapes[name])))
    for _ in range(_POINTS):
        inputs = {each: rng.normal(size=shape) for each, shape in shapes.items()}
        before = _answers(session, path, inputs)
        kept = []
        for place in left:
            moved = inputs[name].copy()
            moved.reshape(-1)[place] += 1.0
            if np.array_equal(_answers(session, path, {**inputs, name: moved}), before):
                kept.append(place)
        left = kept
    return left


def _is_finite(
    session: Any, path: Path, shapes: Mapping[str, list[int]], size: float, rng: np.random.Generator
) -> bool:
    inputs = {name: size * rng.choice([-1.0, 1.0], shape) for name, shape in shapes.items()}
    return bool(np.isfinite(_answers(session, path, inputs)).all())


def _runs(places: list[int]) -> str:
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    runs = [f"{part[0]}" if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in np.split(np.array(places), cuts)]
    return ", ".join(runs[:8]) + (f" and {len(runs) - 8} more" if len(runs) > 8 else "")


def _next(path: Path, metadata: Mapping[str, str]) -> str:
    if {"joint_names", "observation_names"} <= metadata.keys():
        return f"rigpact init --from {path} --fps 50 -o contract.toml"
    return "rigpact init, in a folder with this model and a recording of its inputs and answers"
