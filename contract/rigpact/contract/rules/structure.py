"""RP001-RP029: the text and the shape of every JSON file.

Text that two JSON parsers read differently, or that one of them refuses; then values of the wrong type, missing keys, rows of the
wrong length. The shapes stand in schemas/*.schema.json (JSON Schema, Draft 2020-12); here their errors become findings. Other
families judge what depends on numbers, such as the length of an array against its slice.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import Token, json_containers, json_pointer
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.wording import and_more, is_beyond_float64, json_type, json_value, number_text

REPEATED_KEY = Rule.of("""RP001 error repeated-key
    the key {key!r} stands more than once in its object
    hint: keep one of them; a merge of two templates by text leaves both
    why: JSON does not say which one counts: Python keeps the last, other parsers the first, so the two sides load different
    numbers from the same bytes""")
NON_FINITE_NUMBER = Rule.of("""RP002 error non-finite-number-in-json refused
    {number}{more}: JSON has no such number
    hint: find where the exporter divided by zero or overflowed; write the file with allow_nan=False
    why: Python writes and reads NaN and Infinity silently; the engine's parser refuses the whole file""")
NOT_STRICT_JSON = Rule.of("""RP003 warning not-strict-json
    the text is read by lenient JSON parsers only
    hint: write it as UTF-8, every character whole
    why: UTF-16 text or half of a surrogate pair is accepted by one parser and refused by the next""")


def _check_json_text(document: Document) -> Iterator[Finding]:
    for pointer in document.file.repeated_keys:
        yield REPEATED_KEY.at(document.path, pointer, key=pointer.rpartition("/")[2])
    if not document.file.standard:
        groups = list(_non_finite(document.data))
        for path, numbers in groups:
            more = and_more(len(numbers) - 1, "in the same array")
            yield NON_FINITE_NUMBER.at(document.path, (*path,), number=number_text(numbers[0]), more=more)
        if not groups:
            yield NOT_STRICT_JSON.at(document.path)


def _non_finite(data: Any) -> Iterator[tuple[tuple[Token, ...], list[Any]]]:
    """Yield the path of the first such number of each array with all such numbers of that array, and each one of an object."""
    for path, container in json_containers(data):
        if type(container) is list:
            places = [index for index, value in enumerate(container) if is_non_finite(value)]
            if places:
                yield (*path, places[0]), [container[index] for index in places]
        else:
            yield from (((*path, key), [value]) for key, value in container.items() if is_non_finite(value))


def is_non_finite(value: Any) -> bool:
    """Whether a JSON value is a number that float64 does not hold."""
    return is_beyond_float64(value) or (type(value) is float and not math.isfinite(value))


WRONG_TYPE = Rule.of("""RP020 error wrong-type refused
    {found} where {expected} is expected{more}
    hint: see the schema in rigpact/contract/schemas; numbers in quotes are strings
    why: the engine skips a value of the wrong type, or the load fails""")
MISSING_KEY = Rule.of("""RP021 error missing-key refused
    the key {key!r} is missing{more}
    hint: re-export the file; a key that is written by hand is easily misspelt
    why: the engine stops loading a bundle without it, and reads zeros from a clip without it""")
WRONG_ROW_LENGTH = Rule.of("""RP022 error wrong-row-length refused
    {found} numbers where {expected} are expected{more}
    hint: re-export the file; ragged rows come from an interrupted or hand-edited export
    why: the engine fills short rows with zeros: the limb collapses for that frame and nothing says so""")
VALUE_NOT_ALLOWED = Rule.of("""RP023 error value-not-allowed refused
    {found}, but {expected} is expected{more}
    hint: see the allowed values in the schema in rigpact/contract/schemas
    why: a value outside the format's range is clamped or ignored on one side only""")
MALFORMED_ANNOTATION = Rule.of("""RP024 warning malformed-annotation
    {found} where {expected} is expected{more}; the engine does not read it
    hint: correct it, or leave it out
    why: tools that do read it fail on it, or guess""")

_UNREAD = {
    Kind.BUNDLE: "bundle_version s_eff_X s_eff_Y s_eff_meta cond_norm_config pose_hist_dim group_priors_rot6d meta/units"
    " meta/handedness meta/axes meta/skeleton/root_bone meta/std_floor meta/alignment meta/trajectory",
    Kind.COMPANION: "J angvel_dim angvel_span pose_hist_dim pose_target_dim meta tanh_scales_pose_target MuPoseTarget"
    " StdPoseTarget",
    Kind.RAW_CLIP: "ClipAction meta",
    Kind.TEACHER_BATCH: "clip source_json",
    Kind.TEACHER_PREDICTION: "clip model source_json teacher_json diagnostics",
}
"""Parts that neither side needs to load the file: a defect there is only a warning."""


_MOST_PLACES = 100_000
"""All eight fields of every frame of a clip of three minutes. A file of a few megabytes can hold millions."""


