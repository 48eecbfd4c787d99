"""The agreement of both sides: contracts, their layouts, numbers and conventions, and the rules that judge them.

Imports nothing else of rigpact. Start with `open_contract`. Names are imported when first used, so that a program that
only catches `UnusableInput` does not wait for numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rigpact.contract.bundle import load_contract
    from rigpact.contract.character import Character
    from rigpact.contract.contract_files import open_contract
    from rigpact.contract.conventions import Conventions, Knob
    from rigpact.contract.documents import Document, Kind, read_document
    from rigpact.contract.errors import ContractRefused, UnusableInput
    from rigpact.contract.findings import Finding, FindingsReport, Ledger, Rule, Severity
    from rigpact.contract.layout import INPUTS, Layout, Slice
    from rigpact.contract.skeleton import Skeleton
    from rigpact.contract.statistics import SquashedStatistics, Statistics
    from rigpact.contract.systems.contract import Contract

_HOME = {
    "bundle": ("load_contract",),
    "character": ("Character",),
    "contract_files": ("open_contract",),
    "conventions": ("Conventions", "Knob"),
    "documents": ("Document", "Kind", "read_document"),
    "errors": ("ContractRefused", "UnusableInput"),
    "findings": ("Finding", "FindingsReport", "Ledger", "Rule", "Severity"),
    "layout": ("INPUTS", "Layout", "Slice"),
    "skeleton": ("Skeleton",),
    "statistics": ("SquashedStatistics", "Statistics"),
    "systems.contract": ("Contract",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "INPUTS", "Character", "Contract", "ContractRefused", "Conventions", "Document", "Finding", "FindingsReport",
    "Kind", "Knob", "Layout", "Ledger", "Rule", "Severity", "Skeleton", "Slice", "SquashedStatistics", "Statistics",
    "UnusableInput", "load_contract", "open_contract", "read_document",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
