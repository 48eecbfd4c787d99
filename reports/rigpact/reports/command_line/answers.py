"""Which published schema a command's `--format json` follows. The files stand in rigpact/contract/schemas and its answers/."""

from __future__ import annotations

from collections.abc import Mapping

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
