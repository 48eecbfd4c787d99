"""The tables of rigpact.toml as data: each key in words, and the shape of its value. What is not allowed is refused at its place.

The settings are dataclasses whose annotations say each key in words; an editor's schema and the reader both follow from them. To
add a key: a field with its words.

What a project lets be is a debt: it ends within a year of today, or nobody would look at it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.files.reading import refuse_word_outside
from rigpact.contract.json_pointer import Token

Shape = Mapping[str, Any]
TEXT: Shape = {"type": "string", "minLength": 1}
FILE: Shape = {**TEXT}
"""A name inside the repository."""
TEXTS: Shape = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
FILES: Shape = {**TEXTS}
FILE_OR_FALSE: Shape = {"anyOf": [TEXT, {"const": False}]}
NUMBER: Shape = {"type": "number", "exclusiveMinimum": 0}
COUNT: Shape = {"type": "integer", "exclusiveMinimum": 0}
FLAG: Shape = {"type": "boolean"}
DAY: Shape = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
TABLE: Shape = {"type": "object"}
TABLES: Shape = {"type": "array", "items": TABLE}
Owner = Annotated[str, "the owner"]
Reason = Annotated[str, "why it may stay for now"]
Expires = Annotated[str, DAY, "the last day on which it holds, YYYY-MM-DD, at most a year ahead"]


@dataclass(frozen=True)
class Key:
    """A key of a table: what it means, the JSON Schema of its value, whether it must be there; of a table inside, its keys."""

    words: str
    shape: Shape = field(default_factory=lambda: TEXT)
    is_required: bool = False
    inner: Mapping[str, Key] = field(default_factory=dict)


Keys = Mapping[str, Key]
_SHAPES: Mapping[Any, Shape] = {str: TEXT, int: COUNT, float: NUMBER, bool: FLAG, tuple: TEXTS, Mapping: TABLE}


def keys_of(settings: type, called: Mapping[str, str] | None = None) -> Keys:
    """The keys of a table from the annotations of a dataclass: `Annotated[type, words]`, a shape between where it is another.

    called: the keys of fields that are not called like their key. Fields without words are none of the table.
    """
    found = {}
    hints = get_type_hints(settings, include_extras=True)
    for each in fields(settings):
        kind, *said = get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else [None]
        if not said:
            continue
        key = next((part for part in said if isinstance(part, Key)), None) or _key(each, kind, said)
        found[(called or {}).get(each.name, each.name).replace("_", "-")] = key
    return found


def _key(settings: Field[Any], kind: Any, said: Sequence[Any]) -> Key:
    own = (
        next((part for part in get_args(kind) if part is not NoneType), kind) if get_origin(kind) is UnionType else kind
    )
    is_list = get_origin(own) is tuple
    inside = get_args(own)[0] if is_list else own
    is_required = settings.default is MISSING and settings.default_factory is MISSING
    if is_dataclass(inside):
        return Key(said[-1], TABLES if is_list else TABLE, is_required, keys_of(inside))  # type: ignore[arg-type]
    return Key(said[-1], said[0] if len(said) > 1 else _SHAPES[get_origin(own) or own], is_required)


def tables_of(name: str, keys: Keys) -> Iterator[tuple[str, Keys]]:
    """Yield a table and those inside it, each with its dotted name."""
    yield name, keys
    for key, said in keys.items():
        if said.inner:
            yield from tables_of(f"{name}.{key}", said.inner)


def table_schema(keys: Keys) -> dict[str, Any]:
    """The JSON Schema of a table, with those inside it."""
    properties = {}
    for key, said in keys.items():
        inner = table_schema(said.inner) if said.inner else {}
        is_list = "items" in said.shape
        shape = {"items": said.shape["items"] | inner} if is_list and inner else inner
        properties[key] = {**said.shape, **shape, "description": said.words}
    required = [key for key, said in keys.items() if said.is_required]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def read_table(keys: Keys, content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The values of a file's root by the names of fields, `model-bytes` as model_bytes; lists of words are tuples.

    UnusableInput names the first key that is unknown or missing or has another shape, a file outside of the repository, no day.
    """
    from jsonschema import Draft202012Validator  # what asks for a day only need not wait for it

    for error in Draft202012Validator(table_schema(keys)).iter_errors(content):
        raise _refused(error, path)
    return _values(keys, content, path, ())


