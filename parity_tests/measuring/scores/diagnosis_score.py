"""How good the diagnosis is, in figures: `python -m parity_tests.measuring.scores.diagnosis_score [--real FOLDER]` prints them.

How many single conventions and pairs it names, how many other defects get no invented cause, how many benign variants raise no
alarm. The true cause is known, because we planted it. `is_named` and `invents_nothing` define which answers are right.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures.mutants import (
    Changes,
    Scene,
    SyntheticNetwork,
    generated_scene,
    interacting_pairs,
    random_pairs,
    scene_of_files,
    single_changes,
    words,
)
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.terminal import stdout, table

from .benign import Benign, benign_variants
from .defects import Defect, random_defects

CLEARLY = 2.0
"""A defect above twice the tolerance must be seen. One below half of it must not. Between them, both answers are right."""
GENERATED = (("sneak_turn", 40), ("sneak_turn", 8), ("spin_past_pi", 8), ("run_turn", 12), ("hop", 16), ("walk", 24))


@dataclass
class Figure:
    """One figure: how many answers are right, what is required, and the names of the cases that failed."""

    name: str
    required: str
    right: int = 0
    exact: int = 0
    total: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, name: str, *, right: bool, exact: bool = False) -> None:
        """Count one case."""
        self.total, self.right, self.exact = self.total + 1, self.right + right, self.exact + exact
        if not right:
            self.wrong.append(name)

    @property
    def share(self) -> float:
        """Share of right cases."""
        return self.right / self.total if self.total else 0.0


def evidence_of(scene: Scene, trace: Trace) -> Evidence:
    """A recording of a scene as evidence, with the scene's clip and network."""
    return Evidence(trace.frame, trace.header.fps, scene.mode, trace.stages, drive_of(scene.clip), scene.network)


def is_named(diagnosis: Diagnosis, truth: Changes, scene: Scene, mutant: Trace) -> tuple[bool, bool]:
    """Whether the named causes are the true ones: (right, word for word).

    Right is also a cause that cannot be distinguished from the true one on this data: the truth is among the equivalents, or
    a new run of the loop under the named causes gives the mutant's recording within tolerance. If the diagnosis says
    `agrees`, the run without any change must give the mutant's recording.
    """
    named = [
        dict(pair for part in parts for pair in part.items()) for parts in product(*map(_readings, diagnosis.causes))
    ]
    if truth in named:
        return True, named[0] == truth
    if diagnosis.verdict != "agrees" and not diagnosis.is_one_set_of_conventions:
        return False, False
    return same_run(scene, named[0], mutant), False


def _readings(cause: Any) -> tuple[Changes, ...]:
    return (cause.changes, *cause.equivalents)


def same_run(scene: Scene, changes: Changes, mutant: Trace) -> bool:
    """Whether the loop under some changes gives the mutant's recording, within tolerance, stage by stage."""
    contract = scene.contract.with_conventions(changes)
    sides = (_recording(scene.record(changes), "named"), _recording(mutant, "mutant"))
    return judge(compare(*sides, contract)).verdict == "pass"


def _recording(trace: Trace, name: str) -> Recording:
    return Recording(Path(name), "trace", trace, frozenset(trace.stages))


def score_conventions(figure: Figure, scene: Scene, cases: Iterable[Changes]) -> None:
    """Run each change of conventions, diagnose it, count whether it is named."""
    for truth in cases:
        try:
            mutant = scene.record(truth)
        except UnusableInput:  # a value that this bundle cannot have
            continue
        diagnosis = diagnose(evidence_of(scene, mutant), scene.contract)
        right, exact = is_named(diagnosis, truth, scene, mutant)
        figure.count(f"{scene.name}: {words(truth)}", right=right, exact=exact)


def score_defects(figure: Figure, scene: Scene, count: int, seed: int) -> None:
    """Diagnose random defects. Right is an answer that names stage, frame and channel, and no cause."""
    honest = scene.record()
    bounds = stage_tolerances(scene.contract, honest.stages, given=honest.stages)
    for defect in random_defects(scene, count, seed):
        trace = Trace(honest.header, honest.frame, honest.time_s, defect.stages)
        diagnosis = diagnose(evidence_of(scene, trace), scene.contract)
        excess = _excess(defect, honest, bounds[defect.stage])
        figure.count(f"{scene.name}: {defect.name}", right=invents_nothing(diagnosis, defect.stage, excess))


