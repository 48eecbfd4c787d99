"""The rules that a check ran on each file, so that a test view can list rules without findings."""

from __future__ import annotations

from collections.abc import Iterable

from rigpact.contract.findings import Rule


def rules_run(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of all families that `check` runs on files of these kinds.

    None if a file has another kind, because then the rules of another system ran.
    """
    from rigpact.contract.rules.catalogue import FAMILIES
    from rigpact.contract.rules.family import GIVES

    given = set(kinds)
    if not given <= GIVES.keys():
        return ()
    return tuple(rule for family in FAMILIES if family.is_run_on(given) for rule in family.rules)
