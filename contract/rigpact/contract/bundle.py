"""The contract as a value: one schema bundle, read as the engine reads it.

`load_contract` is the only way in. Everything downstream takes the `Contract` that it returns; every size comes from it.
It refuses what the engine refuses (ContractRefused). It loads what the engine silently accepts, and the rules report it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Conventions
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROTATIONS, Layout, json_to_layout
from rigpact.contract.meaning import Meaning, conventions_sha256
from rigpact.contract.rules.bundle.loading import refusals
from rigpact.contract.rules.bundle.view import DEFAULT_FPS, BundleView
from rigpact.contract.skeleton import Skeleton, left_right_permutation, parent_cycle
from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.systems.system import System

INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")
"""The five network inputs, in the order in which the engine binds them."""
CONDITION_WIDTH = 7
"""Four action bits, planar direction, speed."""
CONTACTS_WIDTH = 2
"""Left foot, right foot."""


@dataclass(frozen=True, eq=False)
class Contract:
    """What both sides agreed on: layouts, statistics, skeleton, conventions. Immutable.

    `pose_history` and `angular_velocity` are None when neither the bundle nor the companion has them;
    `pose_history_length` is then None too, and the network's own width gives it. sha256, companion_sha256: of the files' bytes.
    """

    path: Path
    sha256: str
    fps: float
    bone_names: tuple[str, ...]
    state: Layout
    output: Layout
    state_statistics: Statistics
    output_statistics: Statistics
    rootvel_scales: NDArray[np.float32]
    angvel_scales: NDArray[np.float32]
    pose_history_length: int | None
    pose_history: SquashedStatistics | None
    angular_velocity: SquashedStatistics | None
    skeleton: Skeleton | None
    conventions: Conventions
    companion_sha256: str | None = None
    meaning: Meaning | None = None
    whole: Contract | None = None
    """The contract of all bones, where this is that of some of them: see some_bones.py."""
    bones: tuple[int, ...] = ()
    """Which of them, by their indices there."""

    @property
    def bone_count(self) -> int:
        """Number of tracked bones, from the output's rotation slice."""
        return self.output[ROTATIONS].size // 6

    @property
    def input_widths(self) -> dict[str, int | None]:
        """Width of each network input by name; None where only the network knows it."""
        length = self.pose_history_length
        return {
            "state": self.state.width,
            "cond": CONDITION_WIDTH,
            "contacts": self.state[CONTACTS].size if CONTACTS in self.state else CONTACTS_WIDTH,
            "angvel": self.state[ANGULAR_VELOCITIES].size,
            "pose_hist": None if length is None else length * self.bone_count * 6,
        }

    @property
    def system(self) -> System:
        """The system that a schema bundle is a contract of."""
        return find_system(ENEMY_ANIMATION)

    @property
    def hashes(self) -> dict[str, str | None]:
        """What a recording says of its contract: hashes of the files' bytes, of their meaning, and of the conventions."""
        return {
            "bundle_sha256": self.sha256 or None,
            "companion_sha256": self.companion_sha256,
            "meaning_sha256": None if self.meaning is None else self.meaning.sha256,
            "conventions_sha256": conventions_sha256(self.conventions),
        }

    @property
    def numbers(self) -> Contract:
        """What a stage computes with: the contract itself."""
        return self

    def fields(self, stage: str) -> FieldLayout:
        """The fields of a stage."""
        return self.system.graph[stage].fields(self)

    @cached_property
    def stage_widths(self) -> dict[str, int | None]:
        """Width of every stage by name; None where only the network knows it."""
        return {stage.name: stage.fields(self).width or None for stage in self.system.stages}

    @property
    def bone_permutation(self) -> tuple[int, ...] | None:
        """The published bone order as indices; None when it is as declared."""
        order = self.conventions.bone_order
        if order == "as_declared":
            return None
        if order == "left_right_swapped":
            order = left_right_permutation(self.bone_names) or ()
        if len(order) != self.bone_count:
            raise UnusableInput("bone_order", f"{len(order)} bones", f"a permutation of {self.bone_count} bones")
        return tuple(int(index) for index in order)

    def with_conventions(self, changes: Mapping[str, Any]) -> Contract:
        """Return a copy with some knobs changed."""
        if not changes:
            return self
        whole = None if self.whole is None else self.whole.with_conventions(_of_all_bones(changes))
        return replace(self, conventions=self.conventions.replaced(changes), whole=whole)

    def with_pose_history_length(self, length: int) -> Contract:
        """Return a copy whose history holds `length` frames, as the engine takes it from the network's width."""
        return replace(self, pose_history_length=length)


