"""Between which numbers the network sees the state and the condition. teacher_rows.py and across.py have the rule.

The model's own graph says it where the model is at hand. Without a model the contract does: its exporter clamps both to ±16.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import INPUTS
from rigpact.contract.model.clamps import bound_clamps
from rigpact.contract.rules.subject import Subject
from rigpact.contract.statistics import FloatArray

_EXPORTERS = 16.0
"""The contract's exporter clamps state and condition to ±16."""


@dataclass(frozen=True)
class InputClamp:
    """The numbers between which the network sees one input, and who cuts the others off."""

    low: float
    high: float
    who: str

    def cuts(self, values: FloatArray) -> NDArray[np.bool_]:
        """Where a value is cut off."""
        found: NDArray[np.bool_] = (values < self.low) | (values > self.high)
        return found


def clamp_of(subject: Subject, name: str) -> InputClamp:
    """The clamp of an input; an infinite one where the graph cuts nothing."""
    graph = subject.graph
    if graph is None:
        return InputClamp(-_EXPORTERS, _EXPORTERS, "the contract's exporter clamps this input")
    found = bound_clamps(graph).get(INPUTS.index(name))
    if found is None:
        return InputClamp(-np.inf, np.inf, "")
    return InputClamp(found.low, found.high, "the graph clamps its input")
