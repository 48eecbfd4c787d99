"""One trial: draw a program and its mistakes from a seed, record it, ask `rigpact explain`, grade the answer."""

from __future__ import annotations

import json
import signal
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..grading import untrue, ways_of
from .drawing import drawn_inputs, drawn_program, drawn_recorded, variant
from .grading import Case, Graded, differing, differs, grade, recorded_run
from .planting import OF_TIME_AND_TURNS, Ground, drawn_edit
from .program import Edit, Floating, Program, Rows, as_toml, write_network

LIMIT_S = 60.0
"""Of processor time: the search counts work and ends by itself, so one that does not hangs."""
MOST_DRAWN = 60


class LateError(BaseException):
    """The limit was passed. It is no Exception: what is asked catches none of these."""


@dataclass(frozen=True)
class Result:
    """What came of one seed. what: the planted edits, or the benign variant, in words."""

    seed: int
    what: str
    kinds: tuple[str, ...]
    operations: int
    density: str
    graded: Graded
    seconds: float


def drawn_case(seed: int, kind: str = "") -> Case:
    """A program with one edit or two, each of which changes a recorded vector beyond rounding, beside the other too.

    kind: of `OF_TIME_AND_TURNS`, for one edit of that kind.
    """
    draw = np.random.default_rng([seed, 0])
    while True:
        program = drawn_program(draw)
        inputs = drawn_inputs(program, draw)
        recorded = drawn_recorded(program, draw)
        floating: Floating = (np.float32, np.float64)[int(draw.integers(2))]

        def recording(*edits: Edit) -> Case:
            return recorded_run(program, inputs, edits, recorded, floating)  # noqa: B023 - called in this round alone

        honest = recording()
        count = 1 if kind or draw.integers(3) else 2
        edits: list[Edit] = []
        for _ in range(MOST_DRAWN):
            edit = _drawn_edit(program, honest, draw, kind, edits[0].at if edits else "")
            if edit is None:
                continue
            case, alone = recording(*edits, edit), [recording(each) for each in (edit, *edits)]
            shows = _is_usable(alone[0]) and differing(alone[0]) and _is_usable(case)
            if shows and (not edits or all(_differ(each, case) for each in alone)):
                edits.append(edit)
            if len(edits) == count:
                return case


def _drawn_edit(program: Program, honest: Case, draw: np.random.Generator, kind: str, but: str) -> Edit | None:
    if not kind:
        return drawn_edit(program, honest.values, draw, but)
    own = program.operations[int(draw.integers(len(program.operations)))]
    return OF_TIME_AND_TURNS[kind](Ground(program, own, honest.values, draw))


def _differ(one: Case, other: Case) -> bool:
    return any(differs(one.values[name], other.values[name]) for name in one.recorded)


def _is_usable(case: Case) -> bool:
    return all(bool(np.all(np.abs(rows) < 1e5)) for rows in case.values.values())


def written(program: Program, columns: Mapping[str, Rows], folder: Path) -> tuple[Path, Path]:
    """The recording and the contract as files."""
    contract, recording = folder / "contract.toml", folder / "run.npz"
    contract.write_text(as_toml(program), encoding="utf-8")
    for name, layers in program.networks.items():
        write_network(layers, folder / f"{name}.onnx")
    arrays: dict[str, Any] = {"frame": np.arange(len(next(iter(columns.values())))), **columns}
    np.savez(recording, **arrays)
    return recording, contract


def asked(program: Program, recording: Path, contract: Path, changes: Mapping[str, str]) -> dict[str, Any]:
    """The answer as JSON."""
    mode = "free" if any(each.carried for each in program.given) else None
    settings = tuple(f"{knob}={value}" for knob, value in changes.items())
    found, _ = explain(ExplainRequest(recording, ContractFiles(contract, None, settings), mode=mode))
    answer: dict[str, Any] = json.loads(json.dumps(found.to_json()))
    return answer


def trial(seed: int, kind: str = "") -> Result:
    """One program with mistakes, or with one of a kind."""
    case = drawn_case(seed, kind)
    columns = {name: case.values[name] for name in case.recorded}
    with tempfile.TemporaryDirectory() as folder:
        files = written(case.program, columns, Path(folder))
        answer, seconds = _timed(case.program, files)
        if answer is None:
            graded = Graded("timeout")
        elif false := untrue(answer, ways_of(tomllib.loads(as_toml(case.program)))):
            graded = Graded("false", false=tuple(false))
        else:
            graded = grade(case, answer, lambda changes: asked(case.program, *files, changes))
    shown, kinds = "; ".join(each.shown for each in case.edits), tuple(each.kind for each in case.edits)
    computed, operations = (
        sum(each.name in case.recorded for each in case.program.operations),
        len(case.program.operations),
    )
    density = "dense" if computed == operations else "sparse" if computed <= 3 else "most"
    return Result(seed, shown, kinds, operations, density, graded, seconds)


def benign_trial(seed: int) -> Result:
    """One program without a mistake, computed or written as another correct engine would."""
    name, program, columns = variant(seed)
    with tempfile.TemporaryDirectory() as folder:
        answer, seconds = _timed(program, written(program, columns, Path(folder)))
    if answer is None:
        graded = Graded("timeout")
    elif answer["verdict"] in ("agrees", "undetermined"):
        graded = Graded("agrees")
    else:
        graded = Graded("alarm", claims=(f"first: {(answer['first_divergence'] or {'stage': ''})['stage']}",))
    return Result(seed, name, (), len(program.operations), "", graded, seconds)


def _timed(program: Program, files: tuple[Path, Path]) -> tuple[dict[str, Any] | None, float]:
    """The answer, none beyond the limit, and how long it took."""
    started, answer = time.process_time(), None
    with suppress(LateError), limited():
        answer = asked(program, *files, {})
    return answer, time.process_time() - started


@contextmanager
def limited() -> Iterator[None]:
    """End what takes more processor time than the limit."""

    def end(_number: int, _frame: object) -> None:
        raise LateError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
