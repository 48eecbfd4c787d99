"""A diagnosis as data: the verdict, each stage, the causes, and several diagnoses as one. diagnose.py makes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rigpact.contract.as_json import AsJson
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.systems.stage import Graph
from rigpact.reports.comparing.stage_comparison import Address
from rigpact.reports.diagnosing.budget import Search, searches_together
from rigpact.reports.diagnosing.extent import Extent
from rigpact.reports.diagnosing.hypotheses import Changes
from rigpact.reports.diagnosing.judged import Seen, seen_together
from rigpact.reports.diagnosing.relations.relation import Relation

Verdict = Literal["agrees", "explained", "partly_explained", "unexplained", "undetermined"]
EXIT_OF: Mapping[Verdict, int] = {
    "agrees": EXIT_PASS,
    "explained": EXIT_FINDINGS,
    "partly_explained": EXIT_FINDINGS,
    "unexplained": EXIT_FINDINGS,
    "undetermined": EXIT_CANNOT_JUDGE,
}


@dataclass(frozen=True, eq=False)
class Sampled(AsJson):
    """Values of a stage that a sampled bound judged, in place of a worst case far above what rounding does.

    values: how many, `of` so many. sampled, worst_case: both bounds of the value whose worst case is the largest; worst_case is
    None where nothing limits it.
    """

    values: int
    of: int
    sampled: float
    worst_case: float | None

    @property
    def words(self) -> str:
        """Which bound judged, and both numbers."""
        worst = "without limit" if self.worst_case is None else f"of {self.worst_case:.2g}"
        return (
            f"a sampled bound judged {self.values} of {self.of} values:"
            f" {self.sampled:.2g} where the worst case of rounding is {worst}"
        )


@dataclass(frozen=True, eq=False)
class StageVerdict(AsJson):
    """One stage: its own error and its inherited error in its unit, or the reason why it was not judged.

    channel_error, tolerance and ratio belong to the channel that is worst in tolerances: |recorded - replayed|, its
    tolerance, and the first divided by the second. sampled: what a sampled bound judged; None where the worst case judged all.
    differs: which parts differ, and in which frames. remains: the same of what nothing that was found explains.
    held_by: of a stage that was not recorded, the stage that holds its numbers.
    """

    stage: str
    local_error: float | None
    inherited_error: float | None
    channel_error: float | None
    tolerance: float | None
    ratio: float | None
    ok: bool | None
    unit: str
    needs: str | None = None
    sampled: Sampled | None = None
    differs: Extent | None = None
    remains: Extent | None = None
    held_by: str | None = None


@dataclass(frozen=True, eq=False)
class Divergence(AsJson):
    """The place where a recording first differs from its replay."""

    KEYS = "frame stage bone: address.bone channel: address.channel error unit"
    frame: int
    stage: str
    address: Address
    error: float | None
    unit: str


@dataclass(frozen=True, eq=False)
class Cause(AsJson):
    """Changes of conventions that bring a stage, and all stages that depend on the changes, within rounding.

    They explain `frames_explained` of `frames` frames; if these are not all, the stage is only partly explained. `equivalents`
    are other changes that explain this data equally well. error_before and error_after are the largest errors of `stage` in its
    unit, without and with the changes. channel_error, tolerance and ratio are those with the changes, at the channel that is then
    worst in tolerances. frames_left: the numbers of the frames that they do not explain. breaks: other stages that fit only
    without the changes: these hold at `stage` alone.
    """

    KEYS = "* code_hint"
    stage: str
    changes: Changes
    equivalents: tuple[Changes, ...]
    error_before: float
    error_after: float
    unit: str
    code_hints: tuple[str, ...]
    frames_explained: int
    frames: int
    channel_error: float | None = None
    tolerance: float | None = None
    ratio: float | None = None
    frames_left: tuple[int, ...] = ()
    breaks: tuple[str, ...] = ()

    @property
    def code_hint(self) -> str:
        """The hints in one text."""
        return "; ".join(self.code_hints)

    @property
    def is_partial(self) -> bool:
        """Whether frames remain that are beyond their tolerance with the changes."""
        return self.frames_explained < self.frames


@dataclass(frozen=True)
class RestsOn(AsJson):
    """The bones that a verdict about some of them rests on, the others, and the stages that were judged with all."""

    bones: tuple[str, ...]
    not_recorded: tuple[str, ...]
    whole_stages: tuple[str, ...]

    @property
    def words(self) -> str:
        """How many of how many bones, and which were not recorded."""
        count = len(self.bones) + len(self.not_recorded)
        if not self.not_recorded:
            return f"all {count} bones, in the recording's own order"
        names = ", ".join(self.not_recorded[:6]) + (", …" if len(self.not_recorded) > 6 else "")
        whole = f"; with all bones: {', '.join(self.whole_stages)}" if self.whole_stages else ""
        return f"{len(self.bones)} of {count} bones; not recorded: {names}{whole}"


@dataclass(frozen=True, eq=False)
class Diagnosis(AsJson):
    """The answer of `explain`. contradictions: what a log says against the contract, where no stage was recorded.

    relations: what a stage that no convention explains still is of what it should be.
    supposition: another choice of the files at hand, in words, under which all this was found. first_unexplained: the first
    place where it still differs under causes and relations.
    rests_on: the bones of a recording of some bones; None for one of all. seen: how far it saw, where nothing differs.
    search: whether the search came to its end; None where nothing was searched. answered: of each convention that the contract
    leaves open, the values that fit this recording; what was found was found under the first.
    """

    FORMAT = "rigpact-diagnosis"
    KEYS = (
        "verdict first_divergence first_unexplained supposition stages causes indistinguishable contradictions relations"
        " rests_on? seen search answered?"
    )
    verdict: Verdict
    first_divergence: Divergence | None
    stages: tuple[StageVerdict, ...]
    causes: tuple[Cause, ...]
    indistinguishable: tuple[tuple[str, Any], ...]
    contradictions: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    supposition: str | None = None
    first_unexplained: Divergence | None = None
    rests_on: RestsOn | None = None
    seen: Seen | None = None
    search: Search | None = None
    answered: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return self.verdict.upper().replace("_", " ")

    @property
    def is_open(self) -> bool:
        """Whether something that differs has no explanation."""
        return self.verdict in ("unexplained", "partly_explained")

    @property
    def is_cut(self) -> bool:
        """Whether something differs, and what might explain it was not tried."""
        return self.verdict == "undetermined" and self.search is not None and not self.search.is_complete

    @property
    def is_one_set_of_conventions(self) -> bool:
        """Whether conventions alone explain everything."""
        is_alone = any(cause.breaks for cause in self.causes) or self.supposition is not None
        return self.verdict == "explained" and not self.relations and not is_alone

    @property
    def unjudged(self) -> tuple[str, ...]:
        """The recorded stages that nothing judged, or of which some values were not."""
        return tuple(stage.stage for stage in self.stages if stage.ok is None)

    @property
    def exit_code(self) -> int:
        """The exit status of the command."""
        return EXIT_OF[self.verdict]

    def supposing(self, words: str) -> Diagnosis:
        """The same, found under another choice of files: where all agrees then, the choice is what explains the recording.

        With the files that were given it differs, so it is explained in part where the choice leaves a stage unjudged or open.
        """
        under: Mapping[Verdict, Verdict] = {
            "agrees": "explained", "undetermined": "partly_explained", "unexplained": "partly_explained",
        }  # fmt: skip
        return replace(self, supposition=words, verdict=under.get(self.verdict, self.verdict), seen=None)

    def without_unjudged(self, stages: Collection[str]) -> Diagnosis:
        """The same without what it says of stages that it could not judge, and another part of the same recording can."""
        return replace(
            self, stages=tuple(each for each in self.stages if each.ok is not None or each.stage not in stages)
        )


_WORST_FIRST: tuple[Verdict, ...] = ("unexplained", "partly_explained", "explained", "undetermined", "agrees")


def together(
    parts: Sequence[Diagnosis], graph: Graph, contradictions: tuple[str, ...] = (), *, complete: bool = True
) -> Diagnosis:
    """The diagnoses of several recordings of one engine as one; its verdict is the worst of theirs.

    Where one has an explanation and another has none, all of it is explained in part.

    complete: whether everything that was recorded is in one of the parts.
    """
    verdicts = {part.verdict for part in parts} | ({"unexplained"} if contradictions else set())
    verdicts |= set() if complete else {"undetermined"}
    verdict = next(each for each in _WORST_FIRST if each in verdicts)
    if verdict == "unexplained" and not verdicts.isdisjoint({"explained", "partly_explained"}):
        verdict = "partly_explained"
    if any(part.is_cut for part in parts):
        verdict = "undetermined"
    stages: dict[str, StageVerdict] = {}
    for stage in sorted((stage for part in parts for stage in part.stages), key=_badness, reverse=True):
        stages.setdefault(stage.stage, stage)
    causes = {(cause.stage, str(cause.changes)): cause for part in parts for cause in part.causes}
    alike = [choice for part in parts for choice in part.indistinguishable]
    seen = [part.seen for part in parts if part.seen is not None]
    searches = [part.search for part in parts if part.search is not None]
    return Diagnosis(
        verdict,
        next((part.first_divergence for part in parts if part.first_divergence is not None), None),
        tuple(stages[name] for name in graph.names if name in stages),
        tuple(causes.values()),
        tuple(choice for choice in dict.fromkeys(alike) if all(_is_open(part, choice, graph) for part in parts)),
        contradictions,
        tuple({relation.sentence: relation for part in parts for relation in part.relations}.values()),
        first_unexplained=next((part.first_unexplained for part in parts if part.first_unexplained is not None), None),
        seen=seen_together(seen, graph.names) if seen and len(seen) == len(parts) else None,
        search=searches_together(searches),
    )


def _badness(stage: StageVerdict) -> tuple[int, float]:
    return {False: 2, None: 1, True: 0}[stage.ok], stage.ratio or 0.0


def _is_open(part: Diagnosis, choice: tuple[str, Any], graph: Graph) -> bool:
    """Whether a recording leaves a convention open: its stages were not judged, or it fits as well."""
    judged = {stage.stage for stage in part.stages if stage.ok is not None}
    return choice in part.indistinguishable or judged.isdisjoint(graph.stages_of(choice[0]))
