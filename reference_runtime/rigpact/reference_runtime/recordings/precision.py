"""How finely a recording's numbers are written, found in the numbers: decimals, significant digits, float16, bfloat16.

Nine significant digits, or the shortest text that reads back, keep every bit of a float32. Anything coarser moves each recorded
number by up to half a unit of its last digit or bit; that is the recorder's rounding and no defect.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray

DECIMALS = (2, 3, 4, 5, 6, 7, 8, 9)
"""Decimals that are recognised: `%f` prints 6."""
SIGNIFICANT = (3, 4, 5, 6, 7, 8)
"""Significant digits that are recognised: `%g` and `std::cout` print 6. Nine keep every bit of a float32."""
PRINTF = 6
"""Decimals of `%f` and significant digits of `%g`."""
BITS = {"float16": 11, "bfloat16": 8}
"""Significant bits of the short floating-point formats."""
SMALLEST_FLOAT16 = 2.0**-24
"""The step of float16 below 2**-14. bfloat16 has the exponents of float32."""
_EVIDENCE = 32
"""So many different numbers must use the last digit or bit. A number that keeps every bit fits a format by chance with a
probability of 1/4 at most, where it counts: 32 fit with 4**-32. Of shortest float32 texts six of ten have eight digits:
0.6**32 is 1e-7.
"""
_CHANCE = 0.25
_FLOAT64 = 1e-12
"""A float64 holds 15 digits, so rounding one to 9 digits or fewer moves it by less than this, relative to itself or to 1."""
_HALF_ULP = 2.0**-24
"""Half a unit in the last place of a float32, relative to the number."""
_PLENTY = 10_000
"""So many different numbers are remembered: more of them tell, even where one is counted again."""
_AT_FIRST = 4096
"""So many numbers of each stage are looked at first: almost every recording that keeps its bits shows it there."""
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Precision:
    """How each number was written: with so many decimals, significant digits or significant bits. One of the three."""

    decimals: int | None = None
    significant: int | None = None
    bits: int | None = None

    def __str__(self) -> str:
        """The precision as `--resolution` takes it."""
        if self.bits is not None:
            return next(name for name, bits in BITS.items() if bits == self.bits)
        return f"{self.significant} digits" if self.decimals is None else f"{self.decimals} decimals"

    @property
    def is_coarse(self) -> bool:
        """Whether it loses more than `%f` and `%g` do: what those lose seldom matters."""
        return self.bits is not None or self._places < PRINTF

    @property
    def _places(self) -> int:
        return next(count for count in (self.decimals, self.significant, self.bits) if count is not None)

    def error(self, rows: FloatArray) -> FloatArray:
        """How far each recorded number may be from the number that was written: half a unit of its last digit or bit."""
        size = np.abs(rows, dtype=np.float64)
        return 0.5 * self.unit(size) + (0.0 if self.bits is not None else _HALF_ULP * size)

    def unit(self, size: FloatArray, fewer: int = 0) -> FloatArray:
        """The value of the last digit or bit of numbers of a size; with `fewer`, of that many places before it."""
        if self.decimals is not None:
            return np.full(np.shape(size), 10.0 ** (fewer - self.decimals))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.significant is not None:
                unit = 10.0 ** (np.floor(np.log10(size)) + 1.0 + fewer - self.significant)
            else:
                unit = 2.0 ** (np.frexp(size)[1] + fewer - float(self._places))
        unit = np.where(size > 0.0, unit, 0.0)
        return np.maximum(unit, SMALLEST_FLOAT16) if self.bits == BITS["float16"] else unit


EXACT = "exact"
"""The word that says that every bit was kept, whatever the numbers look like."""


def words_to_precision(words: str, place: str = "--resolution") -> Precision | None:
    """`4 decimals`, `6 digits`, `float16`, `bfloat16`; None for `exact`. UnusableInput names the place of other words."""
    known: dict[str, Precision | None] = {str(each): each for each in _FORMATS} | {EXACT: None}
    if words not in known:
        expected = f"2 decimals … 9 decimals, 3 digits … 8 digits, {', '.join(BITS)} or {EXACT}"
        raise UnusableInput(place, repr(words), expected)
    return known[words]


_FORMATS = (
    *(Precision(bits=bits) for bits in BITS.values()),
    *(Precision(decimals=digits) for digits in DECIMALS),
    *(Precision(significant=digits) for digits in SIGNIFICANT),
)


@dataclass
class PrecisionCensus:
    """Counts which formats could have written all numbers, how many numbers could tell, and how many say so."""

    _told: dict[Precision, tuple[int, int]] = field(default_factory=lambda: dict.fromkeys(_FORMATS, (0, 0)))
    _seen: set[float] = field(default_factory=set)
    _waiting: list[FloatArray] = field(default_factory=list)
    _waiting_count: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a format is still possible; more numbers change nothing once none is."""
        self._add_waiting()
        return bool(self._told)

    def add_text(self, values: Sequence[float] | FloatArray) -> None:
        """Count numbers of a text, as float64."""
        if not self._told:
            return
        self._waiting.append(np.asarray(values, np.float64))
        self._waiting_count += self._waiting[-1].size
        if self._waiting_count >= _AT_ONCE:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if self._waiting:
            size = self._fresh(np.concatenate(self._waiting))
            self._waiting, self._waiting_count = [], 0
            self._add(size, _FLOAT64 * np.maximum(size, 1.0))

    def add(self, values: FloatArray) -> None:
        """Count float32 numbers."""
        if self._told:
            size = self._fresh(values)
            self._add(size, 0.5 * np.spacing(size.astype(np.float32)).astype(np.float64))

    def _fresh(self, values: Sequence[float] | FloatArray) -> FloatArray:
        """The different sizes other than 0 that were not there before: a number that stands in a thousand lines tells once."""
        size = np.unique(np.abs(np.asarray(values, np.float64)))
        size = size[np.isfinite(size) & (size > 0.0)]
        if len(self._seen) < _PLENTY:
            fresh = set(size.tolist()) - self._seen
            self._seen |= fresh
            size = np.array(sorted(fresh))
        return np.asarray(size)

    def _add(self, size: FloatArray, room: FloatArray) -> None:
        """room: how far each number may be from the one that was written, because of how it was read."""
        for precision, (before, could_tell) in list(self._told.items()):
            unit = precision.unit(size)
            if not _is_multiple(size, unit, room).all():
                del self._told[precision]
                continue
            telling = 2.0 * room <= _CHANCE * unit
            # at random nine of ten numbers use the last digit, and seven of eight one of the last three bits
            shorter = _is_multiple(size, precision.unit(size, 1 if precision.bits is None else 3), room)
            told = before + int(np.count_nonzero(telling & ~shorter))
            self._told[precision] = told, could_tell + int(np.count_nonzero(telling))

    @property
    def precision(self) -> Precision | None:
        """The format; None where every bit was kept, or where too few numbers tell."""
        self._add_waiting()
        telling = {
            precision: told / could_tell
            for precision, (told, could_tell) in self._told.items()
            if told >= max(_EVIDENCE, could_tell / 2)
        }
        return max(telling, key=lambda each: telling[each], default=None)


def _is_multiple(size: FloatArray, unit: FloatArray, room: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.abs(size - np.rint(size / unit) * unit) <= room * (1.0 + 1e-6))


def precision_of(stages: Mapping[str, FloatArray]) -> Precision | None:
    """The precision of recorded stages, each (T, width) float32; None where every bit was kept."""
    census = PrecisionCensus()
    for part in _parts(stages.values()):
        if not census.is_open:
            return None
        census.add(part)
    return census.precision


def _parts(stages: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """The first numbers of each stage, then all that follow."""
    flat = [rows.reshape(-1) for rows in stages]
    yield from (numbers[:_AT_FIRST] for numbers in flat)
    for numbers in flat:
        yield from (numbers[start : start + _AT_ONCE] for start in range(_AT_FIRST, numbers.size, _AT_ONCE))
