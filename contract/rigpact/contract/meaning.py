"""The meaning of a contract as one hash: two files with the same meaning make both sides compute the same numbers.

Formatting, the order of keys, the digits of a number and texts that nothing computes with change a file's bytes and not its
meaning. docs/trace-format.md defines both hashes for other programs. What reads a contract lists
the values that are computed with.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions


def canonical_json(value: Any) -> str:
    """JSON of a value as RFC 8785 writes it: sorted keys, no spaces, each number as its shortest float64 text.

    Arrays count as lists. Numbers that JSON does not have are the texts that a trace uses: "NaN", "Infinity", "-Infinity".
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, np.ndarray):
        rows = value.tolist()
        return "[" + ",".join(map(_float_text, rows)) + "]" if value.ndim == 1 else canonical_json(rows)
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical_json(key)}:{canonical_json(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    return _number_text(value)


def _float_text(value: float) -> str:
    """As `_number_text`, at once for most floats: those with a fraction and without an exponent."""
    text = repr(value)
    is_plain = "." in text and not text.endswith(".0") and "e" not in text
    return text if is_plain else _number_text(value)


def _number_text(value: float) -> str:
    """A number as ECMAScript prints its float64."""
    try:
        number = float(value)
    except OverflowError:  # JSON may hold integers that no float64 holds
        number = math.inf if value > 0 else -math.inf
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return mantissa
    power, sign, digits = int(exponent), "-" if number < 0 else "", mantissa.lstrip("-").replace(".", "")
    if -7 < power < 0:
        return f"{sign}0.{digits:0>{len(digits) - power - 1}}"
    if 0 < power < 21:
        return f"{sign}{digits:0<{power + 1}}"
    return f"{mantissa}e{power:+d}"


def sha256_of(value: Any) -> str:
    """SHA-256 of a value's canonical JSON in UTF-8."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class Meaning:
    """The values that a contract's files give, as they were loaded, and their hash; computed when it is first asked for.

    A copy of a contract keeps the meaning of its files, whatever was changed in the copy.
    """

    values: Callable[[], Mapping[str, Any]] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """Hash of the values."""
        return sha256_of(self.values())


def conventions_sha256(conventions: Conventions) -> str:
    """Hash of the choices; a knob of which no value is a defect has no part in it."""
    return sha256_of({name: value for name, value in conventions.items() if not conventions.knob(name).is_benign})
