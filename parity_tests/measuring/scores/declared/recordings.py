"""The small recordings beside the contracts that ship: what each contract's second runtime records without a mistake.

`python -m parity_tests.measuring.scores.declared.recordings fixtures/contracts/recordings` writes them anew.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from rigpact.contract.files import write_bytes

from .plain import AS_WRITTEN
from .subjects import SUBJECTS

SEED = 11
"""Of the inputs: none of those that the score draws."""


def recordings() -> Mapping[str, Mapping[str, NDArray[np.float32]]]:
    """The vectors that each runtime records, by contract and name."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in SUBJECTS.items():
            subject = make(Path(folder))
            rows = subject.record({}, SEED, AS_WRITTEN)
            found[name] = {vector: np.asarray(rows[vector], np.float32) for vector in subject.recorded}
    return found


def main(folder: Path) -> None:
    """Write every recording."""
    folder.mkdir(exist_ok=True)
    for name, vectors in recordings().items():
        write_bytes(folder / f"{name}.safetensors", save(dict(vectors)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
