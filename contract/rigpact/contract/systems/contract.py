"""A contract: a system with a customer's numbers and conventions, from any file; and the frames that are computed under it.

The meaning of a contract is one hash: two files with the same meaning make both sides compute the same numbers. Formatting, the
order of keys, the digits of a number and texts that nothing computes with change a file's bytes and not its meaning.
docs/trace-format.md defines both hashes for other programs. What reads a contract lists the values that are computed with.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Conventions, Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import NotKnown
from rigpact.contract.systems.system import System


@dataclass(frozen=True, eq=False)
class Contract:
    """What both sides agreed on, immutable; `rigpact.contract.contract_files.open_contract` reads one.

    sha256, companion_sha256: of the files' bytes; file_sha256: of the file's own, where `sha256` is of several files.
    vectors: the layouts that the file has; the system's own stand for the others. constants: the numbers, as JSON values.
    read_numbers: what the system computes with, where the reader brings it and it is not made from the constants.
    whole: the contract of all bones, where this is that of some of them; bones: which of them, by their indices there.
    """

    system: System
    path: Path
    sha256: str
    vectors: Mapping[str, FieldLayout]
    conventions: Conventions
    constants: Mapping[str, Any]
    fps: float | None = None
    meaning: Meaning | None = None
    companion_sha256: str | None = None
    file_sha256: str | None = None
    read_numbers: Any = None
    whole: Contract | None = None
    bones: tuple[int, ...] = ()

    @cached_property
    def numbers(self) -> Any:
        """What the system computes with: the constants as the system reads them, or a `Character` of a schema bundle."""
        return self.system.numbers(self.constants) if self.read_numbers is None else self.read_numbers

    @cached_property
    def hashes(self) -> dict[str, str | None]:
        """What a recording says of its contract: hashes of the files' bytes, of their meaning, and of the conventions."""
        return {
            "bundle_sha256": self.sha256 or None,
            "companion_sha256": self.companion_sha256,
            "meaning_sha256": None if self.meaning is None else self.meaning.sha256,
            "conventions_sha256": conventions_sha256(self.conventions),
        }

    @property
    def known_fps(self) -> float:
        """Frames per second; UnusableInput where the contract says none."""
        if self.fps is None:
            raise UnusableInput(f"{self.path}#/fps", "none", "the frames per second of the runtime")
        return self.fps

    @property
    def of_all_bones(self) -> Contract:
        """The contract itself, or the whole one where this is that of some bones."""
        return self if self.whole is None else self.whole

    def fields(self, stage: str) -> FieldLayout:
        """The fields of a stage; KeyError where there is no such stage."""
        if stage not in self._layouts:
            self._layouts[stage] = self.system.graph[stage].fields(self)
        return self._layouts[stage]

    @cached_property
    def _layouts(self) -> dict[str, FieldLayout]:
        return dict(self.vectors)

    @cached_property
    def stage_widths(self) -> Mapping[str, int | None]:
        """Width of every stage by name; None where only the network knows it."""
        return {name: self.fields(name).width or None for name in self.system.graph.names}

    def with_conventions(self, changes: Mapping[str, Any]) -> Self:
        """The contract with some knobs changed; UnusableInput for a knob or a value that the system does not have."""
        if not changes:
            return self
        of_all = {name: value for name, value in changes.items() if name != "bone_order"}
        whole = None if self.whole is None else self.whole.with_conventions(of_all)
        changed = replace(self, conventions=self.conventions.replaced(changes), whole=whole)
        vars(changed).update({"numbers": self.numbers})  # the same constants, read once
        return changed

    def with_numbers(self, numbers: Any) -> Self:
        """The contract with other numbers to compute with; its files' hashes and meaning stay."""
        return replace(self, read_numbers=numbers)


Part = TypeVar("Part")


class FramesOfContract:
    """The contract's numbers, the effects that its conventions choose, what is built of it once; the network, if there is one."""

    def __init__(self, contract: Contract, network: Any = None) -> None:
        """Nothing is built yet."""
        self.contract, self._network = contract, network
        self._parts: dict[Any, Any] = {}

    @property
    def numbers(self) -> Any:
        """The contract's constants as the system reads them."""
        return self.contract.numbers

    @property
    def network(self) -> Any:
        """The network; `NotKnown` if there is none."""
        if self._network is None:
            raise NotKnown("network")
        return self._network

    def pick(self, knob: Knob) -> Any:
        """The effect of the value that the conventions choose for a knob."""
        return knob.effects[self.contract.conventions[knob.name]]

    def built(self, part: Callable[[Any], Part]) -> Part:
        """`part(contract)`, built once."""
        if part not in self._parts:
            self._parts[part] = part(self.contract)
        found: Part = self._parts[part]
        return found


