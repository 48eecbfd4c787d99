"""docs/sparse-recordings.md: what `rigpact explain` says where an engine recorded one stage only.

`python -m parity_tests.measuring.scores.engine.sparse_score docs/sparse-recordings.md` records the engine's own loop once,
declares each value of each convention that is not the loop's, and asks. Without an argument it prints the page. It exits with 1
if a bar is missed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import ChannelOrder, InputOrder
from rigpact.contract.errors import UnusableInput
from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain
from rigpact.reports.terminal import tracked

from ..planted import TEACHER, publish
from .engine_score import CLIP
from .engine_side import Engine, Files, compiled

NAMED = 0.7
"""The bar: so many declarations that the stage shows are named; none may be misleading."""
RECORDED = (("y_out", TEACHER), ("quat", TEACHER))
"""A free run of one stage is undetermined: nothing says what its next frame starts from."""
WORDS = ("named", "located", "misleading")
_HEAD = """# One recorded stage

An engine often records what it publishes and no more. Each row takes a recording of [the engine's own loop](engine-defects.md),
which shares no code with rigpact, keeps one stage of it, and asks `rigpact explain` with the clip and the model, under a contract
that declares one convention wrongly: each value in turn of every convention that is not the loop's. The right answer is the
loop's own value. Where the stage does not show a convention at all, the answer is that it agrees; such a declaration is not
counted.

This page is generated: `python -m parity_tests.measuring.scores.engine.sparse_score docs/sparse-recordings.md` (some minutes; it
needs a C++ compiler). It exits with 1 below {bar} named, or if one answer is not true.
"""


@dataclass(frozen=True)
class Case:
    """A convention that is declared wrongly, and what was answered."""

    stage: str
    mode: str
    knob: str
    declared: str
    word: str
    said: str


def wrong_declarations(contract: Any) -> Iterator[tuple[str, Any]]:
    """Each value of each convention that is not the loop's; those that such files cannot have are left out."""
    for name, knob in contract.system.knobs.items():
        if knob.is_benign or isinstance(knob, ChannelOrder | InputOrder):
            continue
        for value in knob.alternatives(contract.conventions[name]):
            try:
                contract.with_conventions({name: value})
            except UnusableInput:
                continue
            yield name, value


def kept(recording: Path, stage: str, out: Path) -> Path:
    """The recording with one stage."""
    header, *frames = map(json.loads, recording.read_text(encoding="utf-8").splitlines())
    header["stages"] = {stage: header["stages"][stage]}
    lines = [header, *({**frame, "stages": {stage: frame["stages"][stage]}} for frame in frames)]
    out.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8", newline="\n")
    return out


def cases(engine: Engine, folder: Path, recorded: Sequence[tuple[str, str]] = RECORDED) -> Iterator[Case]:
    """Every declaration at every recorded stage; those that the stage does not show are left out."""
    files = engine.files
    contract = open_contract(files.bundle, files.companion)
    declarations = [(stage, mode, *wrong) for stage, mode in recorded for wrong in wrong_declarations(contract)]
    runs = {mode: engine.run(folder / f"{mode}.trace.jsonl", mode, engine.clip_frames - 1) for _, mode in recorded}
    for stage, mode, knob, value in tracked(declarations, "declarations"):
        trace = kept(runs[mode], stage, folder / "kept.trace.jsonl")
        word, said = _judged(_explained(trace, files, knob, value), knob, contract.conventions[knob])
        if word != "not shown":
            yield Case(stage, mode, knob, _text(value), word, said)


def _explained(trace: Path, files: Files, knob: str, value: Any) -> Diagnosis | None:
    contract = ContractFiles(files.bundle, files.companion, (f"{knob}={_text(value)}",))
    request = ExplainRequest(trace, contract, EvidenceFiles(files.clip, files.model))
    try:
        return explain(request)[0]
    except UnusableInput:  # such a contract cannot run
        return None


def _judged(found: Diagnosis | None, knob: str, truth: Any) -> tuple[str, str]:
    """One word, and what was said."""
    if found is None or found.verdict in ("agrees", "undetermined"):
        return "not shown", ""
    said = [_words(cause.changes) for cause in found.causes] + [relation.sentence for relation in found.relations]
    readings = [reading for cause in found.causes for reading in (cause.changes, *cause.equivalents)]
    if {knob: truth} in readings and len(said) == 1:
        return "named", said[0]
    return ("misleading" if said else "located"), "; ".join(said)


def _words(changes: Mapping[str, Any]) -> str:
    return " and ".join(f"{name}={_text(value)}" for name, value in changes.items())


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def page(found: Sequence[Case]) -> str:
    """docs/sparse-recordings.md."""
    named = sum(case.word == "named" for case in found)
    lines = [
        _HEAD.format(bar=f"{NAMED:.0%}"),
        f"**Of {len(found)} declarations that the stage shows {named} are named.**",
        "",
        f"| recorded | run | {' | '.join(WORDS)} | not named |",
        "|---" * (len(WORDS) + 3) + "|",
    ]
    for stage, mode in RECORDED:
        of_row = [case for case in found if (case.stage, case.mode) == (stage, mode)]
        counts = " | ".join(str(sum(case.word == word for case in of_row)) for word in WORDS)
        others = "; ".join(f"{case.knob}={case.declared} ({case.word})" for case in of_row if case.word != "named")
        lines.append(f"| {stage} | {mode} | {counts} | {others or '-'} |")
    return "\n".join((*lines, ""))


def shortcomings(found: Sequence[Case]) -> list[str]:
    """The bars that are missed, in words."""
    named = sum(case.word == "named" for case in found)
    missed = [] if named >= NAMED * len(found) else [f"named {named} of {len(found)}, required {NAMED:.0%}"]
    wrong = (case for case in found if case.word == "misleading")
    return missed + [f"{case.stage}, {case.mode}, {case.knob}={case.declared}: {case.said}" for case in wrong]


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(compiled(Path(folder)), Files.of_demo(demo_bundle(), CLIP))
        found = list(cases(engine, Path(folder)))
    return publish(arguments, page(found), shortcomings(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
