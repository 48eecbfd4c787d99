"""The loop that `rigpact codegen --loop` writes, in a program of its own: rows in, every stage out, allocations counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import is_character
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import NetworkBinding
from rigpact.reference_runtime.graph.native_agreement import first_difference
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reports.engine.cpp_text import identifier, identifiers
from rigpact.reports.engine.header import contract_header

from .conftest import ENGINE_LIKE, ROOM, compiled, ran

Rows = Mapping[str, FloatArray]
EXACT = "-ffp-contract=off"
MAIN = ROOM / "generated_loop.cpp"
"""Its NETWORKS, TAKES, PUTS, WIDTH and TEST are written for each contract."""


@dataclass(frozen=True, eq=False)
class GeneratedLoop:
    """The program of one contract. ahead: how many coming frames of a given stage are read, by stage."""

    contract: Contract
    program: Path
    ahead: Mapping[str, int]

    def run(self, clip: Rows, count: int, mode: str) -> Rows:
        """Every stage (count, width) of the first frames; a free run begins the clip again.

        The networks give the answers that the clip has; else they are functions.
        """
        graph, folder = self.contract.system.graph, self.program.parent
        is_recorded = all(name in clip for name in graph.answers)
        answers = [name for each in networks_of(self.contract) for name in each.outputs] if is_recorded else []
        rows = [_at(clip[name], np.arange(count), mode) for name in _outside(self.contract)]
        rows += [_at(clip[name], np.arange(count) + lag, mode) for name, lag in _lags(self.ahead)]
        rows += [_at(clip[name], np.arange(count), mode) for name in answers]
        (folder / "in.f32").write_bytes(np.hstack(rows).tobytes())
        words = folder / "in.f32", folder / "out.f32", mode, "recorded" if is_recorded else "function", count
        done = ran(self.program, self.contract.path, *words)
        assert done.returncode == 0, done.stderr
        allocated, problem, compared = done.stdout.strip().split("|")
        assert (allocated, problem) == ("0", ""), done.stdout
        assert int(compared) > 0
        widths = [self.contract.fields(name).width for name in graph.names]
        found = np.fromfile(folder / "out.f32", np.float32).reshape(count, sum(widths))
        return dict(zip(graph.names, np.split(found, np.cumsum(widths)[:-1], axis=1), strict=True))


def networks_of(contract: Contract) -> list[NetworkBinding]:
    """The networks in the order in which the loop asks them."""
    answers = contract.system.graph.answers
    return sorted(contract.system.networks.values(), key=lambda each: min(map(answers.index, each.outputs)))


def by_function(contract: Contract) -> Any:
    """The networks as Python has them: half of the first input and a quarter, going round, in float32 as in C++."""

    def of(network: NetworkBinding) -> Any:
        widths = [contract.fields(name).width for name in network.outputs]

        def evaluate(inputs: Sequence[FloatArray]) -> list[FloatArray]:
            taken = np.float32(0.5) * np.asarray(inputs[0], np.float32) + np.float32(0.25)
            return [taken[:, np.arange(width) % taken.shape[1]] for width in widths]

        return evaluate

    every = {each.name: of(each) for each in contract.system.networks.values()}
    return every if len(every) != 1 else next(iter(every.values()))


def as_numpy(loop: GeneratedLoop, clip: Rows, count: int, mode: Any) -> Rows:
    """The loop's stages, after a comparison with numpy's: within each stage's derived bound, and known where numpy knows them."""
    contract, stages = loop.contract, loop.run(clip, count, mode)
    drive = ClipDrive({name: rows[np.arange(count) % len(rows)] for name, rows in clip.items()})
    evidence = Evidence(np.arange(count), contract.fps or 1.0, mode, stages, lambda _: drive)
    numpys = LiveFrames(contract, [ClipDrive(clip)], by_function(contract), count, mode)
    with np.errstate(all="ignore"):
        assert first_difference(ReplayedFrames(evidence, contract), stages) == ""
        numpys.run(count)
    assert list(numpys.kept) == list(stages)
    for name, rows in numpys.kept.items():
        np.testing.assert_array_equal(np.isnan(stages[name]), np.isnan(rows[:, 0]), err_msg=name)
    return stages


def build_loop(
    compiler: str, contract: Contract, folder: Path, *flags: str, ahead: Mapping[str, int] | None = None
) -> GeneratedLoop:
    """Write the header of a contract and compile the program."""
    graph = contract.system.graph
    member = dict(zip(graph.names, identifiers(("State", *graph.names))[1:], strict=True))
    lags = _lags(ahead or {})
    takes = [f"take(from, s.{member[name]});" for name in _outside(contract)]
    takes += [f"take(from, s.ahead_.{member[name]}[{lag - 1}]);" for name, lag in lags]
    networks = [
        f"    void operator()(networks::{identifier(each.name)}, State& s) {{ "
        + " ".join(f"answer(s.{member[each.inputs[0]]}, s.{member[name]});" for name in each.outputs)
        + " }"
        for each in networks_of(contract)
    ]
    text = MAIN.read_text(encoding="utf-8").replace("NETWORKS", "\n".join(networks)).replace("TAKES", "\n".join(takes))
    text = text.replace("PUTS", "\n".join(f"put(s.{each}, to);" for each in member.values()))
    test = (
        "{contract.data(), contract.size()}"
        if is_character(contract)
        else "contract.data(), contract.size(), nullptr, 0"
    )
    text = text.replace("TEST", f"SelfTestLoop({test})")
    text = text.replace("WIDTH", str(sum(contract.fields(name).width for name in graph.names)))
    (folder / "contract.hpp").write_text(contract_header(contract, with_loop=True), encoding="utf-8")
    (folder / "loop.cpp").write_text(text, encoding="utf-8")
    words = ("-O1", EXACT, *ENGINE_LIKE, *flags)
    program = compiled(compiler, folder / "loop.cpp", folder / "loop", *words, include=[folder, ROOM])
    return GeneratedLoop(contract, program, ahead or {})


def _outside(contract: Contract) -> list[str]:
    """The stages that are written before each step."""
    return [stage.name for stage in contract.system.graph if stage.comes_from_outside]


def _lags(ahead: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name, lag) for name, most in ahead.items() for lag in range(1, most + 1)]


def _at(rows: FloatArray, frames: NDArray[np.int64], mode: str) -> FloatArray:
    """Rows of the clip; behind its end nothing is known, where it does not begin again."""
    found = np.asarray(rows[frames % len(rows)], np.float32)
    if mode == "teacher":
        found[frames >= len(rows)] = np.nan
    return found
