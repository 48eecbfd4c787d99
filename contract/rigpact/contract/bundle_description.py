"""Additions of a schema bundle to its description: statistics, skeleton, input orders that an engine accepts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ANGULAR_VELOCITIES, INPUTS, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Slice
from rigpact.contract.model.binding import Misfit, Widths, accepted_orders, interchangeable_pairs, misfits
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rotation6d import COLUMN_PAIRS, OUTPUT_MODES
from rigpact.contract.rules.views.bundle import columns_word, member
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import STD_FLOOR, SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.description import Description, Row, Section

_CONSTANT = STD_FLOOR * (1 + 1e-3)
"""A deviation at the floor: the channel never moved."""
_SQUASHED = {ROOT_VELOCITY: "tanh(v / scale)", ROOT_YAW: "wrapped to ±π, / π", ANGULAR_VELOCITIES: "tanh(v / scale)"}
_PER_BONE = {ROTATIONS: 6, ANGULAR_VELOCITIES: 3}


def bundle_facts(contract: Contract, root: Mapping[str, Any]) -> Sequence[Row]:
    """The bundle's version, its bones, the length of the pose history."""
    return (
        ("version", str(root.get("bundle_version", "not declared"))),
        ("bones", str(character_of(contract).bone_count)),
        ("pose history", _history(contract)),
    )


def _history(contract: Contract) -> str:
    character = character_of(contract)
    if character.pose_history_length is None:
        return "from the model's width"
    origin = character.pose_history.origin if character.pose_history else None
    name = None if origin is None else origin.replace("\\", "/").rpartition("/")[2]
    held = "no statistics: scale 1, mean 0, std 1" if name is None else f"statistics in {name}"
    return f"{character.pose_history_length} frames, {held}"


def declared_knobs(root: Mapping[str, Any]) -> Mapping[str, str]:
    """The knobs that a bundle declares in its rotation spec."""
    spec = root["meta"].get("rot6d_spec")
    columns, mode = columns_word(member(spec, "columns")), member(spec, "output_mode")
    found = {"rot6d_columns": "columns"} if columns in COLUMN_PAIRS else {}
    found |= {"output_mode": "output_mode"} if mode in OUTPUT_MODES else {}
    return {knob: f"meta.rot6d_spec.{key}" for knob, key in found.items()}


def own_sections(contract: Contract, model: ModelSignature | None) -> Iterator[Section]:
    """Yield the tables of the statistics, the skeleton and the input orders."""
    with np.errstate(all="ignore"):  # numbers beyond float32 are shown as they are; judging them is check's
        yield _statistics(contract)
    yield _skeleton(contract)
    yield _hazards(contract, model_widths(contract, model), model)


def _statistics(contract: Contract) -> Section:
    character = character_of(contract)
    rows = [_row("MuX, StdX", entry, character.state_statistics, contract) for entry in character.state]
    rows += [_row("MuY, StdY", entry, character.output_statistics, contract) for entry in character.output]
    rows += _auxiliary("PoseHist", ROTATIONS, character.pose_history, contract)
    rows += _auxiliary("AngVel", ANGULAR_VELOCITIES, character.angular_velocity, contract)
    lines = (
        "Worst conditioned: where one float32 step of the raw value is the most deviations; a comparison cannot be finer.",
        "Constant: the deviation stands at the engine's floor of 1e-6.",
    )
    columns = (
        "arrays", "slice", "before z-scoring", "means", "deviations", "constant", "worst conditioned", "σ per float32 step",
    )  # fmt: skip
    return Section("Statistics", lines, columns, tuple(rows))


def _row(arrays: str, entry: Slice, statistics: Statistics, contract: Contract) -> Row:
    own = Statistics(statistics.mean[entry.range], statistics.std[entry.range])
    squashed = _SQUASHED.get(entry.name, "as it is") if arrays == "MuX, StdX" else ""
    return (arrays, entry.name, squashed, *_glance(own, entry, contract))


def _auxiliary(name: str, like: str, squashed: SquashedStatistics | None, contract: Contract) -> Iterator[Row]:
    if squashed is not None:
        entry = Slice(0, squashed.width, like)
        yield (f"Mu{name}, Std{name}", "", "tanh(v / scale)", *_glance(squashed.statistics, entry, contract))


def _glance(statistics: Statistics, entry: Slice, contract: Contract) -> Row:
    """Ranges, constant channels and the worst conditioned one of the channels of a slice."""
    if not entry.size:
        return "", "", "0", "", ""
    mean, std = statistics.mean.astype(np.float64), statistics.std_floored.astype(np.float64)
    reach = np.abs(mean) + 3 * std
    steps = np.spacing(reach.astype(np.float32)).astype(np.float64) / std
    worst = int(np.argmax(steps))
    return (
        f"{mean.min():.3g} … {mean.max():.3g}",
        f"{std.min():.3g} … {std.max():.3g}",
        str(int((std <= _CONSTANT).sum())),
        _channel(worst, entry, contract),
        f"{steps[worst]:.1e}",
    )


def _channel(place: int, entry: Slice, contract: Contract) -> str:
    per_bone = _PER_BONE.get(entry.name)
    if per_bone is None:
        return f"channel {entry.start + place}"
    bone = place // per_bone % max(character_of(contract).bone_count, 1)
    name = character_of(contract).bone_names[bone] if bone < len(character_of(contract).bone_names) else f"bone {bone}"
    return f"{name}, channel {entry.start + place}"


def _skeleton(contract: Contract) -> Section:
    skeleton = character_of(contract).skeleton
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


def model_widths(contract: Contract, model: ModelSignature | None) -> Widths:
    """The width of each input: the model's own by position where it has five, else the contract's."""
    if model is None or len(model.inputs) != len(INPUTS):
        return character_of(contract).input_widths
    return {name: entry.width for name, entry in zip(INPUTS, model.inputs, strict=True)}


def _hazards(contract: Contract, widths: Widths, model: ModelSignature | None) -> Section:
    vectors = {
        name: width if width is not None else widths[name]
        for name, width in character_of(contract).input_widths.items()
    }
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
        f"The steps of each vector, in order{' of the model' if model else ''}:",
    )
    columns = ("vector", "width", *(f"at {place} {name}" for place, name in enumerate(INPUTS)))
    return Section("Binding hazards", lines, columns, rows)


def _width(width: int | None) -> str:
    return "the model's" if width is None else str(width)


def _fit(vector: str, place: int, vectors: Widths, widths: Widths) -> str:
    """What the engine does to a vector at a position."""
    others = [name for name in INPUTS if name != vector]
    order = (*others[:place], vector, *others[place:])
    found: Misfit | None = next((each for each in misfits(order, vectors, widths) if each.position == place), None)
    return "fits" if found is None else found.action


DESCRIPTION = Description(bundle_facts, declared_knobs, own_sections)
