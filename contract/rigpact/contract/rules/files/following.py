"""Whether a value follows a schema, as one function. What is wrong with a value that does not is for jsonschema to say.

So a file without a mistake needs no jsonschema, whose import is a third of a short check, and no object for each of its numbers.
Every keyword of rigpact's own schemas has a row; a schema with another one is a mistake of ours, a KeyError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Test = Callable[[Any], bool]
Schema = Any
"""A mapping of keywords, or a truth value."""


class Follows:
    """Tests of a schema and of its parts."""

    def __init__(self, schema: Schema) -> None:
        """schema: the whole, in which a `$ref` is looked up."""
        self._whole, self._tests = schema, dict[int, Test]()
        self.whole = self.part(schema)

    def part(self, schema: Schema) -> Test:
        """The test of a part. The parts stay those of the schema: they are known by their identity."""
        if isinstance(schema, bool):
            return lambda _value: schema
        key = id(schema)
        if key not in self._tests:
            tests: list[Test] = []
            self._tests[key] = _every(tests)  # already there for a part that holds itself
            tests += self._keywords(schema)
        return self._tests[key]

    def _keywords(self, schema: Mapping[str, Any]) -> Iterable[Test]:
        own = schema.get("type")
        for keyword in sorted(schema.keys() - _WORDS, key=lambda name: name != "type"):
            kind, make = _KEYWORDS[keyword]
            test = make(self, schema[keyword], schema)
            is_certain = kind in (None, own) or (kind, own) == ("number", "integer")
            yield test if is_certain else _where(_TYPES[kind], test)

    def at(self, pointer: str) -> Test:
        """The test of the part that a `$ref` names."""
        found = self._whole
        for name in pointer.removeprefix("#/").split("/"):
            found = found[name]
        return self.part(found)


def _every(tests: Sequence[Test]) -> Test:
    def follows(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - `all` makes a generator, and this is called for every row of a file
            if not test(value):
                return False
        return True

    return follows


def _where(is_kind: Test, test: Test) -> Test:
    return lambda value: not is_kind(value) or test(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[Any, Test] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
_NUMBERS = {int, float}
_WORDS = {"$schema", "$id", "$defs", "title", "description", "then", "else"}


def _type(_: Follows, names: str | list[str], _schema: Schema) -> Test:
    if isinstance(names, str):
        return _TYPES[names]
    tests = [_TYPES[name] for name in names]
    return lambda value: any(test(value) for test in tests)


def _is_one_of(*choices: Any) -> Test:
    """choices: no lists or objects; 1 is not true."""
    return lambda value: any(isinstance(value, bool) == isinstance(each, bool) and value == each for each in choices)


def _if(of: Follows, condition: Schema, schema: Schema) -> Test:
    holds, then, other = (of.part(each) for each in (condition, schema.get("then", True), schema.get("else", True)))
    return lambda value: then(value) if holds(value) else other(value)


def _one_of(of: Follows, parts: Sequence[Schema], _schema: Schema) -> Test:
    tests = [of.part(each) for each in parts]
    return lambda value: sum(test(value) for test in tests) == 1


def _not(of: Follows, part: Schema, _schema: Schema) -> Test:
    test = of.part(part)
    return lambda value: not test(value)


def _properties(of: Follows, parts: Mapping[str, Schema], _schema: Schema) -> Test:
    tests = [(name, of.part(each)) for name, each in parts.items()]
    return lambda value: all(test(value[name]) for name, test in tests if name in value)


def _others(of: Follows, part: Schema, schema: Schema) -> Test:
    known, test = schema.get("properties", {}).keys(), of.part(part)
    return lambda value: all(test(each) for name, each in value.items() if name not in known)


def _required(_: Follows, names: Sequence[str], _schema: Schema) -> Test:
    return set(names).issubset


def _names(of: Follows, part: Schema, _schema: Schema) -> Test:
    test = of.part(part)
    return lambda value: all(map(test, value))


def _first_items(of: Follows, parts: Sequence[Schema], _schema: Schema) -> Test:
    tests = [of.part(each) for each in parts]
    return lambda value: all(test(each) for test, each in zip(tests, value, strict=False))


def _items(of: Follows, part: Schema, schema: Schema) -> Test:
    test, first = of.part(part), len(schema.get("prefixItems", ()))
    if part == {"type": "number"}:
        return lambda value: set(map(type, value[first:])) <= _NUMBERS or all(map(test, value[first:]))
    return lambda value: all(map(test, value[first:] if first else value))


def _unique(_of: Follows, _is_asked: bool, _schema: Schema) -> Test:  # noqa: FBT001 - a keyword's own value
    """Of numbers and words; what else differs is for jsonschema to say."""
    return lambda value: set(map(type, value)) <= {str, *_NUMBERS} and len(set(value)) == len(value)


_KEYWORDS: Mapping[str, tuple[str | None, Callable[[Follows, Any, Schema], Test]]] = {
    "type": (None, _type),
    "const": (None, lambda _, value, _schema: _is_one_of(value)),
    "enum": (None, lambda _, values, _schema: _is_one_of(*values)),
    "$ref": (None, lambda of, pointer, _schema: of.at(pointer)),
    "allOf": (None, lambda of, parts, _schema: _every([of.part(each) for each in parts])),
    "oneOf": (None, _one_of),
    "not": (None, _not),
    "if": (None, _if),
    "properties": ("object", _properties),
    "additionalProperties": ("object", _others),
    "propertyNames": ("object", _names),
    "required": ("object", _required),
    "minProperties": ("object", lambda _, least, _schema: lambda value: len(value) >= least),
    "prefixItems": ("array", _first_items),
    "items": ("array", _items),
    "minItems": ("array", lambda _, least, _schema: lambda value: len(value) >= least),
    "maxItems": ("array", lambda _, most, _schema: lambda value: len(value) <= most),
    "uniqueItems": ("array", _unique),
    "minimum": ("number", lambda _, least, _schema: lambda value: not value < least),
    "maximum": ("number", lambda _, most, _schema: lambda value: not value > most),
    "exclusiveMinimum": ("number", lambda _, below, _schema: lambda value: not value <= below),
    "minLength": ("string", lambda _, least, _schema: lambda value: len(value) >= least),
    "maxLength": ("string", lambda _, most, _schema: lambda value: len(value) <= most),
    "pattern": ("string", lambda _, pattern, _schema: lambda value: re.search(pattern, value) is not None),
}
"""By keyword: the type of the values that it says something of, and what makes its test."""
