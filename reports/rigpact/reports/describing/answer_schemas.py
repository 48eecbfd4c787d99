"""The JSON Schemas: of what each command prints with `--format json`, and of the TOML files that people write."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from rigpact.contract.editor_schemas import CONTRACT, SETTINGS, contract_schema, settings_schema
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.reports.terminal import json_text

FINDINGS = "findings_report"
ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("check", "run", "diff", "demo"), FINDINGS),
    "gate": "gate_report",
    "gate --selftest": "answers/selftest",
    **dict.fromkeys(("init", "codegen", "convert"), "answers/written"),
    **dict.fromkeys(("explain", "demo robot"), "diagnosis"),
    "nan": "answers/nonfinite",
    "run --probe": "answers/written",
    "sweep": "answers/sweep",
    "init --status": "answers/status",
    "diff --base": "answers/breaking",
    "show": "answers/description",
    "neurarig serve": "answers/served",
}
"""The words of a command -> its schema's file, without `.schema.json`."""
_MADE = {"contract.toml": (CONTRACT, contract_schema), "rigpact.toml": (SETTINGS, settings_schema)}
"""Files that people write, whose schemas are made of the operations and rules that are installed."""
SCHEMAS = (*ANSWERS, *_MADE)
"""Everything that has a schema, by the word that `rigpact show schema` takes."""


def schema_text(name: str) -> str:
    """The schema of one of `SCHEMAS`, as it stands in its file."""
    if name in _MADE:
        return json_text(_MADE[name][1]())
    place = files("rigpact.contract") / "schemas" / f"{ANSWERS[name]}.schema.json"
    return place.read_text(encoding="utf-8")


def write_schemas(folder: Path) -> list[Path]:
    """Write the schemas that an editor needs into a folder; the files. UnusableInput where it is none."""
    if not folder.is_dir():
        raise UnusableInput("--write", str(folder), "a folder that is there", "`--write .` for this one")
    written = []
    for name, (file, _) in _MADE.items():
        written.append(folder / file)
        write_bytes(written[-1], schema_text(name).encode())
    return written
