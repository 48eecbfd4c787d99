"""One input or output of an ONNX model, as its file and onnxruntime both declare it."""

from __future__ import annotations

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
