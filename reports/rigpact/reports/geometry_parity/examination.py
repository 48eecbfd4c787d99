"""Run every check on every function found; the result is a findings report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Severity
from rigpact.contract.rules.answers import geometry as rules
from rigpact.reports.geometry_parity.behaviour import BEHAVIOUR, Check, Facts
from rigpact.reports.geometry_parity.calling import CallFailed, UserFunction
from rigpact.reports.geometry_parity.degenerate import DEGENERATE, GRADIENTS
from rigpact.reports.geometry_parity.meaning import Known, contract_reading, look
from rigpact.reports.geometry_parity.samples import ordinary
from rigpact.reports.terminal import plain, print_report, table

_SHOWN = ("float32", "float16", "integers", "leading axes", "one alone", "gradient")


def examine(place: str, functions: Sequence[UserFunction], conventions: Conventions, seed: int) -> FindingsReport:
    """Examine functions in their roles.

    place: the module's name in findings. conventions: the contract's. With `output_mode` delta a pose delta is a whole
    rotation; with any other value it is a residual, as the deployed functions take it. The ledger counts checks: what a
    function computes, then each check of its behaviour. If a function cannot be called, its remaining checks count as
    missing.
    """
    findings: list[Finding] = []
    summaries: list[dict[str, Any]] = []
    declared = compared = 0
    for number, function in enumerate(functions):
        rng = np.random.default_rng([seed, number])
        checks = _checks(function)
        facts: Facts = {}
        with np.errstate(all="ignore"):  # a non-finite result gives a finding, not a warning on stderr
            known, found = look(place, function, ordinary(function.role, rng, conventions), conventions)
            if known is not None:
                found = [*found, *_run(known, checks, facts)]
        declared += 1 + len(checks)
        compared += 1 + (len(checks) if known is not None else 0)
        findings += _worst_first(found)
        summaries.append(_summary(function, known, conventions, facts))
    return FindingsReport(
        tuple(findings), Ledger(declared, compared), {"module": place, "seed": seed, "functions": summaries}
    )


def _checks(function: UserFunction) -> tuple[Check, ...]:
    gradients = GRADIENTS if function.backend.name == "torch" else ()
    return (*BEHAVIOUR, *DEGENERATE, *gradients)


def _run(known: Known, checks: Sequence[Check], facts: Facts) -> Iterator[Finding]:
    for check in checks:
        try:
            yield from check(known, facts)
        except CallFailed as error:
            case = check.__name__.removeprefix("check_").replace("_", " ")
            yield known.finding(rules.RAISES, error=error, case=f"the check of {case}")


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    severities = list(Severity)
    return sorted(findings, key=lambda finding: (severities.index(finding.rule.severity), finding.rule.code))


def _summary(function: UserFunction, known: Known | None, conventions: Conventions, facts: Facts) -> dict[str, Any]:
    reading = known.reading if known is not None else None
    return {
        "role": function.role.name,
        "function": function.spelled,
        "library": function.backend.name,
        "computes": reading.words if reading is not None else None,
        "contract": contract_reading(function, conventions).words,
        "behaviour": dict(facts),
    }


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
