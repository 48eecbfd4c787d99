"""An examination for people: what each function computes and how it behaves, then the findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import FindingsReport
from rigpact.reports.terminal import plain, print_report, table

_SHOWN = ("float32", "float16", "integers", "leading axes", "one alone", "gradient")


def print_examination(report: FindingsReport, console: Console) -> None:
    """Print the functions, their behaviour as a table, and the findings."""
    functions = report.summary["functions"]
    for each in functions:
        name = each["role"] if each["role"] == each["function"] else f"{each['role']} ({plain(each['function'])})"
        line = Text(f"{name}: ", style="bold").append(each["computes"] or "unknown", style="default")
        console.print(line)
    rows = [(each["role"], *_behaviour(each)) for each in functions]
    console.print(table("Behaviour", ("function", *_SHOWN), rows))
    print_report(report, console)


def _behaviour(function: Mapping[str, Any]) -> list[str]:
    facts = function["behaviour"]
    return [str(facts.get(name, "")).partition(":")[0] for name in _SHOWN]
