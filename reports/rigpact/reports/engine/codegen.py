"""The runtime's own headers: copied beside a contract's header, and those whose enumerations both sides name numbers by.

`python -m rigpact.reports.engine.codegen` rewrites `OWN_HEADERS` in `reference_runtime/cpp/include/rigpact`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from rigpact.contract.declared.vocabulary import RIGPACT, known_operations, origin_of
from rigpact.contract.files import copy_folder, write_bytes
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.systems.plan import CPP_OPERATIONS, STARTS
from rigpact.reference_runtime.native.library import headers_folder
from rigpact.reference_runtime.systems.enemy_animation.cpp.views import enumerated
from rigpact.reports.engine.cpp_text import enumerator, lines, template, type_name


def conventions_header() -> str:
    """The enumerations of all knobs of the C++ loop, and the struct that holds one value of each."""
    own = find_system(ENEMY_ANIMATION).knobs
    knobs = [
        {
            "name": name,
            "type": type_name(name),
            "meaning": own[name].meaning,
            "choices": [enumerator(value) for value in own[name].values],
            "default": enumerator(own[name].values[0]),
        }
        for name in enumerated()
    ]
    rendered: str = template("conventions.hpp.j2").render(knobs=knobs)
    return rendered


def readings_header() -> str:
    """The enumerations of the readings of every operation that C++ has too, and of what stands before the first frame."""
    enumerations: list[tuple[str, str, Collection[str]]] = [("Start", "what stands before the first frame", STARTS)]
    for name, each in sorted(known_operations().items()):
        if each.readings and origin_of(name) == RIGPACT:
            enumerations.append((f"{type_name(name)}Reading", each.summary, each.readings))
    rows = [
        {"type": name, "meaning": meaning, "words": map(enumerator, words)} for name, meaning, words in enumerations
    ]
    rendered: str = template("readings.hpp.j2").render(enumerations=rows)
    return rendered


def operations_header() -> str:
    """The list of the operations that C++ has, as a plan numbers them."""
    headers = sorted(set(CPP_OPERATIONS.values()))
    rendered: str = template("operations.hpp.j2").render(headers=headers, lines=lines(list(CPP_OPERATIONS)))
    return rendered


OWN_HEADERS: Mapping[str, Callable[[], str]] = {
    "conventions.hpp": conventions_header,
    "vocabulary/operations.hpp": operations_header,
    "vocabulary/readings.hpp": readings_header,
}
"""The generated headers of the runtime itself."""


def copy_headers(folder: str | Path) -> Path:
    """Copy the runtime's headers into `folder`/rigpact and return that folder."""
    return copy_folder(headers_folder() / "rigpact", Path(folder) / "rigpact")


def copy_plugin(folder: str | Path) -> Path:
    """Copy the Unreal plug-in, with the runtime's headers in it, into `folder`/RigpactTrace and return that folder."""
    target = copy_folder(headers_folder().parent / "unreal" / "RigpactTrace", Path(folder) / "RigpactTrace")
    copy_headers(target / "Source" / "RigpactTrace" / "Public")
    return target


if __name__ == "__main__":
    for own_name, header in OWN_HEADERS.items():
        write_bytes(headers_folder() / "rigpact" / own_name, header().encode())
