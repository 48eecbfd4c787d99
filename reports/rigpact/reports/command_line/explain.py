"""`rigpact explain`: why a recording differs from the contract."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import TEXT, FormatOfAnswer, asked_formats, print_answer

if TYPE_CHECKING:
    from rigpact.contract.systems.contract import Contract
    from rigpact.reference_runtime.files.declared import ContractFiles, RunSetup
    from rigpact.reference_runtime.recordings.recording import Recording
    from rigpact.reference_runtime.recordings.trace_bytes import Segments
    from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence, StageVerdict
    from rigpact.reports.diagnosing.explain import ExplainRequest
    from rigpact.reports.nonfinite.drift import Drift
    from rigpact.reports.nonfinite.investigation import Investigation
    from rigpact.reports.terminal import Figures, Sentence


Unjudged = Annotated[
    list[str] | None,
    options.option("--allow-unjudged", "STAGE", "A recorded stage that may stay unjudged; may be repeated."),
]
USUAL = 300.0
"""What an idle core computes in fifteen to thirty seconds; most searches of real recordings end before a tenth of it."""
_SEARCH = "Millions of numbers that the search may compute; 0: no limit."
_BUDGET = options.option("--budget", "MILLIONS", _SEARCH, min=0.0, envvar="RIGPACT_BUDGET", show_default=True)
Millions = Annotated[float, _BUDGET]
Deadline = Annotated[
    float | None, options.option("--deadline", "SECONDS", "End after so long, with status 2.", min=0.0)
]
WriteAnswers = Annotated[bool, typer.Option("--fill", help="Write what was left open into the contract.")]
PatchFile = Annotated[Path | None, options.option("--patch", "FILE", "Write the answer as a patch of the contract.")]


def explain(
    recording: Annotated[
        Path, options.argument("RECORDING", "A trace, a table, arrays, a prediction, a clip or a log.")
    ],
    *,
    bundle: options.Bundle = None,
    companion: options.Companion = None,
    clip: options.Clip = None,
    onnx: options.Model = None,
    replay: options.Replay = None,
    resolution: options.Resolution = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    allow_unjudged: Unjudged = None,
    mode: options.Mode = None,
    segment: options.Segment = None,
    millions: Millions = USUAL,
    deadline_s: Deadline = None,
    patch: PatchFile = None,
    write: WriteAnswers = False,
    output_format: FormatOfAnswer = TEXT,
) -> None:
    """Name the first wrong stage, and the convention that explains it.

    Every recorded stage is computed again from its own recorded inputs. A log needs no --contract; a trace needs no --mode.
    JSON and comments answer for one segment. Exit status 0: agrees; 1: explained, in part, or unexplained; 2: undetermined.
    """
    from rigpact.reports.diagnosing.budget import DeadlinePassed
    from rigpact.reports.diagnosing.evidence import EvidenceFiles
    from rigpact.reports.diagnosing.explain import ExplainRequest

    files = options.contract_files(bundle, companion, settings, conventions)
    request = ExplainRequest(
        recording,
        files,
        EvidenceFiles(clip, onnx, replay, resolution),
        allow_unjudged=tuple(allow_unjudged or ()),
        mode=None if mode is None else mode.value,
        millions=millions or None,
        deadline_s=deadline_s,
    )
    try:
        raise typer.Exit(_answer(request, segment, patch, output_format, writes=write))
    except DeadlinePassed:
        hint = "a smaller --budget ends the search earlier, with what it has found"
        raise UnusableInput("--deadline", f"no answer after {deadline_s:g} s", "more seconds", hint) from None


def _answer(
    request: ExplainRequest, segment: int | None, patch: Path | None, output_format: str, *, writes: bool
) -> int:
    """The answer, or one for each segment of the recording; the exit status of the worst."""
    from rigpact.reference_runtime.recordings.trace_bytes import segments
    from rigpact.reports.diagnosing.explain import explain as explain_recording
    from rigpact.reports.terminal import say, say_aside

    early = _Early(is_shown=output_format == TEXT)
    with segments(request.recording) as parts:
        is_plain = output_format == TEXT and patch is None and not (writes or asked_formats())
        if is_plain and segment is None and (len(parts.paths) > 1 or parts.tail):
            return _explain_each(request, parts)
        request = replace(request, recording=parts.at(segment, request.recording), says=early)
        diagnosis, notes = explain_recording(request)
        _show(diagnosis, notes, output_format, early)
        for sentence in _written(patch, diagnosis, request, writes=writes):
            (say if output_format == TEXT else say_aside)(sentence)
    return diagnosis.exit_code


def _explain_each(request: ExplainRequest, parts: Segments) -> int:
    """An answer for each segment, as text; the exit status of the worst."""
    from rigpact.reference_runtime.recordings.opened import read_trace
    from rigpact.reports.diagnosing.explain import explain as explain_recording
    from rigpact.reports.terminal import say

    codes = []
    for number, path in enumerate(parts.paths, start=1):
        trace, early = read_trace(path), _Early(is_shown=True)
        frames = f"frames {trace.frame[0]} to {trace.frame[-1]}"
        say(f"Segment {number} of {len(parts.paths)}: {trace.header.mode}, {frames}")
        diagnosis, notes = explain_recording(replace(request, recording=path, says=early))
        codes.append(diagnosis.exit_code)
        _show(diagnosis, notes, TEXT, early)
    if parts.tail is not None:
        say(f"note: {parts.tail}")
    return next((code for code in (1, 2) if code in codes), 0)


class _Early:
    """Prints what is known before the search, and keeps it: the answer does not say it again."""

    def __init__(self, *, is_shown: bool) -> None:
        self.said: list[Sentence | Figures] = []
        self._is_shown = is_shown

    def __call__(self, notes: Sequence[str], stages: Sequence[StageVerdict], first: Divergence | None) -> None:
        """Print notes, stages and the first divergence."""
        from rigpact.reports.diagnosing.diagnosis_text import known_body
        from rigpact.reports.terminal import is_quiet, print_body, stdout

        if self._is_shown and not is_quiet():
            self.said, console = list(known_body(stages, first, notes=notes)), stdout()
            print_body(self.said, console)
            sys.stdout.flush()


def _show(diagnosis: Diagnosis, notes: list[str], output_format: str, early: _Early) -> None:
    from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis

    print_answer(diagnosis, answer_of_diagnosis(diagnosis, notes), output_format, early.said)


def _written(patch: Path | None, diagnosis: Diagnosis, request: ExplainRequest, *, writes: bool) -> Iterator[str]:
    """Write what was found, as a patch and into the contract; what was written, and whether the recording agrees with it."""
    from rigpact.reports.diagnosing.patch import write_answers, write_patch

    if patch is not None:
        made = write_patch(patch, diagnosis, request)
        yield f"{patch} is not written: no convention was found" if made is None else f"patch {made.sentence}"
    if writes:
        yield write_answers(diagnosis, request) or "nothing that the contract leaves open was answered"


# `rigpact nan`: where a value first becomes non-finite, and whether a free run stays finite.
COMPANION_NAME = "pretrain_template.json"
FRAMES = 600
"""Ten seconds at 60 frames per second."""


def nan(
    file: Annotated[
        Path, options.argument("RECORDING|CLIP", "A recorded run, which is judged; or a clip, which drives a run.")
    ],
    *,
    bundle: options.Bundle = None,
    onnx: options.Model = None,
    replay: options.Replay = None,
    mode: options.Mode = None,
    frames: options.Frames = None,
    perturb: Annotated[
        list[str] | None,
        options.option("--perturb", "KIND[@FRAME[:CHANNEL]][=VALUE]", "Inject a fault; may be repeated."),
    ] = None,
    floor_contacts: options.FloorContacts = False,
    drift: Annotated[bool, typer.Option("--drift", help="Judge the growth of a small difference.")] = False,
    engine: options.EngineOption = options.EngineChoice.AUTO,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: FormatOfAnswer = TEXT,
) -> None:
    """Find the stage that made the first value that is not finite.

    It also names early signs and the guard with which the run stays finite. A run ends after 600 frames, or with the clip;
    without --mode it runs free where the system feeds itself, and a recording is judged as it is; with it, it drives a run.
    Exit status 0: finite; 1: not finite or diverging; 2: could not judge.
    """
    driven = {
        "--replay": replay, "--frames": frames, "--perturb": perturb, "--floor-contacts": floor_contacts,
        "--drift": drift,
    }  # fmt: skip
    _refuse_together(driven, mode)
    files = options.contract_files(bundle, companion, settings, conventions)
    contract = _opened(files, output_format)
    if mode is None and (recording := _recorded_run(file, contract)) is not None:
        expected = f"a clip: {file.name} holds a run, which is judged as it is"
        options.refuse_beside(driven, file.name, expected, "--mode free lets the recording drive a run")
        raise _answer_of_nan(_look_into(recording, contract, onnx), output_format)
    beside = _companion_beside(files)
    driver = mode.value if mode else "free" if contract.system.graph.feeds_itself else "teacher"
    subject = replace(
        _subject(contract, onnx, replay, file, perturb or []), mode=driver, on_floor=floor_contacts,
        companion=_merged(files, beside), engine=engine.value,
    )  # fmt: skip
    subject, count = _with_frames(subject, frames)
    if drift:
        from rigpact.reports.nonfinite.drift import judge_drift

        raise _answer_of_nan(judge_drift(subject, count), output_format)
    found = _investigated(subject, count, files, file, beside)
    if found.origin is not None:
        given = {
            "--contract": bundle, "--companion": companion, "--conventions": conventions, "--onnx": onnx, "--replay": replay,
            "--set": settings, "--perturb": perturb, "--mode": mode and mode.value, "--floor-contacts": floor_contacts,
        }  # fmt: skip
        found = replace(found, command=_repeated(file, given, found.origin.frame + 1))
    raise _answer_of_nan(found, output_format)


def _repeated(clip: Path, given: Mapping[str, object], frames: int) -> str:
    """The command that repeats a run of so many frames. given: options and their values, as the command took them."""
    words = ["rigpact", "nan", str(clip)]
    for name, value in given.items():
        each = value if isinstance(value, list) else [value] if value else []
        words += [word for one in each for word in ((name,) if one is True else (name, str(one)))]
    return shlex.join([*words, "--frames", str(frames)])


_EXCLUSIVE = {
    "--mode teacher": ("--perturb", "--floor-contacts", "--drift"),
    "--perturb": ("--floor-contacts", "--drift"),
    "--floor-contacts": ("--drift",),
    "--drift": ("--replay",),
}
"""Options that ask for different runs. Left unread, one of them would seem to have been judged."""
_WHY = {
    "--mode teacher": "the clip gives every frame: nothing is fed back that could be perturbed or drift",
    "--drift": "drift compares free runs of a model as it is",
}


def _refuse_together(driven: Mapping[str, object], mode: options.RunMode | None) -> None:
    """UnusableInput for two options of which only one could be followed, before any file is judged."""
    if mode is options.RunMode.PLAYBACK:
        raise UnusableInput("--mode", "playback", "free or teacher", "no network runs in a playback")
    given = {**driven, "--mode teacher": mode is options.RunMode.TEACHER}
    for option, others in _EXCLUSIVE.items():
        for other in others:
            if given[option] and given[other]:
                raise UnusableInput(f"{option} with {other}", "both", "one of them", _WHY.get(option, ""))


def _recorded_run(file: Path, contract: Contract) -> Recording | None:
    """The recording in a file that holds stages which a run computes; None for a clip."""
    from rigpact.reference_runtime.files.declared import files_of
    from rigpact.reference_runtime.recordings.opened import open_file

    if not open_file(file).is_recording:
        return None
    recording: Recording = files_of(contract).recording(file, contract)
    return recording if set(recording.trace.stages) - set(contract.system.graph.given) else None


def _opened(files: ContractFiles, output_format: str) -> Any:
    """The contract; the command's own answer for one that the engine refuses."""
    from rigpact.reports.nonfinite.investigation import refused_bundle

    try:
        return files.opened()
    except ContractRefused as refusal:
        raise _answer_of_nan(refused_bundle(refusal), output_format) from None


