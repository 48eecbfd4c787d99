"""Read a pasted engine log: what the deployed engine prints of its first steps, line by line.

Lines may contain the engine's prefix, CRLF and other text. A line that was cut off is skipped and counted. Not here: what the
lines prove (log_evidence.py). To add a line: a pattern, and a row in `_READERS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rigpact.contract.files import read_bytes
from rigpact.contract.files.json_text import encoding_of
from rigpact.contract.statistics import FloatArray

_NUMBER = r"[-+]?(?:1\.#\w++|(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?|nan(?:\(\w++\))?|inf(?:inity)?)"
"""Digits are never given back (`++`): a line of nothing but digits is read once, not once for each of its digits."""
_VECTOR = rf"\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)"
_AXES = ("prevX", "prevZ", "deltaX", "deltaZ", "nextX", "nextZ")
_ANY_CASE = re.IGNORECASE
_NUMBERS = re.compile(_NUMBER, _ANY_CASE)
_COMPOSE = re.compile(
    r"\[DeltaCompose\]\s*frame=(\d{1,18})\s+" + r"\s+".join(f"{name}={_VECTOR}" for name in _AXES), _ANY_CASE
)
_PUBLISHED = re.compile(
    rf"y_reproj\[0\.\.11\]\s*=\s*({_NUMBER}(?:[\s,]+{_NUMBER}){{11}})\s*\(len=(\d{{1,18}})\)", _ANY_CASE
)
_CONDITION = re.compile(r"Dim=(\d{1,18})\s++Raw=", _ANY_CASE)
_PLAYER = "useTeacher=0"
_SCHEMA = re.compile(
    r"\[Schema OK\]\s*X=(?P<state>\d{1,18})\s+Y=(?P<output>\d{1,18})\s+C=(?P<cond>\d{1,18})\s+fps=(?P<fps>\d{1,9}(?:\.\d*+)?)"
)
_DIMS = re.compile(
    r"\[FusedModel\] Requested dims:\s*motion=(?P<state>\d{1,18})\s+cond=(?P<cond>\d{1,18})\s+contacts=(?P<contacts>\d{1,18})"
    r"\s+angvel=(?P<angvel>\d{1,18})\s+pose_hist=(?P<pose_hist>\d{1,18})"
)
_LENGTHS = re.compile(
    r"\[StepModel\]\s*lens X=(\d{1,18})\s+C=(\d{1,18})\s+Contacts=(\d{1,18})\s+Ang=(\d{1,18})\s+Pose=(\d{1,18})\s*\|\s*bound"
    r"\s+(\d{1,18})/(\d{1,18})/(\d{1,18})/(\d{1,18})/(\d{1,18})"
)
_STEP = re.compile(r"\]\[\s*(\d+)\]")
"""The frame counter in the engine's prefix."""


class Printed(NamedTuple):
    """Printed numbers, and how many decimals they have."""

    numbers: FloatArray
    decimals: int

    @property
    def half_digit(self) -> float:
        """Half of the last digit."""
        return float(0.5 * 10.0**-self.decimals)


class Composition(NamedTuple):
    """A `[DeltaCompose]` line: six axes of bone 0, and the published numbers of the same step if they were printed."""

    frame: int
    axes: Printed
    published: Printed | None


class Condition(NamedTuple):
    """A `[BuildCondVector]` line: the raw condition, the one that the network gets, and the width that it says.

    is_players: the line says that no clip drove the engine.
    """

    width: int
    raw: Printed
    out: Printed
    is_players: bool = False


