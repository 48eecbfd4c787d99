"""`rigpact schema`: the JSON Schema of a command's answer, and of the TOML files that people write."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from rigpact.reports.command_line.options import argument, option

FINDINGS = "findings_report"
ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("check", "check-each", "run", "diff", "geometry", "demo"), FINDINGS),
    "gate": "gate_report",
    "gate --selftest": "answers/selftest",
    **dict.fromkeys(("init", "codegen", "stamp", "import", "convert"), "answers/written"),
    **dict.fromkeys(("explain", "demo robot"), "diagnosis"),
    "nan": "answers/nonfinite",
    "adequacy": "answers/adequacy",
    **{name: f"answers/{name}" for name in ("breaking", "doctor", "sweep")},
    "describe": "answers/description",
    **{name: f"answers/{name}" for name in ("rule", "systems", "operations")},
    "neurarig serve": "answers/served",
}
"""The words of a command -> its schema's file, without `.schema.json`."""
WRITTEN = ("contract.toml", "rigpact.toml")
"""Files that people write, whose schemas are made of the operations and rules that are installed."""


def schema(
    command: Annotated[
        str | None,
        argument(
            "COMMAND",
            "For example gate, explain, contract.toml, rigpact.toml.",
            autocompletion=lambda incomplete: [each for each in (*ANSWERS, *WRITTEN) if each.startswith(incomplete)],
        ),
    ] = None,
    *,
    write: Annotated[
        Path | None, option("--write", "FOLDER", "Write the schemas that an editor needs into FOLDER.")
    ] = None,
) -> None:
    """Print the JSON Schema of an answer, a contract or rigpact.toml.

    Without COMMAND it lists them. With --write an editor completes and checks contracts and rigpact.toml in FOLDER: their
    first line names the files. Exit status 0; 2 for a command that prints no JSON.
    """
    from importlib.resources import files

    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.settings.table import did_you_mean

    if write is not None:
        _write(write)
    elif command is None:
        for name, file in ANSWERS.items():
            sys.stdout.write(f"{name:16}  rigpact/contract/schemas/{file}.schema.json\n")
        for name in WRITTEN:
            sys.stdout.write(f"{name:16}  rigpact schema {name}\n")
    elif command in WRITTEN:
        sys.stdout.write(dict(zip(WRITTEN, _made().values(), strict=True))[command])
    elif command in ANSWERS:
        place = files("rigpact.contract") / "schemas" / f"{ANSWERS[command]}.schema.json"
        sys.stdout.write(place.read_text(encoding="utf-8"))
    else:
        known = (*ANSWERS, *WRITTEN)
        raise UnusableInput("COMMAND", repr(command), f"one of {', '.join(known)}", did_you_mean(command, known))


def _made() -> dict[str, str]:
    """The texts of the schemas that are made, by the name of their file."""
    from rigpact.contract.editor_schemas import CONTRACT, SETTINGS, contract_schema, settings_schema
    from rigpact.reports.terminal import json_text

    return {CONTRACT: json_text(contract_schema()), SETTINGS: json_text(settings_schema())}


def _write(folder: Path) -> None:
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.reports.terminal import say

    if not folder.is_dir():
        raise UnusableInput("--write", str(folder), "a folder that is there", "`--write .` for this one")
    for name, text in _made().items():
        write_bytes(folder / name, text.encode())
        say(f"{folder / name} written")
