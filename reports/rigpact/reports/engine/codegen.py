"""The runtime's own headers: copied beside a contract's header, and those whose enumerations both sides name numbers by.

`python -m rigpact.reports.engine.codegen` rewrites `OWN_HEADERS` in `reference_runtime/cpp/include/rigpact`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigpact.contract.conventions import ChannelOrder, InputOrder, Knob
from rigpact.contract.declared.vocabulary import operations_of_rigpact
from rigpact.contract.files import copy_folder, write_bytes
from rigpact.contract.pages.registry import meaning_of
from rigpact.contract.systems.plan import CPP_OPERATIONS, STARTS
from rigpact.reference_runtime.native.library import headers_folder
from rigpact.reports.engine.cpp_text import enumerator, lines, template_of, type_name


def shared_knobs() -> dict[str, Knob]:
    """The conventions that operations on a character share, by name; without those that are lists."""
    shared = (knob for each in operations_of_rigpact().values() for knob in each.shared)
    knobs = {knob.name: replace(knob, meaning=meaning_of(knob)) for knob in shared}
    return {name: knob for name, knob in sorted(knobs.items()) if not isinstance(knob, InputOrder | ChannelOrder)}


def readings_header() -> str:
    """The enumerations of the readings of every operation that C++ has too, and of the value before the first frame."""
    enumerations: list[tuple[str, str, Collection[str]]] = [("Start", "the value before the first frame", STARTS)]
    for name, each in sorted(operations_of_rigpact().items()):
        if each.readings:
            enumerations.append((f"{type_name(name)}Reading", each.summary, each.readings))
    knobs = [(type_name(name), knob.meaning, knob.values) for name, knob in shared_knobs().items()]
    return template_of("readings.hpp.j2").render(knobs=_rows(knobs), enumerations=_rows(enumerations))


def _rows(enumerations: Iterable[tuple[str, str, Collection[str]]]) -> list[dict[str, Any]]:
    return [
        {"type": name, "meaning": meaning, "words": map(enumerator, words)} for name, meaning, words in enumerations
    ]


def operations_header() -> str:
    """The list of the operations that C++ has, as a plan numbers them."""
    headers = sorted(set(CPP_OPERATIONS.values()))
    return template_of("operations.hpp.j2").render(headers=headers, lines=lines(list(CPP_OPERATIONS)))


OWN_HEADERS: Mapping[str, Callable[[], str]] = {
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
    public = copy_headers(target / "Source" / "RigpactTrace" / "Public")
    (public / "c" / "recorder.cpp").unlink()  # Unreal compiles every source file that lies below a module
    return target


if __name__ == "__main__":
    for own_name, header in OWN_HEADERS.items():
        write_bytes(headers_folder() / "rigpact" / own_name, header().encode())
