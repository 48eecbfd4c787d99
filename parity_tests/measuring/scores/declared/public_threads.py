"""Public threads in which people met a wrong convention, as small cases, and what `rigpact explain` names in each.

`python -m parity_tests.measuring.scores.declared.public_threads docs/public-threads.md` writes the table.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.reference_runtime.graph.replayed import Evidence, check_widths
from rigpact.reports.diagnosing.diagnose import diagnose

from .threads import robots, rotations
from .threads.thread import FRAMES, Rows, Thread, declared

THREADS = (*robots.THREADS, *rotations.THREADS)
_HEAD = """# Public threads

People wrote these threads about animation and robot runtimes that computed something else than the training. Each is a small
case here: a declared contract of a few stages, and an engine in plain numpy that makes the mistake of the thread. The engine was
written without rigpact. It records {frames} frames of the vectors in the last column. `rigpact explain` sees this recording and
the contract, and names the convention. Without the mistake every case agrees.

These are our readings of the threads. Nobody ran the code of the people who wrote them.

This page is generated; `python -m parity_tests.measuring.scores.declared.public_threads docs/public-threads.md` writes it.
"""


@dataclass(frozen=True)
class Answer:
    """What `explain` says of one recording: verdict, the conventions that it names, the vectors that it saw."""

    verdict: str
    named: tuple[str, ...]
    recorded: tuple[str, ...]


def answer_to(thread: Thread, seed: int = 0, *, is_wrong: bool = True) -> Answer:
    """Record the thread's engine, with its mistake or without, and diagnose it under the thread's contract."""
    rows = thread.engine(np.random.default_rng(seed), is_wrong)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        path.write_text(declared(thread), encoding="utf-8")
        contract = open_contract(path)
        try:
            check_widths(contract, rows, "recording")
        except UnusableInput:
            return Answer("refused", (), tuple(rows))
        evidence = Evidence(
            np.arange(FRAMES), 50.0, "teacher", {name: rows[name] for name in _in_order(contract, rows)}
        )
        diagnosis = diagnose(evidence, contract)
    causes = (changes for cause in diagnosis.causes for changes in (cause.changes, *cause.equivalents))
    return Answer(diagnosis.verdict, tuple(_words(changes) for changes in causes), tuple(rows))


def is_named(thread: Thread, answer: Answer) -> bool:
    """Whether the thread's own convention is the answer, or one of those that explain this recording equally well."""
    return bool(thread.named) and answer.verdict == "explained" and _words(thread.named) in answer.named


def _in_order(contract: Any, rows: Rows) -> list[str]:
    return [name for name in contract.system.graph.names if name in rows]


def _words(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{knob} = {value}" for knob, value in changes.items())


def page() -> str:
    """docs/public-threads.md."""
    lines = [_HEAD.format(frames=FRAMES)]
    answers = [(thread, answer_to(thread)) for thread in THREADS]
    named = sum(is_named(thread, answer) for thread, answer in answers)
    lines.append(f"Named: {named} of {len(THREADS)}.\n")
    lines.append("| thread | what went wrong | knob named | recorded vectors |\n|---|---|---|---|")
    lines += [_row(thread, answer) for thread, answer in answers]
    return "\n".join([*lines, *_unnamed(answers)]) + "\n"


def _row(thread: Thread, answer: Answer) -> str:
    named = (
        " or ".join(f"`{words}`" for words in answer.named) if is_named(thread, answer) else f"none: {answer.verdict}"
    )
    return f"| {thread.where} | {thread.wrong} | {named} | {', '.join(f'`{name}`' for name in answer.recorded)} |"


def _unnamed(answers: Sequence[tuple[Thread, Answer]]) -> Iterator[str]:
    yield "\n## Not named, and why\n"
    yield from (f"- {thread.where}: {thread.unnamed}" for thread, answer in answers if not is_named(thread, answer))


if __name__ == "__main__":
    write_bytes(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/public-threads.md"), page().encode("utf-8"))
