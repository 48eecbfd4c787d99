"""Generate C++: a header of one contract (`rigpact codegen`), and the enumerations of the enemy animation's knobs.

`contract_header` is deterministic: the same file gives the same bytes. `python -m rigpact.reports.engine.codegen` rewrites
`reference_runtime/cpp/include/rigpact/conventions.hpp`; a test compares.
"""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import Any

from rigpact.contract.bundle import Contract
from rigpact.contract.files import copy_folder, write_bytes
from rigpact.contract.systems.system import SystemContract
from rigpact.reference_runtime.native.library import headers_folder
from rigpact.reference_runtime.systems.enemy_animation.cpp.views import enumerated
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS
from rigpact.reports.engine.bundle_header import bundle_asserts, bundle_header
from rigpact.reports.engine.cpp_text import checked_namespace, enumerator, template, type_name
from rigpact.reports.engine.system_header import system_asserts, system_header

NAMESPACE = "rigpact_contract"


@singledispatch
def contract_header(contract: object, namespace: str = NAMESPACE, model_sha256: str | None = None) -> str:
    """The header of one contract. UnusableInput where the files alone do not define every size.

    A schema bundle gives a header for the C++ loop; a declared system's contract gives a stand-alone header. model_sha256: of the
    model that belongs to it.
    """
    raise TypeError(f"{type(contract).__name__} in {namespace} with the model {model_sha256}: no kind of contract")


@contract_header.register
def _(contract: Contract, namespace: str = NAMESPACE, model_sha256: str | None = None) -> str:
    return bundle_header(contract, checked_namespace(namespace), model_sha256)


@contract_header.register
def _(contract: SystemContract, namespace: str = NAMESPACE, model_sha256: str | None = None) -> str:
    return system_header(contract, checked_namespace(namespace), model_sha256)


def lines_to_paste(contract: Any, namespace: str = NAMESPACE) -> list[str]:
    """`static_assert` lines for the engine's own code: with another contract than today's it does not compile."""
    of = bundle_asserts if isinstance(contract, Contract) else system_asserts
    asserts = [f"kFingerprint == 0x{contract.sha256[:16]}ULL", *of(contract)]
    return [f'static_assert({namespace}::{each}, "the contract changed");' for each in asserts]


def conventions_header() -> str:
    """The enumerations of all knobs of the C++ loop, and the struct that holds one value of each."""
    knobs = [
        {
            "name": name,
            "type": type_name(name),
            "meaning": KNOBS[name].meaning,
            "choices": [enumerator(value) for value in KNOBS[name].values],
            "default": enumerator(KNOBS[name].values[0]),
        }
        for name in enumerated()
    ]
    rendered: str = template("conventions.hpp.j2").render(knobs=knobs)
    return rendered


def copy_headers(folder: str | Path) -> Path:
    """Copy the runtime's headers into `folder`/rigpact and return that folder."""
    return copy_folder(headers_folder() / "rigpact", Path(folder) / "rigpact")


def copy_plugin(folder: str | Path) -> Path:
    """Copy the Unreal plug-in, with the runtime's headers in it, into `folder`/RigpactTrace and return that folder."""
    target = copy_folder(headers_folder().parent / "unreal" / "RigpactTrace", Path(folder) / "RigpactTrace")
    copy_headers(target / "Source" / "RigpactTrace" / "Public")
    return target


if __name__ == "__main__":
    write_bytes(headers_folder() / "rigpact" / "conventions.hpp", conventions_header().encode())
