"""Reads a system's contract file into an immutable `SystemContract`, and writes such files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from rigpact.contract.declared.reading import declared_contract
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.meaning import Meaning
from rigpact.contract.rules.hosted.declarations import check_declaration
from rigpact.contract.rules.hosted.system_loading import refusals
from rigpact.contract.systems.layout import json_to_fields
from rigpact.contract.systems.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.systems.system import FORMAT, VERSION, System, SystemContract


def read_system_contract(path: str | Path, changes: Mapping[str, Any] | None = None) -> SystemContract:
    """Read a `rigpact-system` file; `changes` are conventions that it does not declare (`--set`).

    Raises UnusableInput for a file that cannot be read, and ContractRefused for one whose vectors are not the system's: with
    another layout of the same width every number would mean another thing.
    """
    return document_to_system_contract(read_document(path, Kind.SYSTEM_CONTRACT)).with_conventions(changes or {})


def document_to_system_contract(document: Document) -> SystemContract:
    """Build the contract from a document that was read already: a system's contract file, or a declaration."""
    if document.kind is Kind.DECLARATION:
        return _declared(document)
    refused = refusals(document)
    if refused:
        raise ContractRefused(document.path, refused)
    return _contract(document.data, document.path, document.file.sha256)


def system_of(document: Document) -> System:
    """The system of a bundle, a contract file or a declaration; UnusableInput for another file."""
    if document.kind is Kind.BUNDLE:
        return find_system(ENEMY_ANIMATION)
    if document.kind is Kind.DECLARATION:
        return _declared(document).system
    if document.kind is Kind.SYSTEM_CONTRACT:
        return find_system(str(document.data.get("system")), f"{document.path}#/system")
    raise UnusableInput(document.path, f"a {document.kind.words}", "a schema bundle or a contract")


def _declared(document: Document) -> SystemContract:
    refused = [finding for finding in check_declaration(document) if finding.rule.engine_refuses]
    if refused:
        raise ContractRefused(document.path, refused)
    return declared_contract(document)


def _contract(root: Mapping[str, Any], path: Path, sha256: str) -> SystemContract:
    vectors = {name: json_to_fields(entry["fields"]) for name, entry in root["vectors"].items()}
    system = find_system(root["system"]).with_classes(vectors)
    fps = root.get("fps", system.fps)
    return _with_meaning(
        SystemContract(
            system=system,
            path=path,
            sha256=sha256,
            vectors=vectors,
            conventions=system.conventions(root.get("conventions")),
            constants=root.get("constants", {}),
            fps=None if fps is None else float(fps),
        )
    )


def _with_meaning(contract: SystemContract) -> SystemContract:
    """The contract, with the hash of everything that it computes with; conventions have a hash of their own."""

    def values() -> dict[str, Any]:
        vectors = {name: layout.layout_hash for name, layout in contract.vectors.items()}
        own = {"system": contract.system.name, "fps": contract.fps}
        return {**own, "vectors": vectors, "constants": contract.constants}

    return replace(contract, meaning=Meaning(values))


def contract_to_json(system: System, constants: Mapping[str, Any]) -> dict[str, Any]:
    """What an exporter writes: the system's vectors with their hashes, conventions, constants."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "system": system.name,
        "fps": system.fps,
        "vectors": {name: layout.to_json() for name, layout in system.vectors.items()},
        "conventions": dict(system.conventions()),
        "constants": dict(constants),
    }


def contract_to_bytes(document: Mapping[str, Any]) -> bytes:
    """The file's bytes: the same document, the same bytes."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def contract_in_memory(system: System, constants: Mapping[str, Any]) -> SystemContract:
    """A contract without a file, for exporters and tests: the same as if `contract_to_json` were read."""
    digest = hashlib.sha256(contract_to_bytes(contract_to_json(system, constants))).hexdigest()
    conventions, path = system.conventions(), Path(f"{system.name}.json")
    return _with_meaning(SystemContract(system, path, digest, system.vectors, conventions, constants, system.fps))
