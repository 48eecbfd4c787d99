"""The edits that a claim may mean, so that they can be tried: its words say the kind, its text the numbers and channels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ..grading import Claim, numbers_in
from .program import Edit, Operation, Program, Table, replaced_numbers

Places = Sequence[tuple[str, str]]
"""Operations, and the input before which an edit stands, or behind the operation."""


def channels_in(claim: Claim, program: Program, vector: str) -> set[int]:
    """The channels of a vector that a claim names, or lists as data; none where it is said of all."""
    if claim.channels and (claim.source or claim.stage) == vector:
        known = program.vectors.get(vector)
        return set(claim.channels) if known and len(claim.channels) < known.width else set()
    text = re.sub(r"frames? [\d, ]+(and \d+)?", "", claim.text)
    named = {place: name for place, name in enumerate(program.fields(vector)) if not name.isdigit()}
    found = {place for place, name in named.items() if claim.has(rf"(?<!\w){re.escape(name)}(?!\w)")}
    spans = [(int(first), int(last)) for first, last in re.findall(r"\[(\d+):(\d+)\]", text)]
    spans += [(int(first), int(last) + 1) for first, last in re.findall(r"channels? (\d+) (?:to|–|-) (\d+)", text)]
    for first, last in (*spans, *_parts(text, program, vector)):
        found |= set(range(first, last))
    for numbers in re.findall(r"\[(\d+(?:, \d+)*)\]|channels? (\d+(?:, \d+)*(?: and \d+)?)(?!\d|\.\d)", text):
        found |= {int(each) for each in re.findall(r"\d+", " ".join(numbers))}
    return found


def _parts(text: str, program: Program, vector: str) -> Iterator[tuple[int, int]]:
    """The places of vectors that stand end to end: `joined[gyro]`."""
    own, first = program.vectors[vector], 0
    for name in own.of if isinstance(own, Operation) and own.kind == "concatenate" else ():
        width = program.vectors[name].width
        if any(f"{vector}[{each}]" in text for each in _called(program, name)):
            yield first, first + width
        first += width


def _called(program: Program, name: str) -> Iterator[str]:
    """A vector's name, and those of the vectors whose fields it keeps."""
    yield name
    own = program.vectors[name]
    if isinstance(own, Operation) and not own.names and own.of and program.vectors[own.of[-1]].width == own.width:
        yield from _called(program, own.of[-1])


def candidates(claim: Claim, program: Program, words: Mapping[str, tuple[str, str]]) -> Iterator[Edit]:
    """The edits that a claim may mean: kinds whose words it has, with its numbers, at its stage or before one of its inputs."""
    operations = {each.name: each for each in program.operations}
    if claim.stage not in operations:
        return
    own, numbers = operations[claim.stage], tuple(dict.fromkeys(numbers_in(claim.text)))[:5]
    channels = tuple(sorted(each for each in channels_in(claim, program, own.name) if each < own.width))
    begins = re.search(r"from frame (\d+) on", claim.text)
    read = [(own.name, ""), *_read_before(claim, program)]
    for kind, (at, source) in product(_TRIED, read):
        if not claim.has(words[kind][0].replace("{0}", r"\d")):
            continue
        for values in (*_numbers_for(kind, numbers), *_held_from(kind, claim)):
            frames = (int(values[0]), 1) if kind == "frozen" else (int(begins[1]) if begins else 0, 1)
            chosen = tuple(sorted(channels_in(claim, program, source))) if source and claim.source == source else ()
            yield Edit(kind, at, source, values, chosen if source else channels, frames)
    yield from _other_words(claim, program)
    yield from _exchanges(claim, program, own, channels, read)
    for name in dict.fromkeys(at for at, _ in read):
        yield from _other_sources(claim, program, operations[name])
    for step in re.findall(r"\w+ read (\d+) channels too", claim.text):  # too early or too late
        for (at, source), shift in product(read[1:], (int(step), -int(step))):
            order = np.roll(np.arange(program.vectors[source].width), shift)
            yield Edit("permuted", at, source, tuple(order.astype(float).tolist()))
    yield from _filled(claim, program, read)
    for name, number in re.findall(r"\b(\w+) plus (-?[\d.e-]+) in place of it", claim.text):
        if name in program.vectors and program.vectors[name].width == own.width:
            yield _as(program, own, kind="affine", of=(name,), params={"scale": 1.0, "offset": float(number)})
    yield from _other_numbers(claim, program, own, channels)


