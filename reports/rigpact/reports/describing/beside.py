"""Two contracts beside each other: a table of the places where they part."""

from rigpact.contract.compatibility import Consumer, compare_contracts
from rigpact.contract.documents import Document
from rigpact.contract.systems.description import Section


def beside_section(contract: Document, other: Document) -> Section:
    """Every place where two contracts compute something else; what only differs in its wording is counted."""
    found = compare_contracts(contract, other)
    parting = [each for each in found.changes if Consumer.COSMETIC not in each.classes]
    rows = tuple((str(place), each.message, each.pointer or "/") for place, each in enumerate(parting, 1))
    wording = len(found.changes) - len(parting)
    lines = (f"{contract.path.name} → {other.path.name}" + (f"; {wording} more in wording only" if wording else ""),)
    if not rows:
        lines = (f"{contract.path.name} and {other.path.name} compute the same.",)
    return Section("Where they part", lines, ("", "what", "place"), rows)
