"""The edits that a claim may mean, so that they can be tried: its words say the kind, its text the numbers and channels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ..claims import Claim, numbers_in
from .edits import Edit, numbers_of, replaced_numbers
from .program import Operation, Program, Table


def channels_in(claim: Claim, program: Program, vector: str) -> set[int]:
    """The channels of a vector that a claim names, or lists as data; none where it is said of all."""
    if claim.channels and (claim.source or claim.stage) == vector:
        width = next((each.width for each in program.vectors if each.name == vector), 0)
        return set(claim.channels) if len(claim.channels) < width else set()
    fields, text = program.fields(vector), re.sub(r"frames? [\d, ]+(and \d+)?", "", claim.text)
    found = {
        place
        for place, name in enumerate(fields)
        if not name.isdigit() and claim.has(rf"(?<!\w){re.escape(name)}(?!\w)")
    }
    for first, last in (*_spans(text), *_parts(text, program, vector)):
        found |= set(range(first, last))
    for numbers in re.findall(r"\[(\d+(?:, \d+)*)\]|channels? (\d+(?:, \d+)*(?: and \d+)?)(?!\d|\.\d)", text):
        found |= {int(each) for each in re.findall(r"\d+", " ".join(numbers))}
    return found


def _parts(text: str, program: Program, vector: str) -> Iterator[tuple[int, int]]:
    """The places of vectors that stand end to end: `joined[gyro]`."""
    own, first = program.vector(vector), 0
    for name in own.of if isinstance(own, Operation) and own.kind == "concatenate" else ():
        width = program.vector(name).width
        if any(f"{vector}[{each}]" in text for each in _called(program, name)):
            yield first, first + width
        first += width


def _called(program: Program, name: str) -> Iterator[str]:
    """A vector's name, and those of the vectors whose fields it keeps."""
    yield name
    vector = program.vector(name)
    if (
        isinstance(vector, Operation)
        and not vector.names
        and vector.of
        and program.vector(vector.of[-1]).width == vector.width
    ):
        yield from _called(program, vector.of[-1])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for first, last in re.findall(r"\[(\d+):(\d+)\]", text):
        yield int(first), int(last)
    for first, last in re.findall(r"channels? (\d+) (?:to|–|-) (\d+)", text):
        yield int(first), int(last) + 1


def candidates(claim: Claim, program: Program, words: Mapping[str, tuple[str, str]]) -> Iterator[Edit]:
    """The edits that a claim may mean: kinds whose words it has, with its numbers, at its stage or before one of its inputs."""
    operations = {each.name: each for each in program.operations}
    if claim.stage not in operations:
        return
    numbers = tuple(dict.fromkeys(numbers_in(claim.text)))[:5]
    channels = tuple(
        sorted(each for each in channels_in(claim, program, claim.stage) if each < operations[claim.stage].width)
    )
    own = operations[claim.stage]
    begins = re.search(r"from frame (\d+) on", claim.text)
    first = int(begins[1]) if begins else 0
    read = [(claim.stage, ""), *_read_before(claim, program)]
    for kind, (at, source) in product(_TRIED, read):
        if not claim.has(words[kind][0].replace("{0}", r"\d")):
            continue
        for values in (*_numbers_for(kind, numbers), *_held_from(kind, claim)):
            frames = (int(values[0]), 1) if kind == "frozen" else (first, 1)
            chosen = tuple(sorted(channels_in(claim, program, source))) if source and claim.source == source else ()
            yield Edit(kind, at, source, values, chosen if source else channels, frames)
    yield from _other_words(claim, program)
    yield from _exchanges(claim, program, own, channels)
    for name in dict.fromkeys((claim.stage, *(at for at, _ in read))):
        yield from _other_sources(claim, program, operations[name])
    yield from _slices(claim, program)
    yield from _filled(claim, program)
    yield from _plus(claim, program, own)
    yield from _other_numbers(claim, program, own, channels)


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
            other = replace(own, of=tuple(turned.get(each, each) for each in own.of))
        elif own.kind == "select":
            fields = program.fields(own.of[0])
            other = replace(
                own, params={"take": fields if value == "as_given" else program.lists[own.params["take"]][::-1]}
            )
        elif (key, value) == ("applied", "skipped"):
            other = replace(own, kind="affine", params={"scale": 1.0})
        elif value == "none" and key in own.params:
            other = replace(own, params={each: said for each, said in own.params.items() if each != key})
        elif re.fullmatch(r"[+-]?\d+", value) and isinstance(own.params.get(key), int):
            other = replace(own, params={**own.params, key: int(value)})
        elif isinstance(own.params.get(key), str):
            other = replace(own, params={**own.params, key: value})
        else:
            continue
        yield Edit("word", name, program=program.with_operation(other))


