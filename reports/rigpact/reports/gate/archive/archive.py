"""The result archive, NAME.rigpact.zip: measurements without thresholds, and the answer of that day.

    manifest.json     format, version of rigpact, SHA-256 of every input, of every member, and of all this
    measured.json     the measurements of the parts, before any threshold
    verdict.json      the answer under the configuration of that day
    parts/N/*.npy     arrays to which thresholds apply
    runs/N/…          compared runs: the data for a picture

Members are stored without compression, in a fixed order and without times. So the same results give the same bytes, and
a file is never larger in memory than on disk. Nothing is unpacked to disk or unpickled.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes, write_bytes
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.archive.kept_documents import KeptGate, KeptMeasurement, KeptPart, KnownSummary
from rigpact.reports.gate.archive.kept_runs import kept_to_run, run_to_kept
from rigpact.reports.gate.archive.kept_values import finding_to_plain, from_plain, plain_to_finding, to_plain
from rigpact.reports.gate.archive.shapes import fits
from rigpact.reports.gate.measured import GateMeasurement, Measured
from rigpact.reports.gate.parts.catalogue import PARTS, PartKind


def measured_to_plain(part: Measured) -> dict[str, Any]:
    """A measurement as plain values, without its arrays, run and remarks."""
    return {"name": part.name, "title": part.title, "metrics": to_plain(dict(part.metrics))} | _report(part.report)


def plain_to_measured(entry: KeptPart, arrays: Mapping[str, NDArray[Any]], run: ComparedRun | None) -> Measured:
    """The measurement from its plain values; UnusableInput where its figures are not those of its kind."""
    report, metrics = _restored(entry), _tree(entry["metrics"])
    part = Measured(entry["name"], entry["title"], report.findings, report.ledger, report.summary, metrics, arrays, run)
    kind = PARTS.get(part.kind)
    if kind is None or not _has_figures(part, kind):
        raise _misfit("a part")
    return part


def _has_figures(part: Measured, kind: PartKind) -> bool:
    """Whether a part has the figures and arrays that judging reads. One that could not be judged has none of them."""
    if not part.metrics:
        return not part.arrays and part.run is None
    return kind.metrics is not None and fits(part.metrics, kind.metrics) and kind.is_sound(part)


def gate_to_plain(gate: GateReport) -> dict[str, Any]:
    """The answer as plain values, with all values of its findings."""
    parts = [
        {"name": part.name, "title": part.title, "is_waived": part.is_waived} | _report(part.report)
        for part in gate.parts
    ]
    return {
        "verdict": gate.verdict, "parts": parts, "not_asked": dict(gate.not_asked), "next_steps": list(gate.next_steps),
        "strict": gate.strict, "provenance": dict(gate.provenance),
    }  # fmt: skip


def plain_to_gate(entry: Any) -> GateReport:
    """The answer from its plain values."""
    if not fits(entry, KeptGate):
        raise _misfit("a verdict")
    parts = tuple(
        Part(each["name"], each["title"], _restored(each), is_waived=each["is_waived"]) for each in entry["parts"]
    )
    steps = tuple(entry["next_steps"])
    report = GateReport(parts, entry["provenance"], entry["not_asked"], steps, strict=entry["strict"])
    if report.verdict != entry["verdict"] or len({part.name for part in parts}) < len(parts):
        raise _misfit("a verdict")
    return report


def _report(report: FindingsReport) -> dict[str, Any]:
    ledger = report.ledger
    return {
        "findings": [finding_to_plain(finding) for finding in report.findings],
        "ledger": [ledger.declared, ledger.compared, ledger.waived],
        "summary": to_plain(dict(report.summary)),
    }


def _restored(entry: Any) -> FindingsReport:
    findings, summary = tuple(plain_to_finding(finding) for finding in entry["findings"]), _tree(entry["summary"])
    if not fits(summary, KnownSummary) or min(entry["ledger"]) < 0:
        raise _misfit("a summary")
    return FindingsReport(findings, Ledger(*entry["ledger"]), summary)


def _tree(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An object whose values are kept; itself it is none of the kept types."""
    return {name: from_plain(value) for name, value in entry.items()}


def _misfit(what: str) -> UnusableInput:
    return UnusableInput("archive", f"{what} that does not fit", "a file that rigpact wrote")


