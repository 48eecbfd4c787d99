"""The answer of a command that writes files: what was written, facts about it, notes; as lines for people, or as one document."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.reports.command_line.options import OutputFormat


def answer_written(
    command: str,
    files: Sequence[Path],
    output_format: OutputFormat,
    *,
    lines: Sequence[str],
    facts: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the `rigpact-written` document, version 1, or its lines and notes."""
    from rigpact.reports.terminal import plain, print_json, say

    if output_format is OutputFormat.JSON:
        print_json({
            "format": "rigpact-written", "version": 1, "command": command, "files": [str(path) for path in files],
            "facts": dict(facts or {}), "notes": list(notes),
        })  # fmt: skip
        return
    for line in (*lines, *(f"note: {note}" for note in notes)):
        say(plain(line))
