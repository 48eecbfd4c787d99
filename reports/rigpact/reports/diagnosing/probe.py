"""A probe: a short clip that separates the conventions, whatever a studio's own clips contain.

A system can provide a probe with real motion (`files.probe`). For any other system, the input stages get random rows.
The field of each number gives its kind: unit quaternion, direction, flag, metres, centimetres.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.units import Kind, is_si, sized
from rigpact.fixtures.clip_format import document_bytes
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, run_header

FRAMES = 64
_UNIT_LENGTH = {FieldKind.QUATERNION_XYZW: 4, FieldKind.DIRECTION: 3}
"""How many numbers together form a vector of length 1, by kind."""
_SIZES: Mapping[Kind, float] = {"length": 0.5, "angle": np.pi / 2}
"""The size of random numbers: half a metre, a right angle; 1 in metres, in radians and where nothing is known of the unit."""


def write_probe(contract: Contract, path: Path) -> None:
    """Write a probe for a contract as a clip of its system."""
    maker = files_of(contract).probe
    if maker is not None:
        write_bytes(path, document_bytes(_named(maker)(contract)) + b"\n")
        return
    rng, graph, fps = np.random.default_rng(0), contract.system.graph, contract.fps or 1.0
    stages = {name: random_rows(contract.fields(name), FRAMES, rng) for name in (*graph.given, *graph.answers)}
    header = run_header(contract, fps, "playback")
    write_trace(Trace(header, np.arange(FRAMES), np.arange(FRAMES) / fps, stages), path)


def read_probe(contract: Contract) -> Any:
    """The probe as read back from a file."""
    files = files_of(contract)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"probe{files.clip_endings[0]}"
        write_probe(contract, path)
        return files.clip(path, contract)


def _named(maker: str) -> Callable[[Any], Any]:
    module, _, function = maker.partition(":")
    found: Callable[[Any], Any] = getattr(import_module(module), function)
    return found


def random_rows(layout: FieldLayout, count: int, rng: np.random.Generator) -> FloatArray:
    """Random rows (count, width) that are legal for every field."""
    rows = np.zeros((count, layout.width))
    for field in layout:
        rows[:, field.range] = _numbers(field, count, rng)
    return rows.astype(np.float32)


def _numbers(field: Field, count: int, rng: np.random.Generator) -> FloatArray:
    shape = count, field.size
    if field.kind is FieldKind.FLAG:
        return rng.integers(0, 2, shape).astype(float)
    if field.low is not None and field.high is not None:
        if not 0.0 <= field.high - field.low < np.inf:
            raise UnusableInput(field.name, f"numbers from {field.low:g} to {field.high:g}", "a range of numbers")
        return rng.uniform(field.low, field.high, shape)
    numbers = rng.normal(0.0, 1.0 if is_si(field.unit) else sized(field.unit, _SIZES, 1.0), shape)
    together = _UNIT_LENGTH.get(field.kind, 0)
    if together and field.size % together == 0:
        parts = numbers.reshape(count, -1, together)
        numbers = (parts / np.linalg.norm(parts, axis=-1, keepdims=True)).reshape(shape)
    return np.asarray(numbers)