def place_of(path: Path, *tokens: Token) -> str:
    """What an error calls a key of the file: `rigpact.toml: gate.trace[0].mode`."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in tokens)
    return f"{path}: {text.lstrip('.')}"


def _refused(error: Any, path: Path) -> UnusableInput:
    found, schema, place = error.instance, error.schema, list(error.absolute_path)
    properties = schema.get("properties", {})
    if error.validator == "additionalProperties":
        key = next(each for each in found if each not in properties)
        known = f"one of {', '.join(properties)}"
        return UnusableInput(place_of(path, *place, key), f"the key {key!r}", known, near(key, properties))
    if error.validator == "required":
        missing = next(each for each in schema["required"] if each not in found)
        return UnusableInput(
            place_of(path, *place), f"no {missing}", properties.get(missing, {}).get("description", f"its {missing}")
        )
    words: Iterable[str] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    expected = f"one of {', '.join(words)}" if words else _expected(schema, schema.get("description", error.message))
    return UnusableInput(place_of(path, *place), repr(found), expected, near(found, words))


_WANTED = {
    "string": "a text", "number": "a positive number", "integer": "a whole number above 0", "boolean": "true or false",
    "object": "a table", "array": "tables",
}  # fmt: skip


def _expected(shape: Shape, words: str) -> str:
    return ": ".join(filter(None, (_WANTED.get(shape.get("type", "")), words)))


def _values(keys: Keys, content: Mapping[str, Any], path: Path, place: tuple[Token, ...]) -> dict[str, Any]:
    found = {}
    for key, value in content.items():
        said, where = keys[key], (*place, key)
        if not said.inner:
            made = _value(said, value, path, where)
        elif isinstance(value, list):
            made = [_values(said.inner, each, path, (*where, number)) for number, each in enumerate(value)]
        else:
            made = _values(said.inner, value, path, where)
        found[key.replace("-", "_")] = made
    return found


def _value(key: Key, value: Any, path: Path, where: tuple[Token, ...]) -> Any:
    shape, place = key.shape, place_of(path, *where)
    if isinstance(value, float) and not math.isfinite(value):
        raise UnusableInput(place, repr(value), _expected(shape, key.words))
    if shape is DAY:
        parse_day(value, place)
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    for word in words if shape is FILE or shape is FILES or shape is FILE_OR_FALSE else ():
        refuse_word_outside(word, path.resolve().parent, place)
    if shape is NUMBER:
        return float(value)
    return words if shape is TEXTS or shape is FILES else int(value) if shape is COUNT else value


LONGEST = timedelta(days=366)
"""From any day to the same day of the next year, leap day or not."""


def today() -> date:
    """The day on this machine."""
    return datetime.now().astimezone().date()


def parse_day(text: str, place: object) -> date:
    """Read YYYY-MM-DD; UnusableInput for anything else."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UnusableInput(place, repr(text), "a day as YYYY-MM-DD") from None


def refuse_far_day(text: str, place: object, now: date) -> None:
    """UnusableInput for a last day that is more than a year ahead, or is none."""
    if parse_day(text, place) - now > LONGEST:
        expected, hint = f"a day at most a year ahead ({now + LONGEST})", "an exception is looked at once a year"
        raise UnusableInput(place, repr(text), expected, hint)


class LetBe:
    """Something that a project lets be until its last day, YYYY-MM-DD."""

    expires: str

    def holds(self, today: date) -> bool:
        """Whether its day has not passed."""
        return today <= date.fromisoformat(self.expires)
