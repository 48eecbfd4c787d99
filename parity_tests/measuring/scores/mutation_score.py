"""docs/mutation.md: how many mutants the gate catches, and how many the usual comparators catch.

`python -m parity_tests.measuring.scores.mutation_score docs/mutation.md` runs the whole catalogue and writes the page. Without an
argument it prints the page. A mutant is killed when `check --strict`, `diff` or `explain` does not pass.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rigpact.contract import read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import FindingsReport
from rigpact.contract.model.signature import read_model_signature
from rigpact.contract.rules import Subject, check
from rigpact.fixtures.demo import demo_bundle
from rigpact.fixtures.mutants.artefacts import BUNDLE, CLIP, COMPANION
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reference_runtime.recordings.trace import Trace, read_trace
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered

from .benign import Benign, benign_variants
from .catalogue import FILES, MODEL, SURVIVORS, Case, Mutant, all_mutants, honest_trace
from .diagnosis_score import evidence_of
from .incumbents import Arrays, installed

GATE = ("check", "diff", "explain")
POSE, EVERYTHING = "the pose", "every stage"


@dataclass(frozen=True)
class Outcome:
    """What killed a mutant: the parts of the gate; the comparators, by name and by what they were given."""

    name: str
    kind: str
    gate: tuple[str, ...]
    others: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    @property
    def killed(self) -> bool:
        """Whether the gate caught it."""
        return bool(self.gate)


def run_mutant(mutant: Mutant) -> Outcome:
    """Put one mutant through the gate and through the comparators."""
    with tempfile.TemporaryDirectory() as folder:
        case = mutant.make(Path(folder))
        judges = {"check": _check_fails, "diff": _diff_fails, "explain": _explain_fails}
        gate = tuple(name for name, fails in judges.items() if fails(case))
        return Outcome(mutant.name, mutant.kind, gate, frozenset(_others(case)))


def _check_fails(case: Case) -> bool:
    if not case.files and case.model is None:
        return False
    try:
        return _checked(case).exit_code(strict=True) != 0
    except UnusableInput:
        return True


def _checked(case: Case) -> FindingsReport:
    bundle, companion, clip = (
        read_document(case.files.get(kind, demo_bundle() / FILES[kind])) for kind in (BUNDLE, COMPANION, CLIP)
    )
    model = case.model or read_model_signature(demo_bundle() / MODEL)
    return check(Subject(bundle, companion, (clip,), model))


def _diff_fails(case: Case) -> bool:
    try:
        found = _found(case)
        if found is None:
            return True
        expected = _as_recording(case.reference or honest_trace(case.scene), "expected")
        return judge(compare(expected, found, case.scene.contract)).exit_code(strict=True) != 0
    except UnusableInput:
        return True


def _explain_fails(case: Case) -> bool:
    scene = case.scene
    if case.trace is not None:
        return diagnose(evidence_of(scene, case.trace), scene.contract, with_pairs=False).exit_code != 0
    if case.recording is None:
        return False
    try:
        gathered = read_evidence(case.recording, scene.contract, EvidenceFiles(demo_bundle() / FILES[CLIP]))
        without_model = scene.contract.system.graph.answers
        return diagnose_gathered(gathered, with_pairs=False, allow_unjudged=without_model).exit_code != 0
    except UnusableInput:
        return True


def _found(case: Case) -> Recording | None:
    """The engine's recording; None if the engine did not start."""
    if case.recording is not None:
        return read_recording(case.recording, case.scene.contract)
    return None if case.trace is None else _as_recording(case.trace, "found")


def _as_recording(trace: Trace, name: str) -> Recording:
    return Recording(Path(name), "trace", trace, frozenset(trace.stages))


def _others(case: Case) -> Iterable[tuple[str, str]]:
    """The comparators that do not pass. If the engine does not start or a file cannot be read, all of them count."""
    expected = (case.reference or honest_trace(case.scene)).stages
    found = _arrays(case)
    for name, passes in installed().items():
        for given, chosen in ((POSE, _pose), (EVERYTHING, dict)):
            with np.errstate(all="ignore"):  # the comparators compute with values that are not finite
                if found is None or not passes(chosen(expected), chosen(found)):
                    yield name, given


def _arrays(case: Case) -> Arrays | None:
    if case.trace is not None:
        return case.trace.stages
    try:
        return None if case.recording is None else read_trace(case.recording).stages
    except UnusableInput:
        return None


def _pose(arrays: Arrays) -> Arrays:
    return {name: rows for name, rows in arrays.items() if name == "y_out"}


@dataclass(frozen=True)
class Alarms:
    """False alarms on benign variants: of the gate, and of each comparator given every stage and given the pose."""

    total: int
    gate: tuple[str, ...]
    others: Counter[tuple[str, str]]


