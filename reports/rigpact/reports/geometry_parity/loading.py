"""Load a user's module, and find its functions by their roles.

Loading a module runs its code; the documentation says so. An error in the module gives one clear message.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.geometry_parity.roles import ROLES

_SHOWN_CHARACTERS = 160
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
    try:
        with redirect_stdout(sys.stderr):  # the module's own output must not get into a machine format
            return _load_file(path) if is_file else importlib.import_module(place)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's module
        raise UnusableInput(place, f"a module that cannot be imported ({error_text(error)})", "a module") from None


def _load_file(path: Path) -> ModuleType:
    name = f"_rigpact_geometry_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UnusableInput(path, "no Python file", "a name ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations need it there
    spec.loader.exec_module(module)
    return module


def error_text(error: BaseException) -> str:
    """An exception in one line: its type and the start of its message."""
    text = " ".join(str(error).split())
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def find_functions(module: ModuleType, place: str, mapping: Mapping[str, str]) -> dict[str, tuple[str, Function]]:
    """The functions of a module by role, from the mapping or by the role's names: role -> (name, function).

    Raises UnusableInput for a mapping to a missing function, and if no function is found.
    """
    found: dict[str, tuple[str, Function]] = {}
    for role in ROLES.values():
        if role.name in mapping:
            found[role.name] = (mapping[role.name], _mapped(module, place, role.name, mapping[role.name]))
            continue
        names = [name for name in role.names if callable(getattr(module, name, None))]
        if names:
            found[role.name] = (names[0], getattr(module, names[0]))
    if not found:
        expected = f"at least one of {', '.join(ROLES)}"
        raise UnusableInput(place, "no function that plays a known role", expected, "name it: --map ROLE=FUNCTION")
    return found


def _mapped(module: ModuleType, place: str, role: str, name: str) -> Function:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if not callable(value):
        near = get_close_matches(name, [each for each in vars(module) if callable(getattr(module, each))], n=3)
        hint = f"near it: {', '.join(near)}" if near else ""
        raise UnusableInput(f"--map {role}={name}", f"no function {name} in {place}", "a function of the module", hint)
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
