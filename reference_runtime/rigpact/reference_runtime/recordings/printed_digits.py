"""How many digits a recorder printed, found in the numbers of a text trace: `%.7g` and `%.9f` lose part of a float32.

Nine significant digits, or the shortest text that reads back, keep every bit. With fewer digits, or with a fixed number of
decimals, each recorded number is off by up to half a unit of its last digit; that is the recorder's rounding and no defect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.statistics import FloatArray

SIGNIFICANT = (6, 7, 8)
"""Significant digits that are recognised: `%g` and `std::cout` print 6. Nine keep every bit of a float32."""
DECIMALS = (6, 7, 8, 9)
"""Decimals that are recognised: `%f` prints 6."""
_EVIDENCE = 32
"""So many numbers must use the last digit. About six of ten shortest float32 texts have eight digits or fewer: 0.6 ** 32 is
1e-7, so a recording that keeps every bit is not taken for a printed one."""
_FLOAT64 = 1e-12
"""A float64 holds 15 digits, so rounding one to 9 digits or fewer moves it by less than this, relative to itself or to 1."""
_HALF_ULP = 2.0**-24
"""Reading a text rounds it to float32."""


@dataclass(frozen=True)
class Printed:
    """The format of a recording's numbers: significant digits, or decimals; the other is None."""

    significant: int | None = None
    decimals: int | None = None

    def error(self, rows: FloatArray) -> FloatArray:
        """How far each recorded number may be from the number that was printed: half a unit of its last digit."""
        size = np.abs(rows, dtype=np.float64)
        if self.decimals is not None:
            return np.asarray(0.5 * 10.0**-self.decimals + _HALF_ULP * size)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = 10.0 ** (np.floor(np.log10(size)) + 1.0 - float(self.significant or 0))
        return np.where(size > 0.0, 0.5 * unit, 0.0) + _HALF_ULP * size


@dataclass
class DigitCensus:
    """Counts, while a trace is read, which formats could have printed all of its numbers, and how many numbers say so."""

    _possible: dict[Printed, int] = field(
        default_factory=lambda: {
            **{Printed(significant=digits): 0 for digits in SIGNIFICANT},
            **{Printed(decimals=digits): 0 for digits in DECIMALS},
        }
    )
    _numbers: int = 0

    def add(self, values: Sequence[float] | FloatArray) -> None:
        """Count more numbers; this costs nothing once a number has shown that all digits were kept."""
        if not self._possible:
            return
        size = np.abs(np.asarray(values, np.float64))
        size = size[np.isfinite(size) & (size > 0.0)]
        self._numbers += len(size)
        for printed in list(self._possible):
            short, shorter = _fits(size, printed, 0), _fits(size, printed, 1)
            if not short.all():
                del self._possible[printed]
            else:
                self._possible[printed] += len(size) - int(np.count_nonzero(shorter))

    @property
    def printed(self) -> Printed | None:
        """The format; None where every bit was kept, or where too few numbers tell."""
        # at random nine numbers of ten use the last digit; zeros and ones that were never rounded do not
        telling = [each for each, count in self._possible.items() if count >= max(_EVIDENCE, self._numbers // 2)]
        return telling[0] if telling else None


def _fits(size: FloatArray, printed: Printed, fewer: int) -> FloatArray:
    """Whether each number has no more digits than the format prints, or `fewer` digits than that."""
    if printed.decimals is not None:
        scaled = size * 10.0 ** (printed.decimals - fewer)
        room = np.maximum(size, 1.0) * 10.0 ** (printed.decimals - fewer)
    else:
        power = np.floor(np.log10(size)) + 1.0 - float((printed.significant or 0) - fewer)
        scaled = room = size / 10.0**power
    return np.asarray(np.abs(scaled - np.rint(scaled)) <= _FLOAT64 * room)
