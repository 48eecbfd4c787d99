"""`rigpact describe`: the contract itself, for people and for the contract document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Companion, ConventionsFile, Settings


def describe(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json.")],
    *,
    companion: Companion = None,
    onnx: Annotated[Path | None, typer.Option("--onnx", metavar="FILE", help="Model to describe too.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown page for the contract document.")] = False,
    canary: Annotated[
        Path | None,
        typer.Option(
            "--canary", metavar="OUT",
            help="Write the canary vectors and the model's answer as a trace: feed them to an engine, record y_norm, "
            "then `check --canary` names the order that it bound.",
        ),
    ] = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
) -> None:  # fmt: skip
    """Print the contract: slices, tensors, conventions, statistics at a glance, skeleton, binding hazards.

    Exit status 0; 2 for a bundle that the engine would not load or a file that cannot be read.
    """
    import sys

    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.model.file import read_model
    from rigpact.reports.command_line.options import contract_from_options
    from rigpact.reports.describing.description import describe_contract
    from rigpact.reports.describing.description_text import description_markdown, print_description
    from rigpact.reports.terminal import stdout

    if canary is not None and onnx is None:
        raise UnusableInput("--canary", "no model", "--onnx FILE beside it", "the answer is the model's")
    contract = contract_from_options(bundle, companion, settings, conventions)
    document = read_document(bundle, Kind.BUNDLE)
    sections = describe_contract(contract, document, read_model(onnx) if onnx else None)
    if canary is not None and onnx is not None:
        from rigpact.reports.engine.canary import write_canary

        write_canary(contract, onnx, canary)
    if markdown:
        sys.stdout.write(description_markdown(sections))
    else:
        print_description(sections, stdout())
