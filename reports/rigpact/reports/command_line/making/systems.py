"""`rigpact systems`: list the installed systems, their stages and their conventions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rigpact.reports.command_line.completion import system_names
from rigpact.reports.command_line.options import Format, OutputFormat, argument, option


def systems(
    name: Annotated[
        str | None, argument("NAME", "One system: every stage, every field, every knob.", autocompletion=system_names)
    ] = None,
    *,
    write_contract: Annotated[
        Path | None, option("--write-contract", "FILE", "Write a contract of NAME with the published constants.")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """List the installed systems and their packages, or describe one.

    Exit status 0; 2 for an unknown name.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.contract.pages.registry import every_system, find_system, known_systems
    from rigpact.reports.describing import system_description as described
    from rigpact.reports.describing.description_text import print_description
    from rigpact.reports.terminal import print_json, stdout

    chosen = [(system, known_systems()[system.name]) for system in ([find_system(name)] if name else every_system())]
    if write_contract is not None:
        if name is None:
            raise UnusableInput("--write-contract", "no NAME", "the system to write it for")
        write_bytes(write_contract, described.contract_template(chosen[0][0]))
    if output_format is OutputFormat.JSON:
        print_json([described.system_to_json(*each) for each in chosen])
    else:
        sections = described.system_sections(*chosen[0]) if name else [described.systems_section(chosen)]
        print_description(sections, stdout())
