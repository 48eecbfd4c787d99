"""Compares two contracts. Each difference is judged by its own meaning, and none is lost.

A contract of each kind says where it differs from another of its kind: in named parts of vectors, numbers of one meaning, and
words. How such a difference becomes changes is the same for all.
"""

from collections.abc import Iterable

from rigpact.contract.compatibility.bundles import bundle_differences
from rigpact.contract.compatibility.change import Change, Compatibility, Difference, change
from rigpact.contract.compatibility.declared import declared_differences
from rigpact.contract.compatibility.kinds import Consumer
from rigpact.contract.compatibility.systems import system_differences
from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.declared.reading import sources_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput


def compare_contracts(
    old: Document, new: Document, companions: tuple[Document, Document] | None = None
) -> Compatibility:
    """Judge what changed from one contract to another, for everybody who reads either.

    companions: of two bundles, the old and the new file with the auxiliary statistics. UnusableInput for files that are no
    contracts or are contracts of different systems.
    """
    if old.kind is not new.kind:
        raise UnusableInput(new.path, f"a {new.kind.words}", f"a {old.kind.words}, as {old.path} is")
    for companion in companions or ():
        if companion.kind is not Kind.COMPANION:
            raise UnusableInput(companion.path, f"a {companion.kind.words}", f"a {Kind.COMPANION.words}")
    found = [each for difference in _differences(old, new, companions) for each in difference.changes()]
    changes = sorted(found, key=_demand)
    first, second = map(_sha256, (old, new))
    if not changes and first != second:
        changes.append(change("formatting-changed", "", None, None, "the same values, written otherwise"))
    return Compatibility(str(old.path), str(new.path), first, second, tuple(changes))


def _sha256(document: Document) -> str:
    """Of the file, and of those beside it that its numbers come from: an entry in a record holds for one state of all."""
    return document_to_contract(document).sha256 if sources_of(document) else document.file.sha256


def _differences(old: Document, new: Document, companions: tuple[Document, Document] | None) -> Iterable[Difference]:
    if new.kind is Kind.BUNDLE:
        return bundle_differences(old, new, companions)
    if not new.kind.is_of_a_system:
        raise UnusableInput(new.path, f"a {new.kind.words}", "a schema bundle or a contract")
    if companions is not None:
        place = str(companions[1].path)
        raise UnusableInput("--companion", place, "contract files alone", "this system has no such file")
    return declared_differences(old, new) if new.kind is Kind.DECLARATION else system_differences(old, new)


def _demand(found: Change) -> list[int]:
    """Sort by how much a change demands, then by class in the order of `Consumer`."""
    order = list(Consumer)
    return [order.index(consumer) for consumer in found.classes]