def _excess(defect: Defect, honest: Trace, bound: FloatArray) -> FloatArray:
    """Error of the spoilt stage in tolerances, (T, width)."""
    difference = np.abs(defect.stages[defect.stage].astype(np.float64) - honest.stages[defect.stage])
    return np.where(difference == 0.0, 0.0, difference / np.maximum(bound, np.finfo(np.float64).tiny))


def invents_nothing(diagnosis: Diagnosis, stage: str, excess: FloatArray) -> bool:
    """Whether an answer names no cause and the right place. `agrees` is right only if no error is above the tolerance.

    excess: error of the spoilt stage in tolerances, (T, width).
    """
    if diagnosis.causes or diagnosis.verdict == "undetermined":
        return False
    first = diagnosis.first_divergence
    surely, maybe = _first_row(excess > CLEARLY), _first_row(excess > 1.0 / CLEARLY)
    if first is None:
        return surely is None
    if maybe is None or first.stage != stage or first.frame < maybe or (surely is not None and first.frame > surely):
        return False
    channel = first.address.channel
    return bool(excess[first.frame, channel] > 1.0 / CLEARLY)


def _first_row(over: NDArray[np.bool_]) -> int | None:
    rows = np.flatnonzero(over.any(axis=1))
    return int(rows[0]) if len(rows) else None


def score_benign(figure: Figure, variants: Iterable[Benign]) -> None:
    """Diagnose benign variants. `undetermined` is not an alarm: it means that the recording holds nothing to judge."""
    for variant in variants:
        verdict = diagnose(evidence_of(variant.scene, variant.trace), variant.scene.contract).verdict
        figure.count(
            f"{variant.name}: {verdict}", right=verdict in ("agrees", "undetermined"), exact=verdict == "agrees"
        )


def all_figures(real: Path | None) -> Iterator[Figure]:
    """Every figure, one by one."""
    generated = [generated_scene(style, frames=frames) for style, frames in GENERATED]
    free = generated_scene("sneak_turn", frames=40, mode="free")
    yield _conventions("single changes, generated clips", ">= 99 %", [*generated, free])
    scenes = real_scenes(real) if real else []
    yield _conventions("single changes, real clips", ">= 99 %", scenes)
    yield _pairs("random pairs", [generated[0], generated[2], *scenes], 210, interacting=False)
    yield _pairs("random pairs at one stage", [generated[0], *scenes], 60, interacting=True)
    figure = Figure("defects that are not conventions, no made-up cause", ">= 99 %")
    score_defects(figure, generated[0], 126, seed=0)
    score_defects(figure, generated[4].with_network(SyntheticNetwork(free.contract)), 63, seed=1)
    yield figure
    figure = Figure("benign variants without an alarm", "all")
    score_benign(figure, benign_variants())
    yield figure


def real_scenes(folder: Path) -> list[Scene]:
    """The real clips of a folder, with a synthetic network."""
    bundle, companion = folder / "norm_template.json", folder / "pretrain_template.json"
    clips = ("Walk_F.json", "Walk_L_To_R.json")
    return [scene_of_files(bundle, companion, folder / clip, output_mode="residual") for clip in clips]


def _conventions(name: str, required: str, scenes: Iterable[Scene]) -> Figure:
    figure = Figure(name, required)
    for scene in scenes:
        score_conventions(figure, scene, single_changes(scene.contract))
    return figure


def _pairs(name: str, scenes: list[Scene], count: int, *, interacting: bool) -> Figure:
    figure = Figure(name, ">= 95 %")
    draw = interacting_pairs if interacting else random_pairs
    for seed, scene in enumerate(scenes):
        score_conventions(figure, scene, draw(scene.contract, count // len(scenes), seed))
    return figure


def print_figures(figures: Iterable[Figure], console: Console) -> None:
    """Print one row for each figure, and below the table the names of the cases that failed."""
    kept = [figure for figure in figures if figure.total]
    rows = [(entry.name, f"{entry.right} of {entry.total}", f"{entry.share:.1%}", str(entry.exact), entry.required)
            for entry in kept]  # fmt: skip
    console.print(table("The diagnosis", ("figure", "right", "share", "word for word", "required"), rows))
    for entry in kept:
        for name in entry.wrong:
            console.print(f"  {entry.name}: {name}", markup=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print how good the diagnosis is.")
    parser.add_argument("--real", type=Path, default=None, help="folder of real exported files")
    print_figures(all_figures(parser.parse_args().real), stdout())
