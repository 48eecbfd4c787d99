"""The operations that a declaration can name: of installed packages, and of modules that a command line names.

A package brings operations through the entry points `rigpact.operations`. A module is named by the user, in the words of a
command; nothing that a file says can name one. An operation of a user's stands in for rigpact's own of the same name, so a
release that adds a name changes no contract; rigpact's own pages keep rigpact's.

Mistakes of an own module are those of an input, not defects of rigpact.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.values import profile_facts
from rigpact.contract.errors import (
    Misdeclared,
    NotBuilt,
    OwnFunctionFailed,
    UnusableInput,
    error_text,
    line_of,
    unknown,
)
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Chosen, Step
from rigpact.contract.systems.stage import Bound, Bounds, Compute, NotKnown

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
def _entries() -> Sequence[EntryPoint]:
    """Every entry point of the group, by name. To look for them opens a file of every installed package: once."""
    return sorted(entry_points(group=GROUP), key=lambda each: each.name)


def package_of(entry: EntryPoint) -> str:
    """The name of the installed package that brings an operation or a system."""
    return "?" if entry.dist is None else _name_of(entry.dist)


@cache
def _name_of(package: Distribution) -> str:
    """To ask for it parses all that a package says of itself: once a package, not once an entry point."""
    return package.name


class _Each(Mapping[str, Any]):
    """What a function gives of each name, when it is first asked for."""

    def __init__(self, names: Iterable[str], of: Callable[[str], Any]) -> None:
        self._names, self._of = dict.fromkeys(names), cache(of)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._of(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _installed(*, by_rigpact: bool) -> Mapping[str, Brought]:
    """The operations of rigpact, or of other packages, loaded one by one: a robot's policy needs nothing of a character.

    UnusableInput where two bring one name, or one brings something else.
    """
    entries: dict[str, list[EntryPoint]] = {}
    for entry in _entries():
        if (package_of(entry) == RIGPACT) is by_rigpact:
            entries.setdefault(entry.name, []).append(entry)
    return _Each(entries, lambda name: _loaded(entries[name]))


def _loaded(entries: Sequence[EntryPoint]) -> Brought:
    found = [Brought(entry.load(), package_of(entry)) for entry in entries]
    for entry, each in zip(entries, found, strict=True):
        place, operation = f"the operation {entry.name}", each.operation
        if not isinstance(operation, Operation):
            raise UnusableInput(place, f"{type(operation).__name__} at {entry.value}", "an Operation")
        if operation is not found[0].operation:
            raise UnusableInput(place, "two packages that bring it", "one", "uninstall one of them")
    return found[0]


def _operations(brought: Mapping[str, Brought]) -> Mapping[str, Operation]:
    return _Each(brought, lambda name: brought[name].operation)


def known_operations() -> Mapping[str, Operation]:
    """Every operation that a contract can name, by name."""
    return _operations(_brought())


def operations_of_rigpact() -> Mapping[str, Operation]:
    """Rigpact's own operations, by name, whatever stands in for them."""
    return _operations(_installed(by_rigpact=True))


def operations_of_packages() -> Mapping[str, Operation]:
    """Every installed operation, by name: what the page of a package names."""
    return _operations(ChainMap(dict(_of_others()), _installed(by_rigpact=True)))  # type: ignore[arg-type]


def stands_in(name: str) -> bool:
    """Whether an operation of the user's, or of another package, stands in for rigpact's own of this name."""
    return name in _installed(by_rigpact=True) and (name in _of_others() or name in _OF_MODULES)


def _of_others() -> Mapping[str, Brought]:
    own = operations_of_rigpact()
    return {name: each for name, each in _installed(by_rigpact=False).items() if own.get(name) is not each.operation}


def _brought() -> Mapping[str, Brought]:
    return ChainMap(dict(_OF_MODULES), dict(_of_others()), _installed(by_rigpact=True))  # type: ignore[arg-type]


def bring_operations(operations: Iterable[Operation], file: str, code: bytes) -> None:
    """Add the operations of a module, in place of rigpact's own of the same name. Those of packages that it imports stay theirs.

    UnusableInput where another package or module brings the name.
    """
    others, installed = _of_others(), operations_of_packages()
    for operation in operations:
        name = operation.name
        if operations_of_rigpact().get(name) is operation or installed.get(name) is operation:
            continue
        other = others.get(name) or _OF_MODULES.get(name)
        if other is not None:
            found = f"an operation named {name!r}, which {other.origin} brings"
            hint = "give the operation another name; `rigpact show` lists those that are taken"
            raise UnusableInput(file, found, "a name of its own", hint)
        _OF_MODULES[name] = Brought(guarded(operation, file), file, code)


