"""A stage: one named vector of a runtime, said once; and faults of constants and of training data, before they become findings.

Its layout, what it is computed from, how, under which knobs, how far rounding may move it and how its error is measured all stand
in one `Stage`. No other table is keyed by stage. How stages are evaluated is not here: see `rigpact.reference_runtime.graph`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Planned
from rigpact.contract.units import NO_UNIT


@dataclass(frozen=True)
class Problem:
    """A contradiction: where (a JSON pointer or the name of an array), what was found, what was expected, what follows."""

    pointer: str
    found: str
    expected: str
    why: str


@dataclass(frozen=True)
class DataCheck:
    """What must hold in every row of a data set that holds the vector `of`; `why` says what follows where it does not.

    same: fields that are one place. computed: the stage whose rows the vector has, where the data hold what it is computed from.
    several: the rows are not all the same. within: how far apart two places may be. judged_by: stages whose operations judge the
    rows, together with those of `labels`, what a network shall answer; moved_by: the stage that computes positions of them.
    """

    of: str
    why: str
    same: Sequence[str] = ()
    computed: str = ""
    several: bool = False
    within: float = 0.0
    judged_by: Sequence[str] = ()
    labels: str = ""
    moved_by: str = ""


def entries(value: Any) -> list[Any]:
    """The entries of a JSON array; anything else gives none, so that a later check finds it too short."""
    return list(value) if isinstance(value, list | tuple) else []


Compute = Callable[[Any], FloatArray]
"""`Frames` -> the stage's rows (N, width), float32."""
Bounds = Mapping[str, FloatArray]
Bound = Callable[[Any, FloatArray, Bounds], FloatArray]
"""`Frames`, the stage's rows and the bounds of unrecorded stages before it -> how far two correct float32 implementations may
differ, (N, width); NaN where nothing can be said."""
Judged = Callable[[Any, Mapping[str, FloatArray], DataCheck], Iterator[Problem]]
"""A contract, the rows of a data set by stage (N, width) and the page's check -> what is wrong with them."""


class NotKnown(Exception):
    """A stage, a clip or a network that an evaluation needs and does not have."""


@dataclass(frozen=True)
class Measure:
    """How people read a stage's error.

    unit: of the error. sizes: recorded and recomputed rows -> errors in that unit (N, k); None for absolute differences.
    has_signless_quaternions: q and -q mean the same rotation. quaternions_at: where such quaternions begin among other numbers.
    widest_bound: a channel whose bound is wider says nothing.
    range: the largest difference that there can be; a bound as wide judges nothing.
    parts: contract -> the channels of the parts (bones, joints) and the width of one, where an order of parts can be matched.
    """

    unit: str = NO_UNIT
    sizes: Callable[[Any, FloatArray, FloatArray], FloatArray] | None = None
    has_signless_quaternions: bool = False
    quaternions_at: tuple[int, ...] = ()
    widest_bound: float | None = None
    range: float | None = None
    parts: Callable[[Any], tuple[slice, int]] | None = None


