"""Reads a declaration, a TOML file, into the contract that it declares."""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rigpact.contract.declared.cross_checks import said_at_stages
from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.meaning import Meaning
from rigpact.contract.systems.contract import Contract


def declaration_of(document: Document) -> Declaration:
    """What a document declares; its shape must follow the schema."""
    return read_declaration(document.data, document.path.parent)


def sources_of(document: Document) -> tuple[Path, ...]:
    """The files that the numbers of a contract come from; none for a contract of another kind."""
    if document.kind is not Kind.DECLARATION:
        return ()
    return tuple(document.path.parent / name for name in declaration_of(document).read)


def declared_contract(document: Document) -> Contract:
    """The contract of a declaration without mistakes."""
    declaration = declaration_of(document)
    system = declaration.system
    if system is None:
        raise UnusableInput(document.path, str(declaration.problems[0]), "a contract without mistakes")
    fps = document.data.get("fps")
    # SHA-256 over the declaration and the files that its numbers and operations come from
    read = {**declaration.read, **declaration.code}
    parts = [document.file.content, *(name.encode() + b"\0" + read[name] for name in sorted(read))]
    return Contract(
        system=system,
        path=document.path,
        sha256=hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest(),
        vectors={},
        conventions=system.conventions(),
        constants=declaration.constants,
        fps=None if fps is None else float(fps),
        meaning=Meaning(partial(_meaning, document.data, declaration.constants)),
        file_sha256=document.file.sha256,
    )


def _meaning(root: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
    """What both sides compute with: stages, names, networks and numbers; no titles, no files, no columns of recordings."""
    parts = {key: root[key] for key in ("name", "fps", "names", "given") if key in root}
    networks = root.get("networks", {})
    bindings = {name: {"inputs": each["inputs"], "outputs": each["outputs"]} for name, each in networks.items()}
    return {**parts, "stages": said_at_stages(root)["stages"], "networks": bindings, "constants": constants}
