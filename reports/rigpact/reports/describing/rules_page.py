"""docs/rules.md, and one rule of it for the terminal. Everything comes from the rules themselves and their examples."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from rigpact.contract.findings import Rule
from rigpact.contract.rules import ALL_RULES, FAMILIES

_HEAD = """# Rules

What `rigpact check` finds; RP80x are of the comparing commands, RP85x to RP88x of `rigpact geometry`, RP96x and RP97x of
`rigpact gate`. Codes are never reused. `rigpact rule RP104` prints one of these sections; `rigpact.toml` selects, ignores and
re-grades them (see configuration.md).

This page is generated; see `rigpact.reports.describing.generated_docs`. The examples are what the tests of the rules provoke.

| code | name | severity |
|---|---|---|
"""


def rules_page() -> str:
    """docs/rules.md."""
    rows = "\n".join(f"| [{rule.code}](#{_anchor(rule)}) | {rule.name} | {rule.severity.value} |" for rule in ALL_RULES)
    return f"{_HEAD}{rows}\n\n" + "\n".join(rule_section(rule) for rule in ALL_RULES)


def rule_section(rule: Rule) -> str:
    """One rule under its fixed headings."""
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


@cache
def examples() -> Mapping[str, Mapping[str, str]]:
    """The first finding of each rule's golden report, by code."""
    text = (files("rigpact.contract") / "rules" / "examples.json").read_text(encoding="utf-8")
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


def _family_of(rule: Rule) -> str:
    """What a family's module says of itself behind its range of codes, first line."""
    family = next(family for family in FAMILIES if rule in family.rules)
    first = (sys.modules[family.module].__doc__ or "").partition("\n")[0]
    return first.rpartition("RP")[2].partition(": ")[2].rstrip(".") or first.rstrip(".")


def _anchor(rule: Rule) -> str:
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
