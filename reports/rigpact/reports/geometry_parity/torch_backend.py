"""Functions of torch tensors, and their gradients. Imported only for functions that use torch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from rigpact.contract.errors import error_text
from rigpact.contract.findings import Finding
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling import Array, BackendName, NumpyBackend
from rigpact.reports.geometry_parity.checks import Facts, singular_inputs
from rigpact.reports.geometry_parity.meaning import Known


class TorchBackend(NumpyBackend):
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


def _input_gradients(call: Callable[[list[Any]], Any], arrays: Sequence[Array]) -> list[FloatArray] | None:
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


def check_gradients(known: Known, facts: Facts) -> Iterator[Finding]:
    """Gradients of torch functions must be finite on ordinary and on singular input."""
    broken: dict[str, str] = {}
    for case, arrays in {"ordinary input": known.arrays, **singular_inputs(known, known.dtype)}.items():
        try:
            bad = _bad_gradients(known, arrays)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
            facts["gradient"] = error_text(error)
            return
        if bad is None:
            facts["gradient"] = "none: the result does not depend on its input for autograd"
            return
        if bad and np.isfinite(known.value).all():
            broken.setdefault(case, "NaN" if any(np.isnan(gradient).any() for gradient in bad) else "infinite")
    facts["gradient"] = "finite" if not broken else f"not finite: {', '.join(broken)}"
    if broken:
        yield known.finding(rules.GRADIENT_NOT_FINITE, value=next(iter(broken.values())), cases=", ".join(broken))


def _bad_gradients(known: Known, arrays: tuple[Array, ...]) -> list[FloatArray] | None:
    """The gradients that are not finite; None where autograd finds no path, as for a result in parts."""
    bad: list[FloatArray] = []
    rows = [arrays]
    if known.function.one_by_one:
        rows = [tuple(each[:, 0] for each in arrays)] if known.function.role.timed else list(zip(*arrays, strict=True))
    for row in rows:
        gradients = _input_gradients(known.function.native_call, known.function.lay(row))
        if gradients is None:
            return None
        bad += [gradient for gradient in gradients if not np.isfinite(gradient).all()]
    return bad
