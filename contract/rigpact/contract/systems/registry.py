"""The systems that rigpact knows, by name. To add one: a module beside this one, a row here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems import blender_ik, blender_ik_rig, imu_pose, neurarig, rig_inversion
from rigpact.contract.systems.definition import SystemDefinition
from rigpact.contract.systems.problem import Problem

ConstantProblems = Callable[[Mapping[str, Any]], Iterator[Problem]]


@dataclass(frozen=True)
class RegisteredSystem:
    """A system's definition, and what judges the constants of its contract files."""

    definition: SystemDefinition
    constant_problems: ConstantProblems


_ROWS = (
    RegisteredSystem(neurarig.DEFINITION, neurarig.constant_problems),
    RegisteredSystem(blender_ik.DEFINITION, blender_ik_rig.constant_problems),
    RegisteredSystem(rig_inversion.DEFINITION, rig_inversion.constant_problems),
    RegisteredSystem(imu_pose.DEFINITION, imu_pose.constant_problems),
)
SYSTEMS: Mapping[str, RegisteredSystem] = {row.definition.name: row for row in _ROWS}
"""In the order in which they are listed."""


def canonical_name(name: str) -> str:
    """A system's name as files have it; `rig-inversion` is `rig_inversion`."""
    return name.strip().lower().replace("-", "_")


def find_system(name: str, place: object = "NAME") -> RegisteredSystem:
    """The system of that name; UnusableInput, with the nearest name, where there is none."""
    found = SYSTEMS.get(canonical_name(name))
    if found is None:
        near = get_close_matches(canonical_name(name), SYSTEMS, 1)
        hint = f"did you mean {near[0]}?" if near else "rigpact systems lists them"
        raise UnusableInput(place, repr(name)[:60], f"one of {', '.join(SYSTEMS)}", hint)
    return found
