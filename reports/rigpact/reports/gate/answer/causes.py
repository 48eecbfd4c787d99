"""The causes behind a gate's findings: what one mistake does in several files, rules and comparisons is one cause.

Findings belong together that are on one side of the contract and about one thing: a rule says what it is about (`Rule.about`), a
comparison its stage. What only follows from another finding in the same file (`Rule.follows`) goes with it, and a stage that
differs because an earlier one does goes with the named cause of its part. Everything else is grouped by its rule.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.rules.answers import comparison, gate
from rigpact.reports.gate.answer.cause import CLIPS, CONTRACT, ENGINE, MODEL, PROJECT, SEVERITIES, TRAINING, Cause
from rigpact.reports.gate.answer.part import Part

_REACH = {CONTRACT: 0, MODEL: 0, ENGINE: 0, TRAINING: 1, CLIPS: 2, PROJECT: 3}
"""Whose mistake reaches furthest comes first: contract, model and engine are in every frame of the game."""
_SIDE_OF_KIND: Mapping[str, str] = {
    Kind.TEACHER_PREDICTION.value: TRAINING, Kind.TEACHER_BATCH.value: TRAINING, Kind.RAW_CLIP.value: CLIPS, "trace": CLIPS,
    "model": MODEL,
}  # fmt: skip
_SIDE_OF_PART = {"teacher": TRAINING, "engine-trace": ENGINE, "model": MODEL, "adequacy": CLIPS, "waivers": PROJECT}
_NAMED = (gate.CONVENTION_DIFFERS.code, gate.RELATION_DIFFERS.code, gate.NOT_EXPLAINED.code)
_INHERITING = frozenset(
    {comparison.STAGE_DIFFERS.code, gate.BEYOND_DECLARED_TOLERANCE.code, gate.POSE_BEYOND_LIMIT.code}
)
Key = tuple[str, str]


def causes_of(parts: Iterable[Part]) -> tuple[Cause, ...]:
    """Every finding under one cause, the worst cause first."""
    groups: dict[Key, list[Finding]] = {}
    for part in parts:
        for key, finding in _keyed(part):
            groups.setdefault(key, []).append(finding)
    causes = [Cause(side, tuple(sorted(found, key=_leads))) for (side, _), found in groups.items()]
    return tuple(sorted(causes, key=_rank))


def _keyed(part: Part) -> Iterator[tuple[Key, Finding]]:
    """Each finding with the side that it is on and what it is about."""
    side_of = _sides(part)
    named = [each for each in part.report.findings if each.rule.code in _NAMED]
    beside: dict[str, dict[str, Rule]] = {}
    for finding in part.report.findings:
        beside.setdefault(finding.file, {}).setdefault(finding.rule.code, finding.rule)
    for finding in part.report.findings:
        yield (side_of(finding), _about(finding, beside[finding.file], named)), finding


def _sides(part: Part) -> Callable[[Finding], str]:
    own = _SIDE_OF_PART.get(part.name.partition("/")[0])
    files = part.report.summary.get("files", ())
    kinds = {str(each["path"]): each["kind"] for each in files} if isinstance(files, list | tuple) else {}
    return lambda finding: own or _SIDE_OF_KIND.get(kinds.get(finding.file, ""), CONTRACT)


def _about(finding: Finding, beside: Mapping[str, Rule], named: list[Finding]) -> str:
    """What a finding is about. beside: the rules of all findings in its file by their code, the first one found first."""
    if finding.rule.code in _NAMED:
        return str(finding.values.get("stage", finding.rule.code))
    if finding.rule.code in _INHERITING:
        own = str(finding.values.get("stage", ""))
        same = [each for each in named if each.values.get("stage") == own] or named
        return _about(same[0], {}, []) if same else own or finding.rule.code
    if finding.rule.about:
        return finding.rule.about
    first = next((rule for code, rule in beside.items() if code in finding.rule.follows), None)
    return first.about or first.code if first is not None else finding.rule.code


def _leads(finding: Finding) -> tuple[int, int]:
    """A named convention says most; then what is worst."""
    is_named = finding.rule.code == gate.CONVENTION_DIFFERS.code
    return 0 if is_named else 1, SEVERITIES.index(finding.rule.severity)


def _rank(cause: Cause) -> tuple[float, ...]:
    """The severity, whether the engine refuses it, whom it reaches, its size, how often it was found."""
    refused = any(each.rule.engine_refuses and each.rule.severity is Severity.ERROR for each in cause.findings)
    size = max(_size(each) for each in cause.findings)
    return SEVERITIES.index(cause.severity), not refused, _REACH[cause.side], -size, -len(cause.findings)


def _size(finding: Finding) -> float:
    """How large an error is: in degrees, or in standard deviations of an input; 0 where it has no number of the kind."""
    for key in ("angle_deg", "model_deg", "error_deg", "error"):
        value = finding.values.get(key)
        if isinstance(value, int | float):
            return float(value)
    return 0.0