class Frames(Protocol):
    """What a stage's functions look at: the other stages at N frames, and the contract under which they are computed.

    A stage that is not known raises `NotKnown`: then nothing that needs it can be computed either.
    """

    frame: NDArray[Any]
    fps: float
    mode: str

    @property
    def contract(self) -> Contract:
        """The contract, under the conventions of this evaluation."""

    @property
    def numbers(self) -> Any:
        """What the contract computes with."""

    @property
    def network(self) -> Any:
        """The network; `NotKnown` where there is none."""

    @property
    def drive(self) -> Any:
        """The rows of the clip that drove the run; `NotKnown` where there is none."""

    def __getitem__(self, stage: str) -> FloatArray:
        """The stage at these frames, (N, width)."""

    def get(self, stage: str) -> FloatArray | None:
        """The same; None where it is not known."""

    def at(self, stage: str, lag: int, start: str = "unknown") -> FloatArray:
        """The stage `lag` frames later, (N, width); NaN where that is not known.

        start: what stands before frame 0: `unknown` (NaN), `first` (frame 0 again) or `zeros`.
        """

    def rows_at(self, stage: str, wanted: NDArray[Any]) -> FloatArray:
        """The stage at frames of the run, (N, …) to (N, …, width); NaN where that is not known."""

    def left_before(self, stage: str) -> FloatArray:
        """What the frame before left of a stage, (N, width); NaN where that is not known. Nothing is computed for it."""

    @property
    def has_drive(self) -> bool:
        """Whether there is a clip."""

    def last(self, stage: str) -> int:
        """Where a clip drives: the last frame at which a stage may be known."""

    def driven(self, stage: str) -> FloatArray:
        """The clip's rows of a stage at these frames, (N, width); a free run loops over the clip."""

    def of_clip(self, stage: str, choose: Callable[[FloatArray, NDArray[Any]], FloatArray]) -> FloatArray:
        """`choose(rows, frame)` of each clip's rows of a stage: other rows of it than those of these frames."""

    def pick(self, knob: Knob) -> Any:
        """The effect of the value that the conventions choose for a knob."""

    def built(self, part: Callable[[Any], Any]) -> Any:
        """`part(contract)`, built once for each contract."""


def canonical_json(value: Any) -> str:
    """JSON of a value as RFC 8785 writes it: sorted keys, no spaces, each number as its shortest float64 text.

    Arrays count as lists. Numbers that JSON does not have are the texts that a trace uses: "NaN", "Infinity", "-Infinity".
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, np.ndarray):
        rows = value.tolist()
        return "[" + ",".join(map(_float_text, rows)) + "]" if value.ndim == 1 else canonical_json(rows)
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical_json(key)}:{canonical_json(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    return _number_text(value)


def _float_text(value: float) -> str:
    """As `_number_text`, at once for most floats: those with a fraction and without an exponent."""
    text = repr(value)
    is_plain = "." in text and not text.endswith(".0") and "e" not in text
    return text if is_plain else _number_text(value)


def _number_text(value: float) -> str:
    """A number as ECMAScript prints its float64."""
    try:
        number = float(value)
    except OverflowError:  # JSON may hold integers that no float64 holds
        number = math.inf if value > 0 else -math.inf
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return mantissa
    power, sign, digits = int(exponent), "-" if number < 0 else "", mantissa.lstrip("-").replace(".", "")
    if -7 < power < 0:
        return f"{sign}0.{digits:0>{len(digits) - power - 1}}"
    if 0 < power < 21:
        return f"{sign}{digits:0<{power + 1}}"
    return f"{mantissa}e{power:+d}"


def sha256_of(value: Any) -> str:
    """SHA-256 of a value's canonical JSON in UTF-8."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class Meaning:
    """The values that a contract's files give, as they were loaded, and their hash; computed when it is first asked for.

    A copy of a contract keeps the meaning of its files, whatever was changed in the copy.
    """

    values: Callable[[], Mapping[str, Any]] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """Hash of the values."""
        return sha256_of(self.values())


def conventions_sha256(conventions: Conventions) -> str:
    """Hash of the choices; a knob of which no value is a defect has no part in it."""
    return sha256_of({name: value for name, value in conventions.items() if not conventions.knob(name).is_benign})
