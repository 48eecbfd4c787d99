"""A declaration that is being written: its parts in order, each with the comments that stand above it; and its text."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from rigpact.contract.editor_schemas import CONTRACT, head_of

_LONGEST_NAME = 63


@dataclass(frozen=True)
class Entry:
    """A row of `given` or `stages`, and what must be said of it."""

    table: Mapping[str, Any]
    comments: tuple[str, ...] = ()


@dataclass(eq=False)
class Draft:
    """A declaration before it is text.

    header: comments at the top. numbers: a table or an array each. notes: what the command tells besides. inputs, outputs of a
    network: as in [networks]. dropped: vectors that were left out again.
    """

    name: str
    title: str
    fps: float | None = None
    header: list[str] = field(default_factory=list)
    given: list[Entry] = field(default_factory=list)
    stages: list[Entry] = field(default_factory=list)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names_comments: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    networks: dict[str, Entry] = field(default_factory=dict)
    recordings: dict[str, Any] = field(default_factory=dict)
    recordings_comments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)

    @classmethod
    def imported(cls, name: str, source: str, said: str, *more: str, fallback: str = "robot") -> Draft:
        """The beginning of a draft of another stack's file, which says where it comes from."""
        header = [f"Made by `rigpact init` from {source}{said}", *more]
        return cls(lower_word(name, fallback), f"imported from {source}", header=header)

    def give(self, name: str, *comments: str, **table: Any) -> str:
        """Add a vector from outside, once; returns its name."""
        if not any(entry.table["name"] == name for entry in self.given):
            self.given.append(Entry({"name": name, **_said(table)}, comments))
        return name

    def compute(self, name: str, operation: str, of: str | Sequence[str] | None, *comments: str, **table: Any) -> str:
        """Add a stage; returns its name. of: None for one that takes no vectors, as a network's answer."""
        wanted = of if of is None or isinstance(of, str) else list(of)
        self.stages.append(Entry(_said({"name": name, "operation": operation, "of": wanted, **table}), comments))
        return name

    def list_of(self, words: Iterable[str], wish: str) -> str:
        """The name of the list that holds these words in this order: one that is there, or a new one."""
        wanted = tuple(words)
        same = next((name for name, known in self.names.items() if known == wanted), None)
        name = unlike(wish, self.names) if same is None else same
        self.names[name] = wanted
        return name

    def number_of(self, wish: str, value: Any, names: str | None) -> str:
        """The name of an entry of numbers: one that says the same, or a new one."""
        table = value if names is None else {"names": names, "value": value}
        same = next((name for name, known in self.numbers.items() if known == table), None)
        name = unlike(wish, self.numbers) if same is None else same
        self.numbers[name] = table
        return name

    def rename(self, old: str, new: str) -> None:
        """Call a vector otherwise, wherever it is named."""
        self.given = [_renamed(entry, old, new) for entry in self.given]
        self.stages = [_renamed(entry, old, new) for entry in self.stages]
        self.networks = {name: _renamed(entry, old, new) for name, entry in self.networks.items()}

    def names_of(self, vector: str) -> str | Sequence[str] | None:
        """The names of a vector's numbers, its own or of what it is made of one by one: a list's name, the names, or None."""
        table = self.root_of(vector).table
        names: str | Sequence[str] | None = table.get("names", table.get("take"))
        return names

    def root_of(self, vector: str) -> Entry:
        """The entry whose names a vector's numbers have: its own, or the one that it is made of one by one."""
        entry = next(each for each in (*self.given, *self.stages) if each.table["name"] == vector)
        source = entry.table.get("of")
        has_own = {"names", "take"} & entry.table.keys() or entry.table.get("operation") not in ONE_BY_ONE
        return entry if has_own or not isinstance(source, str) else self.root_of(source)

    def change(self, vector: str, *comments: str, **table: Any) -> None:
        """Say more of a vector; names take the place of a size."""
        for entries in (self.given, self.stages):
            for place, entry in enumerate(entries):
                if entry.table["name"] == vector:
                    held = {key: each for key, each in entry.table.items() if key != "size" or "names" not in table}
                    entries[place] = Entry({**held, **table}, (*entry.comments, *comments))

    def caution(self, vector: str, said: str) -> None:
        """Say above a vector, and beside the file, that it looks unusual."""
        self.change(vector, f"CAUTION: {said}")
        self.notes.append(f"caution: {vector}: {said}")

    def drop_unused(self, names: set[str]) -> None:
        """Leave out given vectors that nothing takes any more."""
        taken = (entry.table.get("of", ()) for entry in self.stages)
        self.dropped |= names.difference(*([of] if isinstance(of, str) else of for of in taken))
        self.given = [entry for entry in self.given if entry.table["name"] not in self.dropped]

    def free_name(self, wish: str) -> str:
        """A name that no vector of the draft has yet."""
        return unlike(wish, [entry.table["name"] for entry in (*self.given, *self.stages)])