def run_benign(variants: Iterable[Benign]) -> Alarms:
    """Count the alarms on recordings that are right. Comparators see only variants that record what they are given."""
    total, gate, others = 0, [], Counter[tuple[str, str]]()
    for variant in variants:
        total += 1
        scene, trace = variant.scene, variant.trace
        if diagnose(evidence_of(scene, trace), scene.contract, with_pairs=False).verdict not in (
            "agrees",
            "undetermined",
        ):
            gate.append(variant.name)
        expected = _honest_rows(variant)
        for name, passes in installed().items():
            others[name, EVERYTHING] += not passes(expected, trace.stages)
            others[name, POSE] += not passes(_pose(expected), _pose(trace.stages)) if "y_out" in expected else 0
    return Alarms(total, tuple(gate), others)


def _honest_rows(variant: Benign) -> Arrays:
    """The values of the right run, at the stages and frames that the variant recorded."""
    honest = honest_trace(variant.scene)
    return {name: honest.stages[name][variant.trace.frame] for name in variant.trace.stages}


def survivors(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Mutants that the gate let pass."""
    return [outcome for outcome in outcomes if not outcome.killed]


_HEAD = """# Mutation score

Would the gate notice? Each mutant below is an engine, a file or a recording with one thing wrong. It goes through
`rigpact check --strict`, `rigpact diff` against a right run and `rigpact explain`; it is killed when one of them does not
pass. The same recordings go through three comparators that teams use today, each as it comes and with its default
tolerances, once with the published pose (`y_out`), once with every recorded stage. A mutant whose engine does not come up,
or whose file cannot be read, counts as killed by all of them.

This page is generated: `python -m parity_tests.measuring.scores.mutation_score docs/mutation.md` (extra `bench`).

"""


def mutation_page(outcomes: Sequence[Outcome], alarms: Alarms) -> str:
    """docs/mutation.md."""
    alive = survivors(outcomes)
    killed = len(outcomes) - len(alive)
    lines = [
        f"**Killed {killed} of {len(outcomes)} mutants ({killed / len(outcomes):.1%}); "
        f"{len(alarms.gate)} alarms on {alarms.total} benign variants.**\n",
        *_totals(outcomes, alarms),
        "\n## Survivors\n",
        *(f"- `{entry.name}`: {SURVIVORS.get(entry.name, 'NOT ARGUED')}" for entry in alive),
        "\n## Every mutant\n",
        *_rows(outcomes),
    ]
    return _HEAD + "\n".join(lines) + "\n"


def _totals(outcomes: Sequence[Outcome], alarms: Alarms) -> list[str]:
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))
    columns = [f"{kind} ({sum(outcome.kind == kind for outcome in outcomes)})" for kind in kinds]
    rows = [
        _total_row(
            "**rigpact**, check + diff + explain",
            [outcome for outcome in outcomes if outcome.killed],
            kinds,
            len(outcomes),
            f"{len(alarms.gate)} of {alarms.total}",
        )
    ]
    for part in GATE:
        rows.append(
            _total_row(
                f"rigpact {part} alone", [entry for entry in outcomes if part in entry.gate], kinds, len(outcomes), ""
            )
        )
    for name in installed():
        for given in (POSE, EVERYTHING):
            caught = [entry for entry in outcomes if (name, given) in entry.others]
            false = f"{alarms.others[name, given]} of {alarms.total}"
            rows.append(_total_row(f"{name}, given {given}", caught, kinds, len(outcomes), false))
    head = f"| killed by | all ({len(outcomes)}) | {' | '.join(columns)} | false alarms |"
    return [head, "|---" * (len(columns) + 3) + "|", *rows]


def _total_row(name: str, caught: Sequence[Outcome], kinds: Sequence[str], total: int, alarms: str) -> str:
    counts = " | ".join(str(sum(entry.kind == kind for entry in caught)) for kind in kinds)
    return f"| {name} | {len(caught)} ({len(caught) / total:.0%}) | {counts} | {alarms} |"


def _rows(outcomes: Sequence[Outcome]) -> list[str]:
    names = list(installed())
    head = f"| mutant | kind | rigpact | {' | '.join(names)} |"
    rows = [
        f"| {entry.name} | {entry.kind} | {', '.join(entry.gate) or 'survives'} | "
        + " | ".join(_by(entry, name) for name in names)
        + " |"
        for entry in outcomes
    ]
    return [head, "|---" * (len(names) + 3) + "|", *rows]


def _by(entry: Outcome, name: str) -> str:
    given = [given for given in (POSE, EVERYTHING) if (name, given) in entry.others]
    return {0: "survives", 1: f"{', '.join(given)} only", 2: "killed"}[len(given)]


def main(arguments: Sequence[str]) -> None:
    """Run everything; write the page, or print it."""
    page = mutation_page([run_mutant(mutant) for mutant in all_mutants()], run_benign(benign_variants()))
    if arguments:
        write_bytes(Path(arguments[0]), page.encode("utf-8"))
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
