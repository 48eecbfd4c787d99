"""Public threads in which people met a wrong convention, as small cases, and what `rigpact explain` names in each."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.graph.replayed import Evidence, check_widths
from rigpact.reports.diagnosing.diagnose import diagnose

from .threads import robots, rotations
from .threads.thread import FRAMES, Rows, Thread, declared

THREADS = (*robots.THREADS, *rotations.THREADS)


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
