"""One operation as a contract of one stage, and how its readings are judged against values that a test writes itself.

A `Subject` says for every reading of every knob what comes out, as a function of the inputs that is written for any float type:
in float64 it gives the expected values, in float32 it is another implementation, with another order of operations.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.bounds import replay_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

from ..every_case import every_case

Array = np.ndarray
Oracle = Callable[..., Array]
"""(inputs in the order of `given`, in one float type) -> the rows; every input is an array (frames, width)."""
Draw = Callable[[np.random.Generator, int], Mapping[str, Array]]
UNIT = 2.0**-24
WIDEST = 50.0
"""A bound wider than this many times the largest error of float32 would hide real mistakes."""
F32 = np.float32


def drawn(size: float = 1.0, **widths: int) -> Draw:
    return lambda random, count: {name: random.normal(0.0, size, (count, w)).astype(F32) for name, w in widths.items()}


def units(random: np.random.Generator, count: int, each: int = 1) -> Array:
    """Rows of unit quaternions."""
    q = random.normal(size=(count, each, 4))
    return (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(count, -1).astype(F32)


def by_row(function: Callable[..., Any]) -> Oracle:
    """A function of the float type and of one frame's vectors, that gives one frame's numbers."""

    def oracle(*rows: Array) -> Array:
        kind = rows[0].dtype.type
        return np.array([[kind(number) for number in function(kind, *row)] for row in zip(*rows, strict=True)])

    return oracle


def matrix(q: Array) -> Array:
    """xyzw (..., 4) to (..., 3, 3) in the quaternion's own float type; not through scipy, which knows float64 only."""
    x, y, z, w = np.moveaxis(np.asarray(q), -1, 0)
    one, two = x.dtype.type(1), x.dtype.type(2)
    rows = [
        [one - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w)],
        [two * (x * y + z * w), one - two * (x * x + z * z), two * (y * z - x * w)],
        [two * (x * z - y * w), two * (y * z + x * w), one - two * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows, x.dtype), (0, 1), (-2, -1))


def back(m: Array) -> Array:
    return np.swapaxes(m, -1, -2)


def turned(m: Array, v: Array) -> Array:
    return m[..., 0] * v[..., :1] + m[..., 1] * v[..., 1:2] + m[..., 2] * v[..., 2:]


def product(a: Array, b: Array) -> Array:
    """Hamilton's, xyzw: the columns of the left multiplication matrix."""
    x, y, z, w = np.moveaxis(np.asarray(a), -1, 0)
    rows = [[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]]
    return np.einsum("...ij,...j->...i", np.moveaxis(np.array(rows, x.dtype), (0, 1), (-2, -1)), b)


MEASURES: Mapping[str, Callable[[Array], Array]] = {
    "euclidean": lambda v: np.sqrt(v[..., 2] * v[..., 2] + v[..., 1] * v[..., 1] + v[..., 0] * v[..., 0]),
    "squared": lambda v: v[..., 2] * v[..., 2] + v[..., 1] * v[..., 1] + v[..., 0] * v[..., 0],
    "absolute_sum": lambda v: abs(v[..., 2]) + abs(v[..., 1]) + abs(v[..., 0]),
    "largest": lambda v: np.max(np.abs(v), axis=-1),
}
"""Lengths of vectors."""


def threes(v: Array) -> Array:
    return v.reshape(len(v), -1, 3)


@dataclass(frozen=True)
class Subject:
    """A stage under test. given: lines of TOML tables. right: the declared reading; wrong: every other one, by knob and value.

    draw: (random numbers, frames) -> the inputs by name, in order. is_rotation: q and -q are the same. is_moved: numbers are
    moved only, so float32 gives the same bits. widest: how far the bound may exceed the errors, where not 50 times.
    """

    name: str
    given: str
    stage: str
    draw: Draw
    right: Oracle
    wrong: Mapping[str, Mapping[str, Oracle]] = field(default_factory=dict)
    more: str = ""
    is_rotation: bool = False
    is_moved: bool = False
    widest: float = WIDEST
    fps: float = 50.0

    @property
    def readings(self) -> list[tuple[str, str, Oracle]]:
        """Knob, value and oracle: the declared reading first, without a knob."""
        others = [(knob, value, oracle) for knob, values in self.wrong.items() for value, oracle in values.items()]
        return [("", "", self.right), *others]


@cache
def contract_of(given: str, stage: str, more: str = "", fps: float = 50.0) -> Any:
    """The contract of one stage `result`."""
    head = f'format = "rigpact-contract"\nversion = 1\nname = "one"\nfps = {fps}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        text = f'{head}given = [{given}]\nstages = [{{ name = "result", {stage} }}]\n{more}'
        path.write_text(text, encoding="utf-8")
        return open_contract(path)


def offered(given: str, stage: str, more: str = "", fps: float = 50.0) -> dict[str, tuple[str, ...]]:
    """The values of every knob of the stage; the declared one first. A knob of the key `order` is `order` here."""
    knobs = contract_of(given, stage, more, fps).system.knobs
    return {name.removeprefix("result."): tuple(map(str, knob.values)) for name, knob in knobs.items()}


def replayed(subject: Subject, inputs: Mapping[str, Array], knob: str = "", value: str = "") -> ReplayedFrames:
    """The stage's replay under one reading."""
    contract = contract_of(subject.given, subject.stage, subject.more, subject.fps)
    if knob:
        contract = contract.with_conventions({f"result.{knob}": value})
    count = len(next(iter(inputs.values())))
    return ReplayedFrames(Evidence(np.arange(count), subject.fps, "teacher", dict(inputs)), contract)


