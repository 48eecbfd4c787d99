"""What the gate knows of a system: how its case is opened, and the list of its parts.

The enemy animation is one system (enemy_case.py, parts/). To bring another under the gate: a module that offers a
`GateSystem`, a row in `SYSTEMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rigpact.contract.documents import Kind, kind_of
from rigpact.contract.files import read_json
from rigpact.contract.findings import FindingsReport
from rigpact.contract.settings.gate import GateSettings
from rigpact.reports.gate.measured import Measured, NotAsked


class GateCase(Protocol):
    """The files of one project, as one system reads them."""

    settings: GateSettings

    def files(self) -> Iterable[Path]:
        """Every file that the parts read."""
        ...


def as_measured(measured: Measured, settings: GateSettings) -> FindingsReport:  # noqa: ARG001 - every judge has them
    """The judgement of a part that no threshold decides."""
    return measured.report


@dataclass(frozen=True)
class PartKind:
    """One question: its name, how it is measured and how a measurement is judged under the project's thresholds."""

    name: str
    ask: Callable[[Any], Iterator[Measured | NotAsked]]
    judge: Callable[[Measured, GateSettings], FindingsReport | NotAsked] = as_measured


@dataclass(frozen=True)
class GateSystem:
    """A system under the gate. parts: in the order in which people want to read them."""

    name: str
    open_case: Callable[[GateSettings], GateCase]
    parts: tuple[PartKind, ...]


ENEMY_ANIMATION = "enemy-animation"
HOSTED = "hosted"
SYSTEMS: Mapping[str, str] = {
    ENEMY_ANIMATION: "rigpact.reports.gate.enemy_animation",
    HOSTED: "rigpact.reports.gate.hosted_system",
}
"""Module of each system; it holds `SYSTEM`. Imported when a project has such a bundle."""


def system_of(settings: GateSettings) -> str:
    """The system of a project, by what its bundle holds; a bundle that is not there is for the enemy's case to name."""
    path = None if settings.bundle is None else Path(settings.bundle)
    if path is None or not path.is_file():
        return ENEMY_ANIMATION
    data = read_json(path).data
    is_hosted = isinstance(data, dict) and kind_of(data) is Kind.SYSTEM_CONTRACT
    return HOSTED if is_hosted else ENEMY_ANIMATION


def system_named(name: str) -> GateSystem:
    """The system of that name; KeyError for an unknown one."""
    found: GateSystem = import_module(SYSTEMS[name]).SYSTEM
    return found
