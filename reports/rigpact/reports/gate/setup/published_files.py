"""The files in a checkout of a hosted system's project: its data, known by their names and widths."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.pages.registry import every_system
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.recordings.named_columns import read_named_columns
from rigpact.reference_runtime.recordings.number_rows import UNNAMED
from rigpact.reference_runtime.recordings.opened import read_table
from rigpact.reports.describing.system_description import contract_template


@dataclass(frozen=True)
class Published:
    """A file of a project's data, the system that it belongs to, and the stages that it holds."""

    path: Path
    system: System
    stages: tuple[str, ...]


def write_published_contract(folder: Path, columns: Sequence[Path]) -> tuple[Path, Published] | None:
    """Write the contract of the one system whose project's data lie here; None where there are none, or of several."""
    found = [each for path in columns for each in published_in(folder, path)]
    if len({each.system.name for each in found}) != 1:
        return None
    path = folder / f"{found[0].system.name}.json"
    write_bytes(path, contract_template(found[0].system))
    return path, found[0]


def published_in(folder: Path, path: Path) -> list[Published]:
    """The systems whose project writes such a file."""
    try:
        names = {path.stem if name == UNNAMED else name for name in read_table(folder / path).columns}
    except UnusableInput:
        return []
    found = []
    for system in every_system():
        is_known = any(name in names for known in system.published.values() for name in known)
        stages = _stages(folder / path, system) if is_known else ()
        if stages:
            found.append(Published(path, system, stages))
    return found


def _stages(path: Path, system: System) -> tuple[str, ...]:
    try:
        trace = read_named_columns(path, contract_in_memory(system, system.template()))
    except UnusableInput:
        return ()
    return tuple(trace.stages)
