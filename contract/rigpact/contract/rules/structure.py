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
from rigpact.contract.findings import Finding
from rigpact.contract.json_pointer import Token, json_containers, json_pointer
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.wording import and_more, is_beyond_float64, json_type, json_value, number_text

rules = Rules("structure")


def _check_json_text(document: Document) -> Iterator[Finding]:
    for pointer in document.file.repeated_keys:
        yield rules.REPEATED_KEY.at(document.path, pointer, key=pointer.rpartition("/")[2])
    if not document.file.standard:
        groups = list(_non_finite(document.data))
        for path, numbers in groups:
            more = and_more(len(numbers) - 1, "in the same array")
            yield rules.NON_FINITE_NUMBER.at(document.path, (*path,), number=number_text(numbers[0]), more=more)
        if not groups:
            yield rules.NOT_STRICT_JSON.at(document.path)


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
        rule = _RULE_OF.get(str(error.validator), rules.VALUE_NOT_ALLOWED)
        values = {**_described(error), "more": and_more(counts[group] - 1, "like it")}
        if any(path[: len(keys)] == keys for keys in map(_keys, _UNREAD.get(document.kind, "").split())):
            rule, values = rules.MALFORMED_ANNOTATION, {"found": f"no {values.get('key')}", "expected": "one"} | values
        yield rule.at(document.path, (*path,), **values)


def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))


def shape_findings(document: Document) -> tuple[Finding, ...]:
    """What `check_structure` finds, to be made once for a document."""
    return tuple(check_structure(document))


def has_its_shape(document: Document) -> bool:
    """Whether nothing is wrong with a document's shape: only then is the meaning of a contract judged."""
    return not document.once(shape_findings)


FAMILY = rules.family("FAMILY", (Need.DOCUMENT,), _check_json_text, shape_findings)


def check_against_schema(data: Any, schema_name: str) -> Iterator[tuple[str, str]]:
    """Yield (pointer, message) where a value does not follow schemas/<schema_name>.schema.json."""
    for error in _validator(schema_name).iter_errors(data):
        yield json_pointer(*error.absolute_path), error.message


def load_schema(name: str) -> dict[str, Any]:
    """Read one of the published schemas."""
    text = (files("rigpact.contract") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


_RULE_OF = {
    "type": rules.WRONG_TYPE,
    "required": rules.MISSING_KEY,
    "minItems": rules.WRONG_ROW_LENGTH,
    "maxItems": rules.WRONG_ROW_LENGTH,
}


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