def _with_frames(subject: RunSetup, asked: int | None) -> tuple[RunSetup, int]:
    """How many frames to run; UnusableInput where the clip or the recorded answers hold fewer than was asked for."""
    wanted = asked or FRAMES
    available: int = subject.frames_of(subject.start(wanted), wanted)
    no_more = "the clip or the recorded answers have no more"
    if asked is not None and available < asked:
        hint = "a free run of a model has no end; without --frames it ends with the clip or the recorded answers"
        raise UnusableInput("--frames", str(asked), f"at most {available}: {no_more}", hint)
    if available < wanted:
        subject = replace(subject, notes=(f"{available} frames: {no_more}",))
    return subject, available


def _answer_of_nan(found: Investigation | Drift, output_format: str) -> typer.Exit:
    from rigpact.reports.nonfinite.drift import Drift
    from rigpact.reports.nonfinite.investigation import answer_of_drift, answer_of_run

    print_answer(found, answer_of_drift(found) if isinstance(found, Drift) else answer_of_run(found), output_format)
    return typer.Exit(found.exit_code)


def _subject(contract: Contract, onnx: Path | None, replay: Path | None, clip: Path, perturb: list[str]) -> RunSetup:
    from rigpact.reference_runtime.files.declared import RunSetup, files_of
    from rigpact.reports.running import read_network

    files = files_of(contract)
    network = read_network(contract, onnx, replay)
    return RunSetup(contract, network, files.clip(clip, contract), faults=tuple(files.fault(word) for word in perturb))


