"""Plant every mistake in the independent runtimes of the contracts that ship, and write what was named as a page.

`python -m parity_tests.measuring.scores.declared.declared_score docs/declared-contracts.md [NAME…]`
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.reports.diagnosing.diagnose import diagnose

from .benign import benign_variants
from .score import RIGHT, UNSEEN, Answer, Subject, counted, drawn_pairs, every_mistake, evidence_of, opened
from .subjects import SUBJECTS

SINGLES, PAIRS = 0.98, 0.95
"""The bars: of the mistakes that a recording shows, so many are named. No benign variant may raise an alarm."""
DRAWN_PAIRS = 100
_HEAD = """# Contracts that ship

Each file under fixtures/contracts/ declares somebody's runtime in at most 120 lines. None of them is known to rigpact's packages
by name. For each there is a second runtime in plain numpy under parity_tests/measuring/scores/declared/, written from the
description of the published one, that shares no code with rigpact. It can make every mistake that the contract's knobs name.
docs/contracts/ has a page for each, with a small recording to try.

A mistake is planted, the runtime records only the vectors in the column "recorded", and `rigpact explain` is asked. A mistake is
*named* when it is the answer, or stands among the changes that explain this data equally well. A mistake whose recording is the
same as without it cannot be seen by anybody; it is listed and not counted. *Benign* variants are correct recordings: float64,
fused multiply-adds, other orders of summation, printed numbers.

This page is generated: `python -m parity_tests.measuring.scores.declared.declared_score docs/declared-contracts.md`.
"""


@dataclass(frozen=True, eq=False)
class Score:
    """What was planted in one contract's runtime, and what was answered."""

    name: str
    subject: Subject
    singles: Sequence[Answer]
    pairs: Sequence[Answer]
    benign: int
    alarms: Sequence[str]

    @property
    def meets_the_bars(self) -> bool:
        """Whether enough was named and nothing benign was."""
        return share(self.singles) >= SINGLES and share(self.pairs) >= PAIRS and not self.alarms


def share(answers: Sequence[Answer]) -> float:
    """The part of the mistakes that show which is named."""
    seen = [answer for answer in answers if answer.word != UNSEEN]
    return sum(answer.word in RIGHT for answer in seen) / max(len(seen), 1)


def alarms_of(subject: Subject, variants: Sequence[tuple[str, Any]]) -> list[str]:
    """The benign variants that do not agree with the contract."""
    contract = opened(subject)
    verdicts = {name: diagnose(evidence_of(subject, contract, rows), contract).verdict for name, rows in variants}
    return [f"{name}: {verdict}" for name, verdict in verdicts.items() if verdict != "agrees"]


def score_of(name: str, folder: Path) -> Score:
    """Plant every mistake and the drawn pairs, and look at the benign variants."""
    subject = SUBJECTS[name](folder)
    contract = opened(subject)
    variants = list(benign_variants(subject.record))
    return Score(
        name,
        subject,
        list(counted(subject, every_mistake(contract))),
        list(counted(subject, drawn_pairs(contract, DRAWN_PAIRS))),
        len(variants),
        alarms_of(subject, variants),
    )


def page_of(scores: Sequence[Score]) -> str:
    """The page."""
    rows = [_row(score) for score in scores]
    table = [
        "| contract | stages | knobs | single mistakes named | pairs named | benign variants, alarms | misleading answers |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join([_HEAD, *table, "", *(line for score in scores for line in _section(score))]).rstrip() + "\n"


def _row(score: Score) -> str:
    system = opened(score.subject).system
    misleading = sum(answer.word == "misleading" for answer in (*score.singles, *score.pairs))
    return (
        f"| [{score.name}](#{score.name}) | {len(system.stages)} | {len(system.knobs)} | {_named(score.singles)} |"
        f" {_named(score.pairs)} | {score.benign}, {len(score.alarms)} | {misleading} |"
    )


def _named(answers: Sequence[Answer]) -> str:
    words = Counter(answer.word for answer in answers)
    seen = len(answers) - words[UNSEEN]
    unseen = f"; {words[UNSEEN]} cannot be seen" if words[UNSEEN] else ""
    return f"{sum(words[word] for word in RIGHT)} of {seen} ({share(answers):.1%}){unseen}"


def _section(score: Score) -> list[str]:
    system, path = opened(score.subject).system, score.subject.contract
    networks = ", ".join(system.networks) or "none"
    lines = path.read_text(encoding="utf-8").count("\n")
    parts = [
        f"## {score.name}", "", f"{system.title}. fixtures/contracts/{path.name}, {lines} lines; networks: {networks}.",
        f"Recorded: {', '.join(score.subject.recorded)}.", "",
    ]  # fmt: skip
    left = [answer for answer in (*score.singles, *score.pairs) if answer.word != "named"]
    if left or score.alarms:
        parts += [f"- {_case(answer)}" for answer in left] + [f"- alarm: {alarm}" for alarm in score.alarms] + [""]
    return parts


_REASONS = {
    "unseen": "cannot be seen in this recording: the runtime records the same numbers without it",
    "alike": "the runtime that makes the mistakes of the answer records the same numbers",
    "missed": "the difference is within what rounding explains",
    "located": "the stage is named; no change of one or two conventions explains it all",
    "misleading": "another change explains the recording within rounding",
}


def _case(answer: Answer) -> str:
    said = f" Answer: {_words(answer.said)}." if answer.said and answer.word != UNSEEN else ""
    return f"{_words(answer.planted)}: {_REASONS[answer.word]}.{said}"


def _words(changes: Any) -> str:
    return " with ".join(f"`{name} = {value}`" for name, value in changes.items())


def main(arguments: Sequence[str]) -> int:
    """Write the page, or print it; 1 where a bar is not met."""
    names = [word for word in arguments if word in SUBJECTS] or list(SUBJECTS)
    out = next((Path(word) for word in arguments if word not in SUBJECTS), None)
    with tempfile.TemporaryDirectory() as folder:
        scores = []
        for name in names:
            scores.append(score_of(name, Path(folder)))
            sys.stderr.write(_row(scores[-1]) + "\n")
        page = page_of(scores)
    if out is None:
        sys.stdout.write(page)
    else:
        out.write_text(page, encoding="utf-8", newline="\n")
    return 0 if all(score.meets_the_bars for score in scores) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
