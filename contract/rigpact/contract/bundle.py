"""The reader of schema bundles: it reads one as the engine reads it; and what `rigpact show` says of one.

It refuses what the engine refuses (ContractRefused). It loads what the engine silently accepts, and the rules report it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import Character, character_of
from rigpact.contract.conventions import Conventions
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    INPUTS,
    PER_BONE,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Layout,
    Slice,
)
from rigpact.contract.model.binding import Misfit, Widths, accepted_orders, interchangeable_pairs, misfits
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.bundle_view import (
    DEFAULT_FPS,
    BundleView,
    auxiliaries,
    columns_word,
    history_length,
    member,
    need,
)
from rigpact.contract.rules.catalogue import refusals
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.skeleton import COLUMN_PAIRS, OUTPUT_MODES, left_right_permutation
from rigpact.contract.statistics import STD_FLOOR, SquashedStatistics, Statistics, frozen_float32
from rigpact.contract.systems.contract import Contract, Meaning
from rigpact.contract.systems.system import Description, Row, Section


def load_contract(
    bundle: str | Path, companion: str | Path | None = None, changes: Mapping[str, Any] | None = None
) -> Contract:
    """Read a schema bundle, and the auxiliary normalisers from a companion if given.

    bundle: `norm_template.json`. companion: `pretrain_template.json`; its values win over those merged in the bundle.
    changes: conventions that the bundle does not declare (`--set`).
    Raises UnusableInput for a file that cannot be read, ContractRefused for one that the engine would not load.
    Source: engine `LoadSchemaAndStats`.
    """
    document = read_document(bundle, Kind.BUNDLE)
    extra = read_document(companion, Kind.COMPANION) if companion is not None else None
    contract = bundle_to_contract(document, extra)
    return contract.with_conventions(changes or {})


def bundle_to_contract(document: Document, companion: Document | None = None) -> Contract:
    """Build the contract from documents that were read already."""
    refused = refusals(Artefacts(document, companion))
    if refused:
        raise ContractRefused(document.path, refused)
    # What a bundle says of the conventions; without its statistics, what the engine falls back to
    view = document.once(BundleView)
    fps, character = float(view.root.get("fps", DEFAULT_FPS)), _character(view, companion)
    declared = {"rot6d_columns": view.columns, "output_mode": view.output_mode}
    declared |= {} if character.angular_velocity is not None else {"angvel_source": "state_slice"}
    declared |= {} if character.pose_history is not None else {"pose_history_start": "identity_after_seed"}
    conventions = find_system(ENEMY_ANIMATION).conventions(declared)
    contract = character_contract(character, conventions, document.path, document.file.sha256, fps)
    companion_sha256 = None if companion is None else companion.file.sha256
    return replace(contract, meaning=Meaning(partial(_meaning, fps, character)), companion_sha256=companion_sha256)


def character_contract(
    character: Character, conventions: Conventions, path: Path, sha256: str = "", fps: float = DEFAULT_FPS
) -> Contract:
    """The contract of a character's numbers, whatever they came from; it has no meaning of files."""
    system = find_system(ENEMY_ANIMATION)
    return Contract(system, path, sha256, {}, conventions, {}, fps, read_numbers=character)


def _character(view: BundleView, companion: Document | None) -> Character:
    """The numbers of a bundle that is not refused; those of a companion win."""
    root, state, output = view.root, need(view.state), need(view.output)
    bone_count, sources = output[ROTATIONS].size // 6, [each for each in (companion, view.document) if each is not None]
    return Character(
        bone_names=view.bone_names or tuple(f"bone_{index:02d}" for index in range(bone_count)),
        state=state,
        output=output,
        state_statistics=_statistics(root, "X"),
        output_statistics=_statistics(root, "Y"),
        rootvel_scales=frozen_float32(root["tanh_scales_rootvel"]),
        angvel_scales=frozen_float32(root["tanh_scales_angvel"]),
        pose_history_length=history_length(auxiliaries(view, companion)),
        pose_history=_squashed(sources, "pose_hist", "PoseHist"),
        angular_velocity=_squashed(sources, "angvel", "AngVel"),
        skeleton=view.skeleton,
    )


def _meaning(fps: float, character: Character) -> dict[str, Any]:
    """Everything that is computed with, under the names of docs/trace-format.md; conventions have a hash of their own."""
    skeleton = character.skeleton
    return {
        "fps": fps,
        "bone_names": character.bone_names,
        "state": _places(character.state),
        "output": _places(character.output),
        "MuX": character.state_statistics.mean,
        "StdX": character.state_statistics.std,
        "MuY": character.output_statistics.mean,
        "StdY": character.output_statistics.std,
        "tanh_scales_rootvel": character.rootvel_scales,
        "tanh_scales_angvel": character.angvel_scales,
        "pose_hist_len": character.pose_history_length,
        "pose_hist": _squashed_values(character.pose_history),
        "angvel": _squashed_values(character.angular_velocity),
        "skeleton": None if skeleton is None else [skeleton.names, skeleton.parents, skeleton.offsets_m],
    }


def _places(layout: Layout) -> dict[str, list[int]]:
    return {"": [0, layout.width]} | {entry.name: [entry.start, entry.size] for entry in layout}


def _squashed_values(found: SquashedStatistics | None) -> list[NDArray[np.float32]] | None:
    return None if found is None else [found.scale, found.statistics.mean, found.statistics.std]


def _statistics(root: Mapping[str, Any], letter: str) -> Statistics:
    return Statistics(frozen_float32(root[f"Mu{letter}"]), frozen_float32(root[f"Std{letter}"]))


def _squashed(sources: Sequence[Document], scale_name: str, name: str) -> SquashedStatistics | None:
    keys = (f"tanh_scales_{scale_name}", f"Mu{name}", f"Std{name}")
    for document in sources:
        if all(key in document.data for key in keys):
            scale, mean, std = (frozen_float32(document.data[key]) for key in keys)
            return SquashedStatistics(scale, Statistics(mean, std), str(document.path))
    return None


_CONSTANT = STD_FLOOR * (1 + 1e-3)
"""A deviation at the floor: the channel never moved."""
_SQUASHED = {ROOT_VELOCITY: "tanh(v / scale)", ROOT_YAW: "wrapped to ±π, / π", ANGULAR_VELOCITIES: "tanh(v / scale)"}


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
        yield _statistics_section(contract)
    yield _skeleton_section(contract)
    yield _hazards(contract, model)


def _statistics_section(contract: Contract) -> Section:
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
    per_bone = PER_BONE.get(entry.name)
    if per_bone is None:
        return f"channel {entry.start + place}"
    bone = place // per_bone % max(character_of(contract).bone_count, 1)
    name = character_of(contract).bone_names[bone] if bone < len(character_of(contract).bone_names) else f"bone {bone}"
    return f"{name}, channel {entry.start + place}"


def _skeleton_section(contract: Contract) -> Section:
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


def _hazards(contract: Contract, model: ModelSignature | None) -> Section:
    """By the width of each input: the model's own by position where it has five, else the contract's."""
    own = model.inputs if model is not None and len(model.inputs) == len(INPUTS) else ()
    taken: Widths = {name: entry.width for name, entry in zip(INPUTS, own, strict=False)}
    widths = taken or character_of(contract).input_widths
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