def _as(program: Program, own: Operation, **other: Any) -> Edit:
    return Edit("word", own.name, program=program.with_operation(replace(own, **other)))


def _other_words(claim: Claim, program: Program) -> Iterator[Edit]:
    """`computed with history_2.order = newest_first`, as a pair of edits says a convention."""
    operations = {each.name: each for each in program.operations}
    for name, key, value in re.findall(r"computed with (\w+)\.(\w+) = ([\w+-]+)", claim.text):
        own = operations.get(name)
        if own is None:
            continue
        exchanged = re.fullmatch(r"(\w+)_and_(\w+)_exchanged", value)
        if exchanged:
            turned = {exchanged[1]: exchanged[2], exchanged[2]: exchanged[1]}
            yield _as(program, own, of=tuple(turned.get(each, each) for each in own.of))
        elif own.kind == "select":
            taken = program.fields(own.of[0]) if value == "as_given" else program.lists[own.params["take"]][::-1]
            yield _as(program, own, params={"take": taken})
        elif (key, value) == ("applied", "skipped"):
            yield _as(program, own, kind="affine", params={"scale": 1.0})
        elif value == "none" and key in own.params:
            yield _as(program, own, params={each: said for each, said in own.params.items() if each != key})
        elif re.fullmatch(r"[+-]?\d+", value) and isinstance(own.params.get(key), int):
            yield _as(program, own, params={**own.params, key: int(value)})
        elif isinstance(own.params.get(key), str):
            yield _as(program, own, params={**own.params, key: value})


def _exchanges(claim: Claim, program: Program, own: Operation, channels: Sequence[int], read: Places) -> Iterator[Edit]:
    """Channels that are exchanged in pairs, or components with signs: `y, -x, z in place of x, y, z`."""
    for at, source in read:
        for order in (
            _pairs(claim, program.fields(source or at)),
            *_halves(claim, program.vectors[source or at].width),
        ):
            if order:
                yield Edit("exchanged", at, source, tuple(map(float, order)))
    if len(channels) == 2 and claim.has("exchang|swap"):
        order = _order(own.width, [(channels[0], channels[1])])
        yield Edit("exchanged", own.name, numbers=tuple(map(float, order)), channels=tuple(channels))
    found = re.search(r"with ((?:-?[wxyz], )+-?[wxyz]) in place of ((?:[wxyz], )+[wxyz])", claim.text)
    for at, source in read if found else ():
        width = program.vectors[source or at].width
        new, old = (each.split(", ") for each in found.groups()) if found else ([], [])
        named = {3: "xyz", 4: "wxyz"}.get(len(new), "")  # the program's quaternions are w, x, y, z
        mine = () if source else channels
        first = mine[0] if len(mine) == len(new) else 0
        if sorted(old) == sorted(named) and first + len(new) <= width and (first or width == len(new) or mine):
            placed, order, signs = dict(zip(old, new, strict=True)), list(range(width)), [1.0] * width
            for place, name in enumerate(named, first):
                order[place] = first + named.index(placed[name].strip("-"))
                signs[place] = -1.0 if placed[name].startswith("-") else 1.0
            yield Edit("signed_axes", at, source, (*map(float, order), *signs))


def _order(width: int, pairs: Iterator[tuple[int, int]] | Sequence[tuple[int, int]]) -> list[int]:
    """The channels with some pairs exchanged."""
    order = list(range(width))
    for one, other in pairs:
        order[one], order[other] = order[other], order[one]
    return order


def _pairs(claim: Claim, fields: Sequence[str]) -> list[int]:
    """`with a and b, c and d exchanged`: the order of the fields; nothing where some are not fields, or not all are said."""
    found = re.search(r"with (\S+ and \S+(?:, \S+ and \S+)*) exchanged", claim.text)
    pairs = [pair.split(" and ") for pair in (found[1].split(", ") if found else ())]
    places = {name: place for place, name in enumerate(fields)}
    if not pairs or not {name for pair in pairs for name in pair} <= places.keys():
        return []
    return _order(len(fields), [(places[one], places[other]) for one, other in pairs])


def _halves(claim: Claim, width: int) -> Iterator[list[int]]:
    """The channels that a claim lists as data, in pairs: the first half with the second, or each with the next one."""
    listed = sorted(claim.channels)
    if claim.has("exchang") and listed and len(listed) % 2 == 0 and listed[-1] < width:
        half = len(listed) // 2
        yield _order(width, zip(listed[:half], listed[half:], strict=True))
        yield _order(width, zip(listed[::2], listed[1::2], strict=True))


