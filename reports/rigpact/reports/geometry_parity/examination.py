"""Run every check on every function found; the result is a findings report."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console

from rigpact.contract.bundle import load_contract
from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import UnusableInput, error_text, near
from rigpact.contract.files import read_bytes
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Severity, Verdict
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.settings.configuration import LEFT_OUT, FunctionSettings, GeometrySettings
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.beside import imported, module_of_file
from rigpact.reports.geometry_parity.calling import (
    DECLARABLE,
    LAYOUTS,
    NOTHING_DECLARED,
    TIMED,
    BackendName,
    CallFailed,
    NumpyBackend,
    UserFunction,
)
from rigpact.reports.geometry_parity.checks import CHECKS, Facts
from rigpact.reports.geometry_parity.forms import ORDERS
from rigpact.reports.geometry_parity.meaning import Known, contract_reading, how_called, judged, propose, unusable
from rigpact.reports.geometry_parity.roles import ROLES, ordinary
from rigpact.reports.terminal import Figures, Sentence, print_with_findings, working

_LIBRARIES = ("_np", "_numpy", "_torch", "_pt", "_jit")
_ABOUT_ROTATIONS = re.compile(r"quat|rot|euler|axis_?angle|so3|6d|angvel|angular|slerp|yaw|^q[a-z]{2,5}$|geodesic")
Function = Callable[..., Any]


def load_module(place: str) -> ModuleType:
    """Import `pkg.mod`, or the file `path/to/file.py`; UnusableInput with the error if the import fails.

    The current folder, or the file's folder, is put on the import path, as with `python -m` and `python file.py`.
    """
    path = Path(place)
    is_file = place.endswith(".py") or path.is_file()
    if is_file and not path.is_file():
        raise UnusableInput(place, "nothing", "an existing file, or the import path pkg.mod")
    folder = str(path.resolve().parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if is_file:
        return imported(place, lambda: module_of_file(path, read_bytes(path)))
    return imported(place, lambda: importlib.import_module(place))


@dataclass(frozen=True)
class Found:
    """A function of the module and the roles that it may play. said: what the project declares of it.

    certain: the roles are said, or the name has no other use.
    """

    spelled: str
    function: Function
    roles: tuple[str, ...]
    certain: bool = True
    said: FunctionSettings = NOTHING_DECLARED


def find_functions(
    module: ModuleType, place: str, mapping: Mapping[str, str], declared: Sequence[FunctionSettings]
) -> list[Found]:
    """The functions of a module that play a role: from the mapping, by a role's names in the order of the roles, or declared.

    A name may end in the library's name (`qmul_np`); a declared function need not have a known name. Raises UnusableInput for
    a function that is missing, and where there is none.
    """
    said = mapping.items()
    found = [Found(name, _mapped(module, place, f"--map {role}={name}", name), (role,)) for role, name in said]
    taken = {each.spelled for each in found}
    for role in ROLES.values():
        if role.name in mapping:
            continue
        for name in (name for each in role.names for name in (each, *(each + end for end in _LIBRARIES))):
            function = getattr(module, name, None)
            if callable(function) and name not in taken and not any(function is each.function for each in found):
                taken.add(name)
                found.append(Found(name, function, *_roles_of(name)))
    order = list(ROLES)
    found.sort(key=lambda each: order.index(each.roles[0]))
    new = [each for each in declared if each.name not in taken]
    found += [Found(each.name, _mapped(module, place, each.place, each.name), ()) for each in new]
    if not found:
        expected = f"at least one of {', '.join(ROLES)}"
        raise UnusableInput(place, "no function that plays a known role", expected, "name it: --map ROLE=FUNCTION")
    by_name = {each.name: each for each in declared}
    return [replace(each, said=by_name.get(each.spelled, each.said)) for each in found]


def _roles_of(name: str) -> tuple[tuple[str, ...], bool]:
    plain = next((name.removesuffix(end) for end in _LIBRARIES if name.endswith(end)), name)
    having = [role for role in ROLES.values() if {plain, name} & set(role.names)]
    return tuple(role.name for role in having), not any({plain, name} & set(role.loose) for role in having)


def unknown_functions(module: ModuleType, found: Sequence[str]) -> list[str]:
    """The module's own public functions that seem to be about rotations and play no known role."""
    functions = {name: each for name, each in vars(module).items() if callable(each) and not isinstance(each, type)}
    own = [name for name, each in functions.items() if getattr(each, "__module__", None) == module.__name__]
    return [name for name in own if name[0] != "_" and name not in found and _ABOUT_ROTATIONS.search(name.lower())]


