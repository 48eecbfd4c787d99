"""Observers of a run: when it leaves what its numbers can mean, or what is ordinary for it, and what a model hides inside.

What is left: absurd sizes, a state far from ordinary, a state that grows. A precursor leaves its ordinary range before the run
fails; the clip gives the range, the system the other quantities (`files.watches`). The limits stand in
`rigpact.reference_runtime.files.sentinel`. Inside a model file, values that are not finite may never arrive: a Where, a Clip, a
softmax keeps them from the output. Such a value is no defect of the run (an attention mask is minus infinity on purpose), but a
guard that catches it today may not catch tomorrow's: each is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import RunSetup, files_of
from rigpact.reference_runtime.files.run import Stages
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z, Watch, largest_departure, largest_meaning
from rigpact.reference_runtime.graph.bounds import replay_bound
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite.network_node import ObservedModel, Values, is_finite, made, node_name
from rigpact.reports.nonfinite.origin import bound_inputs, input_order

_GROWTH = 1.5
"""A run grows if the largest z of each quarter is this many times that of the quarter before."""
_ROUNDED = 8
"""Number of operations between a raw value and an input: a difference of that many roundings is not a departure."""


@dataclass(frozen=True)
class Departure(AsJson):
    """The first departure from a limit: of what kind, when, where, by how much. lead_frames: before the run failed."""

    KEYS = "frame stage channel zscore: size kind limit where lead_frames"
    kind: str
    frame: int
    stage: str
    channel: int
    size: float
    limit: float
    where: str
    lead_frames: int | None = None


@dataclass(frozen=True)
class Left(Departure):
    """The first time that a run left what its numbers can mean (`absurd`, `departed`); the last frame of one that `grows`."""

    KEYS = "kind frame stage channel size limit where words"

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """In words."""
        size, frame = f"{self.size:.3g}", f"at frame {self.frame}"
        if self.kind == "absurd":
            return f"{self.stage} is {size} {frame}, {self.where}; from {self.limit:.3g} on such a number means nothing"
        if self.kind == "departed":
            meant = f"an ordinary run is within {self.limit:g} by then"
            return f"{self.stage} is {size} deviations from where it started {frame}, {self.where}; {meant}"
        return f"{self.stage} grows in every quarter of the run, to {size} {frame}; an ordinary one stays within {self.limit:g}"


class Leaving:
    """An observer of a run: whether, where and when it leaves what its numbers can mean."""

    def __init__(self, contract: Contract, mode: str, clip: Any = None) -> None:
        """clip: what the run starts from; None for a recording of an unknown clip."""
        system = contract.system
        self._contract, self._frame = contract, 0
        self._limits = {stage.name: largest_meaning(stage) for stage in system.stages}
        self._fed = system.network_inputs[0] if mode == "free" and system.network_inputs else ""
        self._largest: list[float] = []
        self._ordinary = files_of(contract).ordinary(clip, contract) if mode == "free" else None
        self._start: tuple[int, Mapping[str, FloatArray]] | None = None
        self._found: Left | None = None

    def __call__(self, frame: int, stages: Mapping[str, FloatArray]) -> None:
        """Look at one frame; the first departure is kept."""
        self._frame = frame
        if self._fed in stages:
            self._largest.append(float(np.max(np.abs(stages[self._fed]))))
        if self._found is None:
            self._found = next(chain(self._absurd(stages), self._departed(stages)), None)

    @property
    def found(self) -> Left | None:
        """What was left first; None for an ordinary run."""
        if self._found is not None or not grows(self._largest):
            return self._found
        return Left("grows", self._frame, self._fed, 0, self._largest[-1], ORDINARY_Z, "")

    def _absurd(self, stages: Mapping[str, FloatArray]) -> Iterator[Left]:
        for name, limit in self._limits.items():
            sizes = np.abs(stages[name]) if name in stages else np.zeros(0)
            if not sizes.max(initial=0.0) <= limit:
                for channel in np.flatnonzero(np.isfinite(sizes) & (sizes > limit))[:1].tolist():
                    yield self._left("absurd", name, channel, float(sizes[channel]), limit)

    def _departed(self, stages: Mapping[str, FloatArray]) -> Iterator[Left]:
        if self._ordinary is None or self._ordinary.stage not in stages:
            return
        if self._start is None:
            self._start = self._frame, stages
            return
        start, seed = self._start
        sizes, limit = self._ordinary.sizes(seed, stages), largest_departure(self._frame - start)
        worst = int(np.argmax(sizes))
        if sizes[worst] > limit:
            yield self._left("departed", self._ordinary.stage, worst, float(sizes[worst]), limit)

    def _left(self, kind: str, stage: str, channel: int, size: float, limit: float) -> Left:
        where = str(channel_address(stage, channel, self._contract))
        return Left(kind, self._frame, stage, channel, size, limit, where)


def grows(largest: Sequence[float]) -> bool:
    """Whether each quarter's maximum is well above the last one, and the final number beyond the ordinary range."""
    if len(largest) < 4 or largest[-1] <= ORDINARY_Z:
        return False
    quarters = [float(quarter.max()) for quarter in np.array_split(np.array(largest), 4)]
    return all(later > _GROWTH * earlier for earlier, later in pairwise(quarters))


