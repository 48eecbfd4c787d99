"""The trace: a header and recorded stages, independent of the file format."""

import mmap
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import ENEMY_ANIMATION, canonical_name, find_system, known_systems
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.version import rigpact_version
from rigpact.reference_runtime.recordings.precision import Precision, precision_of, words_to_precision

FORMAT, VERSION = "rigpact-trace", 1
MODES = ("teacher", "free", "playback")
"""`teacher`: every frame's input comes from the clip. `free`: the system feeds itself. `playback`: recorded answers are
published without a network."""
OWN_PRODUCER = "rigpact"
"""The producer of what rigpact recorded itself. No engine has that name."""
OPTIONAL_HASHES = ("companion_sha256", "meaning_sha256", "conventions_sha256", "model_sha256")
MAX_WIDTH = 1 << 24
"""A vector of more than sixteen million numbers a frame means a damaged file."""


@dataclass(frozen=True)
class TraceHeader:
    """First line of a trace: who recorded what, under which contract."""

    fps: float
    mode: str
    clip: str | None = None
    bundle_sha256: str | None = None
    producer: str = OWN_PRODUCER
    producer_version: str = field(default_factory=rigpact_version)
    system: str | None = None
    """The system of the stages; None for the enemy animation, whose files do not name it."""
    companion_sha256: str | None = None
    meaning_sha256: str | None = None
    conventions_sha256: str | None = None
    model_sha256: str | None = None
    """What the run was made with; None where the recorder did not say. docs/trace-format.md defines each hash."""
    bones: tuple[str, ...] | tuple[int, ...] | None = None
    """The bones that were recorded, in order, by name or by index in the contract; None for all of them."""
    about: tuple[tuple[str, str], ...] = ()
    """Whose recording it is, in the engine's words: actor, world, class of the character, …"""
    says_mode: bool = True
    """Whether the file itself says its mode. A table of columns need not: then it is a guess, or what a project declares."""

    def to_json(self, widths: dict[str, int]) -> dict[str, Any]:
        """The header object, with the width of each stage."""
        hashes = {name: getattr(self, name) for name in OPTIONAL_HASHES if getattr(self, name)}
        header = {
            "format": FORMAT, "version": VERSION, "producer": {"name": self.producer, "version": self.producer_version},
            "contract": {"bundle_sha256": self.bundle_sha256, **hashes},
            "fps": self.fps, "mode": self.mode, "clip": self.clip, "stages": widths,
        }  # fmt: skip
        more = {"system": self.system, "bones": self.bones and list(self.bones), "about": dict(self.about) or None}
        return header | {name: value for name, value in more.items() if value is not None}


def run_header(contract: Contract, fps: float, mode: str, clip: str | None = None, network: Any = None) -> TraceHeader:
    """The header of rigpact's own recording of a run: who recorded it, under which contract, with which model."""
    model = getattr(network, "signature", None)
    header = TraceHeader(fps, mode, clip, system=contract.system.name)
    hashes: dict[str, Any] = {**contract.hashes}
    return replace(header, **hashes, model_sha256=None if model is None else model.sha256)


@dataclass(frozen=True, eq=False)
class Trace:
    """Recorded stages: `frame` (T,) int64 increasing, `time_s` (T,) float64, each stage (T, width) float32.

    `truncation` describes where a truncated file ends; None for a complete file. `mapping` is the mapped file that holds the
    arrays, if they are not in memory. `of_text` is the precision that the digits of a text show. `resolution`: the precision
    that the user declares, in words. notes: what of the file was left out, and why.
    """

    header: TraceHeader
    frame: NDArray[np.int64]
    time_s: NDArray[np.float64]
    stages: dict[str, FloatArray]
    truncation: str | None = None
    mapping: mmap.mmap | None = field(default=None, repr=False)
    of_text: Precision | None = None
    resolution: str | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def precision(self) -> Precision | None:
        """How finely its numbers are written, as declared or as they show; None where every bit was kept."""
        if self.resolution is not None:
            return words_to_precision(self.resolution)
        found = self.of_text or precision_of(self.stages)
        self.release()
        return found

    def release(self) -> None:
        """Release the memory of the mapped file; the pages are read again on the next access."""
        if self.mapping is not None and hasattr(self.mapping, "madvise"):  # Windows has no madvise
            self.mapping.madvise(mmap.MADV_DONTNEED)

    @property
    def widths(self) -> dict[str, int]:
        """Width of each stage."""
        return {name: int(rows.shape[1]) for name, rows in self.stages.items()}