def _exchanges(claim: Claim, program: Program, own: Operation, channels: Sequence[int]) -> Iterator[Edit]:
    """Channels that are exchanged in pairs, or components with signs: `y, -x, z in place of x, y, z`."""
    for at, source in [(own.name, ""), *_read_before(claim, program)]:
        for order in (
            _pairs_exchanged(claim, program.fields(source or at)),
            *_halves_exchanged(claim, program, source or at),
        ):
            if order:
                yield Edit("exchanged", at, source, tuple(map(float, order)))
    if len(channels) == 2 and claim.has("exchang|swap"):
        order = [{channels[0]: channels[1], channels[1]: channels[0]}.get(place, place) for place in range(own.width)]
        yield Edit("exchanged", own.name, numbers=tuple(map(float, order)), channels=tuple(channels))
    found = re.search(r"with ((?:-?[wxyz], )+-?[wxyz]) in place of ((?:[wxyz], )+[wxyz])", claim.text)
    if found is None:
        return
    for at, source in [(own.name, ""), *_read_before(claim, program)]:
        width = program.vector(source or at).width
        new, old = (each.split(", ") for each in found.groups())
        named = {3: "xyz", 4: "wxyz"}.get(len(new), "")  # the program's quaternions are w, x, y, z
        first = channels[0] if len(channels) == len(new) else 0
        if sorted(old) == sorted(named) and first + len(new) <= width and (first or width == len(new) or channels):
            placed, order, signs = dict(zip(old, new, strict=True)), list(range(width)), [1.0] * width
            for place, name in enumerate(named):
                order[first + place] = first + named.index(placed[name].strip("-"))
                signs[first + place] = -1.0 if placed[name].startswith("-") else 1.0
            yield Edit("signed_axes", at, source, (*map(float, order), *signs))


def _pairs_exchanged(claim: Claim, fields: Sequence[str]) -> list[int]:
    """`with a and b, c and d exchanged`: the order of the fields; nothing where some are not fields, or not all are said."""
    found = re.search(r"with (\S+ and \S+(?:, \S+ and \S+)*) exchanged", claim.text)
    order, places = list(range(len(fields))), {name: place for place, name in enumerate(fields)}
    for one, other in (pair.split(" and ") for pair in (found[1].split(", ") if found else ())):
        if one not in places or other not in places:
            return []
        order[places[one]], order[places[other]] = places[other], places[one]
    return order if found else []


def _halves_exchanged(claim: Claim, program: Program, vector: str) -> Iterator[list[int]]:
    """The channels that a claim lists as data, in pairs: the first half with the second, or each with the next one."""
    listed, width = sorted(claim.channels), program.vector(vector).width
    if not claim.has("exchang") or len(listed) % 2 or not listed or listed[-1] >= width:
        return
    half = len(listed) // 2
    for pairs in (zip(listed[:half], listed[half:], strict=True), zip(listed[::2], listed[1::2], strict=True)):
        order = list(range(width))
        for one, other in pairs:
            order[one], order[other] = other, one
        yield order


def _other_sources(claim: Claim, program: Program, own: Operation) -> Iterator[Edit]:
    """`a in place of b`, where both are vectors of one width."""
    before = {each.name: each.width for each in program.vectors}
    for new, old in re.findall(r"(\w+) in place of (\w+)", claim.text):
        if old in own.of and before.get(new) == before[old]:
            taken = tuple(new if name == old else name for name in own.of)
            yield Edit("source", own.name, program=program.with_operation(replace(own, of=taken)))


def _filled(claim: Claim, program: Program) -> Iterator[Edit]:
    """`filled from other channels: [8:10] from history_2[20:22], hip from knee`: another order of the channels of one vector."""
    text = claim.text.rpartition("filled from other channels: ")[2]
    if text == claim.text or "more runs" in text or "of frame" in text:
        return
    for at, source in [(claim.stage, ""), *_read_before(claim, program)]:
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


def _plus(claim: Claim, program: Program, own: Operation) -> Iterator[Edit]:
    """`affine_0 plus -0.44 in place of it`: a vector of the same width, and a constant."""
    widths = {each.name: each.width for each in program.vectors}
    for name, number in re.findall(r"\b(\w+) plus (-?[\d.e-]+) in place of it", claim.text):
        if widths.get(name) == own.width:
            moved = replace(own, kind="affine", of=(name,), params={"scale": 1.0, "offset": float(number)})
            yield Edit("source", own.name, program=program.with_operation(moved))


def _slices(claim: Claim, program: Program) -> Iterator[Edit]:
    """An input that is read some channels too early or too late."""
    for step in re.findall(r"\w+ read (\d+) channels too", claim.text):
        for at, source in _read_before(claim, program):
            places = np.arange(program.vector(source).width)
            for shift in (int(step), -int(step)):
                yield Edit("permuted", at, source, tuple(np.roll(places, shift).astype(float).tolist()))


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
        now = numbers_of(program, own, key)
        others = [
            (float(each),) * len(now) for each in (*numbers_in(claim.text), *((1.0,) if claim.has("ones") else ()))
        ]
        others = [
            tuple(new[place] if place in channels or not channels else each for place, each in enumerate(now))
            for new in others
        ]
        others += (
            [tuple(np.roll(now, step).tolist()) for step in (-1, 1)] if claim.has("channel|shift|next|before") else []
        )
        others += [
            table
            for other, (table, _) in program.tables.items()
            if claim.has(rf"\b{other}\b") and len(table) == len(now)
        ]
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
    elif kind == "stuck":
        yield from ((each,) for each in (*numbers, 0.0))
    else:
        yield from ((each,) for each in numbers)
