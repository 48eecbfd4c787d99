"""The contract itself, as tables: slices, tensors, conventions, statistics, skeleton, binding hazards, the model.

One list of sections is built from the files; description_text.py renders it, so that the contract document can be
generated instead of kept by hand. Nothing here judges; that is `rigpact check`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.documents import Document
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONTACTS,
    ROOT_POSITION,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Slice,
)
from rigpact.contract.model.binding import Misfit, Widths, accepted_orders, interchangeable_pairs, misfits
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.model.tensor import TensorSignature
from rigpact.contract.rules.bundle.view import columns_word, member
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import STD_FLOOR, SquashedStatistics, Statistics
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS, enemy_conventions

_HASH_CHARACTERS = 12
_CONSTANT = STD_FLOOR * (1 + 1e-3)
"""A deviation at the floor: the channel never moved."""
_MEANING = {
    ROOT_POSITION: ("3 coordinates in metres", "as it is"),
    ROOT_VELOCITY: ("planar, m/s", "tanh(v / scale)"),
    ROOT_YAW: ("radians", "wrapped to ±π, / π"),
    ROTATIONS: ("{bones} bones × 6, local", "as it is"),
    ANGULAR_VELOCITIES: ("{bones} bones × 3, rad/s", "tanh(v / scale)"),
    CONTACTS: ("left, right foot", "as it is"),
}
_PRODUCERS = {
    "state": "the raw state, squashed and normalised with MuX and StdX",
    "cond": "the player's intent: 4 action bits, planar direction, speed in m/s",
    "contacts": "soft contact scores of the feet",
    "angvel": "the angular velocity of every bone, normalised",
    "pose_hist": "the last poses, oldest first, normalised",
}
_SOURCES = {"rot6d_columns": "meta.rot6d_spec.columns", "output_mode": "meta.rot6d_spec.output_mode"}


@dataclass(frozen=True)
class Section:
    """One table with its title and the sentences that stand before it."""

    title: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def describe_contract(contract: Contract, bundle: Document, model: ModelSignature | None = None) -> list[Section]:
    """Everything that can be said about a contract, and about a model if there is one."""
    widths = model_widths(contract, model)
    with np.errstate(all="ignore"):  # numbers beyond float32 are shown as they are; judging them is check's
        sections = [
            _identity(contract, bundle),
            _slices(contract),
            _tensors(contract, model),
            _conventions(contract, bundle),
            _statistics(contract),
            _skeleton(contract),
            _hazards(contract, widths, model),
        ]
    return sections if model is None else [*sections, _model(model)]


def model_widths(contract: Contract, model: ModelSignature | None) -> Widths:
    """The width of each input: the model's own by position where it has five, else the contract's."""
    if model is None or len(model.inputs) != len(INPUTS):
        return contract.input_widths
    return {name: entry.width for name, entry in zip(INPUTS, model.inputs, strict=True)}


def _identity(contract: Contract, bundle: Document) -> Section:
    rate = "declared" if "fps" in bundle.data else "not declared: the engine assumes it"
    rows = (
        ("bundle", contract.path.name),
        ("version", _text(bundle.data.get("bundle_version", "not declared"))),
        ("sha256", contract.sha256[:_HASH_CHARACTERS]),
        ("frames per second", f"{contract.fps:g} ({rate})"),
        ("bones", str(contract.bone_count)),
        ("pose history", _frames(contract)),
    )
    return Section("Contract", columns=("", "value"), rows=rows)


def _frames(contract: Contract) -> str:
    if contract.pose_history_length is None:
        return "from the model's width"
    origin = contract.pose_history.origin if contract.pose_history else None
    held = "no statistics: scale 1, mean 0, std 1" if origin is None else f"statistics in {_name(origin)}"
    return f"{contract.pose_history_length} frames, {held}"


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _slices(contract: Contract) -> Section:
    rows = [("state", *_slice(entry, contract)) for entry in contract.state]
    rows += [("output", *_slice(entry, contract)) for entry in contract.output]
    lines = (f"State {contract.state.width} wide, output {contract.output.width} wide. Ranges are half open.",)
    return Section(
        "Slices", lines, ("vector", "slice", "start", "stop", "size", "holds", "before z-scoring"), tuple(rows)
    )


def _slice(entry: Slice, contract: Contract) -> tuple[str, ...]:
    holds, treatment = _MEANING.get(entry.name, ("unknown to the engine", "as it is"))
    return (
        entry.name,
        str(entry.start),
        str(entry.stop),
        str(entry.size),
        holds.format(bones=contract.bone_count),
        treatment,
    )


def _tensors(contract: Contract, model: ModelSignature | None) -> Section:
    declared = contract.input_widths
    rows = [
        (str(place), name, _width(declared[name]), *_bound(model, place), _PRODUCERS[name])
        for place, name in enumerate(INPUTS)
    ]
    output = model.outputs[0] if model and model.outputs else None
    rows.append(("output 0", "motion_pred", str(contract.output.width), *_signature(output, model), "the network"))
    lines = ("Inputs are bound by position, float32, [1, width]; names do not count.",)
    columns = ("position", "tensor", "width", *(("in the model",) if model else ()), "produced by")
    return Section("Tensors", lines, columns, tuple(rows))


def _bound(model: ModelSignature | None, place: int) -> tuple[str, ...]:
    return _signature(model.inputs[place] if model and place < len(model.inputs) else None, model)


def _signature(entry: TensorSignature | None, model: ModelSignature | None) -> tuple[str, ...]:
    if model is None:
        return ()
    if entry is None:
        return ("missing",)
    return (f"{entry.name} {entry.dtype} [{', '.join('?' if axis is None else str(axis) for axis in entry.shape)}]",)


def _width(width: int | None) -> str:
    return "the model's" if width is None else str(width)


def _conventions(contract: Contract, bundle: Document) -> Section:
    defaults, sources = enemy_conventions(), _declared(bundle)
    rows = []
    for name, knob in KNOBS.items():
        value = getattr(contract.conventions, name)
        assumed = "default" if value == getattr(defaults, name) else "set, or follows from the files"
        rows.append((name, _text(value), sources.get(name, assumed), knob.meaning))
    lines = ("Every place where two correct-looking implementations differ, and what holds here.",)
    return Section("Conventions", lines, ("knob", "value", "source", "what it decides"), tuple(rows))


def _declared(bundle: Document) -> Mapping[str, str]:
    spec = bundle.data["meta"].get("rot6d_spec")
    found = {"rot6d_columns": columns_word(member(spec, "columns")), "output_mode": member(spec, "output_mode")}
    return {name: _SOURCES[name] for name, value in found.items() if value in KNOBS[name].values}


def _statistics(contract: Contract) -> Section:
    rows = [_row("MuX, StdX", entry, contract.state_statistics, contract) for entry in contract.state]
    rows += [_row("MuY, StdY", entry, contract.output_statistics, contract) for entry in contract.output]
    rows += list(_auxiliary("PoseHist", contract.pose_history, contract))
    rows += list(_auxiliary("AngVel", contract.angular_velocity, contract))
    lines = (
        "Worst conditioned: where one float32 step of the raw value is the most deviations; a comparison cannot be finer.",
        "Constant: the deviation stands at the engine's floor of 1e-6.",
    )
    columns = ("arrays", "slice", "means", "deviations", "constant", "worst conditioned", "σ per float32 step")
    return Section("Statistics", lines, columns, tuple(rows))


def _row(arrays: str, entry: Slice, statistics: Statistics, contract: Contract) -> tuple[str, ...]:
    return (
        arrays,
        entry.name,
        *_glance(Statistics(statistics.mean[entry.range], statistics.std[entry.range]), entry, contract),
    )


def _auxiliary(name: str, squashed: SquashedStatistics | None, contract: Contract) -> Iterator[tuple[str, ...]]:
    if squashed is not None:
        per_bone = ROTATIONS if name == "PoseHist" else ANGULAR_VELOCITIES
        entry = Slice(0, squashed.width, per_bone)
        yield (f"Mu{name}, Std{name}", "tanh(v / scale)", *_glance(squashed.statistics, entry, contract))


def _glance(statistics: Statistics, entry: Slice, contract: Contract) -> tuple[str, ...]:
    """Ranges, constant channels and the worst conditioned one of the channels of a slice."""
    if not entry.size:
        return "", "", "0", "", ""
    mean, std = statistics.mean.astype(np.float64), statistics.std_floored.astype(np.float64)
    reach = np.abs(mean) + 3 * std
    steps = np.spacing(reach.astype(np.float32)).astype(np.float64) / std
    worst = int(np.argmax(steps))
    return (
        f"{_short(mean.min())} … {_short(mean.max())}",
        f"{_short(std.min())} … {_short(std.max())}",
        str(int((std <= _CONSTANT).sum())),
        _channel(worst, entry, contract),
        f"{steps[worst]:.1e}",
    )


def _channel(place: int, entry: Slice, contract: Contract) -> str:
    per_bone = {ROTATIONS: 6, ANGULAR_VELOCITIES: 3}.get(entry.name)
    if per_bone is None:
        return f"channel {entry.start + place}"
    bone = place // per_bone % max(contract.bone_count, 1)
    name = contract.bone_names[bone] if bone < len(contract.bone_names) else f"bone {bone}"
    return f"{name}, channel {entry.start + place}"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _skeleton(contract: Contract) -> Section:
    skeleton = contract.skeleton
    if skeleton is None:
        return Section("Skeleton", ("The bundle describes none: errors cannot be given in centimetres.",))
    lengths_cm = 100 * np.linalg.norm(skeleton.offsets_m.astype(np.float64), axis=1)
    roots = [skeleton.names[bone] for bone, parent in enumerate(skeleton.parents) if parent < 0]
    children = [bone for bone, parent in enumerate(skeleton.parents) if parent >= 0]
    longest = max(children, key=lambda bone: lengths_cm[bone], default=0)
    swap = left_right_permutation(skeleton.names) or ()
    rows = (
        ("root", ", ".join(roots)),
        ("deepest chain", f"{max(_depth(skeleton.parents, bone) for bone in range(len(skeleton.parents)))} bones"),
        ("left-right pairs", str(sum(bone < twin for bone, twin in enumerate(swap)))),
        ("longest bone", f"{skeleton.names[longest]}, {lengths_cm[longest]:.1f} cm from its parent"),
        ("bones", ", ".join(skeleton.names)),
    )
    return Section("Skeleton", columns=("", "value"), rows=rows)


def _depth(parents: Sequence[int], bone: int) -> int:
    count = 1
    while parents[bone] >= 0:
        bone, count = parents[bone], count + 1
    return count


def _hazards(contract: Contract, widths: Widths, model: ModelSignature | None) -> Section:
    vectors = {name: width if width is not None else widths[name] for name, width in contract.input_widths.items()}
    accepted = accepted_orders(vectors, widths)
    pairs = interchangeable_pairs(vectors)
    rows = tuple(
        (vector, _width(vectors[vector]), *(_fit(vector, place, vectors, widths) for place in range(len(INPUTS))))
        for vector in INPUTS
    )
    said = "; ".join(f"{a} and {b} ({vectors[a]} wide)" for a, b in pairs) or "none"
    lines = (
        f"{len(accepted)} of 120 input orders pass an engine that compares byte sizes; all 120 pass one that pads and cuts,"
        " as the deployed one does.",
        f"Inputs that can change places unseen: {said}.",
        f"What happens to each vector at each position{' of the model' if model else ''}:",
    )
    columns = ("vector", "width", *(f"at {place} {name}" for place, name in enumerate(INPUTS)))
    return Section("Binding hazards", lines, columns, rows)


def _fit(vector: str, place: int, vectors: Widths, widths: Widths) -> str:
    """What the engine does to a vector at a position."""
    others = [name for name in INPUTS if name != vector]
    order = (*others[:place], vector, *others[place:])
    found: Misfit | None = next((each for each in misfits(order, vectors, widths) if each.position == place), None)
    return "fits" if found is None else found.action


def _model(model: ModelSignature) -> Section:
    rows = [("file", model.path.name), ("sha256", model.sha256[:_HASH_CHARACTERS])]
    if model.graph is not None:
        graph = model.graph
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(graph.opsets.items()))
        operators = sorted({node.op for node in graph.nodes})
        rows += [
            ("operator sets", opsets),
            ("operators", f"{len(graph.nodes)} nodes: {', '.join(operators)}"),
            ("weights", f"{graph.parameters:,} numbers, {sum(weight.bytes for weight in graph.weights) / 1e6:.1f} MB"),
        ]
    if model.graph_not_read:
        rows.append(("graph", f"not looked at: {model.graph_not_read}"))
    if model.refusal:
        rows.append(("onnxruntime", f"does not load it: {model.refusal}"))
    return Section("Model", columns=("", "value"), rows=tuple(rows))


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
