"""`rigpact codegen`: write a contract as a C++ header."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Companion, ConventionsFile, Format, OutputFormat, Settings
from rigpact.reports.command_line.written import answer_written


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
    loop: Annotated[
        bool,
        typer.Option("--loop", help="With the loop: step() computes every stage."),
    ] = False,
    onnx: Annotated[
        Path | None,
        typer.Option("--onnx", metavar="FILE", help="The model: the engine's self-test then refuses another one."),
    ] = None,
    unreal: Annotated[
        Path | None,
        typer.Option("--unreal", metavar="DIR", help="Also copy the Unreal plug-in that records, to DIR/RigpactTrace."),
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write a C++ header of a contract: layout, numbers, conventions, conformance vectors, SelfTest() and SelfTestEngine().

    An engine runs one of them when it starts: files that changed since, or a stage that computes something else, are refused
    before the first frame, without Python. SelfTestEngine() drives the engine's own loop. With --loop the header computes every
    stage itself: State and step(). The same contract gives the same bytes. Lines to paste into the engine's code are printed.
    """
    from rigpact.contract.files import read_bytes, write_bytes
    from rigpact.reference_runtime.files.contracts import ContractFiles
    from rigpact.reports.engine.codegen import copy_headers, copy_plugin
    from rigpact.reports.engine.header import contract_header, lines_to_paste

    read = ContractFiles(contract, companion, settings or (), conventions).opened()
    model_sha256 = None if onnx is None else hashlib.sha256(read_bytes(onnx)).hexdigest()
    write_bytes(out, contract_header(read, namespace, model_sha256, with_loop=loop).encode())
    _say_errors(contract, companion)
    folders = [copy(folder) for copy, folder in ((copy_headers, headers), (copy_plugin, unreal)) if folder is not None]
    stages, paste = len(read.system.stages), lines_to_paste(read, namespace)
    said = [f"{out}: {read.system.name}, {stages} stages, contract {read.sha256[:12]}"]
    said += [f"{folder}: copied" for folder in folders] + [
        "paste into the engine's code:",
        *(f"  {line}" for line in paste),
    ]
    facts = {
        "system": read.system.name,
        "stages": stages,
        "contract_sha256": read.sha256,
        "lines_to_paste": list(paste),
    }
    answer_written("codegen", [out, *folders], output_format, lines=said, facts=facts)


def _say_errors(contract: Path, companion: Path | None) -> None:
    """A header of a contract with errors compiles, and agrees with itself: who generates it must know."""
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.findings import Severity
    from rigpact.reports.checking.check import CheckRequest, check_files
    from rigpact.reports.terminal import say_aside

    documents = (read_document(contract), *(() if companion is None else (read_document(companion, Kind.COMPANION),)))
    report = check_files(CheckRequest(documents, with_own_models=False))
    errors = [finding for finding in report.findings if finding.rule.severity is Severity.ERROR]
    if errors:
        codes = ", ".join(dict.fromkeys(finding.rule.code for finding in errors))
        said = f"{contract} has {len(errors)} errors ({codes}): `rigpact check` explains them"
        say_aside(f"warning: {said}")
