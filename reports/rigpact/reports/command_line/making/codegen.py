"""`rigpact codegen`: write a contract as a C++ header."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import answer_written

if TYPE_CHECKING:
    from rigpact.contract.systems.contract import Contract

_NAMESPACE = "rigpact_contract"


def codegen(
    contract: options.ContractArgument,
    *,
    out: options.Out,
    namespace: Annotated[
        str, options.option("--namespace", "NAME", "C++ namespace; one for each character.")
    ] = _NAMESPACE,
    headers: Annotated[
        Path | None, options.option("--headers", "FOLDER", "Copy its headers to FOLDER/rigpact too.")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Write the loop too: step() computes every stage.")] = False,
    onnx: options.Model = None,
    unreal: Annotated[
        Path | None, options.option("--unreal", "FOLDER", "Copy the Unreal plug-in to FOLDER/RigpactTrace too.")
    ] = None,
    stamp: Annotated[
        Path | None, options.option("--stamp", "MODEL", "Write no header, but MODEL with the contract's hash in it.")
    ] = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Write a contract as a C++ header, or its hash into a model.

    The engine calls SelfTest() or SelfTestEngine() at its start. The test refuses other files, a stage that computes
    something else and, with --onnx, another model. The same contract gives the same bytes. The command prints the lines to
    paste into the engine's code. A stamped model is refused by `rigpact check` beside another contract.
    """
    from rigpact.contract.files import read_bytes, write_bytes
    from rigpact.reports.engine.codegen import copy_headers, copy_plugin
    from rigpact.reports.engine.header import contract_header, lines_to_paste

    if stamp is not None:
        of_header: dict[str, object] = {"--headers": headers, "--loop": loop, "--onnx": onnx, "--unreal": unreal}
        of_header["--namespace"] = namespace != _NAMESPACE
        options.refuse_beside(of_header, "--stamp beside it", "a header, which --stamp does not write")
    read = options.contract_files(contract, companion, settings, conventions).opened()
    if stamp is not None:
        _stamp(read, stamp, out, output_format)
        return
    model_sha256 = None if onnx is None else hashlib.sha256(read_bytes(onnx)).hexdigest()
    write_bytes(out, contract_header(read, namespace, model_sha256, with_loop=loop).encode())
    _say_errors(contract, companion)
    folders = [copy(folder) for copy, folder in ((copy_headers, headers), (copy_plugin, unreal)) if folder is not None]
    stages, paste = len(read.system.stages), lines_to_paste(read, namespace)
    said = [f"{out}: {read.system.name}, {stages} stages, contract {read.sha256[:12]}"]
    said += [f"{folder}: copied" for folder in folders]
    said += ["paste into the engine's code:", *(f"  {line}" for line in paste)]
    facts = {"system": read.system.name, "stages": stages}
    facts |= {"contract_sha256": read.sha256, "lines_to_paste": list(paste)}
    answer_written("codegen", [out, *folders], output_format, lines=said, facts=facts)


def _stamp(contract: Contract, model: Path, out: Path, output_format: options.OutputFormat) -> None:
    """Write a model with the contract's hash, which covers the files that its numbers and operations come from."""
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.model.copies import write_stamped

    document = read_document(contract.path)
    if document.kind is Kind.DECLARATION:
        from rigpact.contract.declared.reading import declaration_of

        own = model.resolve()
        if any((document.path.parent / name).resolve() == own for name in declaration_of(document).read):
            found = f"numbers that come from {model.name} itself"
            hint = "the hash would change with the stamp: write the numbers into the contract"
            raise UnusableInput(contract.path, found, "numbers from other files", hint)
    write_stamped(model, contract.sha256, out)
    lines = [f"{out}: belongs to {contract.path.name}, {contract.sha256[:12]}"]
    answer_written("codegen", [out], output_format, lines=lines, facts={"contract_sha256": contract.sha256})


def _say_errors(contract: Path, companion: Path | None) -> None:
    """A header of a contract with errors compiles, and agrees with itself: who generates it must know."""
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.findings import Severity, number_of
    from rigpact.reports.checking.check import CheckRequest, check_files
    from rigpact.reports.terminal import say_aside

    documents = (read_document(contract), *(() if companion is None else (read_document(companion, Kind.COMPANION),)))
    report = check_files(CheckRequest(documents, with_own_models=False))
    errors = [finding for finding in report.findings if finding.rule.severity is Severity.ERROR]
    if errors:
        codes = ", ".join(dict.fromkeys(finding.rule.code for finding in errors))
        said = f"{contract} has {number_of(len(errors), 'error')} ({codes}): `rigpact check` explains them"
        say_aside(f"warning: {said}")
