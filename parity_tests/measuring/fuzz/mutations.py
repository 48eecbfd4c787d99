"""Changes of a file as damage, slips and malice make them: drawn from a seed, so that each can be made again."""

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

Change = Callable[[bytes, random.Random], bytes]
_TOKEN = re.compile(rb'-?\d[\d.eE+-]*|"[^"\n]*"|[A-Za-z_]+|[\[\]{}:,=]')
_ENTRY = re.compile(rb'"[^"\n]{1,40}"\s*:\s*(?:-?[\d.eE+-]+|"[^"\n]*"|\[[^\[\]{}]{0,80}\])\s*,')
_WORDS: Sequence[bytes] = (
    b"-1", b"0", b"1e999", b"1e308", b"1e-320", b"NaN", b"-Infinity", b"nan(ind)", b"9" * 5000, b"18446744073709551616",
    b"9223372036854775807", b"2147483648", b"1000000000", b"0.1", b"null", b"true", b"{}", b"[]", b"[[]]", b'[{"a":[null]}]',
    b'""', b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m\\n::error::x"', b'"../../../etc/passwd"', b'"/dev/zero"', b"[" * 300,
    b"[" * 3000 + b"]" * 3000, b'{"a":' * 900 + b"1" + b"}" * 900, b"a" * 4000, b",nan(" * 500, b"\n" * 300, b"\xff\xfe", b"\0",
)  # fmt: skip
_VALUE = re.compile(rb"^[ -]*[\w.\"-]+ ?[=:] ?([^\n]+)$", re.MULTILINE)
_INLINE = re.compile(rb'\b\w+ = (\[[^][{}]*\]|"[^"\n]*"|-?[\d.][\d.e+-]*|true|false)(?= ?[,}])')
"""A value of an inline table."""
_LITERALS = (
    b"0", b"1", b"-1", b"2", b"1.5", b"1e300", b"9223372036854775807", b"true", b"false", b'""', b'"a"', b'"none"',
    b"[]",     b"[[]]", b"[0]", b"[1, 2]", b'["a"]', b"[[1], [2]]", b"{}", b'"0,1,2"', b'"2,1,0"', b"1979-05-27",
    b"1979-05-27T07:32:00Z",     b"inf", b"nan", b"-inf", b".inf", b"null", b"~", b"!!timestamp x", b"!!bool x",
    b"!!int ''",     b"!!set {a}", b"!!binary x", b"&a [1]", b'"\\u0000"', b'"a.json"', b'"../x"', b"0x1F", b"07:32:00",
    b"1_000", b"[1, 'a', {}]", b"9" * 400,
)  # fmt: skip
_NUMBERS = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\xc0\x7f", b"\x01\0\0\0")


def changed(content: bytes, rng: random.Random) -> bytes:
    """The bytes after one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(_CHANGES)(content, rng)
    return content


def _flipped(content: bytes, rng: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(rng.randint(1, 8) if made else 0):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _span(content: bytes, rng: random.Random, most: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.randint(1, most))


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _removed(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng)
    return content[:start] + content[stop:]


def _inserted(content: bytes, rng: random.Random) -> bytes:
    start, _ = _span(content, rng)
    return content[:start] + rng.choice((rng.randbytes(rng.randint(1, 16)), rng.choice(_WORDS))) + content[start:]


def _repeated(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng, 256)
    return content[:stop] * rng.choice((1, 1, 2)) + content[start:stop] * rng.randint(1, 20) + content[stop:]


def _numbered(content: bytes, rng: random.Random) -> bytes:
    """Four bytes that are a size, or a number that is none."""
    start, _ = _span(content, rng)
    return content[:start] + rng.choice(_NUMBERS) + content[start + 4 :]


def _tokens(content: bytes, rng: random.Random) -> Sequence[tuple[int, int]]:
    """The places of tokens in a part of the file: a long file is not read whole for one change."""
    start = rng.randrange(max(len(content) - 4096, 1))
    return [(found.start(), found.end()) for found in _TOKEN.finditer(content, start, start + 4096)]


def _reworded(content: bytes, rng: random.Random) -> bytes:
    """A token that becomes something else."""
    places = _tokens(content, rng)
    if not places:
        return _flipped(content, rng)
    start, stop = rng.choice(places)
    return content[:start] + rng.choice(_WORDS) + content[stop:]


def _swapped(content: bytes, rng: random.Random) -> bytes:
    """Two tokens in each other's place."""
    places = _tokens(content, rng)
    if len(places) < 2:
        return _flipped(content, rng)
    (a, b), (c, d) = sorted(rng.sample(places, 2))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _twice(content: bytes, rng: random.Random) -> bytes:
    """A key that stands twice."""
    found = _ENTRY.search(content, rng.randrange(max(len(content), 1)))
    if found is None:
        return _repeated(content, rng)
    return content[: found.end()] + found[0] + content[found.end() :]


def restructured(content: bytes, rng: random.Random) -> bytes:
    """JSON that stays JSON, one line of it where each is one: a value somewhere inside becomes another, or is gone."""
    lines = [content] if content.startswith(b"{\n") else content.split(b"\n")
    place = rng.randrange(len(lines))
    try:
        root = [json.loads(lines[place])]
    except (ValueError, RecursionError):
        return _reworded(content, rng)
    holder, key = place_in(root, rng)
    if rng.random() < 0.2 and holder is not root:
        del holder[key]
    else:
        holder[key] = rng.choice((*VALUES, holder[key], [holder[key]], {"a": holder[key]}))
    return b"\n".join([*lines[:place], json.dumps(root[0]).encode(), *lines[place + 1 :]])


def revalued(content: bytes, rng: random.Random) -> bytes:
    """TOML or YAML that stays so: a value behind `=` or `:` becomes one of another type."""
    for _ in range(rng.choice((1, 1, 2))):
        places = [*_VALUE.finditer(content), *_INLINE.finditer(content)]
        if places:
            chosen = rng.choice(places)
            other = rng.choice((*_LITERALS, *(place[1] for place in places)))
            content = content[: chosen.start(1)] + other + content[chosen.end(1) :]
    return content


def place_in(root: list[Any], rng: random.Random) -> tuple[Any, Any]:
    """A container somewhere inside, and a key or an index of it."""
    holder: Any = root
    while True:
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        inside = holder[key]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.25:
            return holder, key
        holder = inside


VALUES: Sequence[Any] = (
    None, True, 0, -1, 1, 2, 3, 0.5, 1e39, -1e308, 1 << 31, 1 << 63, 1 << 64, 10**18, math.nan, math.inf, "", "a", "0", "NaN",
    "\ud800", "\x00", "\x1b[31m\n::error::x", "../../x", "/dev/zero", [], [[]], [0], [None], ["a"], {}, {"a": 1}, [1, 2, 3],
)  # fmt: skip


_CHANGES: Sequence[Change] = (
    _flipped, _cut, _removed, _inserted, _repeated, _numbered, _reworded, _reworded, _reworded, _swapped, _twice,
    *(restructured,) * 6,
)  # fmt: skip
