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
from rigpact.contract.rules.files.structure import load_schema
from rigpact.contract.settings import gate, geometry, lowering

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


_TEXT: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_NUMBER: Schema = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Schema = {"type": "integer", "exclusiveMinimum": 0}
_FLAG: Schema = {"type": "boolean"}
_TABLE: Schema = {"type": "object"}
_DAY: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_ENDINGS = ("".join(f"[{each}{each.upper()}]" for each in suffix[1:]) for suffix in gate.LOG_SUFFIXES)
_A_LOG: Schema = {"pattern": rf"\.({'|'.join(_ENDINGS)})$"}
_OTHER_THAN_TEXT: Mapping[str, Mapping[str, Schema]] = {
    "gate": {
        "clips": _TEXTS, "free-run": {"anyOf": [_TEXT, {"const": False}]}, "frames": _COUNT,
        "settings": {"const": gate.MAY_CHANGE}, "strict": _FLAG, "conventions": _TABLE,
    },
    "gate.teacher": {"stages": _TEXTS},
    "gate.trace": {
        "stages": _TEXTS, "bones": _TEXTS, "frames": _COUNT, "mode": {"enum": list(gate.MODES)},
        "producer": {**_TEXT, "not": {"const": gate.OURSELVES}},
    },
    "gate.thresholds": dict.fromkeys(gate.KEYS["gate.thresholds"], _NUMBER),
    "gate.budget": {"parameters": _COUNT, "model-bytes": _COUNT, "inference-us": _NUMBER, "inference-margin": _NUMBER},
    "gate.waive": {"expires": _DAY},
    "geometry": {"conventions": _TABLE},
    "geometry.function": {"bones": _COUNT, "degrees": _FLAG},
    "lower": {
        "rule": {"enum": [rule.code for rule in ALL_RULES if rule.code not in lowering.ABOUT_THE_SETTINGS]},
        "to": {"enum": list(lowering.GRADES)}, "paths": _TEXTS, "expires": _DAY,
    },
}  # fmt: skip
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "gate.teacher": ("file",), "gate.trace": ("file",), "gate.waive": ("part", "owner", "reason", "expires"),
    "geometry.function": ("name",), "lower": ("rule", "to", "owner", "reason", "expires"),
}  # fmt: skip
_TABLES: Mapping[str, Mapping[str, str]] = {**gate.KEYS, **geometry.KEYS, "lower": lowering.KEYS}
"""Every table of rigpact.toml: its keys, in words."""


def settings_schema() -> dict[str, Any]:
    """The schema of rigpact.toml."""
    severity = {"type": "object", "additionalProperties": False, "properties": dict(_raised())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:rigpact:schema:settings:1",
        "title": "rigpact.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "baseline": {**_TEXT, "description": "the file of known findings, beside this one"},
            "severity": {**severity, "description": "rules that count more: a code, or the beginning of codes"},
            "lower": {"description": "rules that count less, until a day", "type": "array", "items": _table("lower")},
            "gate": _table("gate"),
            "geometry": _table("geometry"),
        },
    }


def _raised() -> Iterator[tuple[str, Schema]]:
    """Every code, and what codes begin with, that can be raised: the severities above those of its rules."""
    gravest_first = [each.value for each in Severity]
    for prefix in sorted({rule.code[:length] for rule in ALL_RULES for length in range(1, len(rule.code) + 1)}):
        rules = [rule for rule in ALL_RULES if rule.code.startswith(prefix)]
        higher = gravest_first[: max(gravest_first.index(rule.severity.value) for rule in rules)]
        words = f"{rules[0].name}: {rules[0].why}" if rules[0].code == prefix else f"{len(rules)} rules"
        if higher:
            yield prefix, {"description": words, "enum": higher}


def _table(name: str) -> dict[str, Any]:
    """A table of the settings, with those inside it."""
    properties = {}
    for key, meaning in _TABLES[name].items():
        inner = f"{name}.{key}"
        if inner not in _TABLES:
            shape = _OTHER_THAN_TEXT.get(name, {}).get(key, _TEXT)
        else:
            shape = _table(inner) if key in ("thresholds", "budget") else {"type": "array", "items": _table(inner)}
        properties[key] = {**shape, "description": meaning}
    required = list(_REQUIRED.get(name, ()))
    rest = (
        {"if": {"properties": {"file": {"not": _A_LOG}}}, "then": {"required": ["clip"]}}
        if name == "gate.trace"
        else {}
    )
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties, **rest}