def json_to_header(entry: Any, place: str) -> tuple[TraceHeader, dict[str, int]]:
    """Read a header object and the widths it declares; UnusableInput names the wrong field."""
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise UnusableInput(place, "no trace header", f'an object with "format": "{FORMAT}"')
    if not is_integer(entry.get("version")) or entry["version"] != VERSION:
        raise UnusableInput(f"{place}#/version", repr(entry.get("version")), str(VERSION), "update rigpact")
    mode = entry.get("mode")
    if mode not in MODES:
        raise UnusableInput(f"{place}#/mode", repr(mode), f"one of {', '.join(MODES)}")
    producer, contract = (_optional_object(entry, name, place) for name in ("producer", "contract"))
    hashes = {name: _optional_text(contract, name, f"{place}#/contract") for name in OPTIONAL_HASHES}
    header = TraceHeader(
        fps=_positive(entry.get("fps"), f"{place}#/fps"),
        mode=str(mode),
        clip=_optional_text(entry, "clip", f"{place}#"),
        bundle_sha256=_optional_text(contract, "bundle_sha256", f"{place}#/contract"),
        producer=str(producer.get("name", "unknown")),
        producer_version=str(producer.get("version", "unknown")),
        system=_system_name(entry, place),
        bones=_bones(entry.get("bones"), f"{place}#/bones"),
        about=_about(_optional_object(entry, "about", place), f"{place}#/about"),
    )
    header = replace(header, **hashes)  # type: ignore[arg-type]
    return header, _widths(entry.get("stages"), f"{place}#/stages", _stage_widths(header.system))


def another_segment(place: str, frames: int) -> UnusableInput:
    """What to say of a second header in a file that must hold one recording."""
    hint = "`rigpact explain` judges each; `rigpact convert --segment N` writes one"
    return UnusableInput(place, f"another recording begins, after {frames} frames", "one recording", hint)


def _about(given: dict[str, Any], place: str) -> tuple[tuple[str, str], ...]:
    for key, value in given.items():
        if not isinstance(value, str):
            raise UnusableInput(f"{place}/{key}", _shown(value), "text")
    return tuple(given.items())


def _bones(given: Any, place: str) -> tuple[str, ...] | tuple[int, ...] | None:
    """The recorded bones of a header; which bones the contract has is not known here."""
    if given is None:
        return None
    bones = given if isinstance(given, list) else []
    if not bones or not (all(isinstance(bone, str) for bone in bones) or all(map(is_integer, bones))):
        raise UnusableInput(place, _shown(given), "a list of bones: their names, or their indices in the contract")
    for index, bone in enumerate(bones):
        if bone in bones[:index]:
            raise UnusableInput(f"{place}/{index}", f"{bone!r} a second time", "every recorded bone once")
    return tuple(bones)


def _system_name(entry: dict[str, Any], place: str) -> str | None:
    """The system that a header names. One that no package brings is declared by a contract, which is not known here."""
    name = _optional_text(entry, "system", f"{place}#")
    return name if name is None or canonical_name(name) not in known_systems() else canonical_name(name)


def _stage_widths(name: str | None) -> dict[str, int | None] | None:
    """The stages that a system's trace may hold, with their widths; None if the width depends on the contract.

    None for the whole where only a contract knows the stages.
    """
    if name is not None and name not in known_systems():
        return None
    system = find_system(name or ENEMY_ANIMATION)
    own = {name: layout.width for name, layout in system.vectors.items() if name not in system.classes}
    return {stage: own.get(stage) for stage in system.graph.names}


def _widths(stages: Any, place: str, known: dict[str, int | None] | None) -> dict[str, int]:
    if not isinstance(stages, dict) or not stages:
        raise UnusableInput(place, _shown(stages), "an object of stage widths")
    for name, width in stages.items():
        if known is not None and name not in known:
            raise UnusableInput(place, f"the stage {name!r}", f"one of {', '.join(known)}")
        if not is_integer(width) or not 0 < width <= MAX_WIDTH:
            raise UnusableInput(f"{place}/{name}", _shown(width), "the stage's width")
        if known is not None and known[name] not in (None, width):
            raise UnusableInput(f"{place}/{name}", f"{width} numbers", f"{known[name]}, as the system has them")
    return dict(stages)


def _optional_object(entry: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    value = entry.get(name)
    if value is not None and not isinstance(value, dict):
        raise UnusableInput(f"{place}#/{name}", _shown(value), "an object or null")
    return value or {}


def _optional_text(entry: dict[str, Any], name: str, place: str) -> str | None:
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise UnusableInput(f"{place}/{name}", _shown(value), "text or null")
    return value


def _positive(value: Any, place: str) -> float:
    if not is_number(value) or not 0 < value < float(np.finfo(np.float32).max):
        raise UnusableInput(place, _shown(value), "a positive number")
    return float(value)


def is_integer(value: Any) -> bool:
    """Whether a JSON value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that float64 can hold."""
    return isinstance(value, float) or (is_integer(value) and abs(value) < 1 << 1000)


def _shown(value: Any) -> str:
    return repr(value)[:60]
