"""`rigpact codegen`: write a contract as a C++ header."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Companion, ConventionsFile, Settings


def codegen(
    contract: Annotated[Path, typer.Argument(metavar="CONTRACT", help="The schema bundle, or a contract.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The header to write.")],
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="NAME", help="C++ namespace; one for each character.")
    ] = "rigpact_contract",
    headers: Annotated[
        Path | None,
        typer.Option("--headers", metavar="DIR", help="Also copy the headers that it includes to DIR/rigpact."),
    ] = None,
    unreal: Annotated[
        Path | None,
        typer.Option("--unreal", metavar="DIR", help="Also copy the Unreal plug-in that records, to DIR/RigpactTrace."),
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
) -> None:
    """Write a C++ header of a contract: layout, numbers, conventions, conformance vectors and SelfTest().

    An engine runs SelfTest() when it starts: a contract that changed since, or a stage that computes something else, is
    refused before the first frame, without Python. The same contract gives the same bytes.
    """
    from rigpact.contract.files import write_bytes
    from rigpact.reference_runtime.files.contracts import ContractFiles, open_contract
    from rigpact.reports.engine.codegen import contract_header, copy_headers, copy_plugin
    from rigpact.reports.terminal import stdout

    read = open_contract(ContractFiles(contract, companion, settings or (), conventions))
    write_bytes(out, contract_header(read, namespace).encode())
    console = stdout()
    stages = len(read.system.stages)
    said = f"{out}: {read.system.name}, {stages} stages, contract {read.sha256[:12]}"
    console.print(said, markup=False, highlight=False)
    if headers is not None:
        console.print(f"{copy_headers(headers)}: the runtime's headers", markup=False, highlight=False)
    if unreal is not None:
        console.print(f"{copy_plugin(unreal)}: the Unreal plug-in, with the headers", markup=False, highlight=False)
