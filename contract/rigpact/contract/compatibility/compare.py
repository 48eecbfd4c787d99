"""Compares two contracts. Each difference is judged by its own meaning, and none is lost."""

from __future__ import annotations

from collections.abc import Iterable

from rigpact.contract.compatibility.bones import match_bones
from rigpact.contract.compatibility.change import Change, Compatibility, change
from rigpact.contract.compatibility.companions import compare_companions
from rigpact.contract.compatibility.contract_files import compare_contract_files
from rigpact.contract.compatibility.declarations import compare_declarations
from rigpact.contract.compatibility.declared.contracts import compare_declared_contracts
from rigpact.contract.compatibility.kinds import Consumer
from rigpact.contract.compatibility.layouts import compare_layouts, slice_renames
from rigpact.contract.compatibility.numbers import compare_numbers
from rigpact.contract.compatibility.skeletons import compare_skeletons
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.rules.bundle.view import BundleView


def compare_contracts(
    old: Document, new: Document, companions: tuple[Document, Document] | None = None
) -> Compatibility:
    """Judge what changed from one contract to another, for everybody who reads either.

    UnusableInput for files that are no contracts or are contracts of different systems. companions: see `compare_bundles`.
    """
    if old.kind is not new.kind:
        raise UnusableInput(new.path, f"a {new.kind.words}", f"a {old.kind.words}, as {old.path} is")
    for companion in companions or ():
        if companion.kind is not Kind.COMPANION:
            raise UnusableInput(companion.path, f"a {companion.kind.words}", f"a {Kind.COMPANION.words}")
    if new.kind is Kind.BUNDLE:
        return compare_bundles(old, new, companions)
    if not new.kind.is_of_a_system:
        raise UnusableInput(new.path, f"a {new.kind.words}", "a schema bundle or a contract")
    if companions is not None:
        raise UnusableInput(
            "--companion", str(companions[1].path), "contract files alone", "this system has no such file"
        )
    compare = compare_declared_contracts if new.kind is Kind.DECLARATION else compare_contract_files
    return _compatibility(old, new, compare(old, new))


def compare_bundles(old: Document, new: Document, companions: tuple[Document, Document] | None = None) -> Compatibility:
    """Judge what changed from one bundle to another, for everybody who reads either.

    companions: the old and the new file with the auxiliary statistics. Bundles that the engine would refuse are compared
    as far as they can be read; the parts that cannot be read are reported.
    """
    first, second = old.once(BundleView), new.once(BundleView)
    match = match_bones(first, second)
    changes = [
        *compare_layouts(first, second),
        *match.changes,
        *compare_skeletons(first, second, match),
        *compare_numbers(first, second, match, slice_renames(first, second)),
        *compare_declarations(first, second),
        *(compare_companions(first, second, match, companions) if companions else ()),
    ]
    return _compatibility(old, new, changes)


def _compatibility(old: Document, new: Document, found: Iterable[Change]) -> Compatibility:
    changes = sorted(found, key=_demand)
    if not changes and old.file.sha256 != new.file.sha256:
        changes.append(change("formatting-changed", "", None, None, "the same values, written otherwise"))
    return Compatibility(str(old.path), str(new.path), old.file.sha256, new.file.sha256, tuple(changes))


def _demand(found: Change) -> list[int]:
    """Sort by how much a change demands, then by class in the order of `Consumer`."""
    order = list(Consumer)
    return [order.index(consumer) for consumer in found.classes]
