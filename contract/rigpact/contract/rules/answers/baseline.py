"""RP950-RP959: what a project's settings let be, for whom and how long. rigpact.contract.settings.hearing finds them."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

WAIVER_EXPIRED = Rule.of("""RP950 error waiver-expired
    the waiver of {code} at {place} expired on {expires} ({owner}: {reason})
    hint: repair the finding, or ask its owner for a new date
    why: a defect that was to be repaired by then is still there; a waiver without an end lasts for ever""")
WAIVER_UNUSED = Rule.of("""RP951 info waiver-unused
    the waiver of {code} at {place} meets no finding ({owner}: {reason})
    hint: remove it, if the file was checked in this run
    why: left in place it silences the same defect when it comes back""")
LOWERING_EXPIRED = Rule.of("""RP952 error lowering-expired
    {code} was lowered to {to} in {scope} until {expires} ({owner}: {reason}); it counts in full again
    hint: repair what it finds and remove the entry from [[lower]], or ask its owner for a new day
    why: a rule that nobody reads any more is not a rule; an exception without an end lasts for ever""")
LOWERING_UNUSED = Rule.of("""RP953 info lowering-unused
    {code} is lowered to {to} in {scope}, and finds nothing there ({owner}: {reason})
    hint: remove the entry from [[lower]], if the files were checked in this run
    why: left in place it silences the next defect there""")
RULE_LOWERED = Rule.of("""RP954 info rule-lowered
    {code} is lowered to {to} in {scope} until {expires} ({owner}: {reason}); findings: {count}
    hint: repair what it finds before that day; then remove the entry from [[lower]]
    why: a reader of a pass has to see the findings that it does not count, and their owner""")
FINDINGS_WAIVED = Rule.of("""RP955 info known-findings-waived
    known findings that do not count until {expires}: {count} ({owner}: {reason})
    hint: repair them before that day; then remove their entries
    why: a reader of a pass has to see the findings that it does not count, and their owner""")
TEXTS = texts(globals())
