"""The result archive, NAME.rigpact.zip: measurements without thresholds, and the answer of that day.

    manifest.json     format, version of rigpact, SHA-256 of every input, of every member, and of all this
    measured.json     the measurements of the parts, before any threshold: a `GateMeasurement`
    verdict.json      the answer under the configuration of that day: its verdict, and a `GateReport`
    arrays/N.npy      the arrays of the compared runs

Members are stored without compression, in a fixed order and without times. So the same results give the same bytes, and
a file is never larger in memory than on disk. Nothing is unpacked to disk or unpickled.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypedDict

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes, write_bytes
from rigpact.contract.findings import FindingsReport, Verdict
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.structure import check_against_schema
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.compared_run import ComparedRun
from rigpact.reports.gate.kept_values import Arrays, from_plain, to_plain
from rigpact.reports.gate.measured import GateMeasurement, Measured
from rigpact.reports.gate.parts import PARTS
from rigpact.reports.gate.report import GateReport

FORMAT, VERSION = "rigpact-archive", 4
SUFFIX = ".rigpact.zip"
MAX_MEMBERS = 4096
_MANIFEST, _MEASURED, _VERDICT = "manifest.json", "measured.json", "verdict.json"
_NAME = re.compile(r"[a-z]+\.json|[a-z]+(/\d{1,4})?/[a-z_\d]+\.(json|npy)")
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o100644 << 16
_TYPES = ("<f4", "<f8", "<i8")
_MAX_DIMENSIONS = 4
_OURS = "an archive that `rigpact gate --archive` writes"


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of an archive."""

    measurement: GateMeasurement
    report: GateReport

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """The runs that can be drawn."""
        return self.measurement.runs


@dataclass(frozen=True)
class _KeptAnswer:
    """verdict.json."""

    verdict: Verdict
    report: GateReport


class _File(TypedDict, total=False):
    """A file in a summary."""

    path: str
    kind: str


class _Summary(TypedDict, total=False):
    """The entries of a part's summary that are shown by themselves."""

    files: tuple[_File, ...]
    not_judged: str
    growth_per_frame: float | None
    spread: float | None


def write_archive(path: Path, measurement: GateMeasurement, report: GateReport) -> None:
    """Write measurements and answer; UnusableInput for a name that does not end in .rigpact.zip."""
    if not path.name.endswith(SUFFIX):
        raise UnusableInput(path, f"the name {path.name}", f"a name ending in {SUFFIX}")
    write_bytes(path, archive_bytes(measurement, report))


