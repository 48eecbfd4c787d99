"""Why two sides differ: each recorded stage judged, the convention that explains it named (explanation.py finds it).

Defects that are no convention come out as `unexplained` with stage and address, never as a made-up cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import STAGES
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.statistics import FloatArray
from rigpact.reports.comparing.address import Address, channel_address
from rigpact.reports.diagnosing.code_hints import code_hint
from rigpact.reports.diagnosing.explanation import Explanation, search
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.judged_changes import Changes
from rigpact.reports.diagnosing.replay import Evidence, Replay, needed_for
from rigpact.reports.diagnosing.stage_error import UNIT, StageError, error_between, largest_in_unit

Verdict = Literal["agrees", "explained", "unexplained", "undetermined"]
EXIT_OF: Mapping[Verdict, int] = {
    "agrees": EXIT_PASS,
    "explained": EXIT_FINDINGS,
    "unexplained": EXIT_FINDINGS,
    "undetermined": EXIT_CANNOT_JUDGE,
}


@dataclass(frozen=True, eq=False)
class StageVerdict:
    """One stage: its own error and what it inherits, in its unit; why it was not judged if it was not."""

    stage: str
    local_error: float | None
    inherited_error: float | None
    tolerance: float | None
    ok: bool | None
    unit: str
    needs: str | None = None


@dataclass(frozen=True, eq=False)
class Divergence:
    """Where a recording first leaves its replay."""

    frame: int
    stage: str
    address: Address
    error: float | None
    unit: str


@dataclass(frozen=True, eq=False)
class Cause:
    """Changes of conventions that bring a stage, and all that depend on them, within rounding.

    In `frames_explained` of `frames` frames, that is; where it is not all of them, the verdict is `unexplained`.
    `equivalents` do so just as well on this data. The errors are those of `stage`, without and with the changes.
    """

    stage: str
    changes: Changes
    equivalents: tuple[Changes, ...]
    error_before: float
    error_after: float
    unit: str
    code_hints: tuple[str, ...]
    frames_explained: int
    frames: int


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The answer of `explain`."""

    verdict: Verdict
    first_divergence: Divergence | None
    stages: tuple[StageVerdict, ...]
    causes: tuple[Cause, ...]
    indistinguishable: tuple[tuple[str, Any], ...]

    @property
    def exit_code(self) -> int:
        """Exit status of the command."""
        return EXIT_OF[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-diagnosis` document, version 1."""
        first = self.first_divergence
        return {
            "format": "rigpact-diagnosis",
            "version": 1,
            "verdict": self.verdict,
            "first_divergence": None if first is None else {
                "frame": first.frame, "stage": first.stage, "bone": first.address.bone,
                "channel": first.address.channel, "error": first.error, "unit": first.unit,
            },
            "stages": [vars(stage) for stage in self.stages],
            "causes": [_cause_to_json(cause) for cause in self.causes],
            "indistinguishable": [[knob, _plain(value)] for knob, value in self.indistinguishable],
        }  # fmt: skip


def _cause_to_json(cause: Cause) -> dict[str, Any]:
    return vars(cause) | {
        "changes": _plain_changes(cause.changes),
        "equivalents": [_plain_changes(changes) for changes in cause.equivalents],
        "code_hint": "; ".join(cause.code_hints),
    }


def _plain_changes(changes: Changes) -> dict[str, Any]:
    return {knob: _plain(value) for knob, value in changes.items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def diagnose(evidence: Evidence, contract: Contract, *, with_pairs: bool = True) -> Diagnosis:
    """Judge every recorded stage and search for the conventions that explain those that differ."""
    hypotheses = Hypotheses(evidence, contract)
    stages = tuple(_stage_verdicts(hypotheses))
    if not hypotheses.judged:
        return Diagnosis("undetermined", _first_not_finite(evidence, contract), stages, (), ())
    failing = hypotheses.failing({})
    first = _first_divergence(hypotheses)
    if not failing:
        verdict: Verdict = "agrees" if first is None else "unexplained"
        return Diagnosis(verdict, first, stages, (), tuple(_indistinguishable(hypotheses, {})))
    causes, unresolved = search(hypotheses, with_pairs=with_pairs)
    explained = not unresolved and _first_not_finite(evidence, contract) is None
    accepted = {knob: value for cause in causes for knob, value in cause.changes.items()}
    found = tuple(_cause(hypotheses, explanation) for explanation in causes)
    told = tuple(_indistinguishable(hypotheses, accepted)) if explained else ()
    return Diagnosis("explained" if explained else "unexplained", first, stages, found, told)


def _cause(hypotheses: Hypotheses, explanation: Explanation) -> Cause:
    stage, before = explanation.stage, explanation.base
    errors = [hypotheses.error(stage, changes) for changes in (before, {**before, **explanation.changes})]
    return Cause(
        stage=stage,
        changes=explanation.changes,
        equivalents=explanation.equivalents,
        error_before=_size(errors[0], hypotheses.contract),
        error_after=_size(errors[1], hypotheses.contract),
        unit=UNIT.get(stage, "raw"),
        code_hints=tuple(code_hint(knob, value) for knob, value in explanation.changes.items()),
        frames_explained=0 if errors[1] is None else errors[1].frames_within,
        frames=0 if errors[1] is None else errors[1].frames_judged,
    )


def _size(error: StageError | None, contract: Contract) -> float:
    return float("nan") if error is None else largest_in_unit(error, contract)


def _stage_verdicts(hypotheses: Hypotheses) -> list[StageVerdict]:
    evidence, contract = hypotheses.evidence, hypotheses.contract
    whole = Replay(evidence, contract, chained=True)
    verdicts = []
    for stage in STAGES:
        if stage not in evidence.recorded:
            continue
        unit = UNIT.get(stage, "raw")
        error = hypotheses.error(stage, {}) if stage in hypotheses.judged else None
        if error is None:
            needs = needed_for(stage, evidence.recorded)
            verdicts.append(StageVerdict(stage, None, None, None, None, unit, needs))
            continue
        verdicts.append(
            StageVerdict(
                stage,
                local_error=largest_in_unit(error, contract),
                inherited_error=_inherited(whole, error, contract),
                tolerance=middle_tolerance(error.tolerance),
                ok=error.ok,
                unit=unit,
            )
        )
    return verdicts


def middle_tolerance(tolerance: FloatArray) -> float | None:
    """The median over all channels whose tolerance is known; None where none is."""
    known = tolerance[~np.isnan(tolerance)]
    return float(np.median(known)) if len(known) else None


def _inherited(whole: Replay, error: StageError, contract: Contract) -> float | None:
    """How far the stage, rightly computed from what the engine had, is from the run as it should have been."""
    reference = whole.computed(error.stage)
    if reference is None:
        return None
    return largest_in_unit(error_between(error.stage, error.replayed, reference, error.tolerance), contract)


def _first_divergence(hypotheses: Hypotheses) -> Divergence | None:
    """The first frame that differs and, in it, the first stage."""
    evidence, contract = hypotheses.evidence, hypotheses.contract
    found = []
    for stage in hypotheses.judged:
        error = hypotheses.error(stage, {})
        place = None if error is None else error.first_over
        if error is not None and place is not None:
            found.append((int(evidence.frame[place[0]]), STAGES.index(stage), place, error))
    not_finite = _first_not_finite(evidence, contract)
    if not found:
        return not_finite
    frame, index, (row, channel), error = min(found, key=lambda entry: entry[:2])
    if not_finite is not None and (not_finite.frame, STAGES.index(not_finite.stage)) <= (frame, index):
        return not_finite
    address = channel_address(error.stage, channel, contract, contract.bone_names)
    return Divergence(frame, error.stage, address, _size_in_row(error, row, contract), UNIT.get(error.stage, "raw"))


def _size_in_row(error: StageError, row: int, contract: Contract) -> float:
    rows = slice(row, row + 1)
    one = StageError(error.stage, error.recorded[rows], error.replayed[rows], error.tolerance[rows], error.excess[rows])
    return largest_in_unit(one, contract)


def _first_not_finite(evidence: Evidence, contract: Contract) -> Divergence | None:
    """The first recorded value that is not finite: of the first frame, in loop order."""
    found = []
    for stage in STAGES:
        if stage in evidence.recorded:
            bad = np.argwhere(~np.isfinite(evidence.recorded[stage]))
            if len(bad):
                found.append((int(evidence.frame[bad[0][0]]), STAGES.index(stage), stage, int(bad[0][1])))
    if not found:
        return None
    frame, _, stage, channel = min(found)
    return Divergence(frame, stage, channel_address(stage, channel, contract, contract.bone_names), None, "not finite")


def _indistinguishable(hypotheses: Hypotheses, accepted: Changes) -> list[tuple[str, Any]]:
    """Single changes that this data could not tell from the conventions that fit."""
    found = []
    for changes in hypotheses.singles(hypotheses.judged, accepted):
        (knob,) = changes.keys() - accepted.keys()
        if knob != "input_order" and hypotheses.allows(changes):
            found.append((knob, changes[knob]))
    return found
