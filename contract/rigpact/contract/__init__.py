"""What both sides agreed on: bundle, layouts, statistics, skeleton, conventions, and the rules that judge them.

Imports nothing else of rigpact. Start with `load_contract`.
"""

from rigpact.contract.bundle import Contract, load_contract
from rigpact.contract.conventions import INPUTS, KNOBS, STAGES, Conventions, Knob
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Rule, Severity
from rigpact.contract.layout import Layout, Slice
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import SquashedStatistics, Statistics

__all__ = [
    "INPUTS",
    "KNOBS",
    "STAGES",
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