class Envelope:
    """An observer of a run: the first time that each watched quantity leaves its range."""

    def __init__(self, subject: RunSetup, contract: Contract) -> None:
        """Take the range of every input from the clip under a contract, and add the system's own watches."""
        self._contract = contract
        with np.errstate(all="ignore"):
            self._watches = (*_ranges(subject, contract), *subject.files.watches(contract))
        self.found: dict[tuple[str, str], Departure] = {}

    def __call__(self, frame: int, stages: Stages) -> None:
        """Look at one frame; keep only the first departure of each kind and stage."""
        for watch in self._watches:
            if (watch.kind, watch.stage) in self.found or watch.stage not in stages:
                continue
            sizes = watch.sizes(stages)
            place = int(np.argmin(sizes) if watch.is_floor else np.argmax(np.abs(sizes)))
            channel, size = watch.start + place, float(sizes[place])
            if (size < watch.limit) if watch.is_floor else (abs(size) > watch.limit):
                where = str(channel_address(watch.stage, channel, self._contract))
                found = Departure(watch.kind, frame, watch.stage, channel, size, watch.limit, where)
                self.found[watch.kind, watch.stage] = found


def _ranges(subject: RunSetup, contract: Contract) -> Iterator[Watch]:
    """The ranges of the network's inputs, in deviations from the mean over the clip's rows.

    The largest possible distance of a sample from the mean of N samples is sqrt(N - 1) deviations (Samuelson, How deviant can
    you be?, 1968): a value beyond it cannot come from a frame of the clip.
    """
    drive = subject.files.drive_of(subject.clip)
    frame = np.arange(drive(contract).steps)
    if len(frame) < 2:
        return  # a single row only starts the run: it has no range
    frames = ReplayedFrames(Evidence(frame, contract.fps or 1.0, "teacher", {}, drive), contract)
    for name in contract.system.network_inputs:
        rows = frames.computed(name)
        if rows is not None and len(rows) > 1:
            known = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
            rounding = np.nan_to_num(replay_bound(frames, name, rows).max(axis=0), posinf=0.0)
            # at least the rounding of a value of size 1
            deviation = np.maximum(known.std(axis=0), np.maximum(rounding, gamma(_ROUNDED)))
            sizes = partial(_deviations, name, known.mean(axis=0), deviation)
            yield Watch("envelope", name, float(np.sqrt(len(rows) - 1)), sizes)


def _deviations(stage: str, mean: FloatArray, deviation: FloatArray, stages: Stages) -> FloatArray:
    return np.asarray((stages[stage] - mean) / deviation)


CONSTANT = "constant"
"""In place of an operator, for a number of the model itself."""
_TOGETHER = 64
"""Frames that are looked at in one inference: a few megabytes of intermediate values."""


def swallowed_values(network: Any, contract: Contract) -> list[SwallowedValues]:
    """An observer for each network of a run."""
    return [SwallowedValues(each, contract, part) for each, part in each_network(network, contract.system)]


@dataclass
class Swallowed(AsJson):
    """A node that made a value that is not finite while the output stayed finite, and the node that caught it."""

    node: str
    op: str
    value: float
    frame: int
    caught_by: str
    frames: int = 1

    def __str__(self) -> str:
        """In words."""
        word = "NaN" if np.isnan(self.value) else f"{self.value:g}"
        times = f"in {self.frames} frames, first in frame {self.frame}" if self.frames > 1 else f"in frame {self.frame}"
        made = f"inside the model, {self.node} ({self.op}) gives {word} {times}"
        return f"{made}; {self.caught_by}, so it does not arrive"


