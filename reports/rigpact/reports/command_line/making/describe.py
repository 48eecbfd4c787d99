"""`rigpact describe`: print the contract, for people and for the contract document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line.completion import system_names

_BESIDE = "Show only the differences to this contract."
_CANARY = "Write canary inputs and the model's answers: record y_norm of an engine, then `rigpact check --canary`."


def describe(
    contract: Annotated[
        Path, options.argument("CONTRACT", "The schema bundle, or a contract.", autocompletion=system_names)
    ],
    *,
    companion: options.Companion = None,
    onnx: options.Model = None,
    beside: Annotated[Path | None, options.option("--beside", "OTHER", _BESIDE)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown page.")] = False,
    canary: Annotated[Path | None, options.option("--canary", "OUT", _CANARY)] = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Print a contract: stages, fields, tensors, conventions, numbers.

    The name of a system prints its page. Exit status 0; 2 for a contract that the engine refuses, or a file that cannot be
    read.
    """
    import sys

    from rigpact.contract.documents import read_document
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.model.file import read_model
    from rigpact.contract.pages.registry import page_of
    from rigpact.reports.describing.beside import beside_section
    from rigpact.reports.describing.description import describe_contract, page_section
    from rigpact.reports.describing.description_text import description_markdown, description_to_json, print_description
    from rigpact.reports.terminal import print_json, stdout

    if markdown and output_format is options.OutputFormat.JSON:
        raise UnusableInput("--markdown with --format json", "both", "one of them")
    page = page_of(contract)
    read = None if page else options.contract_files(contract, companion, settings, conventions).opened()
    if read is None:
        sections = [page_section(page)]
    elif beside is None:
        sections = describe_contract(read, read_document(contract).data, read_model(onnx) if onnx else None)
    else:
        sections = [beside_section(read_document(contract), read_document(beside))]
    if canary is not None and read is not None:
        from rigpact.reports.engine.canary import write_canary

        write_canary(read, onnx, canary)
    if output_format is options.OutputFormat.JSON:
        print_json(description_to_json(sections))
    elif markdown:
        sys.stdout.write(description_markdown(sections))
    elif page:
        sys.stdout.write(page)
    else:
        print_description(sections, stdout())
