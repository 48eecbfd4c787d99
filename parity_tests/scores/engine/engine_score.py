"""docs/engine-defects.md: what `rigpact explain` says of recordings of an engine that makes one of 36 mistakes.

`python -m parity_tests.scores.engine.engine_score docs/engine-defects.md` compiles the loop, plants every mistake and writes the
page; without an argument it prints it. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from .defects import DEFECTS, FREE, TEACHER, Planted, Truth
from .engine_side import SOURCE, Engine, Files, compiled

NAMED, LOCATED = 0.75, 1.0
"""The bars: so many are named, so many located; none is silent, and none gets an answer that is not true of it."""
CLIP = "Walk_Spin"
FREE_FRAMES = 90
SETTINGS = ("condition_direction=trajectory",)
"""An engine that plays a raw clip takes the direction from its trajectory."""
_HEAD = """# Engine defects

`engine_loop.cpp` under parity_tests/scores/engine/ is an engine's own loop, written from the description of the engine. It shares
no code with rigpact but the recorder, which takes {lines} lines of it. Without a mistake, every stage that it records agrees with
the reference, driven by a clip and running free. Each row plants one mistake of the kinds that real engine classes had, records a
run, and asks `rigpact explain`. The loop takes the direction of a raw clip from its trajectory, as the description says; training
takes it from the velocity, and so does the contract: `--set condition_direction=trajectory` declares the loop's.

A mistake is *located* when the first divergence is in a stage where it shows first. It is *named* when a convention or a relation
says what it is. It would be *misleading* to say anything that is not true of it, and *silent* to see nothing.

This page is generated: `python -m parity_tests.scores.engine.engine_score docs/engine-defects.md` (needs a C++ compiler).
"""


@dataclass(frozen=True, eq=False)
class Answer:
    """What was said of one mistake. said: every convention and relation, in words; untrue: those that are not true of it."""

    planted: Planted
    first: str
    said: tuple[str, ...]
    untrue: tuple[str, ...]
    is_located: bool
    is_named: bool

    @property
    def word(self) -> str:
        """One word for the table."""
        if self.untrue:
            return "misleading"
        if self.is_named:
            return "named"
        if self.is_located:
            return "located"
        return "elsewhere" if self.first else "silent"


def explained(engine: Engine, folder: Path, mode: str, frames: int, defect: int = 0) -> Diagnosis:
    """Record a run with one mistake and ask what differs."""
    recording = engine.run(folder / f"{defect}_{mode}.trace.jsonl", mode, frames, defect)
    files = engine.files
    request = ExplainRequest(
        recording,
        ContractFiles(files.bundle, files.companion, settings=SETTINGS),
        EvidenceFiles(files.clip, files.model),
    )
    return explain(request)[0]


def answer_to(engine: Engine, folder: Path, planted: Planted) -> Answer:
    """Plant one mistake and judge the answer."""
    frames = planted.frames or (FREE_FRAMES if planted.mode == FREE else engine.clip_frames - 1)
    return judged(planted, explained(engine, folder, planted.mode, frames, planted.number))


def judged(planted: Planted, diagnosis: Diagnosis) -> Answer:
    """Compare an answer with what is true of a mistake."""
    said: list[tuple[str, bool]] = []
    for cause in diagnosis.causes:
        true = cause.stage in planted.stages and any(_names(cause, truth) for truth in planted.truths)
        said.append((f"{_words(cause.changes)} at {cause.stage}", true))
    for relation in diagnosis.relations:
        true = relation.stage in planted.stages and any(truth.is_said_by(relation.sentence) for truth in planted.truths)
        said.append((relation.sentence, true))
    first = "" if diagnosis.first_divergence is None else diagnosis.first_divergence.stage
    untrue = tuple(words for words, true in said if not true)
    located = diagnosis.verdict not in ("agrees", "undetermined") and first in planted.stages
    return Answer(
        planted, first, tuple(words for words, _ in said), untrue, located, located and bool(said) and not untrue
    )


def _names(cause: Cause, truth: Truth) -> bool:
    readings = (cause.changes, *cause.equivalents)
    return any(set(truth.convention.split()) == set(_words(changes).split(" and ")) for changes in readings)


def _words(changes: dict[str, object]) -> str:
    return " and ".join(f"{knob}={value}" for knob, value in changes.items())


def every_answer(engine: Engine, folder: Path, chosen: Sequence[Planted] = DEFECTS) -> Iterator[Answer]:
    """The answer to each mistake."""
    for planted in chosen:
        yield answer_to(engine, folder, planted)


def shortcomings(answers: Sequence[Answer]) -> list[str]:
    """The bars that are missed, in words."""
    count = len(answers)
    named, located = sum(each.is_named for each in answers), sum(each.is_located for each in answers)
    found = []
    if named < NAMED * count:
        found.append(f"named {named} of {count}, required {NAMED:.0%}")
    if located < LOCATED * count:
        found.append(f"located {located} of {count}, required {LOCATED:.0%}")
    found += [f"{each.planted.name} is {each.word}" for each in answers if each.word in ("misleading", "silent")]
    return found


def page(answers: Sequence[Answer], honest: dict[str, str], lines: int) -> str:
    """docs/engine-defects.md."""
    words = [answer.word for answer in answers]
    count = len(answers)
    located = sum(answer.is_located for answer in answers)
    counts = (
        f"**Of {count} mistakes {words.count('named')} are named and {located} located; {words.count('silent')} are silent, "
        f"{words.count('misleading')} misleading.** Without a mistake: "
        + ", ".join(f"{mode} run {verdict}" for mode, verdict in honest.items())
        + "."
    )
    rows = [f"| {' | '.join(_cells(each))} |" for each in answers]
    table = [
        "| | mistake | run | first divergence | | what `rigpact explain` says |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join((_HEAD.format(lines=lines), counts, "", *table, ""))


def _cells(answer: Answer) -> tuple[str, ...]:
    planted = answer.planted
    return str(planted.number), planted.what, planted.mode, answer.first or "-", answer.word, _shown(answer)


def _shown(answer: Answer) -> str:
    return "; ".join(words.replace("|", "/") for words in answer.said[:2]) + (" …" if len(answer.said) > 2 else "")


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
    text = page(answers, honest, recorder_lines(SOURCE))
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8", newline="\n")
    else:
        sys.stdout.write(text)
    missed = shortcomings(answers) + [f"{mode}: {verdict}" for mode, verdict in honest.items() if verdict != "agrees"]
    sys.stderr.write("".join(f"{words}\n" for words in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
