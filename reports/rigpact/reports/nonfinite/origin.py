"""The producer of a value that is not finite, apart from the stages that only pass it on.

Order is time first, then dataflow: of the first frame that holds such a value, the stage that does while everything it was
computed from is finite. Works on a live run and on a recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rigpact.reports.diagnosing.replay import PARENTS

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network, OnnxNetwork, aligned
from rigpact.reference_runtime.systems.enemy_animation.sentinel import EXEMPT, Watched, not_finite
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.nonfinite.network_node import NodeOrigin, name_node
from rigpact.reports.nonfinite.operands import Moment, Operation, operation_of
from rigpact.reports.nonfinite.subject import Subject

LOADING = "load"
"""The stage of a bundle that the engine does not even load."""
Frames = Sequence[tuple[int, Mapping[str, FloatArray]]]


@dataclass(frozen=True)
class Link:
    """A stage that passed the value on: where it is first seen there, and in how many channels."""

    frame: int
    stage: str
    channel: int
    channels: int


@dataclass(frozen=True)
class Origin:
    """Where a value that is not finite was made: place, value, operation, operands, and the network's node."""

    frame: int
    stage: str
    channel: int | None
    value: float | None
    operation: str
    slice: str | None = None
    bone: str | None = None
    component: str | None = None
    operands: Mapping[str, float] = field(default_factory=dict)
    channels: int = 1
    node: NodeOrigin | None = None
    chain: tuple[Link, ...] = ()

    @property
    def identity(self) -> tuple[Any, ...]:
        """What has to be the same for two failures to be the same one, whatever the frame."""
        return self.stage, self.channel, self.operation.partition(",")[0], self.node.name if self.node else None

    def to_json(self) -> dict[str, Any]:
        """The `origin` object of the `rigpact-nonfinite` format."""
        return {
            "frame": self.frame,
            "stage": self.stage,
            "slice": self.slice,
            "bone": self.bone,
            "channel": self.channel,
            "value": None if self.value is None else _word(self.value),
            "operation": self.operation,
            "network_node": self.node.name if self.node else None,
            "component": self.component,
            "operands": {name: _word(value) for name, value in self.operands.items()},
            "channels": self.channels,
            "network": self.node.to_json() if self.node else None,
        }


def _word(value: float) -> float | str:
    """JSON has no NaN: the trace format's words stand for it."""
    if np.isfinite(value):
        return value
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def refused_origin(refusal: UnusableInput, frame: int = 0) -> Origin:
    """The origin of a run that cannot be: a bundle that the engine refuses, a vector of the wrong length."""
    if not isinstance(refusal, ContractRefused):
        return Origin(frame, "y_norm", None, None, _refusal_words(refusal))
    first = refusal.findings[0]
    name, _, index = first.pointer.strip("/").partition("/")
    return Origin(
        frame, LOADING, int(index) if index.isdecimal() else None, None, _refusal_words(refusal), slice=name or None
    )


def _refusal_words(refusal: UnusableInput) -> str:
    return f"{refusal.place}: found {refusal.found}, expected {refusal.expected}"


def origin_of_run(subject: Subject, watched: Watched) -> Origin | None:
    """The origin of a watched run's alarm; None for a finite run."""
    if watched.refusal is not None:
        return refused_origin(watched.refusal, watched.failing_frame)
    if not watched.alarm:
        return None
    return find_origin(watched.frames, subject.acting_contract, subject.mode, subject.network)


def find_origin(frames: Frames, contract: Contract, mode: str, network: Network | None = None) -> Origin | None:
    """The producer in a sequence of frames, each a number and its stages (width,); None when all are finite."""
    exempt = EXEMPT.get(mode, frozenset())
    for frame, stages in frames:
        bad = not_finite(stages, exempt)
        if bad:
            return _producer(Moment(contract, frame, mode, stages), bad, network)
    return None


def _producer(moment: Moment, bad: Sequence[str], network: Network | None) -> Origin:
    stage = next((name for name in bad if not _inherits(name, bad, moment.stages)), bad[0])
    links = tuple(_link(moment, name) for name in bad)
    own = next(link for link in links if link.stage == stage)
    chain = tuple(link for link in links if link.stage != stage)
    future = _future_row(moment, stage)
    if future is not None:
        return future
    node = _node(moment, network) if stage == "y_norm" else None
    return _origin(moment, own, chain, node)


def _inherits(stage: str, bad: Sequence[str], stages: Mapping[str, FloatArray]) -> bool:
    """Whether a stage is computed from a bad one; unrecorded stages between are looked through."""
    return any(parent in bad or (parent not in stages and _inherits(parent, bad, stages)) for parent in PARENTS[stage])


def _link(moment: Moment, stage: str) -> Link:
    wrong = np.flatnonzero(~np.isfinite(moment.stages[stage]))
    return Link(moment.frame, stage, int(wrong[0]), len(wrong))


def _future_row(moment: Moment, stage: str) -> Origin | None:
    """A teacher-driven angular velocity looks one row ahead: a poisoned row is the producer, not the log map."""
    following = moment.stages.get("x_raw_next")
    if moment.mode != "teacher" or stage != "angvel" or following is None or np.isfinite(following).all():
        return None
    later = Moment(moment.contract, moment.frame + 1, moment.mode, {"x_raw": following})
    return _origin(later, _link(later, "x_raw"), (_link(moment, "angvel"),), None)


def _origin(moment: Moment, link: Link, chain: tuple[Link, ...], node: NodeOrigin | None) -> Origin:
    contract = moment.contract
    address = channel_address(link.stage, link.channel, contract, contract.bone_names)
    operation: Operation = operation_of(moment, link.stage, link.channel)
    return Origin(
        frame=moment.frame,
        stage=link.stage,
        channel=link.channel,
        value=moment.value(link.stage, link.channel),
        operation=operation.text if node is None else f"{node.op} {node.name}",
        slice=address.slice,
        bone=address.bone,
        component=address.component,
        operands=operation.operands,
        channels=link.channels,
        node=node,
        chain=tuple(sorted(chain, key=lambda entry: STAGE_NAMES.index(entry.stage))),
    )


def _node(moment: Moment, network: Network | None) -> NodeOrigin | None:
    order = moment.contract.conventions.input_order
    if not isinstance(network, OnnxNetwork) or any(name not in moment.stages for name in order):
        return None
    vectors = aligned([moment.stages[name][None] for name in order], network.bound_widths)
    return name_node(network.signature.path, vectors, moment.stages["y_norm"][None])
