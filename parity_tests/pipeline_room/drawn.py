"""What a pipeline is drawn from: a contract of one to eighty bones, its clip, the network's answers; and how often."""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from rigpact.contract import Contract
from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.testing import strategies

MOST_BONES, MOST_HISTORY = 80, 8
FRAMES = 4
FEW, SOME, MANY = 10, 30, 400
"""Examples of the ordinary tests, always the same ones (more where an example is quick), and of the long ones, which draw others
each time."""
each_profile = pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.nightly)])
each_quick_profile = pytest.mark.parametrize("examples", [SOME, pytest.param(MANY, marks=pytest.mark.nightly)])


@dataclass(frozen=True)
class Case:
    """A contract, a clip that fits it, and what the network answers in each frame, (T, Dy)."""

    contract: Contract
    clip: RawClip
    y_norm: Any


@st.composite
def cases(draw: st.DrawFn, *, knobs: Sequence[str] = (), history: int = MOST_HISTORY) -> Case:
    """Any contract with its clip and answers; knobs: the conventions that are drawn too."""
    past = draw(st.integers(1, history))  # a bundle of no history is refused
    contract = draw(strategies.contracts(max_bones=MOST_BONES, history=past, knobs=knobs))
    clip = draw(strategies.clips(contract, min_frames=FRAMES + 1, max_frames=FRAMES + 2))
    numbers = st.floats(-4.0, 4.0, width=32, allow_subnormal=False)
    shape = (FRAMES, contract.numbers.output.width)
    return Case(contract, clip, draw(st_numpy.arrays(np.float32, shape, elements=numbers, fill=st.just(0.0))))