def _mapped(module: ModuleType, place: str, said: str, name: str) -> Function:
    """The function of a dotted name; UnusableInput with near names if there is none. said: where the name stands."""
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if not callable(value):
        near = get_close_matches(name, [each for each in vars(module) if callable(getattr(module, each))], n=3)
        hint = f"near it: {', '.join(near)}" if near else ""
        raise UnusableInput(said, f"no function {name} in {place}", "a function of the module", hint)
    function: Function = value
    return function


def parse_mapping(words: Sequence[str]) -> dict[str, str]:
    """Read the `ROLE=FUNCTION` words of `--map`."""
    mapping: dict[str, str] = {}
    for word in words:
        role, separator, name = (part.strip() for part in word.partition("="))
        if not separator or not name:
            raise UnusableInput(f"--map {word}", "no '=' with a name behind it", "ROLE=FUNCTION")
        if role not in ROLES:
            raise UnusableInput(f"--map {word}", f"the role {role!r}", f"one of {', '.join(ROLES)}", near(role, ROLES))
        mapping[role] = name
    return mapping


def _ways(
    found: Found, module: ModuleType, place: str, wanted: BackendName | None, conventions: Conventions
) -> list[UserFunction]:
    """A function once for each role that it may play and library that it may take; none if the project leaves it out."""
    said = found.said
    if said.role == LEFT_OUT:
        return []
    roles = found.roles if said.role is None else (said.role,)
    if not roles:
        raise UnusableInput(said.place, f"no role for {said.name}", f"one of {', '.join(ROLES)}, or {LEFT_OUT}")
    shapes = [("shape", TIMED if ROLES[role].timed else LAYOUTS) for role in roles if role in ROLES]
    orders = (*(each.upper() for each in ORDERS), *ORDERS)
    for key, known in (("role", ROLES), *shapes, ("takes", DECLARABLE), ("order", orders)):
        value = getattr(said, key)
        if value is not None and value not in known:
            expected, hint = f"one of {'; '.join(known)}", near(value, known)
            raise UnusableInput(f"{said.place}.{key}", repr(value), expected, hint)
    first = _backend_of(found.function, module, wanted)
    # a torch module may have twins for numpy
    libraries = [first] if wanted or first.name == "numpy" else [first, NumpyBackend()]
    certain = found.certain or said.role is not None
    return [
        UserFunction(ROLES[role], found.spelled, found.function, library, place, conventions, said, certain=certain)
        for role, library in product(roles, libraries)
    ]


def _backend_of(function: Callable[..., Any], module: ModuleType, wanted: BackendName | None) -> NumpyBackend:
    """The library of a function: the given one, else torch if the function's module uses torch."""
    home = getattr(function, "__globals__", None) or vars(module)
    if wanted == "numpy" or (wanted is None and not any(_is_torch(value) for value in home.values())):
        return NumpyBackend()
    try:
        from rigpact.reports.geometry_parity.torch_backend import TorchBackend
    except ImportError as error:
        raise UnusableInput("--backend torch", error_text(error), "an installation of torch") from None
    return TorchBackend()


def _is_torch(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] == "torch"


_SHOWN = ("float32", "float16", "integers", "leading axes", "one alone", "gradient")


@dataclass(frozen=True)
class Examination(FindingsReport):
    """The answer about a module: a function that is wrong fails it, whatever is not judged."""

    @property
    def verdict(self) -> Verdict:
        """Whether the functions are the contract's."""
        return "fail" if self.count(Severity.ERROR) else super().verdict


@dataclass(frozen=True)
class Examined:
    """What is said of one function. questions: what the function is and each check; answered: how many have an answer."""

    function: UserFunction
    known: Known | None
    findings: Sequence[Finding]
    facts: Facts
    questions: int
    answered: int

    @property
    def summary(self) -> dict[str, Any]:
        """How it was called, what it computes, what the contract does, and its behaviour."""
        reading = self.known.reading if self.known is not None else None
        return {
            "role": self.function.role.name, "function": self.function.spelled, "library": self.function.backend.name,
            "called": how_called(self.function) if self.known is not None else None,
            "computes": reading.words if reading is not None else None,
            "contract": contract_reading(self.function).words, "behaviour": dict(self.facts),
        }  # fmt: skip


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
    declared = [each for each in settings.functions if each.module is None or PurePath(each.module) == PurePath(place)]
    found = find_functions(loaded, place, names, declared)
    return examine(place, loaded, found, library, base.replaced(changes), seed)


