"""What `[[gate.trace]]` expects of a recording, before a single number of it is compared.

The project says how the run was made and who recorded it; the file does not choose. Otherwise the file that is judged would
choose its reference: a playback runs no model, and rigpact agrees with itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import RecordedRun
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER


def about_recording(run: RecordedRun, recording: Recording) -> Iterator[Finding]:
    """Findings about a recording that is not what the project expects; training files have no such expectation."""
    if run.mode is None:
        return
    header, name = recording.trace.header, recording.path.name
    if recording.title != "trace":
        yield rules.NOT_OF_THE_ENGINE.at(
            recording.path, "", recording=name, found=f"a {recording.title}", expected="a trace of the engine"
        )
    elif header.producer != run.producer if run.producer else header.producer == OWN_PRODUCER:
        yield rules.NOT_OF_THE_ENGINE.at(
            recording.path, "/producer/name", recording=name, found=f"a recording by {header.producer}",
            expected=f"one by {run.producer or 'the engine'}",
        )  # fmt: skip
    if header.mode != run.mode and header.says_mode:
        yield rules.IN_ANOTHER_MODE.at(
            recording.path, "/mode", recording=name, found=header.mode, expected=run.mode
        )  # fmt: skip


def as_expected(run: RecordedRun, recording: Recording) -> Recording:
    """The recording in the mode that the project expects, so that nothing after this follows the file's own word."""
    header = recording.trace.header
    if run.mode is None or run.mode == header.mode:
        return recording
    return replace(recording, trace=replace(recording.trace, header=replace(header, mode=run.mode)))
