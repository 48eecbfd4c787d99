"""The reader of schema bundles: it reads one as the engine reads it.

It refuses what the engine refuses (ContractRefused). It loads what the engine silently accepts, and the rules report it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import Character
from rigpact.contract.conventions import Conventions
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused
from rigpact.contract.layout import ROTATIONS, Layout, json_to_layout
from rigpact.contract.meaning import Meaning
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.catalogue import refusals
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.rules.views.bundle import DEFAULT_FPS, BundleView
from rigpact.contract.skeleton import Skeleton, parent_cycle
from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.contract.systems.contract import Contract


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
    root = document.data
    fps, character = (
        float(root.get("fps", DEFAULT_FPS)),
        _character(root, (companion, document) if companion else (document,)),
    )
    # What a bundle says of the conventions; without its statistics, what the engine falls back to
    view = document.once(BundleView)
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


def _character(root: Mapping[str, Any], sources: Sequence[Document]) -> Character:
    """The numbers of a bundle; those of the sources that come first win."""
    meta = root["meta"]
    output = json_to_layout(meta["output_layout"], root.get("output_dim"))
    bone_count = output[ROTATIONS].size // 6
    return Character(
        bone_names=tuple(meta.get("bone_names") or tuple(f"bone_{index:02d}" for index in range(bone_count))),
        state=json_to_layout(meta["state_layout"], root.get("input_dim")),
        output=output,
        state_statistics=_statistics(root, "X"),
        output_statistics=_statistics(root, "Y"),
        rootvel_scales=frozen_float32(root["tanh_scales_rootvel"]),
        angvel_scales=frozen_float32(root["tanh_scales_angvel"]),
        pose_history_length=_history_length(sources, output[ROTATIONS].size),
        pose_history=_squashed(sources, "pose_hist", "PoseHist"),
        angular_velocity=_squashed(sources, "angvel", "AngVel"),
        skeleton=_skeleton(meta.get("skeleton"), bone_count),
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


def _history_length(sources: Sequence[Document], rotation_width: int) -> int | None:
    for document in sources:
        if "pose_hist_len" in document.data:
            return int(document.data["pose_hist_len"])
        if "MuPoseHist" in document.data:
            return len(document.data["MuPoseHist"]) // rotation_width
    return None


def _skeleton(declared: Any, bone_count: int) -> Skeleton | None:
    """Read the skeleton; None if positions cannot be computed from what is there (RP220 to RP227 say why)."""
    if not isinstance(declared, Mapping) or "ref_local_offsets_m" not in declared or "parents" not in declared:
        return None
    names = tuple(declared.get("bone_names", ()))
    parents = tuple(int(parent) for parent in declared["parents"])
    offsets = frozen_float32(declared["ref_local_offsets_m"])
    fits = len(names) == len(parents) == len(offsets) == bone_count
    in_range = all(-1 <= parent < bone_count for parent in parents)
    return Skeleton(names, parents, offsets) if fits and in_range and not parent_cycle(parents) else None
