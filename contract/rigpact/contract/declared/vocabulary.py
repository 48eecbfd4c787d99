"""The operations that a declaration can name: of installed packages, and of modules that a command line names.

A package brings operations through the entry points `rigpact.operations`. A module is named by the user, in the words of a
command; nothing that a file says can name one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.own_operation import guarded
from rigpact.contract.declared.problems import Misdeclared, near, unknown
from rigpact.contract.declared.profiles import known_profiles
from rigpact.contract.errors import UnusableInput
from rigpact.contract.json_pointer import Token

GROUP = "rigpact.operations"
RIGPACT = "rigpact"
HOW_TO_BRING = f"one of your own comes with `--operations FILE.py`, or from a package with entry points {GROUP}"


@dataclass(frozen=True, eq=False)
class Brought:
    """An operation, and who brings it: a package, or the file of a module, with its bytes."""

    operation: Operation
    origin: str
    code: bytes = b""


_OF_MODULES: dict[str, Brought] = {}
"""What the command line of this process brought, by the operation's name."""


@cache
def _installed() -> Mapping[str, Brought]:
    """Every operation of a package; UnusableInput where two packages bring one name, or one brings something else."""
    found: dict[str, Brought] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        operation = entry.load()
        if not isinstance(operation, Operation):
            raise UnusableInput(
                f"the operation {entry.name}", f"{type(operation).__name__} at {entry.value}", "an Operation"
            )
        package = entry.dist.name if entry.dist is not None else "?"
        if found.setdefault(entry.name, Brought(operation, package)).operation is not operation:
            raise UnusableInput(
                f"the operation {entry.name}", "two packages that bring it", "one", "uninstall one of them"
            )
    return found


def known_operations() -> Mapping[str, Operation]:
    """Every operation, by name."""
    return {name: each.operation for name, each in {**_installed(), **_OF_MODULES}.items()}


def bring_operations(operations: Iterable[Operation], file: str, code: bytes) -> None:
    """Add the operations of a module; UnusableInput where a name is taken. Operations of packages that it imports stay theirs."""
    installed = _installed()
    for operation in operations:
        name = operation.name
        if name in installed and installed[name].operation is operation:
            continue
        other = installed.get(name) or _OF_MODULES.get(name)
        if other is not None:
            raise UnusableInput(
                file, f"an operation named {name!r}, which {other.origin} brings", "a name of its own",
                "give the operation another name; `rigpact operations` lists those that are taken",
            )  # fmt: skip
        _OF_MODULES[name] = Brought(guarded(operation, file), file, code)


def forget_operations() -> None:
    """Take away what modules brought."""
    _OF_MODULES.clear()


def origin_of(name: str) -> str:
    """Who brings an operation: a package's name, or a file."""
    return (_OF_MODULES.get(name) or _installed()[name]).origin


def code_of(name: str) -> bytes:
    """The bytes of the module that brings an operation; none where a package brings it."""
    return _OF_MODULES[name].code if name in _OF_MODULES else b""


def files_of_operations() -> list[str]:
    """The modules that the command line named."""
    return list(dict.fromkeys(each.origin for each in _OF_MODULES.values()))


def find_operation(name: str) -> Operation:
    """The operation of that name; UnusableInput, with the nearest name, where there is none."""
    known = known_operations()
    if name not in known:
        names = [*known, *known_profiles()]
        hint = near(name, names) or "`rigpact operations` lists them"
        raise UnusableInput("NAME", repr(name)[:60], f"one of {', '.join(names)}", hint)
    return known[name]


def no_operation(place: tuple[Token, ...], word: object) -> Misdeclared:
    """The mistake of a word that names no operation: the nearest one, and how to bring one's own."""
    problem = unknown(place, word, known_operations(), "an operation")
    problem.hint = "; ".join(filter(None, (problem.hint, HOW_TO_BRING)))
    return problem
