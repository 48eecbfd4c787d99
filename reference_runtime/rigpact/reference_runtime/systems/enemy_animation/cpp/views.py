"""A contract as the C++ loop sees it: ctypes mirrors of `contract_view.hpp` and `conventions.hpp`."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rigpact.contract import pages
from rigpact.contract.character import bone_permutation, character_of
from rigpact.contract.conventions import Conventions
from rigpact.contract.layout import INPUTS, Layout
from rigpact.contract.systems.contract import Contract

FLOATS, INTS = c.POINTER(c.c_float), c.POINTER(c.c_int)
NOT_ENUMERATED = ("math", "bone_order", "input_order")
"""Knobs that are no enumeration in C++: a template argument, and two lists."""


def enumerated() -> tuple[str, ...]:
    """The knobs that are enumerations in C++, in the order of the struct's members: that of the page."""
    return tuple(name for name in pages.enemy_animation.root["conventions"] if name not in NOT_ENUMERATED)


class SliceStruct(c.Structure):
    """`Slice`."""

    _fields_ = (("name", c.c_char_p), ("start", c.c_int), ("size", c.c_int))


class LayoutStruct(c.Structure):
    """`Layout`."""

    _fields_ = (("slices", c.POINTER(SliceStruct)), ("count", c.c_int), ("width", c.c_int))


class SquashedStruct(c.Structure):
    """`SquashedStatistics`."""

    _fields_ = (("scale", FLOATS), ("mean", FLOATS), ("std", FLOATS))


class ContractStruct(c.Structure):
    """`ContractView`."""

    _fields_ = (
        ("state", LayoutStruct), ("output", LayoutStruct), ("bones", c.c_int), ("history_length", c.c_int),
        ("mu_x", FLOATS), ("std_x", FLOATS), ("mu_y", FLOATS), ("std_y", FLOATS),
        ("rootvel_scales", FLOATS), ("angvel_scales", FLOATS),
        ("angvel", SquashedStruct), ("pose_hist", SquashedStruct),
    )  # fmt: skip


class ConventionsStruct(c.Structure):
    """`Conventions`."""

    _fields_ = (*((name, c.c_int) for name in enumerated()), ("input_order", c.c_int * 5), ("bone_order", INTS))


@dataclass
class KeptContract:
    """Arrays that C++ holds pointers into, alive for as long as this is."""

    arrays: list[Any] = field(default_factory=list)

    def floats(self, values: Any) -> Any:
        """A pointer to float32 numbers, copied where they are not; null for None."""
        if values is None:
            return None
        array = np.ascontiguousarray(values, np.float32)
        self.arrays.append(array)
        return array.ctypes.data_as(FLOATS)

    def ints(self, values: Sequence[int] | None) -> Any:
        """A pointer to C ints; null for None."""
        if values is None:
            return None
        array = np.ascontiguousarray(values, np.intc)
        self.arrays.append(array)
        return array.ctypes.data_as(INTS)

    def layout(self, layout: Layout) -> LayoutStruct:
        """A layout and its table of slices."""
        slices = (SliceStruct * len(layout.slices))(*(SliceStruct(s.name.encode(), s.start, s.size) for s in layout))
        self.arrays.append(slices)
        return LayoutStruct(slices, len(slices), layout.width)

    def squashed(self, own: Any) -> SquashedStruct:
        """Auxiliary statistics; nulls where no file has them."""
        parts = (None,) * 3 if own is None else (own.scale, own.statistics.mean, own.statistics.std)
        return SquashedStruct(*map(self.floats, parts))

    def contract(self, contract: Contract) -> ContractStruct:
        """The bundle as the engine's own loader reads it."""
        character = character_of(contract)
        x, y = character.state_statistics, character.output_statistics
        arrays = (x.mean, x.std, y.mean, y.std, character.rootvel_scales, character.angvel_scales)
        return ContractStruct(
            self.layout(character.state), self.layout(character.output), character.bone_count,
            character.pose_history_length or 0, *map(self.floats, arrays), self.squashed(character.angular_velocity),
            self.squashed(character.pose_history),
        )  # fmt: skip

    def conventions(self, contract: Contract) -> ConventionsStruct:
        """One choice a knob, by its place among the knob's values."""
        chosen: Conventions = contract.conventions
        knobs = contract.system.knobs
        places = [knobs[name].values.index(getattr(chosen, name)) for name in enumerated()]
        order = (c.c_int * 5)(*(INPUTS.index(name) for name in chosen.input_order))
        return ConventionsStruct(*places, order, self.ints(bone_permutation(contract)))
