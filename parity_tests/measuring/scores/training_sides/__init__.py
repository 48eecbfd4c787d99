"""The hosted systems' training sides against ONNX, numpy and the runtime; a published recipe; damaged datagrams of NeuraRig."""

from typing import Any


def parameter_count(model: Any) -> int:
    """Number of trainable parameters."""
    return sum(each.numel() for each in model.parameters())
