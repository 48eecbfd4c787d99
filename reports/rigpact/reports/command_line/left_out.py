"""Before a command works: what its line leaves out is taken from rigpact.toml, what is missing is said at once, and files
that stand in each other's place are recognised.

Only files, conventions and words come from settings, never code: a module runs because the command line names it.
"""

from collections.abc import Iterable, Iterator, Mapping
from os.path import relpath
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import directory_hint, refuse_unread_folder, spelling_of
from rigpact.contract.files.reading import is_pattern
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.reference_runtime.recordings.named_columns import NoVector, opened_recording
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, open_file
from rigpact.reports.command_line.options import Reads, configuration_from_option, is_same
from rigpact.reports.file_lists import files_of_settings

Values = dict[str, Any]
"""What a command line gives to each parameter of a command; None, or an empty list, where it leaves it out."""


def filled(values: Values, reads: Reads) -> str:
    """`fill`, after which nothing may be absent or stand in the place of another file."""
    line = fill(values, reads)
    _refuse_absent(values, reads)
    _refuse_exchanged(values, reads)
    return line


def fill(values: Values, reads: Reads) -> str:
    """Take from the nearest rigpact.toml what a command line leaves out; the line that says it, '' where nothing was taken.

    Where the command line names a contract nothing is taken: the settings may speak of another one.
    """
    own, judged = values.get("config"), _judged(values, reads)
    if values["bundle"] or values.get("module") or values.get("each"):
        return ""
    if any(is_contract(each) or (not reads.is_sure and _needs_none(each)) for each in judged):
        return ""
    configuration = configuration_from_option(Path(own) if own else None)
    gate = configuration.gate if configuration else None
    if configuration is None or gate is None or gate.bundle is None:
        return ""
    folder, name = Path(relpath(configuration.path.resolve().parent)), configuration.path.name
    if not reads.is_sure and (why := _unfit(judged, folder / gate.bundle)):
        return f"{name} names {folder / gate.bundle}, which is not used: {why}"
    taken = dict(_taken(values, reads, gate, folder))
    for key, value in taken.items():
        values[key] = [*value, *(values[key] or ())] if isinstance(value, list) else value
    return f"from {name}: {' '.join(_shown(key, value, reads) for key, value in taken.items())}"


def _taken(values: Values, reads: Reads, gate: GateSettings, folder: Path) -> Iterator[tuple[str, Any]]:
    """What the settings give to parameters that are left out."""
    row = next(
        (each for each in (*gate.traces, *gate.teacher) if is_same(values.get("recording"), folder / each.file)), None
    )
    for key, words in _files(values, reads, gate, row).items():
        if key in values and not values[key] and any(words):
            paths = files_of_settings(
                [str(folder / word) for word in words if word], (".json", *TRACE_ENDINGS), "[gate]"
            )
            yield key, [str(each) for each in paths] if key in reads.lists else str(paths[0])
    for key in ("mode", "resolution") if row else ():
        if key in values and not values[key] and (word := getattr(row, key)):
            yield key, word
    if "paths" not in values and not values["conventions"]:  # `check` takes conventions itself
        given = {each.partition("=")[0].strip() for each in values["settings"] or ()}
        if words := [*_words(gate.conventions, given)]:
            yield "settings", words


def _files(values: Values, reads: Reads, gate: GateSettings, row: RecordedRun | None) -> dict[str, list[str | None]]:
    """The words of the settings for each parameter that is a file."""
    drive = [gate.free_run or next(iter(gate.clips), None)]
    found: dict[str, list[str | None]] = {
        "bundle": [gate.bundle], "companion": [gate.companion], "onnx": [None if values.get("replay") else gate.model],
        "clip": [row.clip] if row else [], "paths": [*gate.clips],
    }  # fmt: skip
    if reads.drives and not values.get("probe"):
        found[reads.judged[0]] = [*gate.clips] if reads.lists else drive
    return found


def _words(conventions: Mapping[str, Any], given: set[str]) -> Iterator[str]:
    for name, value in conventions.items():
        if name not in given:
            yield f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"


def _shown(key: str, value: Any, reads: Reads) -> str:
    word = "" if key in reads.judged else {"bundle": "--contract", "settings": "--set"}.get(key, f"--{key}")
    return " ".join(f"{word} {each}".strip() for each in ([value] if isinstance(value, str) else value))


def _judged(values: Values, reads: Reads) -> list[Path]:
    words = (values[name] or () for name in reads.judged)
    return [Path(each) for word in words for each in ([word] if isinstance(word, str | Path) else word)]


def _unfit(judged: Iterable[Path], contract: Path) -> str:
    """Why a contract is not that of the files that are judged, '' where it may be."""
    for path in judged:
        if path.is_file() and open_file(path).kind is Kind.COLUMNS:
            try:
                opened_recording(path, open_contract(contract))
            except NoVector:
                return f"{path} holds no vector of it"
    return ""


def is_contract(path: Path) -> bool:
    """Whether a file holds a contract: a schema bundle, or one of another system."""
    return path.is_file() and open_file(path).kind in {Kind.BUNDLE, Kind.SYSTEM_CONTRACT, Kind.DECLARATION}


def _needs_none(path: Path) -> bool:
    """Whether a side of a comparison is a function or a model, which no contract is needed for."""
    return ".py:" in path.name or (path.is_file() and open_file(path).kind is Kind.MODEL)


def _is_recording(path: Path) -> bool:
    return path.is_file() and open_file(path).is_recording


def _refuse_absent(values: Values, reads: Reads) -> None:
    """UnusableInput for a file to judge that is not there, or is a folder."""
    for path in () if values.get("base") else _judged(values, reads):
        if path.is_dir() and not reads.folders:
            refuse_unread_folder(path)
            raise UnusableInput(path, "a directory", "a recording or a clip", directory_hint(path))
        if not (path.exists() or is_pattern(str(path)) or ".py:" in path.name):
            raise UnusableInput(path, "nothing", "an existing file", spelling_of(path))


def _refuse_exchanged(values: Values, reads: Reads) -> None:
    """UnusableInput for a contract in the place of what is judged, or a recording in the place of the contract."""
    given, judged = values["bundle"], [] if "paths" in values else _judged(values, reads)
    contracts, is_recorded = [*filter(is_contract, judged)], given and _is_recording(Path(given))
    if contracts and is_recorded:
        found, expected = f"{given}, a recording, and {contracts[0]}, a contract", f"{given} --contract {contracts[0]}"
        raise UnusableInput("--contract", found, expected, "each stands in the place of the other")
    if is_recorded:
        raise UnusableInput("--contract", f"{given}, a recording", "a schema bundle or a contract")
    is_one_of_two = len(judged) > len(contracts) and any(map(_is_recording, judged))
    if contracts and (given or len(reads.judged) == 1 or is_one_of_two):  # two contracts are compared too
        raise UnusableInput(
            contracts[0], "a contract", "a recording or a clip", f"the contract is --contract {contracts[0]}"
        )
