"""Run every check on every function found; the result is a findings report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from rigpact.contract.bundle import load_contract
from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Severity, Verdict
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.settings.geometry import GeometrySettings
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.geometry_parity.calling.backend import BackendName
from rigpact.reports.geometry_parity.calling.function import CallFailed, UserFunction
from rigpact.reports.geometry_parity.checks.behaviour import BEHAVIOUR, Check, Facts
from rigpact.reports.geometry_parity.checks.degenerate import DEGENERATE, GRADIENTS
from rigpact.reports.geometry_parity.declared import (
    Asked,
    asked_functions,
    find_functions,
    load_module,
    of_module,
    parse_mapping,
    unknown_functions,
)
from rigpact.reports.geometry_parity.meaning import Known, how_called, judged, unusable
from rigpact.reports.geometry_parity.proposing import Taken, Tries, contract_reading, propose
from rigpact.reports.geometry_parity.samples import ordinary
from rigpact.reports.terminal import plain, print_report, table, working

_SHOWN = ("float32", "float16", "integers", "leading axes", "one alone", "gradient")


@dataclass(frozen=True)
class Examination(FindingsReport):
    """The answer about a module: undetermined as long as a function that must be judged is not, unless one is wrong."""

    @property
    def verdict(self) -> Verdict:
        """Whether the functions are the contract's."""
        if self.count(Severity.ERROR):
            return "fail"
        return "undetermined" if self.ledger.missing else super().verdict


@dataclass(frozen=True)
class Examined:
    """What is said of one function. questions: what the function is and each check; answered: how many have an answer."""

    function: UserFunction
    known: Known | None
    findings: Sequence[Finding]
    facts: Facts
    questions: int
    answered: int


def examine_module(
    place: str,
    mapping: Sequence[str],
    library: BackendName | None,
    seed: int,
    contract: ContractFiles,
    settings: GeometrySettings | None = None,
) -> Examination:
    """Import a module, which runs it, and examine its rotation functions.

    place: FILE.py or pkg.mod. mapping: ROLE=FUNCTION words. contract: a bundle for the declared columns, or none, and the
    conventions that the user declares. settings: of the project. UnusableInput for a module that cannot be imported, or has no
    function that plays a known role.
    """
    settings, own = settings or GeometrySettings(), find_system(ENEMY_ANIMATION).conventions()
    base = load_contract(contract.bundle, contract.companion).conventions if contract.bundle else own
    # a bundle's output_mode describes the network: a training function takes a residual unless the user declares otherwise
    changes = {"output_mode": "residual", **settings.conventions, **contract.changes}
    names = parse_mapping(mapping)
    loaded = load_module(place)
    found = find_functions(loaded, place, names)
    functions = asked_functions(found, loaded, place, library, of_module(settings.functions, place))
    with working("asking every function"):
        unknown = unknown_functions(loaded, [each.spelled for each in functions])
        return examine(place, functions, base.replaced(changes), seed, unknown)


def examine(
    place: str, asked: Sequence[Asked], conventions: Conventions, seed: int, unknown: Sequence[str] = ()
) -> Examination:
    """Examine functions in their roles.

    place: the module's name in findings. conventions: the contract's. With `output_mode` delta a pose delta is a whole
    rotation; with any other value it is a residual, as the deployed functions take it. unknown: functions of the module
    that play no known role. The ledger counts questions: what a function computes, then each check of its behaviour. If a
    function that certainly plays its role cannot be judged, its questions are missing. One whose name only suggests a
    role is said, and not counted.
    """
    with np.errstate(all="ignore"):  # a non-finite result gives a finding, not a warning on stderr
        drawn = [(each, np.random.default_rng([seed, number])) for number, each in enumerate(asked)]
        answers = [_answer(place, each, conventions, rng) for each, rng in drawn if each.left_out is None]
    counted = [answer for answer in answers if answer.known is not None or answer.function.declared.certain]
    left_out = {each.spelled: each.left_out for each in asked if each.left_out is not None}
    questions, answered = (sum(getattr(each, count) for each in counted) for count in ("questions", "answered"))
    ledger = Ledger(questions + len(left_out), answered, len(left_out))
    summary = {
        "module": place, "seed": seed, "functions": [_summary(answer, conventions) for answer in answers],
        "not_judged": [answer.function.spelled for answer in answers if answer.known is None],
        "left_out": left_out, "no_role": list(unknown),
    }  # fmt: skip
    return Examination(tuple(finding for answer in answers for finding in answer.findings), ledger, summary)


