"""Every figure of the hosted systems, with the bar it must meet: `python -m parity_tests.measuring.scores.systems_score [NAME…]`.

It trains for minutes; with `--reduced` for seconds, and with fewer bars. The exit status is 1 if a bar is not
met. Training runs on one thread; its cost is processor time, because other work on the machine hardly changes it. To add a
system: a function of its figures, and its name in `SYSTEMS`.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import typer

from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.graph.run import run_clip, stages_from
from rigpact.reports.terminal import print_json, stdout, table, working

BARS: Mapping[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge, "=": operator.eq}
COLUMNS = ("figure", "value", "unit", "bar", "", "beside it")
TRAINING_CPU_S = "<= 240"
"""Two minutes on two cores."""


@dataclass(frozen=True)
class Figure:
    """One measured number.

    bar: the value that is required, `<= 1.5`; empty if the figure is only reported. baseline: what a method without a network
    or training reaches, in words.
    """

    name: str
    value: float
    bar: str = ""
    unit: str = ""
    baseline: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value meets the bar; NaN meets none."""
        sign, _, limit = self.bar.partition(" ")
        return not self.bar or BARS[sign](self.value, float(limit))


def blender_ik_figures(*, reduced: bool) -> Iterator[Figure]:
    """Accuracy beside its baselines, planted feet, the truth's kinematics, speed."""
    from rigpact.training.blender_ik import build as training
    from rigpact.training.blender_ik.build import ik_clip
    from rigpact.training.blender_ik.data import CONSTANTS, SYSTEM

    from . import training_sides as sides

    before = time.process_time()
    trained = training.train_network(training.SMALL if reduced else training.FULL)
    cost = time.process_time() - before
    batch = sides.held_out(500 if reduced else 4000, seed=999)
    mean_pose = sides.held_out(10_000, seed=5).rotations.mean(dim=0, keepdim=True)

    def error(model: Any, batch: Any) -> float:
        turns = mean_pose.expand_as(batch.rotations) if model is None else training.predicted(model, batch)
        return float(sides.effector_errors_m(turns, batch).mean())

    of_mean, untrained = error(None, batch), error(training.ik_network(), batch)
    bar = f"<= {0.5 * of_mean:g}" if reduced else "<= 0.05"
    words = f"mean pose {of_mean:.3f}, untrained {untrained:.3f}"
    yield Figure("held-out effector error, mean", error(trained, batch), bar, "m", words)
    wide = sides.held_out(len(batch.rotations), seed=998, share=1.0)
    words = f"mean pose {error(None, wide):.3f}"
    yield Figure("the same, joints anywhere within their limits", error(trained, wide), "", "m", words)
    pairs = training.draw_pairs(2000, np.random.default_rng(41))
    missed, still = (
        sides.foot_errors_m(turns, pairs)
        for turns in (training.predicted(trained, pairs), mean_pose.expand_as(pairs.rotations))
    )
    for name, ours, theirs in zip(("mean miss of their height", "mean slide a frame"), missed, still, strict=True):
        yield Figure(f"planted feet, {name}", ours, "", "m", f"mean pose {theirs:.3f}")
    yield Figure("training, processor time", cost, TRAINING_CPU_S, "s")
    clip, contract = ik_clip(), contract_in_memory(SYSTEM, CONSTANTS)
    known = {**clip.given, "rotations": clip.rotations}
    right = float(stages_from(contract, known)["effector_error"].max())
    wrong = stages_from(contract.with_conventions({"rest_orientation": "ignored"}), known)["effector_error"].mean()
    words = f"without rest orientations {float(wrong):.2f}"
    yield Figure("kinematics of the truth from its effectors, worst", right, "<= 1e-4", "m", words)
    given = {name: rows[:1] for name, rows in ik_clip(tasks=("idle",)).given.items()}
    forward, row = sides.numpy_network(trained), np.zeros((1, 50), np.float32)
    works = lambda: forward(row), lambda: run_clip(contract, given, lambda inputs: [forward(inputs[0])])
    pass_ms, step_ms = 1e3 * np.median([[_seconds(work) for work in works] for _ in range(400)], axis=0)
    yield Figure("forward pass of one frame, median", pass_ms, "<= 0.1", "ms", f"the whole step {step_ms:.2f}")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def imu_pose_figures(*, reduced: bool) -> Iterator[Figure]:
    """Simulate, train, calibrate, export, and measure on people that training did not see."""
    from rigpact.training.imu_pose.build import FULL_PLAN, HELD_OUT_SEED, SMALL_PLAN, simulate_windows, train_imu_pose
    from rigpact.training.imu_pose.model import FULL, ImuPoseNetwork

    from . import training_sides as sides

    yield Figure("parameters at 3 exercises and 5 forms", sides.parameter_count(ImuPoseNetwork(FULL)), "= 6107375")
    trained = train_imu_pose(SMALL_PLAN if reduced else FULL_PLAN)
    held_out = simulate_windows(HELD_OUT_SEED, 20 if reduced else 200)
    before = sides.evaluated_imu_pose(trained.model, held_out, trained.mean_pose_m)
    after = sides.evaluated_imu_pose(trained.model, held_out, trained.mean_pose_m, trained.temperature)
    words = f"mean pose {100.0 * after.mean_pose_error_m:.2f}"
    error_cm = 100.0 * after.error_m
    yield Figure("mean joint error on people never seen", error_cm, "" if reduced else "<= 2.5", "cm", words)
    covered = 100.0 * after.coverage
    words = f"before calibration {100.0 * before.coverage:.0f}, temperature {trained.temperature:.3f}"
    for bar in ("",) if reduced else (">= 60", "<= 80"):
        yield Figure("coordinates within one sigma after calibration", covered, bar, "%", words)
    yield Figure("windows whose exercise is named", 100.0 * after.exercise_accuracy, "", "%", "one of three: 33")
    yield Figure("windows whose form is named", 100.0 * after.form_accuracy, "", "%", "one of five: 20")
    network = sides.exported_imu_pose(trained.model)
    error = sides.imu_pose_export_error(trained.model, network)
    yield Figure("ONNX against torch, other batch and length", error, "<= 1e-5")
    difference = sides.streaming_difference(network, held_out.samples[0].numpy())
    yield Figure("a stream against its windows", difference, "= 0")


