"""Writes a draft as TOML: rows of inline tables that people can read, with the comments above them.

A library that writes TOML lays a table out in its own way and wraps no list, so this small writer is here; every draft is read
again, by Python's own reader, before it is written to a file (formats.py).
"""

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.editor_schemas import CONTRACT, head_of
from rigpact.reports.importing.draft import Draft, Entry

_WIDTH, _OVER = 120, 10
"""Columns; a row of a table may stand over a little rather than break."""


def draft_to_toml(draft: Draft) -> str:
    """The text of a declaration."""
    lines = [head_of(CONTRACT), *_comments(draft.header), 'format = "rigpact-contract"', "version = 1"]
    lines += [f"name = {_text(draft.name)}", f"title = {_text(draft.title)}"]
    if draft.fps is not None:
        lines.append(f"fps = {_number(draft.fps)}")
    for key, entries in (("given", draft.given), ("stages", draft.stages)):
        lines += ["", f"{key} = [", *(line for entry in entries for line in _row(entry)), "]"]
    if draft.names:
        lines += ["", *_comments(draft.names_comments), "[names]"]
        lines += [line for name, words in draft.names.items() for line in _pair(name, list(words))]
    for name, number in draft.numbers.items():
        table = number if isinstance(number, Mapping) else {"value": number}
        lines += ["", f"[numbers.{_key(name)}]", *(line for key, value in table.items() for line in _pair(key, value))]
    for name, entry in draft.networks.items():
        lines += ["", f"[networks.{_key(name)}]", *_comments(entry.comments)]
        tables = {key: value for key, value in entry.table.items() if isinstance(value, Mapping)}
        lines += [line for key, value in entry.table.items() if key not in tables for line in _pair(key, value)]
        for key, inside in tables.items():
            lines += ["", f"[networks.{_key(name)}.{_key(key)}]"]
            lines += [line for each, value in inside.items() for line in _pair(each, value)]
    if draft.conventions:
        lines += [
            "",
            "[conventions]",
            *(line for name, said in draft.conventions.items() for line in _pair(name, said)),
        ]
    if draft.recordings or draft.recordings_comments:
        lines += ["", "[recordings]", *_comments(draft.recordings_comments)]
        lines += [line for name, source in draft.recordings.items() for line in _pair(name, source)]
    return "\n".join(lines) + "\n"


def tables_to_toml(root: Mapping[str, Any]) -> str:
    """Any document of a declaration's shape, a line for each of its keys."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in root.items())


def _row(entry: Entry) -> Iterator[str]:
    yield from _comments(entry.comments, "    ")
    pairs = [f"{_key(key)} = {_value(value)}" for key, value in entry.table.items()]
    line = f"    {{ {', '.join(pairs)} }},"
    # a line may break only inside a list: the longest one is written last, over several lines
    lists = {key: value for key, value in entry.table.items() if isinstance(value, list)}
    longest = max(lists, key=lambda key: len(_value(lists[key])), default=None)
    if longest is None or len(line) <= _WIDTH + _OVER:
        yield line
        return
    others = [f"{_key(key)} = {_value(value)}" for key, value in entry.table.items() if key != longest]
    yield f"    {{ {', '.join(others)}, {_key(longest)} = ["
    yield from _wrapped(lists[longest], "        ")
    yield "    ] },"


def _pair(key: str, value: Any) -> Iterator[str]:
    line = f"{_key(key)} = {_value(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list):
        yield line
        return
    yield from (f"{_key(key)} = [", *_wrapped(value, "    "), "]")


def _wrapped(values: Sequence[Any], indent: str) -> list[str]:
    line, lines = indent, []
    for value in values:
        text = f"{_value(value)}, "
        if len(line) + len(text) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += text
    return [*lines, line.rstrip()]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _number(value)


def _number(value: float) -> str:
    """The shortest text of the number; of a number that is a float32, the shortest text of that float32."""
    if not math.isfinite(value):
        return str(float(value))
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    with np.errstate(over="ignore"):
        single = np.float32(value)
    short = str(single)
    is_single = math.isfinite(single) and float(single) == float(value) and re.fullmatch(r"[-+.e0-9]+", short)
    return short if is_single else repr(float(value))


def _text(value: str) -> str:
    """A TOML string; a half of a surrogate pair, which no UTF-8 text can hold, becomes a question mark."""
    whole = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _comments(texts: Iterable[str], indent: str = "") -> list[str]:
    """Comment lines; characters of user files that would end the line are replaced."""
    lines: list[str] = []
    for text in texts:
        safe = "".join(each if each.isprintable() else " " for each in text).encode("utf-8", "replace").decode("utf-8")
        lines += textwrap.wrap(safe, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
    return lines
