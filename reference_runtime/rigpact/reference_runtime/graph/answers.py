"""The answers of a network as a stage: the exact ones, and their bounds.

A stage that is an answer arranges its inputs, calls the network and takes rows of what it gives. Here the network is
replaced: first by one that keeps the inputs it is given, then by one that gives exact answers or bounds. So the
arrangement is the stage's own, in every system.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Bounds, NotKnown, Stage
from rigpact.reference_runtime.network_rounding.bounded_model import BoundedAnswer


class _Asked(Exception):
    """The stand-in network was given its inputs."""


class _StandIn:
    """In place of a network: keeps its inputs, and gives `answers` if there are any."""

    def __init__(self, network: Any, answers: Sequence[FloatArray] | None = None) -> None:
        self.bound_widths, self._answers = getattr(network, "bound_widths", ()), answers
        self.given: list[FloatArray] = []

    def __call__(self, inputs: Sequence[FloatArray]) -> Sequence[FloatArray]:
        """As a declared system calls it."""
        if self._answers is None:
            self.given = list(inputs)
            raise _Asked
        return self._answers

    def run(self, inputs: Sequence[FloatArray], _frame: int) -> FloatArray:
        """As a loop calls it."""
        return self(inputs)[0]


class _Frames:
    """Frames with another network and, if `values` are given, these in place of the stages."""

    def __init__(self, frames: Any, network: Any, values: Mapping[str, FloatArray] | None = None) -> None:
        self._frames, self.network, self._values = frames, network, values

    def __getitem__(self, stage: str) -> FloatArray:
        rows: FloatArray = self._frames[stage]
        return rows if self._values is None else self._values.get(stage, np.zeros(rows.shape))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frames, name)


def answer_bound(stage: Stage, frames: Any, upstream: Bounds) -> FloatArray | None:
    """Bound of an answer whose inputs are known up to `upstream`; None for another stage, or without model or inputs."""
    answer = _answer(stage, frames, upstream)
    return None if answer is None else _rows(stage, frames, answer.bound)


def exact_answer(stage: Stage, frames: Any) -> FloatArray | None:
    """The stage's rows by the model in float64, rounded once; None without the model or its inputs."""
    answer = _answer(stage, frames, {})
    return None if answer is None else _rows(stage, frames, answer.exact)


def other_answers(
    stage: Stage, frames: Any, chosen: Container[str] | None = None
) -> Iterator[tuple[str, FloatArray, Callable[[], FloatArray]]]:
    """The stage's rows by the model with one edit each, in words, and what derives its bound.

    chosen: only those; every one if it is None.
    """
    network = _network_of(stage, frames) if stage.is_answer else None
    if network is None or not hasattr(network, "variants"):
        return
    nothing: Bounds = {}
    try:
        inputs, moved = (_given(stage, frames, network, values) for values in (None, nothing))
        for words, other in network.variants():
            if chosen is None or words in chosen:
                answer: BoundedAnswer = other.bounded(inputs, moved)
                yield words, _rows(stage, frames, answer.exact), partial(_bound_rows, stage, frames, answer)
    except NotKnown:
        return


def _bound_rows(stage: Stage, frames: Any, answer: BoundedAnswer) -> FloatArray:
    return _rows(stage, frames, answer.bound)


def _answer(stage: Stage, frames: Any, upstream: Bounds) -> BoundedAnswer | None:
    network = _network_of(stage, frames) if stage.is_answer else None
    if network is None:
        return None
    try:
        inputs, moved = (_given(stage, frames, network, values) for values in (None, upstream))
    except NotKnown:
        return None
    answer: BoundedAnswer = network.bounded(inputs, moved)
    return answer


def _network_of(stage: Stage, frames: Any) -> Any:
    """The stage's network, if it can bound its answers: recorded answers and plain functions cannot."""
    try:
        network = frames.network
    except NotKnown:
        return None
    if isinstance(network, Mapping):
        bindings = frames.contract.system.networks.values()
        network = next((network.get(each.name) for each in bindings if stage.name in each.outputs), None)
    return network if hasattr(network, "bounded") else None


def _given(stage: Stage, frames: Any, network: Any, values: Bounds | None) -> list[FloatArray]:
    """What the network is given: the stages, or `values` in their place."""
    stand_in = _StandIn(network)
    try:
        stage.computed(_Frames(frames, stand_in, values))
    except _Asked:
        return stand_in.given
    raise TypeError(f"the stage {stage.name} is an answer and does not call the network")


def _rows(stage: Stage, frames: Any, answers: Sequence[FloatArray]) -> FloatArray:
    with np.errstate(over="ignore"):
        rows = stage.computed(_Frames(frames, _StandIn(_network_of(stage, frames), answers)))
    return np.asarray(rows, np.float64)
