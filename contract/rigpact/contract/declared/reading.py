"""Reads a declaration, a TOML file, into the contract that it declares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.documents import Document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.system import SystemContract


def declaration_of(document: Document) -> Declaration:
    """What a document declares; its shape must follow the schema."""
    return read_declaration(document.data, document.path.parent)


def declared_contract(document: Document) -> SystemContract:
    """The contract of a declaration without mistakes."""
    declaration = declaration_of(document)
    system = declaration.system
    if system is None:
        raise UnusableInput(document.path, str(declaration.problems[0]), "a contract without mistakes")
    fps = document.data.get("fps")
    return SystemContract(
        system=system,
        path=document.path,
        sha256=_digest(document.file.content, declaration.read),
        vectors={},
        conventions=system.conventions(),
        constants=declaration.constants,
        fps=None if fps is None else float(fps),
    )


def _digest(content: bytes, read: Mapping[str, bytes]) -> str:
    """SHA-256 over the declaration and the files that its numbers come from."""
    parts = [content, *(name.encode() + b"\0" + read[name] for name in sorted(read))]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
