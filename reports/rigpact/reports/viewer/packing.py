"""Pack numbers as text for the page: base64 of little-endian 16-bit words. assets/decode.js reads them.

Rotations: unit quaternions without their largest component ("smallest three"), 15 bits for each component. The two free
top bits give the index of the missing component. Magnitudes: a logarithmic scale, so a hundredth of a millimetre and a
metre both have three correct digits.
"""

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray

NOT_FINITE = 0xFFFF
LARGEST_CODE = NOT_FINITE - 1
SCALE: Mapping[str, float] = {"low": -6.0, "high": 12.0}
"""Decades of the smallest and the largest magnitude. 18 decades in 65 533 steps: a step is 0.063 %."""
_STEPS = 0x7FFF
_HALF_SPAN = 1.0 / np.sqrt(2.0)
"""All components of a unit quaternion except the largest lie within ±1/√2."""

Words = NDArray[np.uint16]


def quaternions_to_text(quaternions: FloatArray) -> str:
    """Pack unit quaternions (..., 4), xyzw. A non-finite quaternion becomes three words of `NOT_FINITE`.

    A component is off by at most half a step, √2 / 32767 / 2 = 2.2e-5, so a rotation is off by less than 0.01 degrees.
    """
    flat = quaternions.reshape(-1, 4).astype(np.float64)
    known = np.isfinite(flat).all(axis=1)
    unit = flat.copy()
    unit[~known] = (0.0, 0.0, 0.0, 1.0)
    largest = np.argmax(np.abs(unit), axis=1)
    rows = np.arange(len(unit))
    signs: FloatArray = np.where(unit[rows, largest] < 0.0, -1.0, 1.0)
    unit = unit * signs[:, None]
    kept = np.arange(4)[None, :] != largest[:, None]
    small = unit[kept].reshape(-1, 3)
    codes = np.clip(np.rint((small + _HALF_SPAN) / (2.0 * _HALF_SPAN) * _STEPS), 0, _STEPS).astype(np.uint16)
    codes[:, 0] |= ((largest & 1) << 15).astype(np.uint16)
    codes[:, 1] |= ((largest >> 1) << 15).astype(np.uint16)
    codes[~known] = NOT_FINITE
    return words_to_text(codes)


def magnitudes_to_text(values: FloatArray) -> str:
    """Pack magnitudes >= 0 of any shape. Below the scale: 0; above it: its end; non-finite: `NOT_FINITE`."""
    finite = np.isfinite(values)
    low, high = SCALE["low"], SCALE["high"]
    with np.errstate(divide="ignore"):
        decades = np.log10(np.where(finite, values, 1.0).astype(np.float64))
    codes = np.clip(np.rint((decades - low) / (high - low) * (LARGEST_CODE - 1)) + 1.0, 0.0, LARGEST_CODE)
    return words_to_text(np.where(finite, codes, NOT_FINITE).astype(np.uint16))


def words_to_text(words: Words) -> str:
    """Base64 of the words, little-endian, in C order."""
    return base64.b64encode(np.ascontiguousarray(words, dtype="<u2").tobytes()).decode("ascii")
