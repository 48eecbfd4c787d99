"""The section of one rule, as docs/rules.md and `rigpact rule` show it.

All text comes from the rule itself and from the example that is stored beside the rules.
"""

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from rigpact.contract.findings import Rule
from rigpact.contract.rules import FAMILIES, MEASURED


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


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """The `rigpact-rule` document, version 1. The message is a pattern: what stands in braces is said by each finding."""
    return {
        "format": "rigpact-rule", "version": 1, "code": rule.code, "name": rule.name, "severity": rule.severity.value,
        "family": _family_of(rule), "message": rule.message, "hint": rule.hint, "why": rule.why,
        "engine_refuses": rule.engine_refuses, "example": examples().get(rule.code),
    }  # fmt: skip


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
