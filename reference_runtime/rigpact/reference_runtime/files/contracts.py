"""The files and options of a command line that make a contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import declared_changes
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.contract import Contract


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

    def opened(self) -> Contract:
        """Read the contract. UnusableInput: no file, or no contract. ContractRefused: nothing can be computed from it."""
        if self.bundle is None:
            raise UnusableInput("--contract", "none", "a schema bundle or a contract")
        return open_contract(self.bundle, self.companion).with_conventions(self.changes)

    def opened_if_given(self) -> Contract | None:
        """The same; None if no bundle is given."""
        return None if self.bundle is None else self.opened()
