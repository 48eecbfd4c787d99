"""Which rules a check ran on which files, so that a test view can list those that found nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rigpact.contract.findings import Rule


def rules_run(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of every family that `check` runs on files of these kinds.

    There are none if a file is of another kind: then the rules of another system were run.
    """
    from rigpact.contract.rules.catalogue import FAMILIES
    from rigpact.contract.rules.family import GIVES

    given = set(kinds)
    if not given <= GIVES.keys():
        return ()
    return tuple(rule for family in FAMILIES if family.is_run_on(given) for rule in family.rules)
