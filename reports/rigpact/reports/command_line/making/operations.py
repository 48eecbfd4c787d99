"""`rigpact operations`: the vocabulary of declared contracts, and the profiles that they can name."""

from __future__ import annotations

from typing import Annotated

from rigpact.reports.command_line.completion import known_words
from rigpact.reports.command_line.options import Format, OutputFormat, argument


def operations(
    name: Annotated[
        str | None, argument("NAME", "One operation with its parameters, or one profile.", autocompletion=known_words)
    ] = None,
    *,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """List the operations and profiles of contracts, or describe one.

    Exit status 0; 2 for an unknown name.
    """
    from rigpact.contract.declared.profiles import known_profiles
    from rigpact.contract.declared.vocabulary import find_operation, known_operations
    from rigpact.reports.describing import operation_description as described
    from rigpact.reports.describing.description_text import print_description
    from rigpact.reports.terminal import print_json, stdout

    profiles = known_profiles()
    if name is None:
        operations, chosen = list(known_operations().values()), list(profiles.values())
    else:
        operations, chosen = ([], [profiles[name]]) if name in profiles else ([find_operation(name)], [])
    if output_format is OutputFormat.JSON:
        print_json([*map(described.operation_to_json, operations), *map(described.profile_to_json, chosen)])
        return
    sections = described.operation_sections(operations) if operations else described.profile_sections(chosen[0])
    if operations and chosen:
        sections.append(described.profiles_section(chosen))
    print_description(sections, stdout())