@dataclass(eq=False)
class EngineLog:
    """The content of a log. published: every `y_reproj` line with the width of the output; cut_off: lines by mark."""

    compositions: list[Composition] = field(default_factory=list)
    published: list[tuple[Printed, int]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    widths: dict[str, set[int]] = field(default_factory=dict)
    bound: set[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)
    fps: float | None = None
    history_fell_back: bool = False
    probes: int = 0
    cut_off: Counter[str] = field(default_factory=Counter)

    @property
    def runs(self) -> list[list[Composition]]:
        """The compositions of each run: a run ends where the frame number does not grow."""
        runs: list[list[Composition]] = []
        for line in self.compositions:
            if not runs or line.frame <= runs[-1][-1].frame:
                runs.append([])
            runs[-1].append(line)
        return runs


def read_engine_log(path: str | Path) -> EngineLog:
    """Read the lines of the engine's motion model; skip all other lines."""
    log, step = EngineLog(), _Step()
    for line in _text(path).splitlines(keepends=True):
        for mark, read in _READERS.items():
            if mark in line and not read(log, step, line):
                log.cut_off[mark] += 1
    step.close(log)
    return log


def _text(path: str | Path) -> str:
    """The text of a log, in UTF-8 or in UTF-16 as Windows writes it; other bytes belong to lines of other programs."""
    content = read_bytes(path)
    return content.decode(encoding_of(content), "replace")


class _Step:
    """The lines of one step: each kind at most once. A line that was cut off keeps its place."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, Printed] | Printed | None] = {}
        self._counter: str | None = None

    def add(self, log: EngineLog, mark: str, line: str, content: tuple[int, Printed] | Printed | None) -> None:
        """Add a line; a kind that comes again, or another frame counter, begins the next step."""
        counter = _STEP.search(line)
        number = counter[1] if counter else None
        if mark in self._seen or (self._seen and number != self._counter):
            self.close(log)
        self._seen[mark], self._counter = content, number

    def close(self, log: EngineLog) -> None:
        """Keep the composition of the step, with what it published."""
        composed, published = self._seen.get("[DeltaCompose]"), self._seen.get("y_reproj[")
        if isinstance(composed, tuple) and not isinstance(composed, Printed):
            log.compositions.append(Composition(*composed, published if isinstance(published, Printed) else None))
        self._seen = {}


def _read_composition(log: EngineLog, step: _Step, line: str) -> bool:
    match = _COMPOSE.search(line)
    step.add(log, "[DeltaCompose]", line, None if match is None else (int(match[1]), _printed(match.groups()[1:])))
    return match is not None


def _read_published(log: EngineLog, step: _Step, line: str) -> bool:
    match = _PUBLISHED.search(line)
    printed = None if match is None else _printed(_NUMBERS.findall(match[1]))
    step.add(log, "y_reproj[", line, printed)
    if match is not None and printed is not None:
        log.published.append((printed, int(match[2])))
    return match is not None


def _read_condition(log: EngineLog, _step: _Step, line: str) -> bool:
    match = _CONDITION.search(line, line.index("[BuildCondVector]"))
    before, _, after = ("", "", "") if match is None else line.rstrip("\r\n")[match.end() :].partition("Out=")
    raw, out = _NUMBERS.findall(before), _NUMBERS.findall(after)
    if match is None or len(raw) != len(out) or not raw:
        return False
    if not line.endswith("\n") and _decimals(out[-1]) < _decimals(raw[-1]):
        return False  # the end of the file is in the last number
    log.conditions.append(Condition(int(match[1]), _printed(raw), _printed(out), _PLAYER in line))
    return True


def _read_widths(log: EngineLog, _step: _Step, line: str) -> bool:
    match = _SCHEMA.search(line) or _DIMS.search(line)
    for name, number in ({} if match is None else match.groupdict()).items():
        if name == "fps":
            log.fps = float(number)
        else:
            log.widths.setdefault(name, set()).add(int(number))
    return match is not None


def _read_lengths(log: EngineLog, _step: _Step, line: str) -> bool:
    match = _LENGTHS.search(line)
    if match is not None:
        numbers = tuple(map(int, match.groups()))
        log.bound.add((numbers[:5], numbers[5:]))
    return match is not None


def _read_fallback(log: EngineLog, _step: _Step, _line: str) -> bool:
    log.history_fell_back = True
    return True


def _read_probe(log: EngineLog, _step: _Step, _line: str) -> bool:
    log.probes += 1
    return True


_READERS: Mapping[str, Callable[[EngineLog, _Step, str], bool]] = {
    "[DeltaCompose]": _read_composition,
    "y_reproj[": _read_published,
    "[BuildCondVector]": _read_condition,
    "[Schema OK]": _read_widths,
    "[FusedModel] Requested dims": _read_widths,
    "[StepModel] lens": _read_lengths,
    "[PoseHist] Fallback enabled": _read_fallback,
    "[Probe-CS]": _read_probe,
}
"""By its mark, how a line is read: False for a line that was cut off."""


def _printed(texts: Sequence[str]) -> Printed:
    return Printed(np.array([_number(text) for text in texts], np.float32), _last_digit(texts))


def _number(text: str) -> float:
    """A number as C and C++ print it; `1.#IND` and `-nan(ind)` are NaN, `1.#INF` is infinite."""
    word = text.lower()
    sign = -1.0 if word.startswith("-") else 1.0
    if "inf" in word:
        return sign * float("inf")
    return float("nan") if "nan" in word or "#" in word else float(word)


def _last_digit(texts: Sequence[str]) -> int:
    """The place of the last printed digit: a fixed number of decimals, or as many digits as the longest number has."""
    decimals = {_decimals(text) for text in texts if "." in text}
    if len(decimals) == 1:
        return decimals.pop()
    digits = max(len(re.sub(r"[^\d]", "", text.lower().partition("e")[0]).lstrip("0")) for text in texts)
    whole = max(len(re.sub(r"[^\d]", "", text.partition(".")[0]).lstrip("0")) for text in texts)
    return max(digits - max(whole, 1), 0) if decimals else 0


def _decimals(text: str) -> int:
    return len(text.lower().partition("e")[0].partition(".")[2])
