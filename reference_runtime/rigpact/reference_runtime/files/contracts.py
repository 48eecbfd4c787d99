"""Opens a contract: a schema bundle or a contract. The content of the file decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.contract.bundle import Contract, document_to_contract
from rigpact.contract.conventions import declared_changes
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.reading import document_to_system_contract
from rigpact.contract.systems.system import SystemContract

AnyContract = Contract | SystemContract


@dataclass(frozen=True)
class ContractFiles:
    """Sources of a contract: the bundle or contract file, a companion, settings (KNOB=VALUE), a TOML file."""

    bundle: Path | None = None
    companion: Path | None = None
    settings: Sequence[str] = ()
    conventions: Path | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The conventions that the settings declare."""
        return declared_changes(self.settings, self.conventions)


def open_contract(files: ContractFiles) -> AnyContract:
    """Read a contract. UnusableInput: the file is not a contract. ContractRefused: nothing can be computed from it."""
    if files.bundle is None:
        raise UnusableInput("--bundle", "none", "a schema bundle or a contract")
    document = read_document(files.bundle)
    if document.kind.is_of_a_system:
        if files.companion is not None:
            raise UnusableInput(
                "--companion", str(files.companion), "a contract file alone", "this system has no such file"
            )
        return document_to_system_contract(document).with_conventions(files.changes)
    if document.kind is not Kind.BUNDLE:
        raise UnusableInput(files.bundle, f"a {document.kind.words}", "a schema bundle or a contract")
    companion = None if files.companion is None else read_document(files.companion, Kind.COMPANION)
    return document_to_contract(document, companion).with_conventions(files.changes)


def optional_contract(files: ContractFiles) -> AnyContract | None:
    """The same; None if no bundle is given."""
    return None if files.bundle is None else open_contract(files)
