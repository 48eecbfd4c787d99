"""The judgements of the plugin's items: a list of named checks of the user's files, for any system, without pytest.

A judgement returns, or raises `Refuted` with a text for people, or `NotJudged` with what is missing. To add one: a
function, and a line in `judgements`, which gives all of them in order. Rules, comparisons, diagnoses and free runs are those of
the gate.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from rigpact.contract.character import bone_permutation, is_character
from rigpact.contract.documents import Kind
from rigpact.contract.findings import Rule
from rigpact.contract.rules.catalogue import FAMILIES
from rigpact.contract.rules.family import Need, Texts, answers
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.recording import TEACHER_STAGES, Recording
from rigpact.reports.comparing.diff import compare_recordings
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnosis import Diagnosis, StageVerdict
from rigpact.reports.diagnosing.evidence import Gathered, parts_of
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.gate.project import free_report, reference_of
from rigpact.reports.gate.recordings import Recorded, about_diagnosis
from rigpact.testing.files import (
    NO_MODEL,
    Judgement,
    NotJudged,
    Refuted,
    UserFiles,
    finding_text,
    not_judged,
    refute,
    short_names,
)

FREE_RUN_FRAMES = 300
"""Five seconds at 60 frames per second: long enough to show a diverging loop."""
WINDOW = 100


def judgements(files: UserFiles, *, strict: bool, examples: int, seed: int | None) -> Iterator[Judgement]:
    """All judgements on these files, in the order in which a defect spreads.

    strict: warnings refute too. examples, seed: number of draws of the properties, and their seed; without a seed, the
    draws are always the same.
    """
    yield Judgement(("contract",), lambda: _contract(files))
    yield from _check_judgements(files, strict=strict)
    yield Judgement(("signature",), lambda: _signature(files))
    yield from _parity_judgements(files)
    yield from _trace_judgements(files)
    yield Judgement(("property", "the network stays finite"), lambda: _stays_finite(files, examples, seed))
    yield from _free_runs(files)


def _contract(files: UserFiles) -> None:
    """The engine loads the contract; the declared conventions exist."""
    contract = files.contract
    if is_character(contract):
        bone_permutation(contract)  # raises for an order of other bones


# --- the rules --------------------------------------------------------------------------------------------------------


def _check_judgements(files: UserFiles, *, strict: bool) -> Iterator[Judgement]:
    """One judgement for each rule; for a family without its files, one judgement that says so.

    Families that need something else, such as a project, have no judgements; their findings fail the account.
    """
    own: set[Rule] = set()
    for family, missing in _asked(files):
        if missing:
            yield Judgement(("check", f"{family.rules[0].code}-{family.rules[-1].code}"), partial(not_judged, missing))
            continue
        for rule in family.rules:
            own.add(rule)
            yield Judgement(("check", rule.code), partial(_rule, files, rule, strict=strict))
    yield Judgement(("check", "account"), lambda: _account(files, own, strict=strict))


_NO_CLIP = "no clip: --rigpact-clip FILE"
_NO_PREDICTION = "no teacher prediction: --rigpact-clip FILE"
_GIVEN: Mapping[Need, tuple[Callable[[UserFiles], object], str]] = {
    Need.SYSTEM_DATA: (lambda files: files.recordings, _NO_CLIP),
    Need.MODEL: (lambda files: files.paths.onnx, NO_MODEL),
    Need.CLIP: (lambda files: files.clips_of_kind(Kind.RAW_CLIP), _NO_CLIP),
    Need.ROWS: (
        lambda files: files.clips_of_kind(Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION),
        "no teacher batch or prediction: --rigpact-clip FILE",
    ),
    Need.PREDICTION: (lambda files: files.clips_of_kind(Kind.TEACHER_PREDICTION), _NO_PREDICTION),
}
"""What people may give beside the contract, and what is said where it is not given."""
_OF_A_SYSTEM = frozenset({Need.DOCUMENT, Need.CONTRACT, Need.SYSTEM_CONTRACT, Need.MODEL, Need.SYSTEM_DATA})
_POSSIBLE: Mapping[Kind, frozenset[Need]] = {
    Kind.BUNDLE: frozenset(Need) - {Need.SYSTEM_CONTRACT, Need.CONTRACT_FILE, Need.DECLARATION, Need.SYSTEM_DATA},
    Kind.SYSTEM_CONTRACT: _OF_A_SYSTEM | {Need.CONTRACT_FILE},
    Kind.DECLARATION: _OF_A_SYSTEM | {Need.DECLARATION},
}
"""What families may need with each kind of contract."""


def _asked(files: UserFiles) -> Iterator[tuple[Texts, str]]:
    """Yield each family that can be run with this kind of contract, and the text of what it lacks; '' if nothing."""
    kind, settings = files.bundle.kind, files.configuration
    for family in filter(lambda each: _POSSIBLE[kind].issuperset(each.needs), FAMILIES):
        yield family, _lacking(files, *family.needs)
    if not kind.is_of_a_system:
        lets_be = settings is not None and (settings.baseline or settings.lowerings)
        why = "no settings that let findings be: --rigpact-config FILE with a baseline or [[lower]]"
        yield answers.families["BASELINE"], "" if lets_be else why


def _lacking(files: UserFiles, *needs: Need) -> str:
    return next((_GIVEN[need][1] for need in needs if need in _GIVEN and not _GIVEN[need][0](files)), "")


def _rule(files: UserFiles, rule: Rule, *, strict: bool) -> None:
    refute((finding for finding in files.findings.findings if finding.rule.code == rule.code), strict=strict)
    did = files.findings.summary.get("configuration", {})
    for word in ("lowered", "waived"):
        for entry in did.get(word, ()):
            if entry["code"] == rule.code:
                about = f"until {entry['expires']} by {entry['owner']}: {entry['reason']}"
                raise NotJudged(f"{word} in {Path(did['file']).name} {about}")


def _account(files: UserFiles, own: Collection[Rule], *, strict: bool) -> None:
    """Everything that the files declare was judged, and every finding has its own test."""
    codes = {rule.code for rule in own}
    refute((each for each in files.findings.findings if each.rule.code not in codes), strict=strict)
    ledger = files.findings.ledger
    if not ledger.complete:
        raise Refuted(f"{ledger.compared} of {ledger.declared} parts could be judged, {ledger.missing} could not")


# --- the model --------------------------------------------------------------------------------------------------------


def _signature(files: UserFiles) -> None:
    """The inputs have the contract's widths and order; the answers are finite and have the contract's widths."""
    contract, widths = files.contract, files.input_widths()
    wrong = [
        f"input {place} ({name}): the contract has {widths[name]} numbers, the model takes {entry.width}"
        for place, (name, entry) in enumerate(zip(widths, files.network.signature.inputs, strict=True))
        if entry.width not in (None, widths[name])
    ]
    if wrong:
        raise Refuted("\n".join(wrong))
    rows = WINDOW if files.system.windowed else 1
    for name, answer in files.answers(
        {each: np.zeros((rows, width), np.float32) for each, width in widths.items()}
    ).items():
        expected = contract.fields(name).width
        if answer.shape != (rows, expected):
            raise Refuted(f"the model answers {list(answer.shape)}, the contract's {name} is [{rows}, {expected}]")
        if not np.isfinite(answer).all():
            raise Refuted(f"the model answers {int((~np.isfinite(answer)).sum())} values that are not finite to zeros")


def _parity_judgements(files: UserFiles) -> Iterator[Judgement]:
    predictions = files.clips_of_kind(Kind.TEACHER_PREDICTION)
    if not predictions and files.bundle.kind is Kind.BUNDLE:
        yield Judgement(("teacher-parity",), partial(not_judged, _NO_PREDICTION))
    for path, name in short_names(predictions, suffix=False).items():
        runs: dict[Path, Recording] = {}
        for stage in TEACHER_STAGES:
            yield Judgement(("teacher-parity", name, stage), partial(_parity, files, path, stage, runs))


def _parity(files: UserFiles, prediction: Path, stage: str, runs: dict[Path, Recording]) -> None:
    """The reference loop, driven by the clip, gives the values that the training side recorded."""
    data = files.documents[prediction].data
    driving = files.clip_named([data.get("source_json"), data.get("clip")])
    run = RecordedRun(str(prediction), prediction.stem, None if driving is None else str(driving))
    recorded = files.project.recording_of(run.file)
    if prediction not in runs:
        files.network  # noqa: B018 - raises where there is none
        runs[prediction] = reference_of(files.project, run, recorded)
    if stage != "y_out" and driving is None:
        raise NotJudged(f"rebuilt from {data.get('source_json') or 'its raw clip'} only: --rigpact-clip FILE")
    if stage not in recorded.trace.stages:
        raise NotJudged(f"the prediction does not record {stage}")
    compared = compare_recordings(recorded, runs[prediction], files.contract, only=(stage,), network=files.network)
    refute(judge(compared).findings)


# --- engine traces ----------------------------------------------------------------------------------------------------


def _trace_judgements(files: UserFiles) -> Iterator[Judgement]:
    if not files.paths.traces:
        yield Judgement(("engine-trace",), partial(not_judged, "no recording of the engine: --rigpact-trace FILE"))
    for path, name in short_names(files.paths.traces, suffix=True).items():
        diagnoses: dict[Path, Diagnosis] = {}
        for stage in files.system.graph.names:
            yield Judgement(("engine-trace", name, stage), partial(_engine_stage, files, path, stage, diagnoses))


def _engine_stage(files: UserFiles, path: Path, stage: str, diagnoses: dict[Path, Diagnosis]) -> None:
    """The engine's stage follows from the engine's own recorded inputs."""
    if path not in diagnoses:
        diagnoses[path] = _diagnosis(files, path)
    diagnosis = diagnoses[path]
    verdict = next((each for each in diagnosis.stages if each.stage == stage), None)
    first = diagnosis.first_divergence
    if first is not None and first.stage == stage and first.unit == "not finite":
        raise Refuted(f"{stage} holds a value that is not finite at frame {first.frame}, {first.address}")
    if verdict is None:
        given = stage in files.system.graph.given
        raise NotJudged(f"{stage} comes from outside" if given else f"{stage} was not recorded")
    if verdict.ok is None:
        raise NotJudged(f"{stage} cannot be recomputed: {verdict.needs}")
    if not verdict.ok:
        raise Refuted(_stage_text(diagnosis, verdict, Recorded(path, "cpp", files.contract, lambda _changes: {})))
    rests_on = diagnosis.rests_on
    if rests_on is not None and rests_on.not_recorded and stage not in rests_on.whole_stages:
        raise NotJudged(f"{stage} agrees on {rests_on.words}")


def _stage_text(diagnosis: Diagnosis, verdict: StageVerdict, of: Recorded) -> str:
    lines = [
        f"{verdict.stage} is off by {verdict.local_error:.3g} {verdict.unit} (tolerance {verdict.tolerance or 0.0:.3g})"
    ]
    first = diagnosis.first_divergence
    if first is not None:
        lines.append(f"the recording first differs at frame {first.frame} in {first.stage}, {first.address}")
    return "\n".join([*lines, *map(finding_text, about_diagnosis(diagnosis, of))])


def _diagnosis(files: UserFiles, path: Path) -> Diagnosis:
    recording = files.project.recording_of(path)
    driving = files.clip_named([recording.trace.header.clip])
    drive = None if driving is None else files.project.drive(driving)
    network = None if files.paths.onnx is None else files.network
    return diagnose_gathered(Gathered(recording, tuple(parts_of(recording, files.contract, drive, network))))


# --- the model on drawn input, and on its own output ------------------------------------------------------------------


LARGEST_Z = 8.0
"""Range of a network's inputs: eight standard deviations."""