def _answer(place: str, asked: Asked, conventions: Conventions, rng: np.random.Generator) -> Examined:
    tried: list[_Tried] = []
    for function in asked.alternatives:
        tried.append((function, *propose(function, ordinary(function.role, rng, conventions), conventions)))
        if _strangeness(tried[-1]) == (0, 0):
            break
    function, taken, tries = min(tried, key=_strangeness)
    if taken is None:
        arrays = ordinary(function.role, rng, conventions)
        questions = 1 + len(_checks(function))
        return Examined(function, None, [unusable(place, function, arrays, tries)], {}, questions, 0)
    checks, facts = _checks(taken.function), Facts()
    known, found = judged(place, taken, conventions)
    if known is None:
        return Examined(function, None, found, facts, 0, 0)  # what it is meant to be, nobody has said
    found = [*found, *_run(known, checks, facts)]
    is_open = any(each.rule in (rules.ORDER_NOT_DECLARED, rules.NOT_JUDGED) for each in found)
    count = len(checks) + (not is_open)  # what nobody declared is not a question
    severities = list(Severity)
    found.sort(key=lambda each: (severities.index(each.rule.severity), each.rule.code))
    return Examined(taken.function, known, found, facts, count, count)


_Tried = tuple[UserFunction, Taken | None, Tries]


def _strangeness(tried: _Tried) -> tuple[int, int]:
    """Order of the roles that a name may mean: explained with the fewest findings, unexplained, not callable."""
    return (2, 0) if tried[1] is None else tried[1].strangeness


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


def _summary(answer: Examined, conventions: Conventions) -> dict[str, Any]:
    reading = answer.known.reading if answer.known is not None else None
    return {
        "role": answer.function.role.name,
        "function": answer.function.spelled,
        "library": answer.function.backend.name,
        "called": how_called(answer.function) if answer.known is not None else None,
        "computes": reading.words if reading is not None else None,
        "contract": contract_reading(answer.function, conventions).words,
        "behaviour": dict(answer.facts),
    }


def print_examination(report: FindingsReport, console: Console) -> None:
    """Print the functions, their behaviour as a table, what was not judged, and the findings."""
    functions = report.summary["functions"]
    for each in functions:
        name = each["role"] if each["role"] == each["function"] else f"{each['role']} ({plain(each['function'])})"
        line = Text(f"{name}: ", style="bold").append(each["computes"] or "unknown", style="default")
        line.append(f"; called {each['called']}" if each["called"] else "", style="dim")
        console.print(line)
    behaviour = ([str(each["behaviour"].get(name, "")).partition(":")[0] for name in _SHOWN] for each in functions)
    rows = [(each["role"], *facts) for each, facts in zip(functions, behaviour, strict=True)]
    console.print(table("Behaviour", ("function", *_SHOWN), rows))
    _print_not_judged(report.summary, console)
    print_report(report, console)


def _print_not_judged(summary: Mapping[str, Any], console: Console) -> None:
    every, open_ones = len(summary["functions"]), summary["not_judged"]
    if open_ones:
        judged = f"{every - len(open_ones)} of {every} functions judged"
        console.print(f"{judged}; not judged: {plain(', '.join(open_ones))}")
    for name, reason in summary["left_out"].items():
        console.print(f"left out: {plain(name)} ({plain(reason)})")
    if summary["no_role"]:
        console.print(f"not asked, because no role is known: {plain(', '.join(summary['no_role']))}")