def archive_bytes(measurement: GateMeasurement, report: GateReport) -> bytes:
    """The bytes of the archive; the same results give the same bytes."""
    arrays: Arrays = {}
    members = {
        _MEASURED: _json(to_plain(GateMeasurement, measurement, arrays)),
        _VERDICT: _json(to_plain(_KeptAnswer, _KeptAnswer(report.verdict, report), arrays)),
    }
    members |= {name: array_to_bytes(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT, "version": VERSION, "rigpact": rigpact_version(), "system": measurement.system,
        "provenance": dict(measurement.provenance), "members": _hashes(members),
    }  # fmt: skip
    manifest["sha256"] = _own_hash(manifest)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as file:
        for name, content in ((_MANIFEST, _json(manifest)), *members.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _READABLE
            file.writestr(entry, content)
    return stream.getvalue()


def _hashes(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}


def _own_hash(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, in any order of keys, without the hash itself; empty where nothing has one."""
    said = {key: value for key, value in manifest.items() if key != "sha256"}
    try:
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except TypeError:  # half of a surrogate pair, or a number of more than 64 bits: nothing that was ever hashed
        return ""


def _json(document: Any) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def read_archive(path: str | Path) -> Archive:
    """Read an archive; UnusableInput for a file that rigpact did not write, or that was changed later."""
    members = _read_members(Path(path))
    manifest = _document(members, _MANIFEST, path)
    if isinstance(manifest, dict) and isinstance(number := manifest.get("version"), int) and number != VERSION:
        found = f"version {number} of a result archive"
        raise UnusableInput(path, found, f"version {VERSION}", "run the gate again with --archive")
    for pointer, message in check_against_schema(manifest, "archive_manifest"):
        raise UnusableInput(f"{path}!{_MANIFEST}#{pointer}", message, _OURS)
    if manifest["sha256"] != _own_hash(manifest):
        raise UnusableInput(f"{path}!{_MANIFEST}", "other words than its hash says", "an archive as it was written")
    held, said = _hashes(members), manifest["members"]
    for name in sorted(held.keys() | said.keys()):
        if held.get(name) != said.get(name):
            raise UnusableInput(f"{path}!{name}", "other bytes than the manifest says", "an archive as it was written")
    measured, answered = _document(members, _MEASURED, path), _document(members, _VERDICT, path)
    arrays = {name: bytes_to_array(each, f"{path}!{name}") for name, each in members.items()}
    measurement = from_plain(GateMeasurement, measured, arrays, f"{path}!{_MEASURED}")
    measurement = replace(measurement, parts=tuple(sound_part(part) for part in measurement.parts))
    answer = from_plain(_KeptAnswer, answered, arrays, f"{path}!{_VERDICT}")
    bound = measurement.system, measurement.provenance
    _refuse("other inputs than the manifest says", where=bound != (manifest["system"], manifest["provenance"]))
    _refuse("a verdict that is not its parts'", where=answer.report.verdict != answer.verdict)
    for part in answer.report.parts:
        _refuse_unsound(part.report)
    for parts in (measurement.parts, answer.report.parts):
        _refuse("a part twice", where=len({part.name for part in parts}) < len(parts))
    _refuse("an array that nothing names", where=bool(arrays))
    if manifest["rigpact"] == rigpact_version():
        _refuse_other_severities(measurement.parts, path)
    return Archive(measurement, answer.report)


def sound_part(part: Measured) -> Measured:
    """A part that was read; UnusableInput where its figures and its run are not what judging its kind reads.

    One that could not be judged has neither.
    """
    _refuse_unsound(part.report)
    _refuse("a part that does not fit", where=part.kind not in PARTS or (part.run is not None and not part.metrics))
    if not part.metrics:
        return part
    kind = PARTS[part.kind]
    part = replace(part, metrics=from_plain(kind.metrics, part.metrics, {}))
    _refuse("a part that does not fit", where=not kind.is_sound(part))
    return part


def _refuse_unsound(report: FindingsReport) -> None:
    from_plain(_Summary, report.summary, {})
    _refuse(
        "an account below zero", where=min(report.ledger.declared, report.ledger.compared, report.ledger.waived) < 0
    )


def _refuse(what: str, *, where: bool) -> None:
    if where:
        raise UnusableInput("archive", what, "a file that rigpact wrote")


def _refuse_other_severities(parts: Iterable[Measured], path: str | Path) -> None:
    """Raise UnusableInput for a finding that this version of rigpact does not write: it measures every rule in full."""
    known = {rule.code: rule.severity for rule in ALL_RULES}
    for finding in (finding for part in parts for finding in part.findings):
        code, severity = finding.rule.code, finding.rule.severity
        if known.get(code) is not severity:
            wanted = f"{code} as {known[code].value}" if code in known else "a rule of this version"
            raise UnusableInput(f"{path}!{_MEASURED}", f"{code} as {severity.value}", wanted)


def _document(members: dict[str, bytes], name: str, path: str | Path) -> Any:
    """The value of a JSON member, which is taken out."""
    if name not in members:
        raise UnusableInput(path, f"no {name} in it", _OURS)
    file = bytes_to_json(members.pop(name), f"{path}!{name}")
    if not file.standard:  # half a character, or a number that no JSON has: nothing that rigpact writes
        raise UnusableInput(f"{path}!{name}", "text that is not standard JSON", _OURS)
    return file.data


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
