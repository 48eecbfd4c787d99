"""docs/precision.md: what `rigpact explain` says of recordings whose numbers were written coarsely.

`python -m parity_tests.measuring.scores.engine.precision_score docs/precision.md` records the engine's own loop with each of its
mistakes, writes the numbers in each format, and asks. Without an argument it prints the page. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rigpact.fixtures.demo import demo_bundle

from ..planted import FREE, TEACHER, Answer, Planted, judged, publish, says
from .defects import DEFECTS
from .engine_score import CLIP, FREE_FRAMES, explained_recording
from .engine_side import Engine, Files, compiled

NAMED = 0.85
"""The bar: so many answers name the mistake; none may be untrue."""
MISTAKES = tuple(planted for planted in DEFECTS if planted.name != "hysteresis_off_by_one")[::3]
"""Every third of the mistakes that are named where every bit is kept: see docs/engine-defects.md."""
ALSO_TRUE = {
    # the deviations are equal within a thousandth: few digits show the other means, and of one channel the deviation
    "state_by_output_statistics": says("moved by a constant of its own in each channel, as with another mean")
    + says(r"thumb_01_l\[5\] is 1\.001 times"),
}
"""What is true as well where digits are lost: written by hand, from the loop."""
WORDS = ("named", "located", "silent", "elsewhere", "misleading")
_HEAD = """# Numbers that were written coarsely

Recorders print four decimals, or store float16. rigpact finds that in the numbers (`--resolution` declares it), and every
tolerance allows for what the lost digits can lead to. So an honest recording agrees, and a mistake that is larger is still named.
Each row takes recordings of every third of the [engine defects](engine-defects.md), by a loop that shares no code with rigpact,
writes their numbers in one format, and asks `rigpact explain`. A mistake is *silent* where the digits that are left do not show
it.

This page is generated: `python -m parity_tests.measuring.scores.engine.precision_score docs/precision.md` (some minutes; it needs
a C++ compiler). It exits with 1 below {bar} named, or if one answer is not true of its mistake.
"""
Write = Callable[[float], float]


def _decimals(count: int) -> Write:
    return lambda number: float(f"{number:.{count}f}")


def _float16(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float16(number))


FORMATS: dict[str, Write] = {
    "float32": float,
    **{f"{count} decimals": _decimals(count) for count in (6, 5, 4, 3, 2)},
    "float16": _float16,
}


@dataclass(frozen=True, eq=False)
class Row:
    """The answers to recordings in one format; honest: the verdicts on runs without a mistake, by mode."""

    name: str
    honest: Mapping[str, str]
    answers: tuple[Answer, ...]


def written(recording: Path, out: Path, write: Write) -> Path:
    """A recording with every number of every stage written in a format."""
    header, *frames = recording.read_text(encoding="utf-8").splitlines()
    lines = [header]
    for frame in map(json.loads, frames):
        stages = {name: [write(number) for number in row] for name, row in frame["stages"].items()}
        lines.append(json.dumps({**frame, "stages": stages}))
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out


def rows(
    engine: Engine, folder: Path, planted: Sequence[Planted], formats: Sequence[str] = tuple(FORMATS)
) -> Iterator[Row]:
    """One row a format."""
    recorded = [(_also_true(each), _recorded(engine, folder, each)) for each in planted]
    honest = {mode: engine.run(folder / f"{mode}.trace.jsonl", mode, _frames(engine, mode)) for mode in (TEACHER, FREE)}
    for name in formats:
        out, write = folder / "written.trace.jsonl", FORMATS[name]
        verdicts = {
            mode: explained_recording(engine, written(path, out, write)).verdict for mode, path in honest.items()
        }
        answers = [judged(each, explained_recording(engine, written(path, out, write))) for each, path in recorded]
        yield Row(name, verdicts, tuple(answers))


def _also_true(planted: Planted) -> Planted:
    return replace(planted, truths=planted.truths + ALSO_TRUE.get(planted.name, ()))


def _frames(engine: Engine, mode: str) -> int:
    return FREE_FRAMES if mode == FREE else engine.clip_frames - 1


def _recorded(engine: Engine, folder: Path, planted: Planted) -> Path:
    frames = planted.frames or _frames(engine, planted.mode)
    return engine.run(folder / f"{planted.name}.trace.jsonl", planted.mode, frames, planted.number)


def page(found: Sequence[Row]) -> str:
    """docs/precision.md."""
    total = [answer for row in found for answer in row.answers]
    counts = ", ".join(f"{_count(total, word)} {word}" for word in WORDS)
    lines = [
        _HEAD.format(bar=f"{NAMED:.0%}"),
        f"**Of {len(total)} recordings with a mistake: {counts}.**",
        "",
        f"| numbers | without a mistake | {' | '.join(WORDS)} | not named |",
        "|---" * (len(WORDS) + 3) + "|",
        *(_line(row) for row in found),
        "",
    ]
    return "\n".join(lines)


def _line(row: Row) -> str:
    honest = ", ".join(sorted(set(row.honest.values())))
    others = "; ".join(f"{answer.planted.what} ({answer.word})" for answer in row.answers if not answer.is_named)
    counts = " | ".join(str(_count(row.answers, word)) for word in WORDS)
    return f"| {row.name} | {honest} | {counts} | {others or '-'} |"


def _count(answers: Sequence[Answer], word: str) -> int:
    return sum(answer.word == word for answer in answers)


def shortcomings(found: Sequence[Row]) -> list[str]:
    """The bars that are missed, in words."""
    total = [answer for row in found for answer in row.answers]
    missed = [
        f"{row.name}, {mode} run: {verdict}"
        for row in found
        for mode, verdict in row.honest.items()
        if verdict != "agrees"
    ]
    named = _count(total, "named")
    if named < NAMED * len(total):
        missed.append(f"named {named} of {len(total)}, required {NAMED:.0%}")
    wrong = [(row, answer) for row in found for answer in row.answers if answer.word in ("misleading", "elsewhere")]
    return missed + [f"{row.name}: {each.planted.name} is {each.word}: {'; '.join(each.untrue)}" for row, each in wrong]


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(compiled(Path(folder)), Files.of_demo(demo_bundle(), CLIP))
        found = list(rows(engine, Path(folder), MISTAKES))
    return publish(arguments, page(found), shortcomings(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