def _companion_beside(files: ContractFiles) -> Path | None:
    """A companion file that lies beside the bundle but was not given: a common mistake."""
    path = None if files.bundle is None else files.bundle.with_name(COMPANION_NAME)
    return path if path is not None and files.companion is None and path.is_file() else None


def _merged(files: ContractFiles, beside: Path | None) -> Any:
    with suppress(UnusableInput):
        return replace(files, companion=beside).opened() if beside else None


def _investigated(
    subject: RunSetup, frames: int, files: ContractFiles, clip: Path, beside: Path | None
) -> Investigation:
    from rigpact.reports.checking.check import notes_of_inputs
    from rigpact.reports.nonfinite.investigation import investigate, statistics_suspects

    found = investigate(subject, frames)
    found = replace(found, notes=(*found.notes, *notes_of_inputs(files, (clip,))))
    if found.verdict != "finite":
        found = replace(found, suspects=statistics_suspects(subject.contract.path, files.companion or beside))
    return found


def _look_into(recording: Recording, contract: Contract, onnx: Path | None) -> Investigation:
    from rigpact.reference_runtime.files.declared import files_of
    from rigpact.reports.nonfinite.investigation import investigate_recording

    network = files_of(contract).network(onnx, contract) if onnx is not None else None
    return investigate_recording(recording, contract, network)
