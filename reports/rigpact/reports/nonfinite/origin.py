"""Find the producer of a non-finite value, and separate it from the stages that only pass it on.

The order is time first, then dataflow: in the first frame with such a value, the producer is the stage that holds one
while all its inputs are finite. Works on a live run and on a recording, for any system.

A number is an operand of the value if its replacement changes it. Groups are replaced first, and halved where the value changes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.conventions import InputOrder
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import RunSetup, files_of
from rigpact.reference_runtime.files.sentinel import Watched, not_finite, of_later_frames, unread_rows
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.network import aligned
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite.network_node import NodeOrigin, name_node

MOST = 24
"""Largest number of named operands; a pose that is composed down a skeleton has hundreds."""
Place = tuple[str, int]
"""A stage or an array of the contract, and the index of a number in it."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One recorded frame, `row` of the evidence, under the contract of the run."""

    contract: Contract
    evidence: Evidence
    row: int

    @property
    def graph(self) -> Graph:
        """The system's stages."""
        graph: Graph = self.contract.system.graph
        return graph

    @property
    def frame(self) -> int:
        """The frame's number."""
        return int(self.evidence.frame[self.row])

    @property
    def stages(self) -> dict[str, FloatArray]:
        """The recorded stages of the frame, (width,) each."""
        return {name: rows[self.row] for name, rows in self.evidence.recorded.items()}

    def parents(self, stage: str) -> tuple[str, ...]:
        """The nearest recorded stages from which a stage is computed; unrecorded stages between are skipped."""
        found: dict[str, None] = {}
        for name in (*self.graph[stage].needs, *self.graph[stage].may_use):
            found |= dict.fromkeys([name] if name in self.evidence.recorded else self.parents(name))
        return tuple(found)


def operation_of(moment: Moment, stage: str) -> str:
    """How a stage is computed: the first docstring line of its function."""
    found, mode = moment.graph[stage], moment.evidence.mode
    if found.is_answer:
        return "network"
    if not found.needs:
        if found.carried is not None and mode == "free" and moment.frame > 0:
            return f"taken over from the frame before: not what its {found.carried} is"
        return f"read from the clip, row {moment.frame}"
    function = getattr(found.compute, "func", found.compute)  # what a partial calls
    sentence = (getattr(function, "__doc__", None) or f"computed from {', '.join(found.needs)}").split("\n")[0]
    return sentence.strip().rstrip(".")


def operands_of(moment: Moment, stage: str, channel: int) -> dict[str, float]:
    """The operands of one channel: name -> value in the frame."""
    if moment.graph[stage].is_answer:
        known = moment.stages
        largest = {name: known[name] for name in moment.parents(stage)}
        return {f"max |{name}|": float(np.max(np.abs(row), initial=0.0)) for name, row in largest.items()}
    search = _Search(moment, stage, channel)
    found = search.operands(())
    if found and not np.isfinite(search.value(())):
        found = [*found, *(place for place in search.operands(found) if place not in found)]
    return {f"{owner}[{index}]": search.number((owner, index)) for owner, index in found[:MOST]}


class _Search:
    def __init__(self, moment: Moment, stage: str, channel: int) -> None:
        self._moment, self._stage, self._channel = moment, stage, channel
        files = files_of(moment.contract)
        self._numbers: dict[str, FloatArray] = files.numbers(moment.contract)
        self._with_numbers: Callable[[Any, str, FloatArray], Any] = files.with_numbers
        parents = {name: moment.evidence.recorded[name] for name in moment.parents(stage)}
        self._sizes = {name: rows.shape[1] for name, rows in parents.items()}
        self._sizes |= {name: values.size for name, values in self._numbers.items()}

    def number(self, place: Place) -> float:
        """The number at a place."""
        owner, index = place
        return float(self._numbers[owner][index] if owner in self._numbers else self._moment.stages[owner][index])

    def operands(self, base: Sequence[Place]) -> list[Place]:
        """Every place whose replacement, added to those of `base`, changes the channel."""
        before = self.value(base)
        return [place for owner, size in self._sizes.items() for place in self._among(owner, 0, size, base, before)]

    def _among(self, owner: str, start: int, stop: int, base: Sequence[Place], before: float) -> Iterator[Place]:
        group = [(owner, index) for index in range(start, stop)]
        after = self.value([*base, *group])
        if after == before or (np.isnan(after) and np.isnan(before)):
            return
        if len(group) == 1:
            yield from group
            return
        middle = (start + stop) // 2
        yield from self._among(owner, start, middle, base, before)
        yield from self._among(owner, middle, stop, base, before)

    def value(self, places: Sequence[Place]) -> float:
        """The channel with the numbers at these places replaced; NaN where it cannot be computed."""
        evidence, contract = self._moment.evidence, self._moment.contract
        recorded = dict(evidence.recorded)
        for owner in dict.fromkeys(owner for owner, _ in places):
            indices = [index for name, index in places if name == owner]
            if owner in self._numbers:
                contract = self._with_numbers(contract, owner, _replaced(self._numbers[owner], indices))
            else:
                recorded[owner] = _replaced(recorded[owner], indices)
        try:
            with np.errstate(all="ignore"):
                rows = ReplayedFrames(replace(evidence, recorded=recorded), contract).computed(self._stage)
        except (UnusableInput, ValueError, ArithmeticError):  # the system cannot be computed with these constants
            return float("nan")
        return float("nan") if rows is None else float(rows[self._moment.row, self._channel])


