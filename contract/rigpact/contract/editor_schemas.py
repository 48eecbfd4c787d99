"""For editors of the TOML files that people write: JSON Schemas of contracts and of rigpact.toml.

They are made of what the readers themselves go by: the declaration's schema, the operations that are installed, the tables of
keys of the settings. A test holds what they accept to what the readers accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.declared.cross_checks import OF_GIVEN, SECTIONS
from rigpact.contract.declared.declaration import OF_EVERY_STAGE
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.findings import Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.structure import load_schema
from rigpact.contract.settings.configuration import KEYS
from rigpact.contract.settings.exceptions import ABOUT_THE_SETTINGS
from rigpact.contract.settings.table import table_schema

Schema = Mapping[str, Any]
CONTRACT, SETTINGS = "rigpact-contract.schema.json", "rigpact.schema.json"
"""The names of the files that `rigpact show schema --write` writes."""


def head_of(schema: str) -> str:
    """The lines that a TOML file begins with: where an editor finds its schema, and what puts it there."""
    how = "`rigpact show schema --write .` puts that schema beside this file; an editor completes and checks it then."
    return f"#:schema {schema}\n# {how}\n"


def contract_schema() -> dict[str, Any]:
    """The schema of a declared contract, with the parameters of every operation that is known here."""
    schema = load_schema("declaration")
    schema["properties"] = {key: value for key, value in schema["properties"].items() if key in SECTIONS}
    schema["additionalProperties"] = False
    given, stage = (schema["properties"][key]["items"] for key in ("given", "stages"))
    given["propertyNames"] = {"enum": list(OF_GIVEN)}
    operations = {name: each for name, each in known_operations().items() if not each.only_on_pages}
    meanings: dict[str, list[str]] = {}
    for name, operation in operations.items():
        for key, meaning in operation.parameters.items():
            meanings.setdefault(key, []).append(f"{name}: {meaning}")
        known = {"propertyNames": {"enum": [*operation.parameters, *sorted(OF_EVERY_STAGE)]}}
        words = {"properties": {"left_open": {"items": {"enum": list(operation.choices)}}}}
        of_it = {"properties": {"operation": {"const": name}}, "required": ["operation"]}
        stage["allOf"].append({"if": of_it, "then": known | words})
    own = {key: {"description": "\n".join(said)} for key, said in meanings.items() if key not in OF_EVERY_STAGE}
    summaries = "\n".join(f"{name}: {each.summary}" for name, each in operations.items())
    stage["properties"] |= own | {"operation": {"enum": list(operations), "description": summaries}}
    return schema


def settings_schema() -> dict[str, Any]:
    """The schema of rigpact.toml."""
    schema = table_schema(KEYS)
    schema["properties"]["severity"] |= {"additionalProperties": False, "properties": dict(_raised())}
    codes = [rule.code for rule in ALL_RULES if rule.code not in ABOUT_THE_SETTINGS]
    schema["properties"]["lower"]["items"]["properties"]["rule"]["enum"] = codes
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:rigpact:schema:settings:1"}
    return {**head, "title": "rigpact.toml", **schema}


def _raised() -> Iterator[tuple[str, Schema]]:
    """Every code, and what codes begin with, that can be raised: the severities above those of its rules."""
    gravest_first = [each.value for each in Severity]
    for prefix in sorted({rule.code[:length] for rule in ALL_RULES for length in range(1, len(rule.code) + 1)}):
        rules = [rule for rule in ALL_RULES if rule.code.startswith(prefix)]
        higher = gravest_first[: max(gravest_first.index(rule.severity.value) for rule in rules)]
        words = f"{rules[0].name}: {rules[0].why}" if rules[0].code == prefix else f"{len(rules)} rules"
        if higher:
            yield prefix, {"description": words, "enum": higher}