ONE_BY_ONE = ("affine", "clip", "normalise", "denormalise")
"""Operations of a draft whose result has the names of their vector."""
_NAMING = ("name", "of", "carried", "wrong", "inputs", "outputs")
"""Keys whose words are names of vectors."""


def _renamed(entry: Entry, old: str, new: str) -> Entry:
    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return new if value == old else value
        if isinstance(value, Mapping):
            return {key: changed(each) for key, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list | tuple) else value

    table = {key: changed(value) if key in _NAMING else value for key, value in entry.table.items()}
    return Entry(table, entry.comments)


def _said(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def unlike(wish: str, taken: Iterable[str]) -> str:
    """A name like `wish` that is none of the taken ones."""
    known, count, name = set(taken), 2, wish
    while name in known:
        name, count = f"{wish}_{count}", count + 1
    return name


def word(text: str, fallback: str) -> str:
    """A name that a declaration can have for a vector, from the text of a file."""
    cleaned = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")[: _LONGEST_NAME - 4]
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"{fallback}_{cleaned}".strip("_")


def lower_word(text: str, fallback: str) -> str:
    """The same for the name of a contract: small letters."""
    return word(text.lower(), fallback).lstrip("_") or fallback


_FEWEST = 6
"""Of so many numbers one or two stand out."""
_FEW = 2


def mark_unusual(draft: Draft) -> None:
    """Write CAUTION above the stages whose numbers or orders stand out."""
    for stage, said in [*_scales(draft), *_poses(draft), *_orders(draft)]:
        draft.caution(stage, said)


def _scales(draft: Draft) -> Iterator[tuple[str, str]]:
    for entry in draft.stages:
        scale = _numbers(draft, entry, "scale")
        usual = Counter(scale.values()).most_common(1)
        odd = [f"{each:g} at {name}" for name, each in scale.items() if each != usual[0][0]]
        if 0 < len(odd) <= _FEW:
            yield entry.table["name"], f"the scale is {usual[0][0]:g}, but {', '.join(odd)}"


def _poses(draft: Draft) -> Iterator[tuple[str, str]]:
    """Of what is taken off one vector and added to another: the same pose, but for a few joints."""
    held = [(each.table["name"], _numbers(draft, each, key)) for each in draft.stages for key in ("offset", "subtract")]
    for (one, first), (other, second) in combinations([each for each in held if each[1]], 2):
        odd = [name for name in first if abs(abs(first[name]) - abs(second.get(name, 0.0))) > 1e-4]
        if first.keys() == second.keys() and 0 < len(odd) <= _FEW:
            yield other, f"the numbers of {one}, but for {', '.join(odd)}"


def _orders(draft: Draft) -> Iterator[tuple[str, str]]:
    """Two orders of the same names, or an order and that of the vector it is taken from, that differ in two names."""
    selects = [each.table for each in draft.stages if each.table.get("operation") == "select"]
    sources = {each["of"]: _words(draft, draft.names_of(each["of"]) or ()) for each in selects}
    takes = {each["name"]: _words(draft, each["take"]) for each in selects}
    said: dict[str, str] = {}
    for (one, names), (other, others) in combinations([*sources.items(), *takes.items()], 2):
        odd = [name for name, wanted in zip(names, others, strict=False) if name != wanted]
        if other in takes and len(names) >= _FEWEST and sorted(names) == sorted(others) and len(odd) == _FEW:
            said.setdefault(other, f"the order of {one}, but {odd[0]} and {odd[1]} exchanged")
    yield from said.items()


def _numbers(draft: Draft, entry: Entry, key: str) -> dict[str, float]:
    """Name -> number of a parameter of many numbers; of one with few, or without names, nothing."""
    value = entry.table.get(key)
    value = draft.numbers.get(value) if isinstance(value, str) else value
    value = value.get("value") if isinstance(value, Mapping) else value
    names = _words(draft, draft.names_of(entry.table["name"]) or ())
    if not isinstance(value, list) or len(value) < _FEWEST:
        return {}
    return dict(zip(names or map(str, range(len(value))), value, strict=False))


def _words(draft: Draft, said: object) -> tuple[str, ...]:
    return (
        draft.names[said] if isinstance(said, str) else tuple(map(str, said)) if isinstance(said, list | tuple) else ()
    )


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