def _replaced(values: FloatArray, indices: Sequence[int]) -> FloatArray:
    """The values with ordinary numbers at some places of the last axis, a different number at each place."""
    changed = np.array(values)
    changed[..., indices] = 0.3 + 0.4 * np.modf(0.618 * (1.0 + np.asarray(indices)))[0]
    return changed


LOADING = "load"
"""The stage name for a bundle that the engine does not load."""


@dataclass(frozen=True)
class Link(AsJson):
    """A stage that passed the value on: its first bad channel, and the number of bad channels."""

    frame: int
    stage: str
    channel: int
    channels: int


@dataclass(frozen=True)
class Origin(AsJson):
    """The origin of a non-finite value: place, value, operation, operands, and the network's node."""

    KEYS = (
        "frame stage slice bone channel value: said operation network_node component operands: said_operands channels"
        " network: node"
    )
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
        """Two failures are the same if this is equal; the frame does not count."""
        return self.stage, self.channel, self.operation.partition(",")[0], self.network_node

    @property
    def network_node(self) -> str | None:
        """The node's name."""
        return self.node.name if self.node else None

    @property
    def said(self) -> float | str | None:
        """The value as JSON has it."""
        return None if self.value is None else _word(self.value)

    @property
    def said_operands(self) -> Mapping[str, float | str]:
        """The operands as JSON has them."""
        return {name: _word(value) for name, value in self.operands.items()}


def _word(value: float) -> float | str:
    if np.isfinite(value):
        return value
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def refused_origin(refusal: UnusableInput, stage: str = LOADING, frame: int = 0) -> Origin:
    """The origin for a run that cannot start: a bundle that the engine refuses, a vector of the wrong length."""
    words = f"{refusal.place}: found {refusal.found}, expected {refusal.expected}"
    if not isinstance(refusal, ContractRefused):
        return Origin(frame, stage, None, None, words)
    name, _, index = refusal.findings[0].pointer.strip("/").partition("/")
    return Origin(frame, LOADING, int(index) if index.isdecimal() else None, None, words, slice=name or None)


def origin_of_run(subject: RunSetup, watched: Watched) -> Origin | None:
    """The origin of the alarm in a watched run; None for a finite run."""
    contract = subject.acting_contract
    if watched.refusal is not None:
        system = contract.system
        return refused_origin(watched.refusal, (system.outputs or system.graph.answers)[0], watched.failing_frame)
    if not watched.alarm:
        return None
    return find_origin(evidence_of(subject, watched), contract)


def evidence_of(subject: RunSetup, watched: Watched) -> Evidence:
    """The stored frames as evidence; for a system with windows, the whole window."""
    contract = subject.acting_contract
    if contract.system.windowed:
        runner = subject.start()
        count = np.arange(runner.frame_limit or 1)
        recorded = runner.record(count)
    else:
        numbers, rows = zip(*watched.frames, strict=True)
        count = np.array(numbers, np.int64)
        known = [name for name in rows[-1] if all(name in row for row in rows)]
        recorded = {name: np.stack([row[name] for row in rows]) for name in known}
    drive = subject.files.drive_of(subject.clip)
    return Evidence(count, contract.fps or 1.0, subject.mode, recorded, drive, subject.network)