def _of_all_bones(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that mean the same where there are more bones: an order of some bones says nothing of the others."""
    return {name: value for name, value in changes.items() if name != "bone_order"}


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
    contract = document_to_contract(document, extra)
    return contract.with_conventions(changes or {})


def document_to_contract(document: Document, companion: Document | None = None) -> Contract:
    """Build the contract from documents that were read already."""
    refused = refusals(document, companion)
    if refused:
        raise ContractRefused(document.path, refused)
    root, meta = document.data, document.data["meta"]
    state = json_to_layout(meta["state_layout"], root.get("input_dim"))
    output = json_to_layout(meta["output_layout"], root.get("output_dim"))
    sources = (companion, document) if companion else (document,)
    angvel = _squashed(sources, "angvel", "AngVel")
    history = _squashed(sources, "pose_hist", "PoseHist")
    contract = Contract(
        path=document.path,
        sha256=document.file.sha256,
        fps=float(root.get("fps", DEFAULT_FPS)),
        bone_names=tuple(meta.get("bone_names") or _numbered_bones(output[ROTATIONS].size // 6)),
        state=state,
        output=output,
        state_statistics=_statistics(root, "X"),
        output_statistics=_statistics(root, "Y"),
        rootvel_scales=frozen_float32(root["tanh_scales_rootvel"]),
        angvel_scales=frozen_float32(root["tanh_scales_angvel"]),
        pose_history_length=_history_length(sources, output[ROTATIONS].size),
        pose_history=history,
        angular_velocity=angvel,
        skeleton=_skeleton(meta.get("skeleton"), output[ROTATIONS].size // 6),
        conventions=_declared_conventions(
            document.once(BundleView),
            has_angvel_statistics=angvel is not None,
            has_history_statistics=history is not None,
        ),
        companion_sha256=None if companion is None else companion.file.sha256,
    )
    return replace(contract, meaning=Meaning(partial(_meaning, contract)))


def _meaning(contract: Contract) -> dict[str, Any]:
    """Everything that is computed with, under the names of docs/trace-format.md; conventions have a hash of their own."""
    skeleton = contract.skeleton
    return {
        "fps": contract.fps,
        "bone_names": contract.bone_names,
        "state": _places(contract.state),
        "output": _places(contract.output),
        "MuX": contract.state_statistics.mean,
        "StdX": contract.state_statistics.std,
        "MuY": contract.output_statistics.mean,
        "StdY": contract.output_statistics.std,
        "tanh_scales_rootvel": contract.rootvel_scales,
        "tanh_scales_angvel": contract.angvel_scales,
        "pose_hist_len": contract.pose_history_length,
        "pose_hist": _squashed_values(contract.pose_history),
        "angvel": _squashed_values(contract.angular_velocity),
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


def _declared_conventions(
    view: BundleView, *, has_angvel_statistics: bool, has_history_statistics: bool
) -> Conventions:
    """What a bundle says of the conventions; without its statistics, what the engine falls back to."""
    declared = {"rot6d_columns": view.columns, "output_mode": view.output_mode}
    declared |= {} if has_angvel_statistics else {"angvel_source": "state_slice"}
    declared |= {} if has_history_statistics else {"pose_history_start": "identity_after_seed"}
    return find_system(ENEMY_ANIMATION).conventions(declared)


def _numbered_bones(count: int) -> tuple[str, ...]:
    return tuple(f"bone_{index:02d}" for index in range(count))
