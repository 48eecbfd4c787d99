"""docs/situations.md: forty labelled situations, and what `rigpact explain` answers.

`python -m parity_tests.measuring.scores.engine.situations_score docs/situations.md` writes the page; without an argument it
prints it. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain
from rigpact.reports.terminal import tracked

from ..planted import FREE, publish, said_by
from .engine_score import CLIP, FREE_FRAMES
from .engine_side import Engine, Files, compiled
from .situations import SITUATIONS, Situation

NAMED = 0.95
"""The bar: so many situations are named; none may get an answer that is not true of it."""
_HEAD = """# Situations

Forty questions that people ask, each with its true answer, written by hand: mistakes of [an engine's own loop](engine-defects.md)
that shares no code with rigpact, alone and in pairs, the wrong clip or bundle, a recording that starts elsewhere, coarse numbers,
one recorded stage. A situation is *named* when everything that is true of it is said, and nothing else. A sound recording is
*named* when the answer is that it agrees.

This page is generated: `python -m parity_tests.measuring.scores.engine.situations_score docs/situations.md` (a few minutes; it
needs a C++ compiler). It exits with 1 below {bar} named, or if one answer is not true.
"""


@dataclass(frozen=True)
class Answered:
    """What was said of a situation. untrue: what is not true of it."""

    situation: Situation
    verdict: str
    said: tuple[str, ...]
    untrue: tuple[str, ...]
    is_named: bool

    @property
    def word(self) -> str:
        """One word for the table."""
        if self.untrue:
            return "misleading"
        return "named" if self.is_named else "located" if self.verdict != "agrees" else "silent"


def files_in(folder: Path) -> Files:
    """The demo's files, and beside its bundle an older export with other statistics and scales."""
    shutil.copytree(demo_bundle(), folder, dirs_exist_ok=True)
    files = Files.of_demo(folder, CLIP)
    older = json.loads(files.bundle.read_bytes())
    older["MuX"] = [0.9 * value + 0.01 for value in older["MuX"]]
    older["StdX"] = [1.1 * value for value in older["StdX"]]
    older["tanh_scales_angvel"] = [2.0 * value for value in older["tanh_scales_angvel"]]
    (folder / "older.json").write_text(json.dumps(older), encoding="utf-8")
    return files


def answer_to(engine: Engine, folder: Path, situation: Situation) -> Answered:
    """Record, change, ask, judge."""
    found = _asked(engine, _recorded(engine, folder, situation), situation)
    said = tuple(said_by(found))
    every = [truth for group in situation.groups for truth in group]
    untrue = tuple(words for words, is_true in said if not any(map(is_true, every)))
    missing = [group for group in situation.groups if not any(is_true(truth) for _, is_true in said for truth in group)]
    is_sound = not situation.groups
    is_named = found.verdict == "agrees" if is_sound else not (missing or untrue) and found.verdict != "agrees"
    return Answered(situation, found.verdict, tuple(words for words, _ in said), untrue, is_named)


def _recorded(engine: Engine, folder: Path, situation: Situation) -> Path:
    frames = FREE_FRAMES if situation.mode == FREE else engine.clip_frames - 1
    if "thirty_hertz" in situation.mistakes:
        frames //= 2
    path = engine.run(folder / "run.trace.jsonl", situation.mode, frames, *situation.numbers)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for change in situation.changes:
        lines = change(lines)
    out = folder / "asked.trace.jsonl"
    out.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8", newline="\n")
    return out


def _asked(engine: Engine, recording: Path, situation: Situation) -> Diagnosis:
    files = engine.files
    bundle = files.bundle if situation.bundle is None else files.bundle.with_name(situation.bundle)
    clip = files.clip if situation.clip is None else files.clip.with_name(f"{situation.clip}.json")
    contract = ContractFiles(bundle, files.companion)
    return explain(ExplainRequest(recording, contract, EvidenceFiles(clip, files.model)))[0]


def answers(engine: Engine, folder: Path, chosen: Sequence[Situation] = SITUATIONS) -> Iterator[Answered]:
    """The answer to each situation."""
    for situation in tracked(chosen, "situations"):
        yield answer_to(engine, folder, situation)


def page(found: Sequence[Answered]) -> str:
    """docs/situations.md."""
    named = sum(each.is_named for each in found)
    misleading = sum(each.word == "misleading" for each in found)
    lines = [
        _HEAD.format(bar=f"{NAMED:.0%}"),
        f"**Of {len(found)} situations {named} are named, {misleading} misleading.**",
        "",
        "| situation | | verdict | what `rigpact explain` says |",
        "|---|---|---|---|",
        *(f"| {each.situation.what} | {each.word} | {each.verdict} | {_shown(each.said)} |" for each in found),
        "",
    ]
    return "\n".join(lines)


def _shown(said: Sequence[str]) -> str:
    return "; ".join(words.replace("|", "/") for words in said[:3]) + (" …" if len(said) > 3 else "")


def shortcomings(found: Sequence[Answered]) -> list[str]:
    """The bars that are missed, in words."""
    named = sum(each.is_named for each in found)
    missed = [] if named >= NAMED * len(found) else [f"named {named} of {len(found)}, required {NAMED:.0%}"]
    wrong = (each for each in found if not each.is_named)
    lines = [f"{each.situation.what}: {each.word}; {'; '.join(each.untrue or each.said)}" for each in wrong]
    return missed + lines if missed or any(each.untrue for each in found) else []


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(compiled(Path(folder)), files_in(Path(folder) / "game"))
        found = list(answers(engine, Path(folder)))
    return publish(arguments, page(found), shortcomings(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
