"""RP001-RP009: text that two JSON parsers read differently, or that one of them refuses."""

import math
from collections.abc import Iterator
from typing import Any

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import Token, json_containers
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.wording import and_more, is_beyond_float64, number_text

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


FAMILY = family(globals(), (Need.DOCUMENT,), _check_json_text)


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
