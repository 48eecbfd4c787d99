"""The operations that this installation knows: entry points of the group `rigpact.operations`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.problems import near
from rigpact.contract.declared.profiles import known_profiles
from rigpact.contract.errors import UnusableInput

GROUP = "rigpact.operations"


@cache
def known_operations() -> Mapping[str, Operation]:
    """Every operation, by name; UnusableInput where two packages bring one name, or one brings something else."""
    found: dict[str, Operation] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        operation = entry.load()
        if not isinstance(operation, Operation):
            raise UnusableInput(
                f"the operation {entry.name}", f"{type(operation).__name__} at {entry.value}", "an Operation"
            )
        if found.setdefault(entry.name, operation) is not operation:
            raise UnusableInput(
                f"the operation {entry.name}", "two packages that bring it", "one", "uninstall one of them"
            )
    return found


def find_operation(name: str) -> Operation:
    """The operation of that name; UnusableInput, with the nearest name, where there is none."""
    known = known_operations()
    if name not in known:
        names = [*known, *known_profiles()]
        hint = near(name, names) or "`rigpact operations` lists them"
        raise UnusableInput("NAME", repr(name)[:60], f"one of {', '.join(names)}", hint)
    return known[name]