FORMAT, VERSION = "rigpact-archive", 3
SUFFIX = ".rigpact.zip"
MAX_MEMBERS = 4096
_MANIFEST, _MEASURED, _VERDICT = "manifest.json", "measured.json", "verdict.json"
_NAME = re.compile(r"[a-z]+\.json|(parts|runs)/\d{1,4}/[a-z_]+\.(json|npy)")
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o100644 << 16


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of an archive."""

    measurement: GateMeasurement
    report: GateReport

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """The runs that can be drawn."""
        return self.measurement.runs


def write_archive(path: Path, measurement: GateMeasurement, report: GateReport) -> None:
    """Write measurements and answer; UnusableInput for a name that does not end in .rigpact.zip."""
    if not path.name.endswith(SUFFIX):
        raise UnusableInput(path, f"the name {path.name}", f"a name ending in {SUFFIX}")
    write_bytes(path, archive_bytes(measurement, report))


def archive_bytes(measurement: GateMeasurement, report: GateReport) -> bytes:
    """The bytes of the archive; the same results give the same bytes."""
    members = dict(_members(measurement, report))
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "rigpact": rigpact_version(),
        "system": measurement.system,
        "provenance": dict(measurement.provenance),
        "members": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    manifest["sha256"] = _own_hash(manifest)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as file:
        for name, content in ((_MANIFEST, _json(manifest)), *members.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _READABLE
            file.writestr(entry, content)
    return stream.getvalue()


def _members(measurement: GateMeasurement, report: GateReport) -> list[tuple[str, bytes]]:
    parts = [measured_to_plain(part) for part in measurement.parts]
    plain = {"parts": parts, "not_asked": dict(measurement.not_asked), "questions": to_plain(measurement.questions)}
    members = [(_MEASURED, _json(plain)), (_VERDICT, _json(gate_to_plain(report)))]
    for index, part in enumerate(measurement.parts):
        members += [(f"parts/{index}/{name}.npy", array_to_bytes(array)) for name, array in part.arrays.items()]
        if part.run is not None:
            values, arrays = run_to_kept(part.run)
            members.append((f"runs/{index}/run.json", _json(values)))
            members += [(f"runs/{index}/{name}.npy", array_to_bytes(array)) for name, array in arrays.items()]
    return members


def _own_hash(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, in any order of keys, without the hash itself."""
    said = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _has_own_hash(manifest: Mapping[str, Any]) -> bool:
    try:
        return bool(manifest["sha256"] == _own_hash(manifest))
    except TypeError:  # half of a surrogate pair, or a number of more than 64 bits: nothing that was ever hashed
        return False


def _json(document: Any) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_archive(path: str | Path) -> Archive:
    """Read an archive; UnusableInput for a file that rigpact did not write, or that was changed later."""
    members = _read_members(Path(path))
    manifest = _document(members, _MANIFEST, path)
    for pointer, message in check_against_schema(manifest, "archive_manifest"):
        raise UnusableInput(f"{path}!{_MANIFEST}#{pointer}", message, "an archive that `rigpact gate --archive` writes")
    if not _has_own_hash(manifest):
        raise UnusableInput(f"{path}!{_MANIFEST}", "other words than its hash says", "an archive as it was written")
    _check_hashes(members, manifest["members"], path)
    plain = _document(members, _MEASURED, path)
    if not fits(plain, KeptMeasurement):
        raise UnusableInput(f"{path}!{_MEASURED}", "no parts", "a file that rigpact wrote")
    parts = tuple(_part(members, entry, index, path) for index, entry in enumerate(plain["parts"]))
    if len({part.name for part in parts}) < len(parts):
        raise UnusableInput(f"{path}!{_MEASURED}", "a part twice", "a file that rigpact wrote")
    if manifest["rigpact"] == rigpact_version():
        _refuse_other_severities(parts, path)
    questions = {name: from_plain(value) for name, value in plain["questions"].items()}
    measurement = GateMeasurement(manifest["system"], parts, plain["not_asked"], manifest["provenance"], questions)
    return Archive(measurement, plain_to_gate(_document(members, _VERDICT, path)))


