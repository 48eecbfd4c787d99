"""Reads a system's contract file into an immutable `SystemContract`, and writes such files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from rigpact.contract.systems.definition import FORMAT, VERSION, Choices, SystemContract, SystemDefinition

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.rules.hosted.system_loading import refusals
from rigpact.contract.systems.layout import json_to_fields
from rigpact.contract.systems.registry import find_system


def read_system_contract(path: str | Path, changes: Choices | None = None) -> SystemContract:
    """Read a `rigpact-system` file; `changes` are conventions that it does not declare (`--set`).

    Raises UnusableInput for a file that cannot be read, and ContractRefused for one whose vectors are not the system's: with
    another layout of the same width every number would mean another thing.
    """
    contract = document_to_system_contract(read_document(path, Kind.SYSTEM_CONTRACT))
    return with_conventions(contract, changes or {})


def document_to_system_contract(document: Document) -> SystemContract:
    """Build the contract from a document that was read already."""
    refused = refusals(document)
    if refused:
        raise ContractRefused(document.path, refused)
    root = document.data
    definition = find_system(root["system"]).definition
    fps = root.get("fps", definition.fps)
    return SystemContract(
        definition=definition,
        path=document.path,
        sha256=document.file.sha256,
        vectors={name: json_to_fields(entry["fields"]) for name, entry in root["vectors"].items()},
        conventions={**definition.defaults, **root.get("conventions", {})},
        constants=root.get("constants", {}),
        fps=None if fps is None else float(fps),
    )


def with_conventions(contract: SystemContract, changes: Choices) -> SystemContract:
    """The contract under changed conventions; UnusableInput for a knob or a value that the system does not have."""
    knobs = contract.definition.knobs
    for knob, value in changes.items():
        if knob not in knobs:
            raise UnusableInput(f"--set {knob}", "no knob of this system", f"one of {', '.join(knobs)}")
        if value not in knobs[knob]:
            raise UnusableInput(f"--set {knob}", repr(value), f"one of {', '.join(knobs[knob])}")
    return replace(contract, conventions={**contract.conventions, **changes})


def contract_to_json(
    definition: SystemDefinition, constants: Mapping[str, Any], conventions: Choices | None = None
) -> dict[str, Any]:
    """What an exporter writes: the definition's vectors with their hashes, conventions, constants."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "system": definition.name,
        "fps": definition.fps,
        "vectors": {name: layout.to_json() for name, layout in definition.vectors.items()},
        "conventions": {**definition.defaults, **(conventions or {})},
        "constants": dict(constants),
    }


def contract_to_bytes(document: Mapping[str, Any]) -> bytes:
    """The file's bytes: the same document, the same bytes."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def contract_in_memory(
    definition: SystemDefinition, constants: Mapping[str, Any], conventions: Choices | None = None
) -> SystemContract:
    """A contract without a file, for exporters and tests: the same as if `contract_to_json` were read."""
    document = contract_to_json(definition, constants, conventions)
    digest = hashlib.sha256(contract_to_bytes(document)).hexdigest()
    return SystemContract(
        definition, Path(f"{definition.name}.json"), digest, definition.vectors, document["conventions"],
        document["constants"], definition.fps,
    )  # fmt: skip