def forget_operations() -> None:
    """Take away what modules brought."""
    _OF_MODULES.clear()


def origin_of(name: str) -> str:
    """Who brings an operation: a package's name, or a file."""
    return _brought()[name].origin


def code_of(name: str) -> bytes:
    """The bytes of the module that brings an operation; none where a package brings it."""
    return _OF_MODULES[name].code if name in _OF_MODULES else b""


def files_of_operations() -> list[str]:
    """The modules that the command line named."""
    return list(dict.fromkeys(each.origin for each in _OF_MODULES.values()))


def no_operation(place: tuple[Token, ...], word: object) -> Misdeclared:
    """The mistake of a word that names no operation: the nearest one, and how to bring your own."""
    problem = unknown(place, word, known_operations(), "an operation")
    problem.hint = "; ".join(filter(None, (problem.hint, HOW_TO_BRING)))
    return problem


def declared_facts(contract: Contract, root: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What `rigpact show` says before its tables: the profile, and operations that stand in for rigpact's own."""
    names = dict.fromkeys(table["operation"] for table in root["stages"])
    own = [f"{name} of {origin_of(name)}" for name in names if stands_in(name)]
    told = [("own operations", f"{', '.join(own)}: in place of rigpact's of the same name")] if own else []
    return [*profile_facts(contract, root), *told]


def with_own_cpp(operation: Operation, built: Built) -> Built:
    """Steps that name an operation with a C++ of its own carry it, with their words as its numbers."""
    planned, cpp = built.planned, operation.cpp
    if planned is None or cpp is None:
        return built

    def with_cpp(frames: Any) -> Step:
        step = planned(frames)
        if step.operation != operation.name:
            return step
        words = (word.number if isinstance(word, Chosen) else word for word in step.words)
        numbers = (operation.number_of(word) if isinstance(word, str) else word for word in words)
        return replace(step, cpp=cpp, words=tuple(numbers))

    return replace(built, planned=with_cpp)


_PASS_ON = (Misdeclared, NotBuilt, NotKnown, UnusableInput)
"""What an operation may raise: a mistake in the declaration, something that is not known."""


def guarded(operation: Operation, file: str) -> Operation:
    """The operation with its functions called with care. file: where it comes from, for messages."""
    place = f"{file}, operation {operation.name}"
    if not isinstance(operation.name, str) or not operation.name or not callable(operation.build):
        raise UnusableInput(place, "no name, or nothing that builds", "Operation(NAME, SUMMARY, build, …)")
    return replace(operation, build=partial(_build, operation.build, place))


def _called(place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _PASS_ON:
        raise
    except Exception as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
        name = getattr(function, "__name__", "a function")
        found = f"{name} that fails ({error_text(error)}{line_of(error, place.partition(', operation ')[0])})"
        raise OwnFunctionFailed(place, found, "numbers") from None


def _build(build: Callable[[Use], Built], place: str, use: Use) -> Built:
    built = _called(f"{place}, stage {use.stage}", build, use)
    if not isinstance(built, Built) or not isinstance(built.fields, FieldLayout):
        found = f"fields of type {type(built.fields).__name__}" if isinstance(built, Built) else type(built).__name__
        raise OwnFunctionFailed(f"{place}, stage {use.stage}", f"build that returns {found}", "a Built")
    width, bound = built.fields.width, built.bound
    return replace(
        built,
        compute=partial(_compute, built.compute, width, f"{place}, compute"),
        bound=None if bound is None else partial(_bound, bound, width, f"{place}, bound"),
    )


def _compute(compute: Compute, width: int, place: str, frames: Frames) -> FloatArray:
    return _of_width(_called(place, compute, frames), width, place).astype(np.float32)


def _bound(bound: Bound, width: int, place: str, frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
    return _of_width(_called(place, bound, frames, rows, upstream), width, place).astype(np.float64)


def _of_width(returned: Any, width: int, place: str) -> FloatArray:
    """What a function returned, rows of numbers (N, width); UnusableInput for anything else."""
    rows = np.asarray(returned)
    if rows.dtype.kind not in "iufb" or rows.ndim != 2 or rows.shape[1] != width:
        raise OwnFunctionFailed(place, f"an array {rows.shape} of {rows.dtype}", f"numbers, (frames, {width})")
    return rows
