"""With which contract, conventions and model a recording was made, and what that means for a verdict about it.

Another contract is an error and no note: an engine that provably loads other numbers can agree on one clip and differ on the
next. What the header does not say is not an error, because most engines do not say it; it is listed as not verifiable.
"""

from collections.abc import Iterator, Mapping

from rigpact.contract.character import is_character
from rigpact.contract.documents import read_document
from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import comparison as rules
from rigpact.contract.rules.hosted.recorded_sizes import size_findings
from rigpact.contract.rules.views.system_files import SystemFiles
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import TraceHeader

Hashes = Mapping[str, str | None]
HASHES = ("bundle_sha256", "companion_sha256", "meaning_sha256", "conventions_sha256", "model_sha256")


def hashes_of(header: TraceHeader) -> dict[str, str | None]:
    """What a header says."""
    return {name: getattr(header, name) for name in HASHES}


def about_contract(recording: Recording, contract: Contract | None) -> Iterator[Finding]:
    """Findings about the contract that a trace was recorded with; other kinds of files do not name theirs."""
    if recording.title != "trace" or contract is None or not contract.sha256:
        return
    said, own = hashes_of(recording.trace.header), contract.hashes
    file = "bundle" if is_character(contract) else "contract file"
    yield from _about_numbers(recording, said, own, file)
    if _differ(said, own, "conventions_sha256"):
        yield _other(recording, "conventions_sha256", "other conventions", said, own)
    names = {"bundle_sha256": file, "conventions_sha256": "conventions"}
    unknown = [words for key, words in names.items() if not said[key]]
    if own["companion_sha256"] and not said["companion_sha256"] and not said["meaning_sha256"]:
        unknown.append("companion")
    if unknown:
        what = " and ".join(unknown)
        yield rules.NOT_VERIFIABLE.at(recording.path, "/contract", holder=recording.path.name, what=what)


def about_size(recording: Recording, contract: Contract) -> Iterator[Finding]:
    """Findings about vectors of another size than the contract's statistics, ranges and limits."""
    view = SystemFiles(read_document(contract.path), contract).declared if contract.path.is_file() else None
    if view is not None:
        yield from size_findings(view, recording.trace.stages, recording.path)


def about_precision(recording: Recording) -> Iterator[Finding]:
    """A finding about numbers that are written coarsely, unless the user said so."""
    precision = recording.trace.precision
    if recording.trace.resolution is None and precision is not None and precision.is_coarse:
        yield rules.WRITTEN_COARSELY.at(recording.path, "", holder=recording.path.name, precision=str(precision))


def _about_numbers(recording: Recording, said: Hashes, own: Hashes, file: str) -> Iterator[Finding]:
    """Equal meanings are enough, whatever the bytes are. Without a meaning, other bytes may be another formatting only."""
    if said["meaning_sha256"] and said["meaning_sha256"] == own["meaning_sha256"]:
        return
    if _differ(said, own, "meaning_sha256"):
        is_companion = said["bundle_sha256"] == own["bundle_sha256"]
        if is_companion and not own["companion_sha256"]:
            return  # this comparison was not given the companion, so it cannot say that it is another
        key, words = ("companion_sha256", "another companion") if is_companion else ("bundle_sha256", f"another {file}")
        yield _other(recording, key, words, said, own)
        return
    if _differ(said, own, "bundle_sha256"):
        values = {"found": str(said["bundle_sha256"])[:12], "expected": str(own["bundle_sha256"])[:12]}
        yield rules.OTHER_BUNDLE.at(recording.path, "/contract/bundle_sha256", holder=recording.path.name, **values)
    if _differ(said, own, "companion_sha256"):
        yield _other(recording, "companion_sha256", "another companion", said, own)


def about_models(a: Recording, b: Recording) -> Iterator[Finding]:
    """A finding where two recordings name different models: their answers need not agree, and cannot judge each other."""
    said, own = hashes_of(b.trace.header), hashes_of(a.trace.header)
    if _differ(said, own, "model_sha256"):
        yield _other(b, "model_sha256", "another model", said, own)
    elif own["model_sha256"] and not said["model_sha256"] and b.title == "trace":
        yield rules.NOT_VERIFIABLE.at(b.path, "/contract/model_sha256", holder=b.path.name, what="model")


def _differ(said: Hashes, own: Hashes, key: str) -> bool:
    return bool(said[key] and own[key]) and said[key] != own[key]


def _other(recording: Recording, key: str, what: str, said: Hashes, own: Hashes) -> Finding:
    values = {"what": what, "found": (said[key] or "none")[:12], "expected": (own[key] or "none")[:12]}
    return rules.RECORDED_WITH_OTHER.at(recording.path, f"/contract/{key}", holder=recording.path.name, **values)
