"""A probe: a short clip that separates the conventions, whatever a studio's own clips contain.

A system can provide a probe with real motion (`files.probe`). For any other system, the input stages get random rows.
The field of each number gives its kind: unit quaternion, direction, flag, metres, centimetres.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.clip_format import document_bytes, random_rows
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, run_header

FRAMES = 64


def write_probe(contract: Contract, path: Path) -> None:
    """Write a probe for a contract as a clip of its system."""
    maker = files_of(contract).probe
    if maker is not None:
        write_bytes(path, document_bytes(_named(maker)(contract)) + b"\n")
        return
    rng, graph, fps = np.random.default_rng(0), contract.system.graph, contract.fps or 1.0
    names = (*graph.given, *graph.answers)
    stages: dict[str, FloatArray] = {name: random_rows(contract.fields(name), FRAMES, rng) for name in names}
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