def check_structure(document: Document) -> Iterator[Finding]:
    """Yield every place where a document does not have the shape of its kind; similar places make one finding with a count."""
    first: dict[tuple[object, ...], ValidationError] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for number, error in enumerate(_validator(document.kind.value).iter_errors(document.data)):
        if number == _MOST_PLACES:
            kind, place = document.kind.words, f"{document.path}#{json_pointer(*error.absolute_path)}"
            raise UnusableInput(place, f"more than {_MOST_PLACES} places of another shape before it", f"a {kind}")
        pattern = tuple("*" if isinstance(token, int) else token for token in error.absolute_path)
        key: tuple[object, ...] = (pattern, error.validator, _described(error).get("expected"))
        first.setdefault(key, error)
        counts[key] += 1
    for group, error in first.items():
        path: tuple[Token, ...] = tuple(error.absolute_path)
        rule = _RULE_OF.get(str(error.validator), VALUE_NOT_ALLOWED)
        values = {**_described(error), "more": and_more(counts[group] - 1, "like it")}
        if any(path[: len(keys)] == keys for keys in map(_keys, _UNREAD.get(document.kind, "").split())):
            rule, values = MALFORMED_ANNOTATION, {"found": f"no {values.get('key')}", "expected": "one"} | values
        yield rule.at(document.path, (*path,), **values)


def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))


def shape_findings(document: Document) -> tuple[Finding, ...]:
    """What `check_structure` finds, to be made once for a document."""
    return tuple(check_structure(document))


def has_its_shape(document: Document) -> bool:
    """Whether nothing is wrong with a document's shape: only then is the meaning of a contract judged."""
    return not document.once(shape_findings)


FAMILY = family(globals(), (Need.DOCUMENT,), _check_json_text, shape_findings)


def check_against_schema(data: Any, schema_name: str) -> Iterator[tuple[str, str]]:
    """Yield (pointer, message) where a value does not follow schemas/<schema_name>.schema.json."""
    for error in _validator(schema_name).iter_errors(data):
        yield json_pointer(*error.absolute_path), error.message


def load_schema(name: str) -> dict[str, Any]:
    """Read one of the published schemas."""
    text = (files("rigpact.contract") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


_RULE_OF = {"type": WRONG_TYPE, "required": MISSING_KEY, "minItems": WRONG_ROW_LENGTH, "maxItems": WRONG_ROW_LENGTH}


def _described(error: ValidationError) -> dict[str, Any]:
    keyword, wanted, found = str(error.validator), error.validator_value, error.instance
    if keyword == "type":
        names = wanted if isinstance(wanted, list) else [wanted]
        return {"found": json_value(found), "expected": " or ".join(json_type(str(name)) for name in names)}
    if keyword == "required":
        # jsonschema names the key in the message only, quoted, at its start
        key = next(key for key in wanted if error.message.startswith(repr(key)))  # type: ignore[union-attr]
        return {"key": key, "expected": key}
    if keyword in {"minItems", "maxItems"}:
        return {"found": len(found), "expected": wanted}  # type: ignore[arg-type]
    if keyword == "oneOf":
        return {"found": json_value(found), "expected": error.schema.get("title", "another shape")}  # type: ignore[union-attr]
    if keyword == "additionalProperties":
        known = error.schema.get("properties", {})  # type: ignore[union-attr]
        extra = next(key for key in found if key not in known)  # type: ignore[union-attr]
        return {"found": f"the key {extra!r}", "expected": f"one of {', '.join(known)}"}
    words = {"minimum": f"at least {wanted}", "maximum": f"at most {wanted}", "exclusiveMinimum": f"more than {wanted}"}
    words["uniqueItems"] = "different values"
    return {"found": json_value(found), "expected": words.get(keyword, f"{keyword} {wanted}")}


def _fast_items(validator: Validator, items: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`items`, but arrays of plain numbers (and rows of them) and of words are judged in one pass, with the same verdict.

    The general keyword makes a validator and a path for each element: seconds for a prediction's 150 000 numbers.
    """
    accepts = _plain_test(items)
    if accepts is not None and isinstance(instance, list) and accepts(instance):
        return
    yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)


def _in_order(validator: Validator, others: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`additionalProperties` in the order of the file: jsonschema goes through a set, whose order is another in each run."""
    if not isinstance(others, dict) or not isinstance(instance, dict):
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, others, instance, schema)
        return
    for key in instance:
        if key not in schema.get("properties", {}):
            yield from validator.descend(instance[key], others, path=key)  # type: ignore[attr-defined]


_NUMBERS = {int, float}


def _plain_test(items: Any) -> Callable[[list[Any]], bool] | None:
    """Return a quick test that every element follows `items`, None where `items` says more than numbers and rows."""
    if items == {"type": "number"}:
        return lambda values: set(map(type, values)) <= _NUMBERS
    if isinstance(items, dict) and items.get("type") == "string" and not set(items) - {"type", *_CHARACTERS}:
        shortest, longest = items.get("minLength", 0), items.get("maxLength", float("inf"))
        return lambda words: all(type(word) is str and shortest <= len(word) <= longest for word in words)
    if not isinstance(items, dict) or items.get("type") != "array" or set(items) - {"type", "items", *_LENGTHS}:
        return None
    inner = _plain_test(items.get("items"))
    fewest, most = items.get("minItems", 0), items.get("maxItems", float("inf"))
    if inner is None:
        return None
    return lambda rows: all(type(row) is list and fewest <= len(row) <= most and inner(row) for row in rows)


_LENGTHS, _CHARACTERS = ("minItems", "maxItems"), ("minLength", "maxLength")
_FastValidator: type[Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"items": _fast_items, "additionalProperties": _in_order}
)


@cache
def _validator(schema_name: str) -> Validator:
    validator: Validator = _FastValidator(load_schema(schema_name))
    return validator
