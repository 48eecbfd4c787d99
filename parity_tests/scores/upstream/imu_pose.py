"""docs/systems-defects-imu_pose.md: what `rigpact explain` says of upstream's IMU pose with one mistake.

`python -m parity_tests.scores.upstream.imu_pose docs/systems-defects-imu_pose.md` plants every mistake and writes the page;
without an argument it prints it. It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from rigpact.contract.systems.reading import read_system_contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..engine.defects import Planted
from ..engine.engine_score import Answer, judged
from .imu_pose_defects import DEFECTS
from .imu_pose_side import recorded, weights_of

FOLDER = Path(__file__).parents[3] / "fixtures" / "bundles" / "imu_pose"
NAMED, LOCATED = 0.8, 1.0
"""The bars: so many are named, so many located; none is silent, and none gets an answer that is not true of it."""
_HEAD = """# IMU pose: mistakes in upstream's formulas

imu_pose_side.py under parity_tests/scores/upstream/ is upstream's network and what stands around it, written out in torch. It
shares no code with rigpact; it takes the committed model's weights. Without a mistake, every stage that it records agrees with
the contract. Each row plants one mistake of the kinds that real ports had, records one window, and asks `rigpact explain`.

A mistake is *located* when the first divergence is in a stage where it shows first. It is *named* when a convention or a relation
says what it is. It would be *misleading* to say anything that is not true of it, and *silent* to see nothing.

This page is generated: `python -m parity_tests.scores.upstream.imu_pose docs/systems-defects-imu_pose.md`.
"""


@dataclass(frozen=True, eq=False)
class Upstream:
    """The committed contract and model, upstream's copy of the weights, and the window that is recorded."""

    contract: Any
    network: Any
    weights: dict[str, Any]
    imu: NDArray[np.float32]

    @classmethod
    def committed(cls) -> Upstream:
        """Read the committed files."""
        contract, model = read_system_contract(FOLDER / "imu_pose.json"), FOLDER / "model.onnx"
        imu = load_file(FOLDER / "clip.trace.safetensors")["imu"]
        return cls(contract, OnnxSystemNetwork(model, contract.system), weights_of(model), imu)

    def explained(self, defect: str = "") -> Diagnosis:
        """Record a window with one mistake and ask what differs."""
        rows = recorded(self.weights, self.imu, self.contract.constants["temperature"], defect)
        evidence = Evidence(np.arange(len(self.imu)), self.contract.fps, "teacher", rows, network=self.network)
        return diagnose(evidence, self.contract)


def every_answer(upstream: Upstream, chosen: Sequence[Planted] = DEFECTS) -> Iterator[Answer]:
    """The answer to each mistake."""
    for planted in chosen:
        yield judged(planted, upstream.explained(planted.name))


def shortcomings(answers: Sequence[Answer]) -> list[str]:
    """The bars that are missed, in words."""
    count, found = len(answers), []
    for what, bar, reached in (
        ("named", NAMED, sum(each.is_named for each in answers)),
        ("located", LOCATED, sum(each.is_located for each in answers)),
    ):
        if reached < bar * count:
            found.append(f"{what} {reached} of {count}, required {bar:.0%}")
    wrong = [each for each in answers if each.word in ("misleading", "silent", "elsewhere")]
    return found + [f"{each.planted.name} is {each.word}: {'; '.join(each.untrue)}" for each in wrong]


def page(answers: Sequence[Answer], honest: str) -> str:
    """The page."""
    words, count = [answer.word for answer in answers], len(answers)
    located = sum(answer.is_located for answer in answers)
    counts = (
        f"**Of {count} mistakes {words.count('named')} are named and {located} located; {words.count('silent')} are silent, "
        f"{words.count('misleading')} misleading.** Without a mistake: {honest}."
    )
    table = ["| | mistake | first divergence | | what `rigpact explain` says |", "|---|---|---|---|---|"]
    rows = [f"| {' | '.join(_cells(each))} |" for each in answers]
    return "\n".join((_HEAD, counts, "", *table, *rows, ""))


def _cells(answer: Answer) -> tuple[str, ...]:
    said = "; ".join(words.replace("|", "/") for words in answer.said[:2])
    more = " …" if len(answer.said) > 2 else ""
    return str(answer.planted.number), answer.planted.what, answer.first or "-", answer.word, said + more


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    upstream = Upstream.committed()
    honest = upstream.explained().verdict
    answers = list(every_answer(upstream))
    text = page(answers, honest)
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8", newline="\n")
    else:
        sys.stdout.write(text)
    missed = shortcomings(answers) + ([] if honest == "agrees" else [f"without a mistake: {honest}"])
    sys.stderr.write("".join(f"{words}\n" for words in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