def _other_sources(claim: Claim, program: Program, own: Operation) -> Iterator[Edit]:
    """`a in place of b`, where both are vectors of one width."""
    for new, old in re.findall(r"(\w+) in place of (\w+)", claim.text):
        if old in own.of and new in program.vectors and program.vectors[new].width == program.vectors[old].width:
            yield _as(program, own, of=tuple(new if name == old else name for name in own.of))


def _filled(claim: Claim, program: Program, read: Places) -> Iterator[Edit]:
    """`filled from other channels: [8:10] from history_2[20:22], hip from knee`: another order of the channels of one vector."""
    text = claim.text.rpartition("filled from other channels: ")[2]
    if text == claim.text or "more runs" in text or "of frame" in text:
        return
    for at, source in read:
        fields = program.fields(source or at)
        order, places = list(range(len(fields))), {name: place for place, name in enumerate(fields)}
        for first, last, named, start in re.findall(r"\[(\d+):(\d+)\] from (\w+)\[(\d+):\d+\]", text):
            if named == (source or at) and int(last) <= len(order):
                order[int(first) : int(last)] = range(int(start), int(start) + int(last) - int(first))
        for one, other in re.findall(r"([\w.]+) from ([\w.]+)", text):
            if one in places and other in places:
                order[places[one]] = places[other]
        if max(order) < len(order) and order != list(range(len(order))):
            yield Edit("permuted", at, source, tuple(map(float, order)))


def _read_before(claim: Claim, program: Program) -> Iterator[tuple[str, str]]:
    """Each operation on the way to a claim's stage, and itself, with an input that the claim names; the nearest first."""
    operations, waiting = {each.name: each for each in program.operations}, [claim.stage]
    for name in waiting:
        for source in operations[name].of:
            if re.search(rf"\b{re.escape(source)}\b", claim.text):
                yield name, source
            if source in operations and source not in waiting:
                waiting.append(source)


def _other_numbers(claim: Claim, program: Program, own: Operation, channels: Sequence[int]) -> Iterator[Edit]:
    """A parameter, or its table, that holds another number; `as ones`, `of the channel before`, as relations say it."""
    for key, value in own.params.items():
        name = value.name if isinstance(value, Table) else key
        if isinstance(value, str | int) or not claim.has(rf"\b({key}|{name})\b"):
            continue
        now, one = program.numbers(own, value), (1.0,) if claim.has("ones") else ()
        others: list[tuple[float, ...]] = [
            tuple(new if place in channels or not channels else each for place, each in enumerate(now))
            for new in (*numbers_in(claim.text), *one)
        ]
        if claim.has("channel|shift|next|before"):
            others += [tuple(np.roll(now, step).tolist()) for step in (-1, 1)]
        tables = {each: table for each, (table, _) in program.tables.items() if len(table) == len(now)}
        others += [table for each, table in tables.items() if claim.has(rf"\b{each}\b")]
        yield from (Edit("number", own.name, program=replaced_numbers(program, own, key, each)) for each in others)


_TRIED = (
    "scale", "offset", "sign", "tanh", "half", "delay", "stuck", "smoothed", "deadband", "rate_limit", "hold", "clip", "frozen",
)  # fmt: skip


def _held_from(kind: str, claim: Claim) -> Iterator[tuple[float, ...]]:
    """How many frames a number is held, and the first frame that gives one: `(frames 1, 5, …)`."""
    for first, second in re.findall(r"\(frames (\d+), (\d+), …", claim.text) if kind == "hold" else ():
        yield float(second) - float(first), float(first)


def _numbers_for(kind: str, numbers: Sequence[float]) -> Iterator[tuple[float, ...]]:
    if kind in ("sign", "tanh", "half"):
        yield ()
    elif kind == "clip":
        yield from ((-abs(each), abs(each)) for each in numbers)
        yield from ((low, high) for low in numbers for high in numbers if low < high)
    elif kind in ("delay", "hold", "frozen"):
        yield from ((abs(each),) for each in (*numbers, 1.0) if float(each).is_integer() and 0 < abs(each) < 50)
    elif kind == "offset":
        yield from ((sign * each,) for each in numbers for sign in (1.0, -1.0))
    else:
        yield from ((each,) for each in (*numbers, *((0.0,) if kind == "stuck" else ())))
