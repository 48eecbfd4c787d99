"""What both sides agreed on: bundle, layouts, statistics, skeleton, conventions, and the rules that judge them.

Imports nothing else of rigpact. Start with `load_contract`. Names are imported when first used, so that a program that
only catches `UnusableInput` does not wait for numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rigpact.contract.bundle import INPUTS, Contract, load_contract
    from rigpact.contract.conventions import Conventions, Knob
    from rigpact.contract.documents import Document, Kind, read_document
    from rigpact.contract.errors import ContractRefused, UnusableInput
    from rigpact.contract.findings import Finding, FindingsReport, Ledger, Rule, Severity
    from rigpact.contract.layout import Layout, Slice
    from rigpact.contract.skeleton import Skeleton
    from rigpact.contract.statistics import SquashedStatistics, Statistics

_HOME = {
    "bundle": ("INPUTS", "Contract", "load_contract"),
    "conventions": ("Conventions", "Knob"),
    "documents": ("Document", "Kind", "read_document"),
    "errors": ("ContractRefused", "UnusableInput"),
    "findings": ("Finding", "FindingsReport", "Ledger", "Rule", "Severity"),
    "layout": ("Layout", "Slice"),
    "skeleton": ("Skeleton",),
    "statistics": ("SquashedStatistics", "Statistics"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "INPUTS",
    "Contract",
    "ContractRefused",
    "Conventions",
    "Document",
    "Finding",
    "FindingsReport",
    "Kind",
    "Knob",
    "Layout",
    "Ledger",
    "Rule",
    "Severity",
    "Skeleton",
    "Slice",
    "SquashedStatistics",
    "Statistics",
    "UnusableInput",
    "load_contract",
    "read_document",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
