"""`rigpact schema`: the JSON Schema of a command's answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

FINDINGS = "findings_report"
ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("check", "check-each", "run", "diff", "geometry", "demo"), FINDINGS),
    **dict.fromkeys(("gate", "report"), "gate_report"),
    **dict.fromkeys(("init", "codegen", "stamp", "import", "convert", "neurarig read"), "answers/written"),
    "report --against": "answers/progress",
    "explain": "diagnosis",
    "nan": "answers/nonfinite",
    "adequacy": "answers/adequacy",
    "breaking": "answers/breaking",
    "doctor": "answers/doctor",
    "selftest": "answers/selftest",
    "sweep": "answers/sweep",
    "describe": "answers/description",
    "rule": "answers/rule",
    "systems": "answers/systems",
    "operations": "answers/operations",
    "neurarig serve": "answers/served",
    "neurarig play": "answers/played",
}
"""The words of a command -> its schema's file, without `.schema.json`."""


def _commands(incomplete: str) -> list[str]:
    return [name for name in ANSWERS if name.startswith(incomplete)]


def schema(
    command: Annotated[
        str | None,
        typer.Argument(metavar="COMMAND", help='For example gate, or "report --against".', autocompletion=_commands),
    ] = None,
) -> None:
    """Print the JSON Schema that a command's `--format json` follows; without COMMAND, list all of them.

    Exit status 0; 2 for a command that prints no JSON.
    """
    from importlib.resources import files

    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.settings.table import did_you_mean

    if command is None:
        for name, file in ANSWERS.items():
            sys.stdout.write(f"{name:16}  rigpact/contract/schemas/{file}.schema.json\n")
        return
    if command not in ANSWERS:
        raise UnusableInput("COMMAND", repr(command), f"one of {', '.join(ANSWERS)}", did_you_mean(command, ANSWERS))
    place = files("rigpact.contract") / "schemas" / f"{ANSWERS[command]}.schema.json"
    sys.stdout.write(place.read_text(encoding="utf-8"))
