"""The expectations of `[[gate.trace]]` about a recording, before a single number of it is compared.

The project says how the run was made and who recorded it; the file does not choose. Otherwise the file that is judged would
choose its reference: a playback runs no model, and rigpact agrees with itself.
"""

from collections.abc import Iterator
from dataclasses import replace

from rigpact.contract.character import bone_names_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.settings.table import did_you_mean
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER


def about_recording(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
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
            recording.path,
            "/producer/name",
            recording=name,
            found=f"a recording by {header.producer}",
            expected=f"one by {run.producer or 'the engine'}",
        )
    if header.mode != run.mode and header.says_mode:
        yield rules.IN_ANOTHER_MODE.at(recording.path, "/mode", recording=name, found=header.mode, expected=run.mode)
    yield from _about_bones(run, recording, contract)


def _about_bones(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
    """A finding for bones that the project expects and the recording does not hold; all bones, if it names none."""
    known = bone_names_of(contract)
    for place, bone in enumerate(run.bones):
        if bone not in known:
            found, expected = repr(bone), f"one of the contract's {len(known)} bones"
            raise UnusableInput(f"{run.place}.bones/{place}", found, expected, did_you_mean(bone, known))
    held = {known[bone] for bone in recording.bones} if recording.bones else set(known)
    missing = [bone for bone in run.bones or known if bone not in held]
    if missing:
        yield rules.BONES_MISSING.at(
            recording.path,
            "/bones",
            recording=recording.path.name,
            count=len(missing),
            total=len(run.bones or known),
            bones=", ".join(missing[:4]) + (", …" if len(missing) > 4 else ""),
        )


def as_expected(run: RecordedRun, recording: Recording) -> Recording:
    """The recording in the mode that the project expects, so that nothing after this follows the file's own word."""
    recording = recording.with_resolution(run.resolution, f"{run.place} resolution")
    header = recording.trace.header
    if run.mode is None or run.mode == header.mode:
        return recording
    return replace(recording, trace=replace(recording.trace, header=replace(header, mode=run.mode)))
