"""What is named as a source was there before, what explains names a rule, and every claim holds in each frame that it covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..every_case import every_case
from ..measuring.scores.random_programs.interpreter import run
from ..measuring.scores.random_programs.program import Given, Layers, Operation, Program, Rows
from ..measuring.scores.random_programs.trial import asked, written

DRAW = np.random.default_rng(3)
LAYERS = Layers(*(np.float32(0.7 * DRAW.normal(size=shape)) for shape in ((5, 12), (12,), (12, 4), (4,))))
POLICY = Program(
    50,
    (Given("gyro", 5), Given("last_action", 4, carried="action")),
    (
        Operation("obs", "affine", ("gyro",), {"scale": 0.5}, 5),
        Operation("raw", "network", ("obs",), {}, 4),
        Operation("action", "clip", ("raw",), {"lowest": -2.5, "highest": 2.5}, 4),
        Operation("change", "blend", ("action", "last_action"), {"weights": (1.0, -1.0)}, 4),
    ),
    {},
    {},
    {"raw": LAYERS},
)
FRAMES = np.arange(120)
GYRO = np.float32(np.sin((FRAMES // 4)[:, None] * [0.41, 0.67, 0.83, 0.25, 1.31]))
"""Of a policy that ticks every fourth frame."""
OTHERS = {
    "the first bias is in another order": replace(LAYERS, first_bias=LAYERS.first_bias[::-1].copy()),
    "weights of another training": replace(LAYERS, first=LAYERS.first[::-1] + np.float32(0.1)),
}


@every_case("recorded", [("gyro", "obs", "action"), ("gyro", "last_action", "action", "change")])
@every_case("name", OTHERS)
def test_an_answer_is_not_explained_by_what_is_fed_back_of_it(
    tmp_path: Path, name: str, recorded: tuple[str, ...]
) -> None:
    """The `last_action` of the next frame is the action, whatever stands there: who believes it mends a line that is right."""
    values = run(replace(POLICY, networks={"raw": OTHERS[name]}), {"gyro": GYRO})
    answer = _asked(POLICY, {each: values[each] for each in recorded}, tmp_path)
    assert (answer["verdict"], [each["sentence"] for each in answer["relations"]]) == ("unexplained", [])


SCALED = Program(50, (Given("q", 6),), (Operation("scaled", "affine", ("q",), {"scale": 0.5}, 6),), {}, {}, {})
Q = np.float32(np.sin(FRAMES[:, None] * [0.11, 0.17, 0.23, 0.07, 0.31, 0.13]) + 0.1 * DRAW.normal(size=(120, 6)))
LIMITS = np.float32([0.21, 0.233, 0.187, 0.257, 0.139, 0.311])
SOME = DRAW.random((120, 6)) < 0.2
THAT_IT_DIFFERS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "a factor of its own in each channel": (lambda rows: rows * (1.0 + LIMITS), "scaled by a constant of its own"),
    "a summand of its own in each channel": (lambda rows: rows + LIMITS, "moved by a constant of its own"),
    "limits of its own in each channel": (lambda rows: np.clip(rows, -LIMITS, LIMITS), "limits of its own"),
    "zero in some frames": (lambda rows: np.where(SOME, 0.0, rows), "the number 0, wherever it differs"),
    "stuck": (lambda rows: np.broadcast_to(LIMITS, rows.shape), "stuck at"),
}


@every_case("name", THAT_IT_DIFFERS)
def test_that_it_differs_is_no_explanation(tmp_path: Path, name: str) -> None:
    """A missing floor, two exchanged columns and a guard were EXPLAINED by their symptoms, and nobody looked for the line."""
    change, words = THAT_IT_DIFFERS[name]
    rows = np.float32(change(np.float32(0.5) * Q))
    answer = _asked(SCALED, {"q": Q, "scaled": rows}, tmp_path)
    said = [each["sentence"] for each in answer["relations"]]
    assert (answer["verdict"], [each for each in said if "explains" in each]) == ("unexplained", [])
    assert any(words in each for each in said), said
    assert answer["stages"][0]["remains"] == answer["stages"][0]["differs"]


def test_a_constant_that_says_what_is_wrong_is_an_explanation(tmp_path: Path) -> None:
    """Zeros in every frame: the command never reaches the policy. A gain of 55 where the contract has a table was set."""
    assert _asked(SCALED, {"q": Q, "scaled": 0.0 * Q}, tmp_path)["verdict"] == "explained"
    gains = Operation("gains", "constant", ("q",), {"value": (100.0, 150.0, 40.0, 60.0, 80.0, 20.0)}, 6)
    joints = tuple(f"joint_{place}" for place in range(6))
    program = replace(SCALED, given=(Given("q", 6, "joints"),), operations=(gains,), lists={"joints": joints})
    assert _asked(program, {"q": Q, "gains": np.full_like(Q, 55.0)}, tmp_path)["verdict"] == "explained"


def _asked(program: Program, columns: dict[str, Rows], folder: Path) -> dict[str, Any]:
    return asked(program, *written(program, columns, folder), {})