def result_of(subject: Subject, inputs: Mapping[str, Array], knob: str = "", value: str = "") -> tuple[Array, Array]:
    """The rows that rigpact computes, and their bound."""
    frames = replayed(subject, inputs, knob, value)
    rows = frames.computed("result")
    assert rows is not None
    return np.asarray(rows, np.float64), np.asarray(replay_bound(frames, "result", rows))


def evaluated(oracle: Oracle, inputs: Mapping[str, Array], kind: type) -> Array:
    """The oracle's rows in one float type, stored as float32."""
    with np.errstate(all="ignore"):
        rows = np.asarray(oracle(*(values.astype(kind) for values in inputs.values())))
    assert rows.dtype == kind, f"the oracle left {kind.__name__}"
    return rows.reshape(len(rows), -1).astype(np.float64)


def _as_near(rows: Array, like: Array) -> Array:
    """Quaternions with the sign that is nearer to `like`."""
    q, near = rows.reshape(len(rows), -1, 4), like.reshape(len(rows), -1, 4)
    return np.where(np.sum(q * near, axis=-1, keepdims=True) < 0.0, -q, q).reshape(rows.shape)


def judge_value(subject: Subject, knob: str, value: str, oracle: Oracle, inputs: Mapping[str, Array]) -> None:
    """The rows are the oracle's, stored once; float64 leaves 1e-12 of the largest number, 1e-7 where it divides by 1e-8 more."""
    rows, _ = result_of(subject, inputs, knob, value)
    expected = evaluated(oracle, inputs, np.float64)
    assert rows.shape == expected.shape
    expected = _as_near(expected, rows) if subject.is_rotation else expected
    known = np.isfinite(expected)
    assert np.array_equal(known, np.isfinite(rows)), "known where the oracle is known"
    slack = 0.0 if subject.is_moved else 1e-7 if "kind" in subject.given and "convert" in subject.stage else 1e-12
    scale = max((float(np.nanmax(np.abs(expected))) if known.any() else 0.0), 1.0)
    allowed = UNIT * np.abs(expected) + slack * scale
    worst = np.where(known, np.abs(rows - expected) - allowed, 0.0)
    assert worst.max() <= 0.0, (
        f"{knob} = {value}: {rows.reshape(-1)[worst.argmax()]} for {expected.reshape(-1)[worst.argmax()]}"
    )


def ratio_of(subject: Subject, knob: str, value: str, oracle: Oracle, inputs: Mapping[str, Array]) -> float:
    """The largest error of a float32 evaluation in bounds; 0 where no bit differs."""
    rows, bound = result_of(subject, inputs, knob, value)
    found = evaluated(oracle, inputs, np.float32)
    found = _as_near(found, rows) if subject.is_rotation else found
    with np.errstate(all="ignore"):
        error = np.abs(found - rows)
        ratio = np.where(error == 0.0, 0.0, error / bound)
    return float(np.nanmax(ratio))


def readings_of(subjects: tuple[Subject, ...]) -> Any:
    """Give a test every reading of every subject; one test for each subject."""
    cases = [(subject, *reading) for subject in subjects for reading in subject.readings]
    ids = [f"{subject.name}-{knob or 'as'}-{value or 'declared'}" for subject, knob, value, _ in cases]
    return every_case(("subject", "knob", "value", "oracle"), cases, ids=ids, by="subject")


def judging_tests(
    subjects: tuple[Subject, ...],
    *,
    rows: tuple[int, ...] = (25, 25),
    frames: int = 4000,
) -> tuple[Callable[..., None], Callable[..., None], Callable[..., None]]:
    """The three tests of a module's subjects: every reading has an oracle, gives its numbers, and is within its bound.

    rows: how many frames each drawn run has. frames: those that the bound is judged on.
    """

    @every_case("subject", subjects, ids=lambda each: each.name)
    def every_reading_has_an_oracle(subject: Subject) -> None:
        """A reading without an expected value of its own may do anything under its name."""
        found = offered(subject.given, subject.stage, subject.more, subject.fps)
        expected = {knob: set(values) for knob, values in subject.wrong.items()}
        assert {knob: set(values[1:]) for knob, values in found.items()} == expected

    @readings_of(subjects)
    def a_reading_gives_the_numbers_of_its_name(subject: Subject, knob: str, value: str, oracle: Oracle) -> None:
        """A wrong name for a cause sends a team to code that is right."""
        for seed, count in enumerate(rows):
            judge_value(subject, knob, value, oracle, subject.draw(np.random.default_rng(seed), count))

    @readings_of(subjects)
    def float32_is_within_a_bound_that_is_near(subject: Subject, knob: str, value: str, oracle: Oracle) -> None:
        """A bound that is too small accuses right engines; one that is too wide hides wrong ones."""
        ratio = ratio_of(subject, knob, value, oracle, subject.draw(np.random.default_rng(7), frames))
        assert ratio <= 1.0, f"float32 differs by {ratio:.2f} bounds"
        if not subject.is_moved and ratio > 0.0:
            assert ratio >= 1.0 / subject.widest, f"the bound is {1.0 / ratio:.0f} times the largest error"

    return every_reading_has_an_oracle, a_reading_gives_the_numbers_of_its_name, float32_is_within_a_bound_that_is_near
