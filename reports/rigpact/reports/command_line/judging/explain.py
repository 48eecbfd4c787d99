"""`rigpact explain`: why a recording differs from the contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import TEXT, FormatOfAnswer, asked_formats, print_answer

if TYPE_CHECKING:
    from rigpact.reference_runtime.recordings.trace_bytes import Segments
    from rigpact.reports.answer import Figures, Sentence
    from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence, StageVerdict
    from rigpact.reports.diagnosing.explain import ExplainRequest


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
        from rigpact.reports.answer import print_body
        from rigpact.reports.diagnosing.diagnosis_text import known_body
        from rigpact.reports.terminal import is_quiet, say_now, stdout

        if self._is_shown and not is_quiet():
            self.said, console = list(known_body(stages, first, notes=notes)), stdout()
            print_body(self.said, console)
            say_now("")


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
