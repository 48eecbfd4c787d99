"""The one engine: it runs every family whose needs the given artefacts meet.

Nothing else calls a family's check. What keeps a runtime from loading a contract is asked here too, of a few families alone.
"""

from collections.abc import Iterable, Iterator

from rigpact.contract.findings import Finding
from rigpact.contract.rules.bundle import loading
from rigpact.contract.rules.family import Family, given_by
from rigpact.contract.rules.files import json_text, structure
from rigpact.contract.rules.hosted import declarations, system_loading
from rigpact.contract.rules.subject import Subject

LOADING: tuple[Family, ...] = tuple(
    module.FAMILY for module in (json_text, structure, loading, system_loading, declarations)
)
"""The families with rules for which a runtime does not load a contract."""


def findings(subject: Subject, families: Iterable[Family]) -> Iterator[Finding]:
    """Yield what the families that can be run find."""
    given = given_by(subject.kinds)
    for family in families:
        if given.issuperset(family.needs):
            yield from family.check(subject)


def refusals(subject: Subject) -> list[Finding]:
    """Every finding that keeps a runtime from loading the contract of a subject, with the bundle's companion if given."""
    return [finding for finding in findings(subject, LOADING) if finding.rule.engine_refuses]
