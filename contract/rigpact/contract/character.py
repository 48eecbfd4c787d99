"""The numbers of a character in a schema bundle: layouts, statistics, skeleton. The `numbers` of its contract.

The contract of some of the bones is what an engine at a lower level of detail computes: per-bone slices and their statistics hold
only those bones, in the order that is given; everything else is the contract's own. It remembers the whole contract, because a
clip, the network and its inputs have all bones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONDITION_WIDTH,
    CONTACTS,
    CONTACTS_WIDTH,
    PER_BONE,
    ROTATIONS,
    Layout,
    Slice,
)
from rigpact.contract.skeleton import Skeleton, left_right_permutation
from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldLayout


@dataclass(frozen=True, eq=False)
class Character:
    """The numbers of a schema bundle, immutable.

    `pose_history` and `angular_velocity` are None when neither the bundle nor the companion has them;
    `pose_history_length` is then None too, and the network's own width gives it.
    """

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


def character_of(contract: Contract) -> Character:
    """The numbers of a schema bundle's contract; UnusableInput for a contract of another kind."""
    found = contract.read_numbers
    if not isinstance(found, Character):
        raise UnusableInput(contract.path, f"a contract of {contract.system.title}", "a schema bundle")
    return found


def bone_names_of(contract: Contract | None) -> tuple[str, ...]:
    """The bones of a schema bundle's contract; none for another contract."""
    return character_of(contract).bone_names if contract is not None and is_character(contract) else ()


def skeleton_of(contract: Contract | None) -> Skeleton | None:
    """The skeleton of a schema bundle's contract; None for another contract."""
    return character_of(contract).skeleton if contract is not None and is_character(contract) else None


def is_character(contract: Contract) -> bool:
    """Whether a contract comes from a schema bundle."""
    return isinstance(contract.read_numbers, Character)


def with_pose_history_length(contract: Contract, length: int) -> Contract:
    """The contract with a history of `length` frames, as the engine takes it from the network's width."""
    return contract.with_numbers(replace(character_of(contract), pose_history_length=length))


def bone_permutation(contract: Contract) -> tuple[int, ...] | None:
    """The published bone order as indices; None when it is as declared."""
    order, character = contract.conventions.bone_order, character_of(contract)
    if order == "as_declared":
        return None
    if order == "left_right_swapped":
        order = left_right_permutation(character.bone_names) or ()
    if len(order) != character.bone_count:
        raise UnusableInput("bone_order", f"{len(order)} bones", f"a permutation of {character.bone_count} bones")
    return tuple(int(index) for index in order)


Columns = NDArray[np.intp]


