"""The functions that a project declares, put together with those of the module."""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.settings.geometry import LEFT_OUT, FunctionSettings
from rigpact.contract.settings.table import did_you_mean
from rigpact.reports.geometry_parity.calling.arguments import declarable
from rigpact.reports.geometry_parity.calling.backend import Backend, BackendName, NumpyBackend
from rigpact.reports.geometry_parity.calling.function import Declared, UserFunction, backend_of
from rigpact.reports.geometry_parity.calling.layouts import LAYOUTS, TIMED
from rigpact.reports.geometry_parity.readings.euler import ORDERS
from rigpact.reports.geometry_parity.roles import ROLES
from rigpact.reports.own_module import imported, module_of_file

# Load a user's module, and find its functions by their roles
_LIBRARIES = ("_np", "_numpy", "_torch", "_pt", "_jit")
_ABOUT_ROTATIONS = re.compile(r"quat|rot|euler|axis_?angle|so3|6d|angvel|angular|slerp|yaw|^q[a-z]{2,5}$|geodesic")
Function = Callable[..., Any]


def load_module(place: str) -> ModuleType:
    """Import `pkg.mod`, or the file `path/to/file.py`; UnusableInput with the error if the import fails.

    The current folder, or the file's folder, is put on the import path, as with `python -m` and `python file.py`.
    """
    path = Path(place)
    is_file = place.endswith(".py") or path.is_file()
    if is_file and not path.is_file():
        raise UnusableInput(place, "nothing", "an existing file, or the import path pkg.mod")
    folder = str(path.resolve().parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if is_file:
        return imported(place, lambda: module_of_file(path, read_bytes(path)))
    return imported(place, lambda: importlib.import_module(place))


@dataclass(frozen=True)
class Found:
    """A function of the module and the roles that it may play. certain: the roles are said, or the name has no other use."""

    spelled: str
    function: Function
    roles: tuple[str, ...]
    certain: bool = True


def find_functions(module: ModuleType, place: str, mapping: Mapping[str, str]) -> list[Found]:
    """The functions of a module that play a role, from the mapping or by a role's names, in the order of the roles.

    A name may end in the library's name (`qmul_np`). Raises UnusableInput for a mapping to a missing function.
    """
    said = mapping.items()
    found = [Found(name, mapped(module, place, f"--map {role}={name}", name), (role,)) for role, name in said]
    taken = {each.spelled for each in found}
    for role in ROLES.values():
        if role.name in mapping:
            continue
        for name in (name for each in role.names for name in (each, *(each + end for end in _LIBRARIES))):
            function = getattr(module, name, None)
            if callable(function) and name not in taken and not any(function is each.function for each in found):
                taken.add(name)
                found.append(Found(name, function, *_roles_of(name)))
    order = list(ROLES)
    return sorted(found, key=lambda each: order.index(each.roles[0]))


def _roles_of(name: str) -> tuple[tuple[str, ...], bool]:
    """The roles that have this name, and whether it is certain."""
    plain = next((name.removesuffix(end) for end in _LIBRARIES if name.endswith(end)), name)
    having = [role for role in ROLES.values() if {plain, name} & set(role.names)]
    return tuple(role.name for role in having), not any({plain, name} & set(role.loose) for role in having)


def unknown_functions(module: ModuleType, found: Sequence[str]) -> list[str]:
    """The module's own public functions that seem to be about rotations and play no known role."""
    functions = {name: each for name, each in vars(module).items() if callable(each) and not isinstance(each, type)}
    own = [name for name, each in functions.items() if getattr(each, "__module__", None) == module.__name__]
    return [name for name in own if name[0] != "_" and name not in found and _ABOUT_ROTATIONS.search(name.lower())]


def mapped(module: ModuleType, place: str, said: str, name: str) -> Function:
    """The function of a dotted name; UnusableInput with near names if there is none. said: where the name stands."""
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if not callable(value):
        near = get_close_matches(name, [each for each in vars(module) if callable(getattr(module, each))], n=3)
        hint = f"near it: {', '.join(near)}" if near else ""
        raise UnusableInput(said, f"no function {name} in {place}", "a function of the module", hint)
    function: Function = value
    return function


def parse_mapping(words: Sequence[str]) -> dict[str, str]:
    """Read the `ROLE=FUNCTION` words of `--map`."""
    mapping: dict[str, str] = {}
    for word in words:
        role, separator, name = (part.strip() for part in word.partition("="))
        if not separator or not name:
            raise UnusableInput(f"--map {word}", "no '=' with a name behind it", "ROLE=FUNCTION")
        if role not in ROLES:
            near = get_close_matches(role, ROLES, n=1)
            hint = f"{near[0]!r} was meant?" if near else ""
            raise UnusableInput(f"--map {word}", f"the role {role!r}", f"one of {', '.join(ROLES)}", hint)
        mapping[role] = name
    return mapping


@dataclass(frozen=True)
class Asked:
    """A function of the module, once for each role that it may play. left_out: why it is not asked, from the project."""

    spelled: str
    alternatives: tuple[UserFunction, ...]
    left_out: str | None = None


def of_module(functions: Sequence[FunctionSettings], place: str) -> list[FunctionSettings]:
    """The declarations that hold for a module, as the command names it."""
    return [each for each in functions if each.module is None or PurePath(each.module) == PurePath(place)]


def asked_functions(
    found: Sequence[Found],
    module: ModuleType,
    place: str,
    wanted: BackendName | None = None,
    said: Sequence[FunctionSettings] = (),
) -> list[Asked]:
    """The functions to ask, with what is declared of them. A declared function need not have a known name."""
    by_name = {each.name: each for each in said}
    named = {each.spelled: each for each in found}
    others = [each for each in said if each.name not in named]
    new = [Found(each.name, mapped(module, place, each.place, each.name), ()) for each in others]
    asked = [_asked(each, by_name.get(each.spelled), module, wanted) for each in (*found, *new)]
    if not asked:
        expected = f"at least one of {', '.join(ROLES)}"
        raise UnusableInput(place, "no function that plays a known role", expected, "name it: --map ROLE=FUNCTION")
    return asked


def _asked(found: Found, said: FunctionSettings | None, module: ModuleType, wanted: BackendName | None) -> Asked:
    if said is not None and said.role == LEFT_OUT:
        return Asked(found.spelled, (), said.reason)
    first = backend_of(found.function, module, wanted)
    # a torch module may have twins for numpy
    libraries: list[Backend] = [first] if wanted or first.name == "numpy" else [first, NumpyBackend()]
    functions = (
        UserFunction(ROLES[role], found.spelled, found.function, library, _declared(found, said, role))
        for role, library in product(_roles(found, said), libraries)
    )
    return Asked(found.spelled, tuple(functions))


def _roles(found: Found, said: FunctionSettings | None) -> tuple[str, ...]:
    if said is None or (said.role is None and found.roles):
        return found.roles
    if said.role is None:
        raise UnusableInput(said.place, f"no role for {said.name}", f"one of {', '.join(ROLES)}, or {LEFT_OUT}")
    _one_of(said, "role", said.role, ROLES)
    return (said.role,)


def _declared(found: Found, said: FunctionSettings | None, role: str) -> Declared:
    if said is None:
        return Declared(found.certain)
    if said.shape is not None:
        _one_of(said, "shape", said.shape, TIMED if ROLES[role].timed else LAYOUTS)
    if said.takes is not None:
        _one_of(said, "takes", said.takes, declarable())
    if said.order is not None:
        _one_of(said, "order", said.order, (*(each.upper() for each in ORDERS), *ORDERS))
    certain = found.certain or said.role is not None
    return Declared(certain, said.shape, said.takes, said.order, said.degrees, said.bones, said.place)


def _one_of(said: FunctionSettings, key: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        expected, hint = f"one of {'; '.join(known)}", did_you_mean(value, known)
        raise UnusableInput(f"{said.place}.{key}", repr(value), expected, hint)
