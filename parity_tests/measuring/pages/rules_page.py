"""docs/rules.md: a table of all rules, then one section for each rule."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules import ALL_RULES
from rigpact.reports.describing.shown import rule_section

_HEAD = """# Rules

What `rigpact check` finds; RP80x and RP81x are of the comparing commands, RP82x of `rigpact run`, RP85x to RP88x of `rigpact
geometry`, RP96x to RP98x of `rigpact gate`. Codes are never reused. `rigpact show RP104` prints one of these sections;
`rigpact.toml` raises and lowers them (see configuration.md).

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it. The examples
come from the tests of the rules.

| code | name | severity |
|---|---|---|
"""


def rules_page() -> str:
    """docs/rules.md."""
    rows = "\n".join(f"| [{rule.code}](#{_anchor(rule)}) | {rule.name} | {rule.severity.value} |" for rule in ALL_RULES)
    return f"{_HEAD}{rows}\n\n" + "\n".join(rule_section(rule) for rule in ALL_RULES)


def _anchor(rule: Rule) -> str:
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")
