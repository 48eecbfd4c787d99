"""Read the files that `rigpact check` judges by the contract of another system than the enemy animation."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import Document
from rigpact.contract.errors import ContractRefused
from rigpact.contract.files import read_bytes
from rigpact.contract.model.file import read_model
from rigpact.contract.rules.hosted.system_loading import hosted_system
from rigpact.contract.rules.views.system_files import BoundModel, RecordedRows, SystemFiles
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.graph.network import bound_part


def system_files(
    document: Document, models: Sequence[Path] | None, recordings: Sequence[Path], declared: Mapping[str, Any]
) -> SystemFiles:
    """A contract, its models and recordings. models: None for those that the contract names. declared: for both sides."""
    contract = _readable(document)
    system = hosted_system(document) if contract is None else contract.system
    if contract is not None and recordings:
        contract = contract.with_conventions(declared)
    parts = _own_models(system) if models is None else ((path, system) for path in models)
    bound = tuple(BoundModel(read_model(path), part) for path, part in parts)
    rows = () if contract is None else (_rows(path, contract) for path in recordings)
    return SystemFiles(document, contract, bound, tuple(rows))


def _readable(document: Document) -> Contract | None:
    try:
        return document_to_contract(document)
    except ContractRefused:
        return None  # the report holds its findings


def _own_models(system: System | None) -> Iterator[tuple[Path, System | None]]:
    """Every model that the contract names, with the part of the system that it answers."""
    for network in () if system is None else system.networks.values():
        if network.path is not None and system is not None:
            yield network.path, bound_part(system, network)


def _rows(path: Path, contract: Contract) -> RecordedRows:
    trace = files_of(contract).recording(path, contract).trace
    header, digest = trace.header, hashlib.sha256(read_bytes(path)).hexdigest()
    return RecordedRows(
        path, digest, header.system, header.bundle_sha256, header.meaning_sha256, trace.truncation, trace.stages,
        None if trace.precision is None else trace.precision.error,
    )  # fmt: skip