class SwallowedValues:
    """An observer of a run: gathers the model's inputs, and looks at its intermediate values many frames at a time.

    not_seen: why the values inside the model could not be looked at, in words; empty where they were.
    """

    def __init__(self, network: Any, contract: Contract, part: System) -> None:
        """Prepare the model; without a model file nothing is looked at. part: what the network takes and gives."""
        self.found: dict[str, Swallowed] = {}
        self.not_seen = ""
        self._network, self._names = network, input_order(contract, part)
        self._windowed = contract.system.windowed
        self._waiting: list[tuple[int, list[FloatArray]]] = []
        signature = getattr(network, "signature", None)
        self._model = None if signature is None else ObservedModel(signature.path)
        self._run = None
        try:
            self._run = None if self._model is None else self._model.prepared(self._model.computed)
        except UnusableInput as error:  # a value that cannot be an output, such as a sequence
            self.not_seen = str(error.found)

    def __call__(self, frame: int, stages: Stages) -> None:
        """Keep the inputs of one frame; look when there are enough."""
        if self._run is None or any(name not in stages for name in self._names):
            return
        self._waiting.append((frame, [stages[name] for name in self._names]))
        if len(self._waiting) == _TOGETHER and not self._windowed:
            self.finish()

    def finish(self) -> None:
        """Look at the frames that wait: together, and one by one where something is not finite or the model takes one."""
        waiting, self._waiting = self._waiting, []
        if waiting and not self._look(waiting, is_last=self._windowed or len(waiting) == 1):
            for each in waiting:
                self._look([each], is_last=True)

    def _look(self, waiting: Sequence[tuple[int, list[FloatArray]]], *, is_last: bool) -> bool:
        """Whether all is said of these frames. is_last: they cannot be looked at in smaller groups."""
        model, run = self._model, self._run
        if model is None or run is None:
            return True
        rows = [np.stack(each) for each in zip(*(vectors for _, vectors in waiting), strict=True)]
        try:
            inputs = bound_inputs(self._network, rows, windowed=self._windowed)
            values = run(inputs)
        except (UnusableInput, ValueError) as error:  # of a group: a model of one row
            if is_last:
                self._run, self.not_seen = None, getattr(error, "found", str(error))
            return is_last
        known = {**values, **dict(zip(model.inputs, inputs, strict=True)), **model.weights}
        if is_last or all(map(is_finite, values.values())):
            self._note(model, known, [frame for frame, _ in waiting])
            return True
        return False

    def _note(self, model: ObservedModel, known: Values, frames: Sequence[int]) -> None:
        if not all(is_finite(known[name]) for name in model.outputs):
            return
        for node in model.nodes:
            places = made(node, known, model.weights)
            for name, where in list(places.items())[:1]:
                maker, caught = (node_name(node), node.op), _caught_by(model, name, known)
                self._tell(maker, name, known[name][where], caught, frames)
        for name, values in model.weights.items():
            readers = [node for node in model.nodes if name in node.inputs]
            outputs = [known[output] for node in readers for output in node.outputs if output in known]
            if outputs and not is_finite(values) and all(map(is_finite, outputs)):
                caught = _caught_by(model, name, known)
                self._tell((name, CONSTANT), name, values[~np.isfinite(values)], caught, frames)

    def _tell(self, maker: tuple[str, str], name: str, bad: FloatArray, caught: str, frames: Sequence[int]) -> None:
        seen = self.found.setdefault(name, Swallowed(*maker, float(bad.flat[0]), frames[0], caught, 0))
        seen.frames += len(frames)


def _caught_by(model: ObservedModel, name: str, known: Values) -> str:
    tainted = {name}
    for after in model.nodes:
        if not tainted.intersection(after.inputs):
            continue
        outputs = [name for name in after.outputs if name in known]
        if all(is_finite(known[name]) for name in outputs):
            return f"{node_name(after)} ({after.op}) catches it"
        tainted.update(name for name in outputs if not is_finite(known[name]))
    return "no node that leads to the output reads it"
