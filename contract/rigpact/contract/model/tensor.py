"""One input or output of an ONNX model, as its file and onnxruntime both declare it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSignature:
    """One input or output: name, element type, shape. A dynamic axis is its symbol, or None where it has none."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]

    @property
    def width(self) -> int | None:
        """Length of the last axis; None where it is dynamic or there is no axis."""
        return self.shape[-1] if self.shape and isinstance(self.shape[-1], int) else None

    def holds_one_row(self, width: int) -> bool:
        """Whether its axes are fixed and hold one vector of that width all together: a history of [frames, 1, numbers]."""
        sizes = [size for size in self.shape if isinstance(size, int)]
        is_fixed = len(sizes) == len(self.shape) and bool(sizes) and sizes[0] != 1
        return is_fixed and math.prod(sizes) == width != math.prod(sizes[1:])
