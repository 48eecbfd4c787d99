"""From a packet to a reply by the system's own stages, for every learner."""

from collections.abc import Callable

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.network import Evaluate
from rigpact.reference_runtime.graph.run import stages_from


def answer_with(contract: Contract, evaluate: Evaluate) -> Callable[[FloatArray], FloatArray]:
    """A function from a packet (63,) to a reply (24,): scaled, through the network, unit, w not negative."""

    def answer(packet: FloatArray) -> FloatArray:
        known = {"packet": np.asarray(packet, np.float32)[None]}
        reply: FloatArray = stages_from(contract, known, evaluate)["reply"][0]
        return reply

    return answer


class FixedModel:
    """A `Learner` that does not learn: a fixed model answers."""

    def __init__(self, contract: Contract, evaluate: Evaluate) -> None:
        """Keep the model."""
        self._answer = answer_with(contract, evaluate)

    def learn(self, values: FloatArray) -> float | None:
        """Do nothing: the model is fixed."""
        return None

    def answer(self, values: FloatArray) -> FloatArray:
        """The reply's floats for a packet (63,)."""
        return self._answer(values)
