"""Convert Python values to JSON and back, for the findings and diagnoses in an archive.

Only the types in `_KEPT` are built; everything else in a file is plain data. Non-finite numbers, tuples and the types
in `_KEPT` are objects with one key that begins with $.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.reports.comparing.address import Address
from rigpact.reports.diagnosing.budget import Search
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence, RestsOn, Sampled, StageVerdict
from rigpact.reports.diagnosing.extent import Extent
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.seen.seen import Seen, Widest
from rigpact.reports.gate.archive.kept_documents import KeptFinding
from rigpact.reports.gate.archive.shapes import fields_of, fits

_KEPT: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Address,
        Cause,
        Diagnosis,
        Divergence,
        Extent,
        Relation,
        RestsOn,
        Sampled,
        Search,
        Seen,
        StageVerdict,
        Widest,
    )
}
_MESSAGE, _ABOUT = "kept message", "kept about"
_BROKEN = (TypeError, KeyError, AttributeError)


def to_plain(value: Any) -> Any:
    """A value for JSON; a value of any other type becomes its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | Mapping):
        return _container(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or isinstance(value, bool | int | float):
        return value
    if type(value) in _KEPT.values():
        members = {entry.name: to_plain(getattr(value, entry.name)) for entry in fields(value)}
        return {f"${type(value).__name__}": members}
    return str(value)


def _container(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    members = [to_plain(each) for each in value]
    return {"$tuple": members} if isinstance(value, tuple) else members


def from_plain(value: Any) -> Any:
    """The value from JSON; UnusableInput for an object that `to_plain` does not write."""
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)).startswith("$"):
        ((name, content),) = value.items()
        try:
            return _built(name[1:], content)
        except _BROKEN:
            raise UnusableInput("archive", f"an object {name} that does not fit", "a file that rigpact wrote") from None
    return {key: from_plain(each) for key, each in value.items()}


def _built(name: str, content: Any) -> Any:
    if name == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if name == "tuple" and isinstance(content, list):
        return tuple(from_plain(each) for each in content)
    kind: Any = _KEPT[name]
    given, hints = {key: from_plain(each) for key, each in content.items()}, fields_of(kind)
    if not all(fits(each, hints[key]) for key, each in given.items()):
        raise TypeError(name)
    return kind(**given)


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    """A finding with today's texts, and with its values for drawing and sorting."""
    rule = finding.rule
    return finding.to_json() | {
        "why": rule.why,
        "engine_refuses": rule.engine_refuses,
        "about": finding.about,
        "follows": list(rule.follows),
        "values": to_plain({name: value for name, value in finding.values.items() if name not in (_MESSAGE, _ABOUT)}),
    }


def plain_to_finding(entry: Any) -> Finding:
    """The finding from its plain values. Its texts stay texts, so no text of a file is used as a format string."""
    if not fits(entry, KeptFinding):
        raise UnusableInput("archive", "a finding that does not fit", "a file that rigpact wrote")
    rule = Rule(
        code=entry["code"], name=entry["name"], severity=Severity(entry["severity"]), message=f"{{{_MESSAGE}}}",
        hint=entry["hint"], why=entry["why"], engine_refuses=entry["engine_refuses"], about=f"{{{_ABOUT}}}",
        follows=tuple(entry["follows"]),
    )  # fmt: skip
    values = {name: from_plain(value) for name, value in entry["values"].items()}
    values |= {_MESSAGE: entry["message"], _ABOUT: entry["about"]}
    return Finding(rule, entry["file"], entry["pointer"], values)
