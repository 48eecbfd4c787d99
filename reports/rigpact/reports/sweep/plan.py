"""The plan of a sweep: its cells, in an order that depends only on the plan.

The name of a cell is a hash of everything that affects its result: bundle, companion, model, clip, conventions, mode,
frames, modules of operations and the version of rigpact. File names are not in the hash, so a moved file is not measured again.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rigpact.contract.conventions import Conventions
from rigpact.contract.declared.reading import sources_of
from rigpact.contract.declared.vocabulary import files_of_operations
from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened
from rigpact.contract.systems.contract import Contract
from rigpact.contract.version import rigpact_version
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.native.library import Engine
from rigpact.reports.file_lists import listed_files

MODES = ("teacher", "free")
Changes = tuple[tuple[str, Any], ...]
_WEIGHTS_SUFFIX = ".data"
"""ONNX stores large weights in MODEL.onnx.data beside the model."""


@dataclass(frozen=True)
class SweptFile:
    """A file: its path, the user's name for it, and the SHA-256 of its bytes (for a model, with its weights file)."""

    path: str
    name: str
    sha256: str


@dataclass(frozen=True)
class Cell:
    """One measurement. changes: conventions that replace the bundle's. frames: None for the whole clip.

    operations: modules that bring operations of the contract. sources: files that its numbers come from. engine: who computes
    a free run; numpy gives the same bytes on every machine.
    """

    bundle: SweptFile
    companion: SweptFile | None
    model: SweptFile
    clip: SweptFile
    changes: Changes
    mode: str
    frames: int | None
    version: str
    operations: tuple[SweptFile, ...] = ()
    sources: tuple[SweptFile, ...] = ()
    engine: Engine = "numpy"

    @cached_property
    def identity(self) -> str:
        """32 hexadecimal digits of a SHA-256 over everything that affects the result."""
        files = (self.bundle, self.companion, self.model, self.clip, *self.operations, *self.sources)
        hashes = [entry and entry.sha256 for entry in files]
        facts = (hashes, self.changes, self.mode, self.frames, self.version, self.engine)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    @property
    def conventions(self) -> str:
        """The changed conventions in the form of `--set`; '' if there are none."""
        words = {name: ",".join(map(str, value)) if isinstance(value, tuple) else value for name, value in self.changes}
        return " ".join(f"{name}={value}" for name, value in words.items())


def plan_sweep(
    contract: Contract,
    companion: Path | None,
    models: Sequence[str],
    clips: Sequence[str],
    knobs: Sequence[str] = (),
    *,
    base: dict[str, Any] | None = None,
    modes: Sequence[str] = MODES,
    frames: int | None = None,
    engine: Engine = "numpy",
) -> list[Cell]:
    """The cells of a sweep of one bundle or contract file: every clip, every set of conventions, every model, every mode.

    models, clips: files, folders (all models, all clips in them) or patterns. knobs: `KNOB=V1,V2` words. base:
    conventions for all cells. Raises UnusableInput for a missing file, a pattern without a match, or an unknown knob or
    value.
    """
    grid = itertools.product(  # by clip, so that each clip is read once for all checkpoints
        _files(clips, files_of(contract).clip_endings, "CLIP"),
        _settings(contract.conventions, knobs, base or {}),
        _files(models, (".onnx",), "--onnx"),
        modes_of(contract, modes),
    )
    bundle = _swept_file(contract.path, contract.path.name)
    beside = _swept_file(companion, companion.name) if companion else None
    operations = tuple(_swept_file(Path(file), file) for file in files_of_operations())
    sources = tuple(_swept_file(path, path.name) for path in sources_of(read_document(contract.path)))
    return [
        Cell(bundle, beside, model, clip, changes, mode, frames, rigpact_version(), operations, sources, engine)
        for clip, changes, model, mode in grid
    ]


def modes_of(contract: Contract, modes: Sequence[str]) -> tuple[str, ...]:
    """The modes of a sweep. If both are asked for but the system does not feed itself, the clip drives every run."""
    if contract.system.graph.feeds_itself:
        return tuple(dict.fromkeys(modes))
    if tuple(modes) == ("free",):
        title = contract.system.title
        raise UnusableInput("--mode free", f"{title}, which does not feed itself", "--mode teacher")
    return ("teacher",)


def _swept_file(path: Path, name: str) -> SweptFile:
    return SweptFile(str(path.resolve()), name, file_sha256(path))


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces; it includes a weights file beside a model."""
    digests = []
    for each in (path, path.with_name(path.name + _WEIGHTS_SUFFIX)):
        if each == path or each.is_file():
            try:
                with opened(each) as stream:
                    digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
            except OSError as error:
                found = f"a file that cannot be read ({error.strerror})"
                raise UnusableInput(each, found, "a readable file") from None
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _files(words: Sequence[str], endings: tuple[str, ...], option: str) -> list[SweptFile]:
    paths = listed_files(words, endings, option)
    if not paths:
        raise UnusableInput(option, "none", "at least one")
    return [_swept_file(path, path.as_posix()) for path in paths]


def _settings(declared: Conventions, words: Sequence[str], base: dict[str, Any]) -> Iterator[Changes]:
    """All combinations of the knobs' values in the given order, without repetitions."""
    lists: dict[str, list[Any]] = {}
    for word in words:
        name, values = parse_knob_values(word, declared)
        lists.setdefault(name, []).extend(values)
    combinations = (dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values()))
    seen: set[Changes] = set()
    for combination in combinations:
        changes = {name: declared.knob(name).parsed(value) for name, value in (base | combination).items()}
        key = tuple(sorted(changes.items()))
        if key not in seen:
            seen.add(key)
            yield key


def parse_knob_values(word: str, conventions: Conventions) -> tuple[str, list[Any]]:
    """Read `KNOB=V1,V2`; values that contain commas are separated by `;`."""
    name, separator, text = word.partition("=")
    if not separator:
        raise UnusableInput(f"--set {word}", "no '='", "KNOB=V1,V2", "for example --set output_mode=delta,residual")
    knob = conventions.knob(name.strip())
    with suppress(UnusableInput):  # a list is one value of some knobs
        if ";" not in text:
            return knob.name, [knob.parsed(text.strip())]
    return knob.name, [knob.parsed(value.strip()) for value in text.split(";" if ";" in text else ",")]
