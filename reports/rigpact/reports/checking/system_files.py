"""Judge the files of a declared system: its contract file, a model, recordings and data sets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.contract.declared.declaration import Declaration
from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import ContractRefused
from rigpact.contract.files import read_bytes
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.model.file import read_model
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.answers import comparison as comparison_rules
from rigpact.contract.rules.files import structure
from rigpact.contract.rules.hosted import system_data, system_loading, systems
from rigpact.contract.rules.hosted.declarations import check_declaration
from rigpact.contract.rules.hosted.declared_checks import check_declared_model, check_meaning
from rigpact.contract.rules.model import model_graph, model_weights
from rigpact.contract.rules.model.stamp import check_stamp
from rigpact.contract.rules.subject import Subject
from rigpact.contract.systems.reading import document_to_system_contract
from rigpact.contract.systems.registry import canonical_name, find_system, known_systems
from rigpact.contract.systems.system import System, SystemContract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.recordings.trace import Trace, read_trace
from rigpact.reference_runtime.systems.network import bound_part

_UNREADABLE = frozenset(structure.RULES)


def check_system_files(
    document: Document,
    models: Sequence[Path],
    recordings: Sequence[Path],
    declared_for_both: Mapping[str, Any],
    *,
    with_own_models: bool,
) -> FindingsReport:
    """Judge every given file. A file that needs the contract counts as missing where the contract is unreadable.

    declared_for_both: conventions under which recordings and data sets are judged.
    """
    is_declaration = document.kind is Kind.DECLARATION
    findings = list((check_declaration if is_declaration else systems.check_contract_file)(document))
    declared, compared = _contract_account(document, findings)
    files = [_listed(document.path, document.kind.value, document.file.sha256)]
    contract = _readable(document)
    declaration = declaration_of(document) if is_declaration and contract is not None else None
    findings += [] if declaration is None else check_meaning(document, declaration)
    system = _system(document) if contract is None else contract.system
    for path, part in [(model, system) for model in models] or (_own_models(system) if with_own_models else ()):
        signature = read_model(path)
        files.append(_listed(path, "model", signature.sha256))
        declared += _tensors(signature) + bool(signature.graph_not_read)
        if part is not None:
            findings += _about_model(signature, part, contract, declaration, document)
            compared += _tensors(signature)
    for path in recordings:
        trace = read_trace(path) if contract is None else files_of(contract).recording(path, contract).trace
        files.append(_listed(path, "trace", hashlib.sha256(read_bytes(path)).hexdigest()))
        declared += len(trace.stages)
        if contract is not None:
            found = list(check_recording(contract.with_conventions(declared_for_both), trace, path))
            findings += found
            compared += 0 if any(each.rule is system_data.OTHER_SYSTEM for each in found) else len(trace.stages)
    return FindingsReport(tuple(findings), Ledger(declared, compared), {"files": files})


def _about_model(
    model: ModelSignature,
    part: System,
    contract: SystemContract | None,
    declaration: Declaration | None,
    document: Document,
) -> Iterator[Finding]:
    """Yield every finding about a model. part: the system with the model's network alone."""
    yield from systems.check_system_model(model, part)
    if contract is not None:
        yield from check_stamp(model, contract.sha256)
        yield from systems.check_architecture(model, part, contract.constants)
    if declaration is not None:
        yield from check_declared_model(document, declaration, part, model)
    subject = Subject(model=model)
    yield from (each for each in model_graph.check_graph(subject) if each.rule not in model_graph.ABOUT_THE_EXPORTER)
    yield from model_weights.check_weights(subject)


def check_recording(contract: SystemContract, trace: Trace, path: Path) -> Iterator[Finding]:
    """Yield every finding about one recording or data set of a system.

    A data set is a recording that holds only the stages before the network and the network's answer. Its answers are
    labels, and are judged as labels.
    """
    system = contract.system
    if trace.header.system != system.name:
        found = trace.header.system or "no declared system"
        yield system_data.OTHER_SYSTEM.at(path, "/system", found=found, expected=system.name)
        return
    recorded, meaning = trace.header.bundle_sha256, trace.header.meaning_sha256
    has_same_meaning = meaning is not None and meaning == contract.hashes["meaning_sha256"]
    if recorded is not None and recorded != contract.sha256 and not has_same_meaning:
        yield system_data.OTHER_CONTRACT.at(
            path, "/contract/bundle_sha256", found=recorded[:12], expected=contract.sha256[:12]
        )  # fmt: skip
    if trace.truncation:
        yield comparison_rules.CUT_OFF.at(path, "", holder=path.name, truncation=trace.truncation)
    graph = system.graph
    behind = set(graph.names) - set(graph.given) - set(graph.answers) - _before_the_model(system)
    is_data_set = not behind & set(trace.stages)
    varied = {*graph.given, *system.inputs} - set(system.outputs) if is_data_set else set()
    found_in_rows = list(system_data.check_rows(contract, trace.stages, path, varied))
    yield from found_in_rows
    if is_data_set and not any(each.rule is system_data.NOT_FINITE for each in found_in_rows):
        for problem in system.data_problems(contract, trace.stages):
            yield system_data.problem_to_finding(problem, path)


def _before_the_model(system: System) -> set[str]:
    """The model's inputs, and every stage from which they are computed."""
    found: set[str] = set()
    open_names = list(system.inputs)
    while open_names:
        name = open_names.pop()
        found.add(name)
        open_names += [each for each in system.graph[name].needs if each not in found]
    return found


def _own_models(system: System | None) -> Iterator[tuple[Path, System | None]]:
    """Every model that the contract names, with the part of the system that it answers."""
    for network in system.networks.values() if system is not None else ():
        if network.path is not None and system is not None:
            yield network.path, bound_part(system, network)


_SECTIONS = ("vectors", "conventions", "constants", "given", "stages", "numbers", "networks", "names")


def _contract_account(document: Document, findings: Sequence[Finding]) -> tuple[int, int]:
    """Count the parts of the contract: vectors, stages, knobs, numbers. None counts as judged if its shape is wrong."""
    root = document.data
    sections = [root.get(name) for name in _SECTIONS]
    declared = 1 + sum(len(section) for section in sections if isinstance(section, dict | list))
    if any(finding.rule in _UNREADABLE for finding in findings):
        return declared, 0
    missing = sum(finding.rule is system_loading.VECTOR_MISSING for finding in findings)
    if document.kind is Kind.SYSTEM_CONTRACT and _system(document) is None:
        return declared, 1
    return declared + missing, declared


def _system(document: Document) -> System | None:
    name = document.data.get("system")
    return find_system(name) if isinstance(name, str) and canonical_name(name) in known_systems() else None


def _readable(document: Document) -> SystemContract | None:
    try:
        return document_to_system_contract(document)
    except ContractRefused:
        return None  # the report already holds its findings


def _tensors(signature: ModelSignature) -> int:
    return len(signature.inputs) + max(len(signature.outputs), 1)


def _listed(path: Path, kind: str, digest: str) -> dict[str, str]:
    return {"path": str(path), "kind": kind, "sha256": digest}
