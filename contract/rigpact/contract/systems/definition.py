"""What a system is, and the contract file that a studio exports for it (`rigpact-system`, version 1).

A `SystemDefinition` is what rigpact knows of a system: its vectors, its knobs. A `SystemContract` is what one exported file
declares. The rules of rules/hosted judge whether the two agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rigpact.contract.systems.layout import FieldLayout

FORMAT, VERSION = "rigpact-system", 1
Choices = Mapping[str, str]
"""One value for each knob."""


@dataclass(frozen=True)
class SystemDefinition:
    """A system as rigpact knows it.

    name: as in files and on the command line; title: for people; page: its page under docs/systems.
    vectors: every named vector (the model's inputs and outputs, and every stage of the runtime), with its fields.
    inputs, outputs: which of them the model takes and gives, in the order it binds them.
    knobs: the values of each convention, the contract's own first; hints: KNOB=VALUE -> what to look for in code.
    windowed: rows of a vector are samples of a window that is evaluated as a whole, not frames that stand alone.
    """

    name: str
    title: str
    page: str
    vectors: Mapping[str, FieldLayout]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    knobs: Mapping[str, tuple[str, ...]]
    hints: Mapping[str, str] = field(default_factory=dict)
    fps: float | None = None
    windowed: bool = False

    @property
    def defaults(self) -> dict[str, str]:
        """The contract's own choice for every knob."""
        return {knob: values[0] for knob, values in self.knobs.items()}


@dataclass(frozen=True, eq=False)
class SystemContract:
    """What an exported contract file declares, immutable.

    constants: the system's own numbers (skeleton, limits, statistics), as JSON values; each system's module reads them.
    """

    definition: SystemDefinition
    path: Path
    sha256: str
    vectors: Mapping[str, FieldLayout]
    conventions: Choices
    constants: Mapping[str, Any]
    fps: float | None = None
