"""Answers as JSON: the document follows from the type's own fields, and nothing is written twice."""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar

FIELDS = "*"
"""Stands for all fields of a dataclass, in their order."""


class AsJson:
    """A dataclass that is an object of a document.

    KEYS: the object's keys in order. Each is the name of a field or a property; `key: path` is one that is found elsewhere, also
    in parts of parts; `outer.key` stands in an object `outer`; `key?` is left out where it is empty. FORMAT: of a document.
    """

    FORMAT: ClassVar[str] = ""
    KEYS: ClassVar[str] = FIELDS

    def to_json(self) -> dict[str, Any]:
        """The object."""
        own = " ".join(each.name for each in fields(self))  # type: ignore[arg-type]  # each is a dataclass
        found: dict[str, Any] = {"format": self.FORMAT, "version": 1} if self.FORMAT else {}
        for entry in self.KEYS.replace(FIELDS, own).replace(": ", ":").split():
            key, _, path = entry.rstrip("?").partition(":")
            value = attrgetter(path or key)(self)
            if value or not entry.endswith("?"):
                outer, dot, inner = key.partition(".")
                place, name = (found.setdefault(outer, {}), inner) if dot else (found, key)
                place[name] = as_json(value)
        return found


def as_json(value: Any) -> Any:
    """A value of a document: objects of dataclasses, lists of tuples, the values of enumerations; others stay as they are."""
    if isinstance(value, AsJson):
        return value.to_json()
    if isinstance(value, Mapping):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    return value.value if isinstance(value, Enum) else value