def _refuse_other_severities(parts: Sequence[Measured], path: str | Path) -> None:
    """Raise UnusableInput for a finding that this version of rigpact does not write: it measures every rule in full."""
    known = {rule.code: rule.severity for rule in ALL_RULES}
    for finding in (finding for part in parts for finding in part.findings):
        code, severity = finding.rule.code, finding.rule.severity
        if known.get(code) is not severity:
            wanted = f"{code} as {known[code].value}" if code in known else "a rule of this version"
            raise UnusableInput(f"{path}!{_MEASURED}", f"{code} as {severity.value}", wanted)


def _part(members: Mapping[str, bytes], entry: KeptPart, index: int, path: str | Path) -> Measured:
    run = None
    if f"runs/{index}/run.json" in members:
        run = kept_to_run(_document(members, f"runs/{index}/run.json", path), _arrays(members, f"runs/{index}/", path))
    return plain_to_measured(entry, _arrays(members, f"parts/{index}/", path), run)


def _arrays(members: Mapping[str, bytes], folder: str, path: str | Path) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(folder).removesuffix(".npy"): bytes_to_array(content, f"{path}!{name}")
        for name, content in members.items()
        if name.startswith(folder) and name.endswith(".npy")
    }


def _document(members: Mapping[str, bytes], name: str, path: str | Path) -> Any:
    if name not in members:
        raise UnusableInput(path, f"no {name} in it", "an archive that `rigpact gate --archive` writes")
    file = bytes_to_json(members[name], f"{path}!{name}")
    if not file.standard:  # half a character, or a number that no JSON has: nothing that rigpact writes
        raise UnusableInput(
            f"{path}!{name}", "text that is not standard JSON", "an archive of `rigpact gate --archive`"
        )
    return file.data


def _check_hashes(members: Mapping[str, bytes], hashes: Mapping[str, str], path: str | Path) -> None:
    for name, content in members.items():
        if name != _MANIFEST and hashes.get(name) != hashlib.sha256(content).hexdigest():
            raise UnusableInput(f"{path}!{name}", "other bytes than the manifest says", "an archive as it was written")
    for name in hashes:
        if name not in members:
            raise UnusableInput(path, f"no {name} in it", "an archive as it was written")


def _read_members(path: Path) -> dict[str, bytes]:
    """The bytes of every member. Only uncompressed members with known names are read, so none exceeds the file size."""
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            entries = file.infolist()
            _refuse_foreign(entries, path, len(content))
            return {entry.filename: file.read(entry) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, OSError) as error:
        raise UnusableInput(path, f"no archive ({error})", f"a file NAME{SUFFIX}") from None


def _refuse_foreign(entries: list[zipfile.ZipInfo], path: Path, size: int) -> None:
    if len(entries) > MAX_MEMBERS:
        raise UnusableInput(path, f"{len(entries)} members", f"at most {MAX_MEMBERS}")
    names = [entry.filename for entry in entries]
    total = sum(entry.file_size for entry in entries)
    for entry in entries:
        foreign = not _NAME.fullmatch(entry.filename) or names.count(entry.filename) > 1
        if foreign or entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise UnusableInput(path, f"the member {entry.filename!r}", "members that rigpact writes, stored")
    if total > size:
        raise UnusableInput(path, f"members of {total} bytes in a file of {size}", "members that do not overlap")


_TYPES = ("<f4", "<f8", "<i8")
_MAX_DIMENSIONS = 4


def array_to_bytes(array: NDArray[Any]) -> bytes:
    """The array as .npy, version 1.0, little-endian, in C order: the same values give the same bytes."""
    stream = io.BytesIO()
    whole = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    np.lib.format.write_array(stream, whole, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def bytes_to_array(content: bytes, place: str) -> NDArray[Any]:
    """The array, read-only; UnusableInput for other types, or if header and length disagree."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except (ValueError, EOFError, SyntaxError, TypeError, TokenError):
        raise UnusableInput(place, "no array", "a .npy file, version 1.0") from None
    if version != (1, 0) or fortran or dtype.str not in _TYPES or not 1 <= len(shape) <= _MAX_DIMENSIONS:
        raise UnusableInput(place, f"an array of {dtype} in another form", f"one of {', '.join(_TYPES)}, in C order")
    size, start = prod(shape) * dtype.itemsize, stream.tell()
    if size != len(content) - start:
        raise UnusableInput(place, f"{len(content) - start} bytes of numbers", f"{size}, as its header says")
    return np.frombuffer(content, dtype, offset=start).reshape(shape)