def examine(
    place: str,
    module: ModuleType,
    found: Sequence[Found],
    library: BackendName | None,
    conventions: Conventions,
    seed: int,
) -> Examination:
    """Examine functions in their roles.

    place: the module's name in findings. conventions: the contract's. With `output_mode` delta a pose delta is a whole
    rotation; with any other value it is a residual, as the deployed functions take it. The ledger counts questions: what a
    function computes, then each check of its behaviour. If a function that certainly plays its role cannot be judged, its
    questions are missing. One whose name only suggests a role is said, and not counted.
    """
    asked = [_ways(each, module, place, library, conventions) for each in found]
    with working("asking every function"), np.errstate(all="ignore"):  # what is not finite is a finding, not a warning
        drawn = [(ways, np.random.default_rng([seed, number])) for number, ways in enumerate(asked)]
        answers = [_answer(ways, rng) for ways, rng in drawn if ways]
    counted = [answer for answer in answers if answer.known is not None or answer.function.certain]
    left_out = {each.spelled: each.said.reason for each in found if each.said.role == LEFT_OUT}
    questions, answered = (sum(getattr(each, count) for each in counted) for count in ("questions", "answered"))
    ledger = Ledger(questions + len(left_out), answered, len(left_out))
    summary = {
        "module": place, "seed": seed, "functions": [answer.summary for answer in answers],
        "not_judged": [answer.function.spelled for answer in answers if answer.known is None],
        "left_out": left_out, "no_role": unknown_functions(module, [each.spelled for each in found]),
    }  # fmt: skip
    return Examination(tuple(finding for answer in answers for finding in answer.findings), ledger, summary)


def _answer(ways: Sequence[UserFunction], rng: np.random.Generator) -> Examined:
    """What is said of a function in the role that it plays best: explained with the fewest findings, or callable at all."""
    tried: list[tuple[tuple[int, int], UserFunction, Known | None, str]] = []
    for function in ways:
        known, failure = propose(function, ordinary(function.role, rng, function.conventions))
        tried.append(((2, 0) if known is None else known.strangeness, function, known, failure))
        if tried[-1][0] == (0, 0):
            break
    _, function, known, failure = min(tried, key=lambda each: each[0])
    checks = CHECKS
    if function.backend.name == "torch":
        from rigpact.reports.geometry_parity.torch_backend import check_gradients

        checks = (*CHECKS, check_gradients)
    if known is None:
        found = [unusable(function, ordinary(function.role, rng, function.conventions), failure)]
        return Examined(function, None, found, {}, 1 + len(checks), 0)
    is_certain, found = judged(known)
    if not is_certain:
        return Examined(function, None, found, {}, 0, 0)  # what it is meant to be, nobody has said
    facts = Facts()
    for check in checks:
        try:
            found += check(known, facts)
        except CallFailed as error:
            case = check.__name__.removeprefix("check_").replace("_", " ")
            found.append(known.finding(rules.RAISES, error=error, case=f"the check of {case}"))
    is_open = any(each.rule in (rules.ORDER_NOT_DECLARED, rules.NOT_JUDGED) for each in found)
    count = len(checks) + (not is_open)  # what nobody declared is not a question
    severities = list(Severity)
    found.sort(key=lambda each: (severities.index(each.rule.severity), each.rule.code))
    return Examined(known.function, known, found, facts, count, count)


def print_examination(report: FindingsReport, console: Console) -> None:
    """Print the functions, their behaviour as a table, what was not judged, and the findings."""
    summary = report.summary
    functions, open_ones = summary["functions"], summary["not_judged"]
    body: list[Sentence | Figures] = []
    for each in functions:
        name = each["role"] if each["role"] == each["function"] else f"{each['role']} ({each['function']})"
        called = f"; called {each['called']}" if each["called"] else ""
        body.append(Sentence(f"{name}: {each['computes'] or 'unknown'}{called}", "bold"))
    behaviour = ([str(each["behaviour"].get(name, "")).partition(":")[0] for name in _SHOWN] for each in functions)
    rows = [(each["role"], *facts) for each, facts in zip(functions, behaviour, strict=True)]
    body.append(Figures("Behaviour", ("function", *_SHOWN), rows))
    if open_ones:
        judged = f"{len(functions) - len(open_ones)} of {len(functions)} functions judged"
        body.append(Sentence(f"{judged}; not judged: {', '.join(open_ones)}"))
    body += [Sentence(f"left out: {name} ({reason})") for name, reason in summary["left_out"].items()]
    if summary["no_role"]:
        body.append(Sentence(f"not asked, because no role is known: {', '.join(summary['no_role'])}"))
    print_with_findings(body, report, console)
