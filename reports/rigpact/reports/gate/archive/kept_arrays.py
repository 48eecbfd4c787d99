"""An array as the bytes of a .npy file, and back: no pickle, few types, and a size check before allocation."""

from __future__ import annotations

import io
from math import prod
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput

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
