"""Every field of a drawn runtime against what is inferred from its recording: right, withheld or wrong.

`python -m parity_tests.measuring.scores.layouts.layout_score [PAGE]`
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from parity_tests.measuring.scores.layouts.runtimes import Runtime, Term, draw

from rigpact.reference_runtime.recordings.precision import precision_of
from rigpact.reports.importing.layout.layout import Layout, infer_layout
from rigpact.reports.importing.layout.pieces import Found, Piece
from rigpact.reports.importing.layout.sources import sources_of

RUNTIMES = 200
Field = tuple[str, str]
"""A field's name, and right, withheld or wrong."""


def inferred(runtime: Runtime) -> Layout:
    """What the recording alone says."""
    precision = precision_of(runtime.columns)
    rows = {name: values.astype(np.float64) for name, values in runtime.columns.items()}
    held = rows.pop("obs")
    follows = np.arange(len(held)) > 0
    return infer_layout(held, sources_of(rows, ["action"], follows, precision), follows, precision=precision)


def fields_of(runtime: Runtime, found: Layout) -> Iterator[Field]:
    """Each field of the runtime."""
    told = [part.block for part in found.parts if part.block.is_told]
    length, order = _only({each.length for each in told}), _only({each.order for each in told} - {None})
    yield "history length", _judged(length, runtime.length)
    if runtime.length > 1:
        is_kept = length not in (None, 1)
        yield "layout", _judged(_layout(found) if is_kept else None, runtime.layout)
        yield "order", _judged(order, runtime.order)
        if runtime.start is not None:
            yield "start", _judged(found.start, runtime.start)
    at = 0
    columns = _newest(found)
    for term in runtime.terms:
        for place in range(len(term.channels)):
            held = columns.get(at + place)
            for name, said, true in _of_column(term, place, held):
                yield f"{name}", _judged(said, true)
        at += len(term.channels)


def _only(said: set[Any]) -> Any:
    """What all blocks say; None where they differ, or say nothing."""
    return said.pop() if len(said) == 1 else None


def _layout(found: Layout) -> str | None:
    """term_major, frame_major, or None: a history of one term is both."""
    if len(found.parts) > 1:
        return "term_major"
    return "frame_major" if len(found.parts[0].pieces) > 1 else None


def _newest(found: Layout) -> dict[int, tuple[Piece, Found]]:
    """Of each column of the newest frame, its piece and what it is."""
    columns: dict[int, tuple[Piece, Found]] = {}
    at = 0
    for part in found.parts:
        for piece in part.pieces if part.block.is_told else ():
            for place, each in enumerate(piece.columns):
                if each is not None and each.is_sure:
                    columns[at + piece.start + place] = piece, each
        at += part.block.width
    return columns


def _of_column(term: Term, place: int, held: tuple[Piece, Found] | None) -> Iterator[tuple[str, Any, Any]]:
    if term.source is None:
        yield "a term that nothing recorded holds", None if held is None else "something", None
        return
    piece, each = (None, None) if held is None else held
    source = None if piece is None else piece.source
    is_right = source is not None and source.name == term.source and source.is_before == (term.kind == "last_action")
    is_right = is_right and (source is not None and (source.turn is not None) == (term.kind == "gravity"))
    yield "source", None if source is None else is_right, True
    if term.kind == "gravity":
        yield "quaternion order", None if source is None or source.turn is None else source.turn.order, term.order
    yield "channel", None if each is None else each.channel, term.channels[place]
    yield "scale", None if each is None else _like(each.line.scale, term.scale[place]), True
    off = None if each is None else each.line.subtract - each.line.offset / each.line.scale
    yield "subtract", None if off is None else _like(off, term.subtract[place]), True


def _like(said: float, true: float) -> bool:
    return abs(said - true) <= 2e-6 * max(1.0, abs(true))


def _judged(said: Any, true: Any) -> str:
    if true is None:
        return "right" if said is None else "wrong"
    return "withheld" if said is None else "right" if said == true else "wrong"


def score(seeds: range) -> tuple[Counter[Field], list[str]]:
    """How many of each field are right, withheld and wrong; where something is wrong, in words."""
    counts: Counter[Field] = Counter()
    wrong = []
    for seed in seeds:
        runtime = draw(seed)
        for name, verdict in fields_of(runtime, inferred(runtime)):
            counts[name, verdict] += 1
            if verdict == "wrong":
                wrong.append(f"runtime {seed}: {name}")
    return counts, wrong


def page(counts: Counter[Field]) -> str:
    """The score as a page."""
    names = list(dict.fromkeys(name for name, _ in counts))
    rows = [f"| {name} | " + " | ".join(str(counts[name, word]) for word in _WORDS) + " |" for name in names]
    total = [sum(counts[name, word] for name in names) for word in _WORDS]
    share = 100.0 * total[0] / sum(total)
    return "\n".join((
        "# The layout of an input, from a recording", "",
        f"{RUNTIMES} runtimes are drawn: terms, widths, scales, offsets, joint orders, history, start. Each records its sensors,",
        "its answers and the network's input, some also targets or other columns, some in six decimals. `rigpact init",
        "--contract` reads the layout from the recording alone. A field is right, withheld (the recording does not tell it),",
        "or wrong.", "",
        "This page is generated: `python -m parity_tests.measuring.scores.layouts.layout_score docs/layout-score.md`.", "",
        "| field | right | withheld | wrong |", "|---|---|---|---|", *rows,
        f"| together | {total[0]} ({share:.1f} %) | {total[1]} | {total[2]} |", "",
    ))  # fmt: skip


_WORDS = ("right", "withheld", "wrong")


def main() -> None:
    """Print the score, or write its page."""
    counts, wrong = score(range(RUNTIMES))
    text = page(counts)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    sys.stdout.write("\n".join((text, *wrong[:20], "")))


if __name__ == "__main__":
    main()
