"""`rigpact operations`: the vocabulary of declared contracts."""

from __future__ import annotations

from typing import Annotated

import typer

from rigpact.reports.command_line.options import Format, OutputFormat


def operations(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One operation with its parameters.")] = None,
    *,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """List the operations that a contract of one's own can name; NAME shows the parameters of one.

    Exit status 0; 2 for a name that no operation has.
    """
    from rigpact.contract.declared.vocabulary import find_operation, known_operations
    from rigpact.reports.describing.description_text import print_description
    from rigpact.reports.describing.operation_description import operation_sections, operation_to_json
    from rigpact.reports.terminal import print_json, stdout

    chosen = [find_operation(name)] if name else list(known_operations().values())
    if output_format is OutputFormat.JSON:
        print_json([operation_to_json(each) for each in chosen])
    else:
        print_description(operation_sections(chosen), stdout())