def for_all(strategy: st.SearchStrategy[Any], examples: int, holds: Callable[[Any], None]) -> None:
    """Judge so many drawn values; a failure is shrunk and shown."""
    drawing = settings(
        max_examples=examples, derandomize=examples < MANY, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    drawing(given(strategy)(holds))()


MOST_OPERATIONS, STEPS, MOST_NUMBERS = 12, 6, 6
SAME = "numbers  "  # as many as the first
NUMBERS, QUATERNION, POSITION, RATE, SIX = "numbers", "quaternion_wxyz", "position", "angular_rate", "rot6d"


@dataclass(frozen=True)
class Vector:
    """A stage: what its numbers are, how many, and how many frames of the clip ahead it is known."""

    name: str
    kind: str
    size: int
    ahead: int = 0


@dataclass(frozen=True)
class Declared:
    """A drawn contract, the rows of its clip, and of every stage how many frames it looks ahead."""

    contract: Any
    clip: dict[str, Any]
    ahead: dict[str, int]
    feeds_itself: bool


@dataclass
class _Graph:
    """A contract while it is drawn: its vectors and the lines of its stages."""

    draw: Callable[[Any], Any]
    vectors: list[Vector] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def any_of(self, *kinds: str, size: int | None = None, ahead: bool = True) -> Vector:
        """One of the vectors so far, of these kinds; the givens have one of each."""
        found = [
            each
            for each in self.vectors
            if each.kind in kinds and size in (None, each.size) and (ahead or not each.ahead)
        ]
        return self.draw(st.sampled_from(found))  # type: ignore[no-any-return]

    def add(self, operation: str, sources: Sequence[Vector], words: str, kind: str, size: int, ahead: int = 0) -> None:
        """One more stage; it looks as far ahead as what it is computed from."""
        name, of = f"s{len(self.lines)}", ", ".join(f'"{each.name}"' for each in sources)
        self.lines.append(f'{{ name = "{name}", operation = "{operation}", of = [{of}]{words} }}')
        self.vectors.append(Vector(name, kind, size, ahead + max(each.ahead for each in sources)))


def _one_of(graph: _Graph, *words: str) -> str:
    return str(graph.draw(st.sampled_from(words)))


def _number(graph: _Graph) -> float:
    return float(graph.draw(st.sampled_from([0.25, -0.5, 0.75, 1.5, -2.0])))


def _words(graph: _Graph, template: str) -> str:
    """The template with a drawn number in place of each {#}, and one of the words in place of each {a|b}."""

    def drawn(found: re.Match[str]) -> str:
        return str(_number(graph)) if found[1] == "#" else f'"{_one_of(graph, *found[1].split("|"))}"'

    return re.sub(r"\{([^}]+)\}", drawn, template)


def _of(
    operation: str, sources: Sequence[str], words: str, kind: str = NUMBERS, size: int = 0
) -> Callable[[_Graph], None]:
    """A use of an operation on vectors of these kinds (`a b` is either), none of them twice; size 0 is that of the first."""

    def add(graph: _Graph) -> None:
        taken: list[Vector] = []
        for kinds in sources:
            taken.append(graph.any_of(*kinds.split(), size=taken[0].size if kinds == SAME else None))
        if len({each.name for each in taken}) == len(taken):
            graph.add(operation, taken, _words(graph, words), kind, size or taken[0].size)

    return add


def _concatenate(graph: _Graph) -> None:
    one, other = graph.any_of(NUMBERS), graph.any_of(NUMBERS, RATE)
    if one != other and one.size + other.size <= MOST_NUMBERS:
        graph.add("concatenate", [one, other], "", NUMBERS, one.size + other.size)


def _history(graph: _Graph) -> None:
    source, length = graph.any_of(NUMBERS, RATE), graph.draw(st.integers(1, 3))
    layout, order = _one_of(graph, "term_major", "frame_major"), _one_of(graph, "oldest_first", "newest_first")
    words = f', length = {length}, layout = "{layout}", order = "{order}", start = "{_one_of(graph, "first", "zeros")}"'
    if source.size * length <= 2 * MOST_NUMBERS:
        graph.add("history", [source], words, NUMBERS, source.size * length)


def _difference(graph: _Graph) -> None:
    """Forward takes the next frame; that is known of the clip only."""
    span = _one_of(graph, "backward", "forward")
    source = next(each for each in graph.vectors if each.name == "v") if span == "forward" else graph.any_of(NUMBERS)
    words = f', span = "{span}", rate = "{_one_of(graph, "per_second", "per_frame")}"'
    graph.add("difference", [source], words, NUMBERS, source.size, ahead=int(span == "forward"))


def _shift(graph: _Graph) -> None:
    frames = graph.draw(st.integers(-2, 1))
    source = next(each for each in graph.vectors if each.name == "v") if frames > 0 else graph.any_of(NUMBERS, RATE)
    graph.add("shift", [source], f", frames = {frames}", source.kind, source.size, ahead=max(frames, 0))


def _constant(graph: _Graph) -> None:
    source = next(each for each in graph.vectors if each.name == "v")
    graph.add("constant", [source], f", value = {[_number(graph)] * source.size}", NUMBERS, source.size)


def _select(graph: _Graph) -> None:
    taken = graph.draw(st.permutations(["hip", "knee", "toe"]))
    source = next(each for each in graph.vectors if each.name == "v")
    names = ", ".join(f'"{name}"' for name in taken[: graph.draw(st.integers(1, 3))])
    graph.add("select", [source], f", take = [{names}]", NUMBERS, names.count(",") + 1)


OPERATIONS: dict[str, Callable[[_Graph], None]] = {
    "affine": _of("affine", [NUMBERS], ", scale = {#}, offset = {#}"),
    "normalise": _of("normalise", [NUMBERS], ", mean = {#}, std = 2, epsilon = 0.01"),
    "denormalise": _of("denormalise", [NUMBERS], ", mean = {#}, std = 2"),
    "clip": _of("clip", [NUMBERS], ", lowest = -0.75, highest = 1.25"),
    "squash": _of("squash", [NUMBERS], ", function = {tanh|sigmoid|relu}, scale = 2"),
    "threshold": _of("threshold", [NUMBERS], ", limit = {#}, side = {above|below}"),
    "wrap": _of("wrap", [NUMBERS], ', unit_of_angle = "rad", range = {symmetric|positive}'),
    "blend": _of("blend", [NUMBERS, SAME], ", weights = [{#}, {#}]"),
    "norm": _of("norm", [f"{POSITION} {RATE}"], ", measure = {euclidean|squared|largest}", NUMBERS, 1),
    "compose": _of("compose", [QUATERNION] * 2, ", product = {first_second|second_first}", QUATERNION),
    "rotate": _of("rotate", [QUATERNION], ", vector = [0, 0.5, -1], direction = {inverse|forward}", NUMBERS, 3),
    "relative": _of("relative", [POSITION, POSITION, QUATERNION], ", direction = {into_frame|out_of_frame}", POSITION),
    "six": _of("convert", [QUATERNION], ', to = "rot6d", writes = {columns|interleaved}', SIX, 6),
    "quaternion": _of("convert", [SIX], ', to = "quaternion_wxyz", reads = {columns|interleaved}', QUATERNION, 4),
    "integrate_rotation": _of("integrate_rotation", [QUATERNION, RATE], ", side = {left|right}", QUATERNION),
    "concatenate": _concatenate, "history": _history, "difference": _difference, "shift": _shift, "constant": _constant,
    "select": _select,
}  # fmt: skip
"""Of each operation: what draws a use of it. The sides of `integrate` are in every contract that feeds itself."""
_GIVEN = (
    '{ name = "v", names = ["hip", "knee", "toe"] }', '{ name = "q", kind = "quaternion_wxyz" }',
    '{ name = "p", kind = "position" }', '{ name = "root", kind = "position" }', '{ name = "w", kind = "angular_rate" }',
    '{ name = "six", kind = "rot6d" }',
)  # fmt: skip
_LAST = '{ name = "last", names = ["x", "y", "z"], carried = "place", start = "zeros" }'
_DRIVEN = (Vector("v", NUMBERS, 3), Vector("q", QUATERNION, 4), Vector("p", POSITION, 3), Vector("root", POSITION, 3),
           Vector("w", RATE, 3), Vector("six", SIX, 6))  # fmt: skip


@st.composite
def declared(draw: st.DrawFn, *, feedback: bool | None = None) -> Declared:
    """A contract of one to twelve operations; feedback: whether it feeds itself, None for either."""
    feeds_itself = draw(st.booleans()) if feedback is None else feedback
    graph = _Graph(draw, list(_DRIVEN) + [Vector("last", NUMBERS, 3)] * feeds_itself)
    names = draw(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=MOST_OPERATIONS - feeds_itself))
    for name in names:
        OPERATIONS[name](graph)
    if not graph.lines:  # two equal vectors were drawn for the only operation
        OPERATIONS["affine"](graph)
    ahead = {each.name: each.ahead for each in graph.vectors}
    if feeds_itself:
        wish = graph.any_of(NUMBERS, RATE, size=3)
        graph.lines.append(f'{{ name = "place", operation = "integrate", of = ["last", "{wish.name}"] }}')
        ahead["place"] = wish.ahead
    given = [*_GIVEN, *[_LAST] * feeds_itself]
    contract = _opened(f"given = [{', '.join(given)}]\nstages = [{', '.join(graph.lines)}]\n")
    return Declared(contract, _clip(contract, draw(st.integers(0, 2**16))), ahead, feeds_itself)


@lru_cache(maxsize=64)
def _opened(text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        path.write_text(f'format = "rigpact-contract"\nversion = 1\nname = "drawn"\nfps = 50\n{text}', encoding="utf-8")
        return open_contract(path)


def _clip(contract: Any, seed: int) -> dict[str, Any]:
    """Rows of what comes from outside; quaternions are units, and nothing is near a limit of an operation."""
    rng, rows = np.random.default_rng(seed), {}
    for name in contract.system.graph.given:
        rows[name] = rng.normal(0.0, 0.6, (STEPS, contract.fields(name).width))
    rows["q"] /= np.linalg.norm(rows["q"], axis=1, keepdims=True)
    return {name: values.astype(np.float32) for name, values in rows.items()}
