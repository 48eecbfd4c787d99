"""The array library of the user's functions: numpy here, torch in torch_backend.py."""

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

BackendName = Literal["numpy", "torch"]
Array = NDArray[Any]


class Backend(Protocol):
    """An array library."""

    name: BackendName

    def native(self, array: Array) -> Any:
        """A copy as the library's own array, with the same strides where the library allows it."""
        ...

    def numpy(self, value: Any) -> Array:
        """The library's array as a numpy array; TypeError for anything else."""
        ...


class NumpyBackend:
    """Functions of numpy arrays."""

    name: BackendName = "numpy"

    def native(self, array: Array) -> Any:
        """The array itself."""
        return array

    def numpy(self, value: Any) -> Array:
        """The array; a number becomes an array."""
        if not isinstance(value, np.ndarray | np.generic | float | int):
            raise TypeError(f"a {type(value).__name__} where an array is expected")
        return np.asarray(value)