def contract_of_bones(whole: Contract, bones: Sequence[int]) -> Contract:
    """The contract restricted to some bones, by their indices in the contract, in the order given.

    UnusableInput where a slice does not hold every bone, and for a published order that mixes these bones with others.
    """
    character = character_of(whole)
    for layout in (character.state, character.output):
        _check_slices(whole.path, character.bone_count, layout)
    state, output = (columns_of_layout(layout, bones) for layout in (character.state, character.output))
    vectors = _of_bones(range(character.state[ANGULAR_VELOCITIES].size), 3, bones)
    width, history = 6 * character.bone_count, character.pose_history
    starts = range(0, history.width // width * width if history else 0, width)
    poses = [channel for start in starts for channel in _of_bones(range(start, start + width), 6, bones)]
    kept = replace(
        character,
        bone_names=tuple(character.bone_names[bone] for bone in bones),
        state=_layout_of_bones(character.state, len(bones)),
        output=_layout_of_bones(character.output, len(bones)),
        state_statistics=_statistics(character.state_statistics, state),
        output_statistics=_statistics(character.output_statistics, output),
        angvel_scales=frozen_float32(character.angvel_scales[vectors]),
        pose_history=_squashed(history, poses),
        angular_velocity=_squashed(character.angular_velocity, vectors),
        skeleton=_skeleton(character.skeleton, bones),
    )
    order = whole.conventions.replaced(_published_order(whole, bones))
    return replace(whole, read_numbers=kept, conventions=order, whole=whole, bones=tuple(bones))


def columns_of_bones(contract: Contract, stage: str) -> Columns:
    """The channels of a stage under the whole contract that are those of a contract of some bones."""
    if contract.whole is None:
        raise ValueError("a contract of all bones")
    return columns_of_fields(contract.whole.fields(stage), contract.bones)


def columns_of_fields(fields: FieldLayout, bones: Sequence[int]) -> Columns:
    """The channels of a stage that stay: those of the bones, in their order, and those of no bone."""
    groups: dict[str, list[range]] = {}
    for number, field in enumerate(fields):
        groups.setdefault(field.name if field.bone else f"#{number}", []).append(range(field.start, field.stop))
    kept = [parts if name.startswith("#") else [parts[bone] for bone in bones] for name, parts in groups.items()]
    return np.array([channel for parts in kept for part in parts for channel in part], np.intp)


def columns_of_layout(layout: Layout, bones: Sequence[int]) -> Columns:
    """The channels of a vector that stay."""
    found, end = list[int](), 0
    for entry in layout:
        if entry.name in PER_BONE:
            found += (*range(end, entry.start), *_of_bones(range(entry.start, entry.stop), PER_BONE[entry.name], bones))
            end = entry.stop
    return np.array([*found, *range(end, layout.width)], np.intp)


def _check_slices(path: Path, bone_count: int, layout: Layout) -> None:
    ends = [entry.stop for entry in layout]
    if any(entry.start < end for entry, end in zip(list(layout)[1:], ends, strict=False)):
        raise UnusableInput(path, "slices that overlap", "slices side by side, to take some bones of them")
    for entry in layout:
        held = entry.size / PER_BONE.get(entry.name, 1)
        if entry.name in PER_BONE and held != bone_count:
            expected = f"{bone_count}, to take some of them"
            raise UnusableInput(f"{path}#/meta", f"{held:g} bones in {entry.name}", expected)


def _layout_of_bones(layout: Layout, count: int) -> Layout:
    gone, found = 0, []
    for entry in layout:
        size = PER_BONE[entry.name] * count if entry.name in PER_BONE else entry.size
        found.append(Slice(entry.start - gone, size, entry.name))
        gone += entry.size - size
    return Layout(tuple(found), layout.width - gone)


def _of_bones(channels: range, size: int, bones: Sequence[int]) -> list[int]:
    return [channel for bone in bones for channel in channels[bone * size : (bone + 1) * size]]


def _statistics(own: Statistics, columns: Columns | list[int]) -> Statistics:
    return Statistics(frozen_float32(own.mean[columns]), frozen_float32(own.std[columns]))


def _squashed(own: SquashedStatistics | None, columns: list[int]) -> SquashedStatistics | None:
    if own is None:
        return None
    return SquashedStatistics(frozen_float32(own.scale[columns]), _statistics(own.statistics, columns), own.origin)


def _skeleton(whole: Skeleton | None, bones: Sequence[int]) -> Skeleton | None:
    """The skeleton of these bones; None if a bone's parent is not among them: its place is then not known."""
    place = {bone: index for index, bone in enumerate(bones)} | {-1: -1}
    if whole is None or any(whole.parents[bone] not in place for bone in bones):
        return None
    parents = tuple(place[whole.parents[bone]] for bone in bones)
    return Skeleton(tuple(whole.names[bone] for bone in bones), parents, frozen_float32(whole.offsets_m[list(bones)]))


def _published_order(whole: Contract, bones: Sequence[int]) -> dict[str, Any]:
    """The declared order of published bones, in places of the chosen ones."""
    order = whole.conventions.bone_order
    if isinstance(order, str):
        return {}
    taken = [order[bone] for bone in bones]
    if set(taken) != set(bones):
        found, hint = "bones that are published in each other's places with others", "record both of such bones"
        raise UnusableInput("bone_order", found, "an order within the recorded bones", hint)
    return {"bone_order": ",".join(str(list(bones).index(bone)) for bone in taken)}
