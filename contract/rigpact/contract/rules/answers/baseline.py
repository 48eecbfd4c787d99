"""RP950-RP959: the file of known findings itself. rigpact.contract.settings.baseline applies it to a report."""

from rigpact.contract.findings import Rule, Severity
from rigpact.contract.rules.family import Family, Need, rules_in

WAIVER_EXPIRED = Rule(
    code="RP950",
    name="waiver-expired",
    severity=Severity.ERROR,
    message="the waiver of {code} at {place} expired on {expires} ({owner}: {reason})",
    hint="repair the finding, or ask its owner for a new date",
    why="a defect that was to be repaired by then is still there; without an end every waiver is for ever",
)
WAIVER_UNUSED = Rule(
    code="RP951",
    name="waiver-unused",
    severity=Severity.INFO,
    message="the waiver of {code} at {place} meets no finding ({owner}: {reason})",
    hint="remove it, if the file was checked in this run",
    why="left in place it silences the same defect when it comes back",
)
RULES = rules_in(globals())
FAMILY = Family(__name__, RULES, (Need.BASELINE,))
