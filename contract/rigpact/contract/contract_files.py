"""Opens contracts, whatever file they come from; reads and writes a system's contract files."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from rigpact.contract.bundle import bundle_to_contract
from rigpact.contract.declared.reading import declared_contract
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.catalogue import refusals
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.rules.system_view import SystemFiles
from rigpact.contract.systems.contract import Contract, Meaning
from rigpact.contract.systems.layout import json_to_fields
from rigpact.contract.systems.system import FORMAT, VERSION, System


def open_contract(
    path: str | Path, companion: str | Path | None = None, changes: Mapping[str, Any] | None = None
) -> Contract:
    """Read a contract: a schema bundle, a system's contract file or your own contract. The content decides.

    companion: `pretrain_template.json` beside a bundle; its values win over those merged there. changes: conventions that the
    file does not declare (`--set`). UnusableInput: the file is not a contract. ContractRefused: nothing can be computed from it.
    """
    document = read_document(path)
    if companion is not None and document.kind.is_of_a_system:
        raise UnusableInput("--companion", str(companion), "a contract file alone", "this system has no such file")
    has_companion = companion is not None and document.kind is Kind.BUNDLE
    beside = read_document(str(companion), Kind.COMPANION) if has_companion else None
    return document_to_contract(document, beside).with_conventions(changes or {})


def document_to_contract(document: Document, companion: Document | None = None) -> Contract:
    """Build the contract from documents that were read already: the content decides what reads them."""
    if document.kind is Kind.BUNDLE:
        return bundle_to_contract(document, companion)
    if not document.kind.is_of_a_system:
        raise UnusableInput(document.path, f"a {document.kind.words}", "a schema bundle or a contract")
    refused = refusals(Artefacts(system=SystemFiles(document)))
    if refused:
        raise ContractRefused(document.path, refused)
    if document.kind is Kind.DECLARATION:
        return declared_contract(document)
    vectors = {name: json_to_fields(entry["fields"]) for name, entry in document.data["vectors"].items()}
    system = find_system(document.data["system"]).with_classes(vectors)
    fps = document.data.get("fps", system.fps)
    return _with_meaning(
        Contract(
            system=system,
            path=document.path,
            sha256=document.file.sha256,
            vectors=vectors,
            conventions=system.conventions(document.data.get("conventions")),
            constants=document.data.get("constants", {}),
            fps=None if fps is None else float(fps),
        )
    )


def system_of(document: Document) -> System:
    """The system of a bundle, a contract file or a declaration; UnusableInput for another file."""
    if document.kind is Kind.BUNDLE:
        return find_system(ENEMY_ANIMATION)
    if document.kind is Kind.DECLARATION:
        return document_to_contract(document).system
    if document.kind is Kind.SYSTEM_CONTRACT:
        return find_system(str(document.data.get("system")), f"{document.path}#/system")
    raise UnusableInput(document.path, f"a {document.kind.words}", "a schema bundle or a contract")


def _with_meaning(contract: Contract) -> Contract:
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
    """The file's bytes: the same document, the same bytes. What holds only plain values stands in one line."""
    return f"{_json_lines(document)}\n".encode()


def _json_lines(value: Any, indent: str = "") -> str:
    parts = list(value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ())
    if not any(isinstance(part, Mapping | list) for part in parts):
        return orjson.dumps(value).decode()
    inner = indent + "  "
    lines = [_json_lines(part, inner) for part in parts]
    if isinstance(value, Mapping):
        lines = [f"{orjson.dumps(key).decode()}: {line}" for key, line in zip(value, lines, strict=True)]
    first, last = "{}" if isinstance(value, Mapping) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{last}"


def contract_in_memory(system: System, constants: Mapping[str, Any]) -> Contract:
    """A contract without a file, for exporters and tests: the same as if `contract_to_json` were read."""
    digest = hashlib.sha256(contract_to_bytes(contract_to_json(system, constants))).hexdigest()
    conventions, path = system.conventions(), Path(f"{system.name}.json")
    return _with_meaning(Contract(system, path, digest, system.vectors, conventions, constants, system.fps))
