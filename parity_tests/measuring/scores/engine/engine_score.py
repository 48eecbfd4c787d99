"""docs/engine-defects.md: what `rigpact explain` says of recordings of an engine that makes one of 36 mistakes.

`python -m parity_tests.measuring.scores.engine.engine_score docs/engine-defects.md` compiles the loop, plants every mistake and
writes the page; without an argument it prints it. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..planted import FREE, MISTAKE, NUMBER, RUN, TEACHER, Answer, Planted, judged, page, publish, shortcomings
from .defects import DEFECTS
from .engine_side import SOURCE, Engine, Files, compiled

NAMED = 0.75
"""The bar: so many are named."""
CLIP = "Walk_Spin"
FREE_FRAMES = 90
_HEAD = """# Engine defects

`engine_loop.cpp` under parity_tests/measuring/scores/engine/ is an engine's own loop, written from the description of the engine.
It shares no code with rigpact but the recorder, which takes {lines} lines of it. Without a mistake, every stage that it records
agrees with the reference, driven by a clip and running free. Each row plants one mistake of the kinds that real engine classes
had, records a run, and asks `rigpact explain`.

A mistake is *located* when the first divergence is in a stage where it shows first. It is *named* when a convention or a relation
says what it is. It would be *misleading* to say anything that is not true of it, and *silent* to see nothing.

This page is generated: `python -m parity_tests.measuring.scores.engine.engine_score docs/engine-defects.md` (needs a C++
compiler).
"""


def explained(engine: Engine, folder: Path, mode: str, frames: int, *defects: int) -> Diagnosis:
    """Record a run with some mistakes and ask what differs."""
    return explained_recording(engine, engine.run(folder / f"{mode}.trace.jsonl", mode, frames, *defects))


def explained_recording(engine: Engine, recording: Path) -> Diagnosis:
    """What differs in a recording of the engine."""
    files = engine.files
    request = ExplainRequest(
        recording,
        ContractFiles(files.bundle, files.companion),
        EvidenceFiles(files.clip, files.model),
    )
    return explain(request)[0]


def answer_to(engine: Engine, folder: Path, planted: Planted) -> Answer:
    """Plant one mistake and judge the answer."""
    frames = planted.frames or (FREE_FRAMES if planted.mode == FREE else engine.clip_frames - 1)
    return judged(planted, explained(engine, folder, planted.mode, frames, planted.number))


def every_answer(engine: Engine, folder: Path, chosen: Sequence[Planted] = DEFECTS) -> Iterator[Answer]:
    """The answer to each mistake."""
    for planted in chosen:
        yield answer_to(engine, folder, planted)


def honest_verdicts(engine: Engine, folder: Path) -> dict[str, str]:
    """The verdicts on the loop without a mistake, by mode."""
    frames = {TEACHER: engine.clip_frames - 1, FREE: FREE_FRAMES}
    return {mode: explained(engine, folder, mode, count).verdict for mode, count in frames.items()}


def recorder_lines(source: Path) -> int:
    """The lines of the loop that only a recorded build has."""
    return source.read_text(encoding="utf-8").count("// +\n")


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(compiled(Path(folder)), Files.of_demo(demo_bundle(), CLIP))
        honest = honest_verdicts(engine, Path(folder))
        answers = list(every_answer(engine, Path(folder)))
    words = ", ".join(f"{mode} run {verdict}" for mode, verdict in honest.items())
    text = page(_HEAD.format(lines=recorder_lines(SOURCE)), answers, words, (NUMBER, MISTAKE, RUN))
    return publish(arguments, text, shortcomings(answers, honest, NAMED))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
