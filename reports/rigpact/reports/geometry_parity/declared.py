"""The functions that a project declares, put together with those of the module."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath
from types import ModuleType

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.geometry import LEFT_OUT, FunctionSettings
from rigpact.contract.settings.table import did_you_mean
from rigpact.reports.geometry_parity.calling.arguments import declarable
from rigpact.reports.geometry_parity.calling.backend import Backend, BackendName, NumpyBackend
from rigpact.reports.geometry_parity.calling.function import Declared, UserFunction, backend_of
from rigpact.reports.geometry_parity.calling.layouts import LAYOUTS, TIMED
from rigpact.reports.geometry_parity.loading import Found, mapped
from rigpact.reports.geometry_parity.readings.euler import ORDERS
from rigpact.reports.geometry_parity.roles import ROLES


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
