"""`rigpact rule`: explain one rule."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from rigpact.reports.command_line.completion import known_codes
from rigpact.reports.command_line.options import Format, OutputFormat, argument

if TYPE_CHECKING:
    from rigpact.contract.findings import Rule


def rule(
    code: Annotated[str, argument("CODE", "A rule's code or name, for example RP104.", autocompletion=known_codes)],
    *,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Print a rule: the problem, the reason, an example, the fix.

    Exit status 0; 2 for an unknown code.
    """
    from rigpact.reports.describing.rule_section import rule_section, rule_to_json
    from rigpact.reports.terminal import print_json

    found = _named(code)
    if output_format is OutputFormat.JSON:
        print_json(rule_to_json(found))
    else:
        sys.stdout.write(rule_section(found))


def _named(word: str) -> Rule:
    from difflib import get_close_matches

    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.rules import ALL_RULES

    by_word = {each.code.lower(): each for each in ALL_RULES} | {each.name: each for each in ALL_RULES}
    found = by_word.get(word.lower())
    if found is None:
        close = [by_word[key] for key in get_close_matches(word.lower(), by_word, n=3, cutoff=0.6)]
        hint = ", ".join(f"{each.code} {each.name}" for each in dict.fromkeys(close))
        expected = f"a code from {ALL_RULES[0].code} to {ALL_RULES[-1].code}, or a rule's name"
        raise UnusableInput("CODE", repr(word), expected, f"near it: {hint}" if hint else "see docs/rules.md")
    return found