RAW = Measure()
QUATERNIONS = Measure(has_signless_quaternions=True)
Z_SCORE = Measure("z", widest_bound=1.0)
"""A channel whose rounding alone spans a whole standard deviation says nothing; it is waived and counted."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One named vector.

    layout: its fields, or contract -> its fields.
    needs: the stages that it is computed from; may_use: those that it looks at if they are known.
    compute: None for a vector that comes from outside (the clip).
    carried: the stage of the frame before that this one takes over when the system feeds itself; carried_fields: those of its
    fields that it takes over, if not all: the others still come from outside. start: contract -> its row (width,) in the first
    frame, where nothing from outside says it. source_knob: stages that sides take it over from, where they differ.
    bound: None for a value that is stored once. is_propagated: its bound includes what the bounds of its needs lead to; else
    that is measured.
    earlier: the stages whose rows of the frame before it reads; a batch of frames is repeated until these stay as they are.
    driven_ahead: in a run that a clip drives, the stage holds what the clip gives so many frames later; where that frame is not
    recorded, nobody can know it.
    is_answer: the network gives it. source: what gives it, for people. reach: how many frames back and ahead it looks.
    from_clip: a clip gives it, as it is. in_place: frames -> what makes the network write the answer to their own memory, where
    that can be.
    planned: the same computation as a step of a plan. other_way: another computation of it that is right as well. unit: as a
    contract declares it for all its numbers. undone: from its rows the rows of the one stage that it needs. judged: what is wrong
    with a data set. details: what the computation gives besides the rows. inside: the stages that it is computed by, in
    order, where nothing records them; the last one gives its rows.
    """

    name: str
    layout: FieldLayout | Callable[[Any], FieldLayout]
    needs: tuple[str, ...] = ()
    compute: Compute | None = None
    bound: Bound | None = None
    knobs: tuple[Knob, ...] = ()
    measure: Measure = RAW
    may_use: tuple[str, ...] = ()
    carried: str | None = None
    carried_fields: tuple[str, ...] = ()
    start: Callable[[Any], FloatArray] | None = None
    source_knob: Knob | None = None
    earlier: tuple[str, ...] = ()
    driven_ahead: int = 0
    is_propagated: bool = False
    is_answer: bool = False
    source: str = ""
    reach: tuple[int, int] | Callable[[Any], tuple[int, int]] = (0, 0)
    planned: Planned | None = None
    unit: str = ""
    other_way: Compute | None = None
    undone: Compute | None = None
    judged: Judged | None = None
    details: Callable[[Any], Any] | None = None
    from_clip: bool = False
    in_place: Callable[[Any], Callable[[], None] | None] | None = None
    inside: "tuple[Stage, ...]" = ()

    @property
    def comes_from_outside(self) -> bool:
        """Whether nothing computes it; a free run may take it over from the frame before."""
        return self.compute is None or self.from_clip

    @property
    def every_knob(self) -> tuple[Knob, ...]:
        """The knobs of its computation, and the one of what it takes over."""
        return self.knobs if self.source_knob is None else (*self.knobs, self.source_knob)

    def reach_of(self, contract: Any) -> tuple[int, int]:
        """How many frames back and how many ahead the stage looks."""
        return self.reach if isinstance(self.reach, tuple) else self.reach(contract)

    def computed(self, frames: Any) -> FloatArray:
        """The stage's rows; `NotKnown` for one that comes from outside."""
        if self.compute is None:
            raise NotKnown(self.name)
        return self.compute(frames)

    def fields(self, contract: Any) -> FieldLayout:
        """The stage's fields under a contract."""
        return self.layout if isinstance(self.layout, FieldLayout) else self.layout(contract)

    @property
    def shown_unit(self) -> str:
        """The unit that its errors are shown in: of its measure, else its declared one, else `raw`."""
        return self.measure.unit if self.measure.unit != NO_UNIT else self.unit or NO_UNIT

    def take_over(self, contract: Any, rows: FloatArray, before: FloatArray) -> FloatArray:
        """The stage's rows from outside, (N, width), with what the frame before hands on, (N, width)."""
        if not self.carried_fields:
            return before
        fields, taken = self.fields(contract), rows.copy()
        for name in self.carried_fields:
            taken[:, fields[name].range] = before[:, fields[name].range]
        return taken


class FramesInside:
    """The frames of a stage that is computed by several: they are computed here, all others are those of the frames."""

    def __init__(self, frames: Any, stages: Iterable[Stage]) -> None:
        """stages: in the order of the loop."""
        self._frames, self._stages = frames, {stage.name: stage for stage in stages}
        self.known: dict[str, FloatArray] = {}

    def __getitem__(self, name: str) -> FloatArray:
        """The rows of a stage; `NotKnown` where it is not known."""
        if name not in self._stages:
            rows: FloatArray = self._frames[name]
            return rows
        if name not in self.known:
            self.known[name] = self._stages[name].computed(self)
        return self.known[name]

    def __getattr__(self, name: str) -> Any:
        """Every other attribute is the frames' own."""
        return getattr(self._frames, name)


def with_inner(
    stages: Iterable[Stage], inner: Mapping[str, Stage], conventions: Sequence[str] = ()
) -> tuple[Stage, ...]:
    """The stages that are not inside others, each with those inside it: of `inner` ones, in the order of the loop.

    conventions: the order of those that have a name.
    """
    return tuple(_with_inner(each, inner, conventions) for each in stages if each.name not in inner)