def neurarig_figures(*, reduced: bool) -> Iterator[Figure]:
    """Feet on new targets, a frame that was copied too short, parity."""
    from rigpact.training.neurarig import build as training

    from . import training_sides as sides

    before = time.process_time()
    model = training.train(training.SMALL if reduced else training.COMMITTED)
    cost = time.process_time() - before
    after, baselines = sides.foot_errors_cm(model), (sides.foot_errors_cm(training.mlp()), sides.foot_errors_cm(None))
    words = "untrained {:.1f}, legs that stay as they stand {:.1f}".format(*(each.mean() for each in baselines))
    bar = "<= 10" if reduced else "<= 1.5"
    yield Figure("mean distance of feet from targets never seen", float(after.mean()), bar, "cm", words)
    yield Figure("the same, worst", float(after.max()), "", "cm", f"95 % within {np.percentile(after, 95):.2f}")
    yield Figure("training, processor time", cost, TRAINING_CPU_S, "s")
    alive, dead = sides.losses_of_a_short_copy()
    words = f"the whole frame: {alive:.0f}"
    yield Figure("loss of a frame of which 63 bytes were copied", dead, "<= 1e-9", "cm2", words)
    for name, error in sides.neurarig_errors(model).items():
        yield Figure(f"runtime with the exported network against torch, {name}", error, "<= 1e-5")


def rig_inversion_figures(*, reduced: bool) -> Iterator[Figure]:
    """Both errors on the seeded clip, and of other clips."""
    from rigpact.training.making import evaluated
    from rigpact.training.rig_inversion import build as training
    from rigpact.training.rig_inversion import rig as animation

    from . import training_sides as sides

    def errors(decoder: Any, encoder: Any, parameters: Any, mesh: Any) -> tuple[float, float]:
        """Mean distance of a vertex: of the approximation, and of the inversion through the rig itself."""
        found = animation.meshes(evaluated(encoder, mesh))
        approximation = sides.mean_vertex_error(evaluated(decoder, parameters), mesh)
        return approximation, sides.mean_vertex_error(found, mesh)

    plan = training.SMALL if reduced else training.FULL
    parameters = animation.animation_parameters()
    mesh = animation.meshes(parameters)
    times = [time.process_time()]
    decoder = training.train_decoder(plan)
    times.append(time.process_time())
    encoder = training.invert_clip(decoder, mesh, plan)
    times.append(time.process_time())
    still, names = (
        f"mean frame {sides.mean_frame_error(mesh):.3f}",
        ("approximation", "inversion through the rig itself"),
    )
    ours = errors(decoder, encoder, parameters, mesh)
    originals = ("0.0344 after 35 minutes", 0.035), ("0.0265 after 38 minutes", 0.027)
    for name, error, (original, bar) in zip(names, ours, originals, strict=True):
        words = f"{still}; original {original}"
        yield Figure(f"{name}, error on the seeded clip", error, f"<= {0.3 if reduced else bar}", "", words)
    cost = "{:.0f} s and {:.0f} s".format(*np.diff(times))
    yield Figure("training of both, processor time", times[-1] - times[0], TRAINING_CPU_S, "s", cost)
    others, short = [], replace(plan, inversion_steps=min(plan.inversion_steps, 100))
    for seed in range(8):
        own = animation.animation_parameters(seed)
        moved = animation.meshes(own)
        others.append(errors(decoder, training.invert_clip(decoder, moved, short), own, moved))
    for name, values in zip(names, np.transpose(others), strict=True):
        worst, words = float(values.max()), f"median {np.median(values):.4f}"
        yield Figure(f"{name}, error on the worst of {len(others)} other clips", worst, "", "", words)


SYSTEMS: Mapping[str, Callable[..., Iterator[Figure]]] = {
    "neurarig": neurarig_figures,
    "blender_ik": blender_ik_figures,
    "rig_inversion": rig_inversion_figures,
    "imu_pose": imu_pose_figures,
}


def score(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Systems; all if none is named.")] = None,
    *,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Train for seconds, with the bars that this can meet.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Train, measure, and print every figure beside its bar and its baseline."""
    try:
        chosen = [find_system(name) for name in names or SYSTEMS]
    except UnusableInput as error:
        typer.echo(f"error: {error.one_line()}", err=True)
        raise typer.Exit(EXIT_CANNOT_JUDGE) from None
    found: dict[str, list[Figure]] = {}
    for system in chosen:
        with working(f"measuring {system.title}"):
            found[system.name] = list(SYSTEMS[system.name](reduced=reduced))
        if not as_json:
            stdout().print(table(system.title, COLUMNS, [_row(figure) for figure in found[system.name]]))
    if as_json:
        print_json({name: [{**vars(each), "met": each.is_met} for each in figures] for name, figures in found.items()})
    met = all(figure.is_met for each in found.values() for figure in each)
    raise typer.Exit(EXIT_PASS if met else EXIT_FINDINGS)


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = "" if not figure.bar else "met" if figure.is_met else "NOT MET"
    return figure.name, f"{figure.value:,.6g}", figure.unit, figure.bar, verdict, figure.baseline


if __name__ == "__main__":
    typer.run(score)