def _stays_finite(files: UserFiles, examples: int, seed: int | None) -> None:
    """Inputs within eight standard deviations give finite output, and the same output in a second call.

    Without the package hypothesis it fails: a check that cannot run is missing. Without a seed, the draws are always the same.
    """
    if find_spec("hypothesis") is None:
        raise Refuted(
            "not judged: hypothesis is not installed: pip install 'rigpact[testing]', or leave it out: -k 'not property'"
        )
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as st_numpy

    widths = files.input_widths()
    numbers = st.floats(-LARGEST_Z, LARGEST_Z, width=32, allow_subnormal=False)
    rows = [st_numpy.arrays(np.float32, (1, width), elements=numbers, fill=st.just(0.0)) for width in widths.values()]

    @settings(
        max_examples=examples, derandomize=seed is None, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(st.tuples(*rows))
    def drawn(vectors: tuple[FloatArray, ...]) -> None:
        inputs = dict(zip(widths, vectors, strict=True))
        first, second = (list(files.answers(inputs).values()) for _ in range(2))
        wrong = sum(int((~np.isfinite(answer)).sum()) for answer in first)
        if wrong:
            raise Refuted(f"{wrong} of {sum(answer.size for answer in first)} outputs are not finite")
        if not all(map(np.array_equal, first, second)):
            raise Refuted("the same input gives another output the second time")

    (drawn if seed is None else seeded(seed)(drawn))()


def _free_runs(files: UserFiles) -> Iterator[Judgement]:
    if not files.system.graph.feeds_itself:
        return
    clips = files.driving_clips()
    if not clips:
        yield Judgement(("free-run",), partial(not_judged, _NO_CLIP))
    for path, name in short_names(clips, suffix=False).items():
        yield Judgement(("free-run", name), partial(_free_run, files, path))


def _free_run(files: UserFiles, path: Path) -> None:
    """Some seconds of free run stay finite, and no input is cut or padded."""
    files.network  # noqa: B018 - raises where there is none
    refute(free_report(files.project, path, FREE_RUN_FRAMES))