def _with_inner(stage: Stage, inner: Mapping[str, Stage], conventions: Sequence[str]) -> Stage:
    path, wanted = [stage], {*stage.needs}
    for each in reversed([*inner.values()]):
        if each.name in wanted:
            path.insert(0, each)
            wanted |= {*each.needs}
    if len(path) == 1:
        return stage
    needs = dict.fromkeys(name for each in path for name in each.needs if name not in inner)
    own = {knob.name: knob for each in path for knob in each.knobs}
    knobs = {name: own[name] for name in (*conventions, *own) if name in own}
    before = path[:-1]
    return replace(
        stage,
        needs=tuple(needs),
        compute=lambda frames: stage.computed(FramesInside(frames, before)),
        knobs=tuple(knobs.values()),
        planned=None,
        undone=None,
        inside=tuple(path),
    )


@dataclass(frozen=True, eq=False)
class Graph:
    """Stages in the order of the loop."""

    stages: tuple[Stage, ...]

    def __getitem__(self, name: str) -> Stage:
        """Return the stage of that name; KeyError where there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __contains__(self, name: object) -> bool:
        return any(stage.name == name for stage in self.stages)

    @property
    def names(self) -> tuple[str, ...]:
        """Every stage, in loop order."""
        return tuple(stage.name for stage in self.stages)

    @property
    def given(self) -> tuple[str, ...]:
        """The stages that come from outside."""
        return tuple(stage.name for stage in self.stages if stage.compute is None)

    @property
    def answers(self) -> tuple[str, ...]:
        """The stages that the network gives."""
        return tuple(stage.name for stage in self.stages if stage.is_answer)

    @property
    def handed_on(self) -> frozenset[str]:
        """The stages that the next frame takes over: each has the fields of the stage that takes it."""
        return frozenset(stage.carried for stage in self.stages if stage.carried is not None)

    @property
    def feeds_itself(self) -> bool:
        """Whether a free run is possible."""
        return any(stage.carried is not None for stage in self.stages)

    def knobs(self) -> dict[str, Knob]:
        """Every knob of every stage, by name, in loop order."""
        return {knob.name: knob for stage in self.stages for knob in stage.every_knob}

    def stages_of(self, knob: str) -> frozenset[str]:
        """The stages that look at a knob."""
        return frozenset(stage.name for stage in self.stages if any(each.name == knob for each in stage.every_knob))

    def places_of(self, knob: str) -> frozenset[str]:
        """The same, with the stage inside in the place of the one that it is in."""
        every = (inner for stage in self.stages for inner in stage.inside or (stage,))
        return frozenset(stage.name for stage in every if any(each.name == knob for each in stage.every_knob))

    def after(self, names: tuple[str, ...]) -> frozenset[str]:
        """These stages and all that depend on them within a frame."""
        found = set(names)
        for stage in self.stages:
            if found.intersection(stage.needs):
                found.add(stage.name)
        return frozenset(found)

    def arrivals(
        self, name: str, contract: Any, *, feeds_itself: bool, not_through: Collection[str] = ()
    ) -> dict[str, int]:
        """Every stage that the numbers of a stage reach, and after how many frames they do; below 0 where one looks ahead.

        What is handed on to the next frame is never computed from it. feeds_itself: whether a frame takes over what the frame
        before hands on. not_through: stages that let nothing through.
        """
        found, in_the_loop = {name: 0}, set(self.handed_on)
        for stage in reversed(self.stages):
            in_the_loop |= {*stage.needs, *stage.may_use} if stage.name in in_the_loop else set()
        for _ in self.stages:  # the longest way has as many steps
            known = dict(found)
            for stage in self.stages:
                fed = (stage.carried, *(stage.source_knob.values if stage.source_knob else ())) if feeds_itself else ()
                ahead = 0 if stage.name in in_the_loop else stage.reach_of(contract)[1]
                ways = dict.fromkeys((*stage.needs, *stage.may_use), -ahead)
                ways |= {str(source): 1 for source in (*stage.earlier, *fed) if source is not None}
                delays = [found[source] + delay for source, delay in ways.items() if source in found]
                if delays and stage.name not in (name, *not_through):
                    found[stage.name] = min(*delays, found.get(stage.name, delays[0]))
            if found == known:
                break
        return found
