"""A library of arrays that somebody's functions are written in: numpy here, torch in torch_backend.py."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

BackendName = Literal["numpy", "torch"]
Array = NDArray[Any]


class Backend(Protocol):
    """A library of arrays."""

    name: BackendName

    def native(self, array: Array) -> Any:
        """A copy as the library's own array, strides kept where the library can."""
        ...

    def numpy(self, value: Any) -> Array:
        """The library's array as numpy's; TypeError for anything else."""
        ...


class NumpyBackend:
    """Functions of numpy arrays."""

    name: BackendName = "numpy"

    def native(self, array: Array) -> Any:
        """The array itself."""
        return array

    def numpy(self, value: Any) -> Array:
        """The array, or a number as one."""
        if not isinstance(value, np.ndarray | np.generic | float | int):
            raise TypeError(f"a {type(value).__name__} where an array is expected")
        return np.asarray(value)
