"""C++ names and literals from the names and numbers of a contract; the templates of headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Template

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reports.templates import template

ENUMERATOR: Mapping[str, str] = {"0": "same_frame", "-1": "one_earlier", "+1": "one_later"}
"""Values that are not C++ identifiers."""
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NUMBERS_PER_LINE = 12
_NOT_A_NAMESPACE = {"std", "rigpact"}
_KEYWORDS = frozenset(
    (
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
        "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
        "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do",
        "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
        "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
        "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
        "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
        "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
        "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    )
)  # fmt: skip


def checked_namespace(name: str) -> str:
    """The name of a C++ namespace; UnusableInput for a name that C++ does not allow."""
    if not IDENTIFIER.fullmatch(name) or name in _KEYWORDS | _NOT_A_NAMESPACE:
        raise UnusableInput("--namespace", repr(name), "a C++ identifier")
    return name


def identifier(text: str) -> str:
    """A contract's text as a C++ identifier: `97_bytes` gives `n97_bytes`, `x y` `x_y`, `default` `default_`."""
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", text)).strip("_")
    if not name or name[0].isdigit():
        name = f"n{name}"
    return f"{name}_" if name in _KEYWORDS else name


def identifiers(texts: Iterable[str]) -> list[str]:
    """Identifiers for several texts; a repeated one gets a number at its end."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for text in texts:
        name = identifier(text)
        while name in found:
            seen[identifier(text)] += 1
            name = f"{identifier(text)}_{seen[identifier(text)] + 1}"
        found.append(name)
    return found


def type_name(name: str) -> str:
    """`compose_order` -> `ComposeOrder`."""
    return "".join(word.capitalize() for word in name.split("_"))


def enumerator(value: str) -> str:
    """The C++ name of a knob's value."""
    return ENUMERATOR.get(value) or identifier(value)


def template_of(name: str) -> Template:
    """A template of this folder."""
    return template(Path(__file__).parent / "templates" / name)


def lines(texts: list[str]) -> list[str]:
    """The words of an array, with a fixed number in each line."""
    starts = range(0, len(texts), _NUMBERS_PER_LINE)
    return [", ".join(texts[start : start + _NUMBERS_PER_LINE]) for start in starts]


def float_literal(value: Any) -> str:
    """The shortest literal that gives exactly this float32."""
    return f"{np.float32(value)!s}f"


def double_literal(value: float) -> str:
    """A literal that gives exactly this float64, infinity and NaN included."""
    if np.isfinite(value):
        return repr(float(value))
    word = "quiet_NaN" if np.isnan(value) else "infinity"
    return f"{'-' * (value < 0)}std::numeric_limits<double>::{word}()"


def float_lines(values: FloatArray) -> list[str]:
    """An array of float32 as lines of literals."""
    return lines([float_literal(value) for value in values.ravel()])


def rounded_up(tolerance: FloatArray) -> FloatArray:
    """Tolerances with three digits, rounded up: more digits have no use, and the header stays small."""
    with np.errstate(divide="ignore"):
        step = 10.0 ** (np.floor(np.log10(np.maximum(tolerance, 1e-30))) - 2)
    return np.asarray(np.where(tolerance > 0, np.ceil(tolerance / step) * step, 0.0)).astype(np.float32)


def string_literal(text: str) -> str:
    """A C++ string literal of UTF-8 bytes; special bytes are octal escapes, which cannot absorb later characters."""
    plain, content = set(range(0x20, 0x7F)) - set(b'"\\?'), text.encode("utf-8", "replace")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in content) + '"'


def comment(text: str) -> str:
    """Text that is safe in a one-line comment."""
    return "".join(character if character.isprintable() and character != "\\" else "_" for character in text)
