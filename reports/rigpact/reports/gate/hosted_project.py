"""What lies in the folder of a hosted system's project: which model is its own, which traces drive and which were recorded."""

from __future__ import annotations

from pathlib import Path

from rigpact.contract.systems.definition import SystemContract
from rigpact.reference_runtime.systems.registry import RUNTIMES

from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.reading import read_system_contract
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork
from rigpact.reports.gate.setup.found_files import FoundFiles


def hosted_project(folder: Path, found: FoundFiles) -> FoundFiles:
    """The files of the nearest system contract, sorted as the enemy's are; UnusableInput where it cannot be read.

    A trace that holds what is given and nothing that a stage makes is a clip; the others were recorded.
    """
    contract = read_system_contract(folder / found.contracts[0])
    given = set(RUNTIMES[contract.definition.name].graph(contract).given)
    own = [entry for entry in found.hosted_traces if entry[1].header.system == contract.definition.name]
    clips = [path for path, trace in own if set(trace.stages) <= given]
    return FoundFiles(
        bundles=found.contracts,
        models=[path for path in found.models if _fits(folder / path, contract)],
        clips=clips,
        traces=[(path, trace) for path, trace in own if path not in clips],
        contracts=found.contracts,
        notes=found.notes,
    )


def _fits(model: Path, contract: SystemContract) -> bool:
    try:
        OnnxSystemNetwork(model, contract.definition)
    except UnusableInput:
        return False
    return True