def find_origin(evidence: Evidence, contract: Contract) -> Origin | None:
    """The producer of a recording's first non-finite value; None if all values are finite."""
    graph = contract.system.graph
    exempt = of_later_frames(graph, contract, evidence.mode)
    bad = {name: ~np.isfinite(rows).all(axis=1) for name, rows in evidence.recorded.items() if name not in exempt}
    unread = unread_rows(evidence, contract)
    bad |= {name: bad[name] & ~rows for name, rows in unread.items() if name in bad}
    bad_rows = np.flatnonzero(np.logical_or.reduce(list(bad.values())))
    if not len(bad_rows):
        return None
    row = int(bad_rows[0])
    if contract.system.windowed:  # a window is evaluated at once: order by stage first, then by row
        row = int(np.argmax(next(bad[name] for name in graph.names if name in bad and bad[name].any())))
    moment = Moment(contract, evidence, row)
    passed_over = [name for name, rows in unread.items() if rows[row]]
    origin = _producer(moment, not_finite(moment.stages, graph, {*exempt, *passed_over}))
    if origin.channel is None or origin.frame != moment.frame:
        return origin
    return replace(origin, operands=operands_of(moment, origin.stage, origin.channel))


def _producer(moment: Moment, bad: Sequence[str]) -> Origin:
    stage = next((name for name in bad if not set(moment.parents(name)).intersection(bad)), bad[0])
    links = tuple(_link(moment, name) for name in bad)
    own = next(link for link in links if link.stage == stage)
    chain = tuple(link for link in links if link.stage != stage)
    return _of_next_row(moment, stage) or _origin(moment, own, chain)


def _link(moment: Moment, stage: str) -> Link:
    wrong = np.flatnonzero(~np.isfinite(moment.stages[stage]))
    return Link(moment.frame, stage, int(wrong[0]), len(wrong))


def _of_next_row(moment: Moment, stage: str) -> Origin | None:
    """A stage that reads the clip's next row fails if that row is bad: then that row is the producer."""
    graph, stages = moment.graph, moment.stages
    if moment.evidence.mode != "teacher" or graph[stage].reach_of(moment.contract)[1] == 0:
        return None
    for name in moment.parents(stage):
        following = stages.get(graph[name].carried or "")
        if following is not None and not np.isfinite(following).all():
            wrong = np.flatnonzero(~np.isfinite(following))
            link = Link(moment.frame + 1, name, int(wrong[0]), len(wrong))
            found = _origin(moment, link, (_link(moment, stage),), float(following[wrong[0]]))
            return replace(found, operation=f"read from the clip, row {moment.frame + 1}")
    return None


def _origin(moment: Moment, link: Link, chain: tuple[Link, ...], value: float | None = None) -> Origin:
    contract = moment.contract
    address = channel_address(link.stage, link.channel, contract)
    part = contract.fields(link.stage).field_at(link.channel)
    node = _node(moment, link.stage) if moment.graph[link.stage].is_answer else None
    return Origin(
        frame=link.frame,
        stage=link.stage,
        channel=link.channel,
        value=float(moment.stages[link.stage][link.channel]) if value is None else value,
        operation=operation_of(moment, link.stage) if node is None else f"{node.op} {node.name}",
        slice=part.name if part else None,
        bone=address.bone,
        component=address.component or (f"[{link.channel - part.start}]" if part and part.size > 1 else None),
        channels=link.channels,
        node=node,
        chain=tuple(sorted(chain, key=lambda entry: moment.graph.names.index(entry.stage))),
    )


def _node(moment: Moment, stage: str) -> NodeOrigin | None:
    networks = each_network(moment.evidence.network, moment.contract.system)
    network, system = next((each for each in networks if stage in each[1].outputs), (None, moment.contract.system))
    signature = getattr(network, "signature", None)
    names = input_order(moment.contract, system)
    if signature is None or any(name not in moment.evidence.recorded for name in names):
        return None
    rows = slice(None) if system.windowed else slice(moment.row, moment.row + 1)
    vectors = [moment.evidence.recorded[name][rows] for name in names]
    failed = moment.evidence.recorded[stage][rows]
    output = system.outputs.index(stage)
    own_place = getattr(network, "own_output", None)
    vectors = bound_inputs(network, vectors, windowed=system.windowed)
    return name_node(signature.path, vectors, failed, output if own_place is None else own_place(output))


def bound_inputs(network: Any, vectors: Sequence[FloatArray], *, windowed: bool) -> list[FloatArray]:
    """Stages as the model itself takes them: its order, its axes, its widths."""
    given = [window[None] for window in vectors] if windowed else list(vectors)
    if hasattr(network, "own_inputs"):
        return list(network.own_inputs(given))
    widths = getattr(network, "bound_widths", None)
    return given if widths is None else aligned(given, widths)


def input_order(contract: Contract, part: System | None = None) -> Sequence[str]:
    """The model's input stages, in the order of binding; part: the system reduced to one of several networks."""
    system = part or contract.system
    orders = [name for name, knob in system.knobs.items() if isinstance(knob, InputOrder)]
    names: Sequence[str] = contract.conventions[orders[0]] if orders else system.inputs
    return names
