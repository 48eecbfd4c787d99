"""The section of one rule, as docs/rules.md and `rigpact show` have it.

All text comes from the rule itself and from the example that is stored beside the rules.
"""

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from rigpact.contract.findings import Rule
from rigpact.contract.rules import FAMILIES, MEASURED
from rigpact.contract.systems.description import Section


def rule_section(rule: Rule) -> str:
    """The section of one rule, under fixed headings."""
    general = {"place": "FILE", "message": re.sub(r"\{[^{}]*\}", "…", rule.message)}
    example = examples().get(rule.code, general)
    shown = f"```text\n{example['place']}: {rule.code} {rule.severity.value}: {example['message']}\n```"
    return (
        f"## {rule.code} {rule.name}\n\n"
        f"### What it does\nFinds: {rule.name.replace('-', ' ')} ({_family_of(rule)}). Severity: {rule.severity.value}."
        f"{' The engine does not load such a file.' if rule.engine_refuses else ''}\n\n"
        f"### Why it is bad\n{_sentence(rule.why)}\n\n"
        f"### Example\n{shown}\n\n"
        f"### How to fix\n{_sentence(rule.hint)}\n"
    )


def rule_facts(rule: Rule) -> Section:
    """A rule as a table. The message is a pattern: what stands in braces is said by each finding."""
    example = examples().get(rule.code)
    rows = (
        ("severity", rule.severity.value), ("family", _family_of(rule)), ("message", rule.message), ("why", rule.why),
        ("hint", rule.hint), *((("engine", "does not load such a file"),) if rule.engine_refuses else ()),
        *((("example", f"{example['place']}: {example['message']}"),) if example else ()),
    )  # fmt: skip
    return Section(f"{rule.code} {rule.name}", (), ("", "value"), rows)


def families_section() -> Section:
    """A row for each family of rules."""
    families = [family for family in (*FAMILIES, *MEASURED) if family.rules]
    rows = tuple((", ".join(each.code for each in family.rules), _family_of(family.rules[0])) for family in families)
    return Section("Rules", (), ("codes", "about"), rows)


@cache
def examples() -> Mapping[str, Mapping[str, str]]:
    """The first finding of each rule's golden report, by code."""
    text = (files("rigpact.contract") / "rules" / "examples.json").read_text(encoding="utf-8")
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


def _family_of(rule: Rule) -> str:
    """The first line of the family module's docstring, without its range of codes."""
    family = next(family for family in (*FAMILIES, *MEASURED) if rule in family.rules)
    first = (sys.modules[family.module].__doc__ or "").partition("\n")[0]
    return first.rpartition("RP")[2].partition(": ")[2].rstrip(".") or first.rstrip(".")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
