"""Functions of torch tensors, and their gradients. Imported only for functions that use torch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling.backend import Array, BackendName


class TorchBackend:
    """Functions of CPU tensors."""

    name: BackendName = "torch"

    def native(self, array: Array) -> Any:
        """A tensor that shares the array's memory and strides."""
        return torch.from_numpy(array)

    def numpy(self, value: Any) -> Array:
        """The tensor's values as a numpy array."""
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"a {type(value).__name__} where a tensor is expected")
        numbers: Array = value.detach().cpu().resolve_conj().numpy()
        return numbers


def input_gradients(call: Callable[[list[Any]], Any], arrays: Sequence[Array]) -> list[FloatArray] | None:
    """Gradient of a weighted sum of the result for each argument; None where autograd finds no path.

    The weights differ, because equal weights would hide gradients that cancel.
    """
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    result = call(tensors)
    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return None
    weights = torch.linspace(0.5, 1.5, max(result.numel(), 1), dtype=result.dtype).reshape(result.shape)
    (result * weights).sum().backward()
    return [np.zeros(1) if tensor.grad is None else tensor.grad.numpy() for tensor in tensors]
