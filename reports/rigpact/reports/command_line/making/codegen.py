"""`rigpact codegen`: a bundle as a C++ header."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Companion, ConventionsFile, Settings, contract_from_options


def codegen(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The header to write.")],
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="NAME", help="C++ namespace; one for each character.")
    ] = "rigpact_contract",
    headers: Annotated[
        Path | None,
        typer.Option("--headers", metavar="DIR", help="Also copy the header-only runtime to DIR/rigpact."),
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
) -> None:
    """Write a C++ header of the bundle: sizes, statistics, conventions, conformance vectors and SelfTest().

    An engine runs SelfTest() when it starts: a bundle that changed since, or a stage that computes something else, is
    refused before the first frame, without Python. The same bundle gives the same bytes.
    """
    from rigpact.contract.files import write_bytes
    from rigpact.reports.engine.codegen import contract_header, copy_headers
    from rigpact.reports.terminal import stdout

    contract = contract_from_options(bundle, companion, settings, conventions)
    header = contract_header(contract, namespace)
    write_bytes(out, header.encode())
    console = stdout()
    console.print(f"{out}: {contract.bone_count} bones, bundle {contract.sha256[:12]}", markup=False, highlight=False)
    if headers is not None:
        console.print(f"{copy_headers(headers)}: the runtime's headers", markup=False, highlight=False)
