"""The figures of Blender IK: accuracy beside its baselines, kinematics, parity, gradients, speed.

Training runs on one thread. Its cost is given in seconds of processor time, because other work on the machine hardly changes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rigpact.contract.contract_files import contract_in_memory
from rigpact.reference_runtime.graph.run import run_clip, stages_from
from rigpact.training.blender_ik.facts import CONSTANTS, PARAMETER_COUNT, SYSTEM

from .figure import Figure, below, exactly

BUDGET_CPU_S = 240.0
"""Two minutes on two cores."""
HELD_OUT_M, KINEMATICS_M, PARITY, GRADIENT, FORWARD_MS = 0.05, 1e-4, 1e-5, 1e-8, 0.1
_HELD_OUT_ROWS, _PAIRS, _REPEATS = 4000, 2000, 400


def figures(*, reduced: bool = False) -> Iterator[Figure]:
    """Train and measure. `reduced` trains for seconds; the bar is then half of the error of the mean pose."""
    from rigpact.training.blender_ik import training

    from .training_sides import blender_ik as parity

    trained = training.train_network(training.SMALL if reduced else training.FULL)
    yield from _accuracy(trained.model, reduced=reduced)
    yield from _feet(trained.model)
    clock = f"{trained.wall_s:.0f} s by the clock"
    yield below("training, processor time", trained.cpu_s, BUDGET_CPU_S, "s", clock)
    count = sum(parameter.numel() for parameter in trained.model.parameters())
    yield exactly("parameters", count, PARAMETER_COUNT, baseline="the document: about 23,000")
    yield _truth()
    yield below("ONNX against torch at 7 rows, traced at 2", parity.export_error(trained.model), PARITY, "rad")
    yield below("numpy network against torch", parity.numpy_error(trained.model), PARITY, "rad")
    yield below("numpy kinematics against torch", parity.kinematics_error(trained.model), PARITY, "m")
    words = "the original: one gradient for every row"
    yield below("gradient of each row, numeric against automatic", parity.gradient_error(), GRADIENT, "m2/rad", words)
    yield from _speed(trained.model)


def _accuracy(model: Any, *, reduced: bool) -> Iterator[Figure]:
    from rigpact.training.blender_ik import training

    from .training_sides import blender_ik as parity

    batch = parity.held_out(500 if reduced else _HELD_OUT_ROWS, seed=999)
    mean_pose = parity.held_out(10_000, seed=5).rotations.mean(dim=0, keepdim=True).expand_as(batch.rotations)
    of_mean = float(parity.effector_errors_m(mean_pose, batch).mean())
    untrained = float(parity.effector_errors_m(training.predicted(training.ik_network(), batch), batch).mean())
    error = float(parity.effector_errors_m(training.predicted(model, batch), batch).mean())
    words = f"mean pose {of_mean:.3f}, untrained {untrained:.3f}"
    yield below("held-out effector error, mean", error, 0.5 * of_mean if reduced else HELD_OUT_M, "m", words)
    wide = parity.held_out(len(batch.rotations), seed=998, share=1.0)
    of_mean = float(parity.effector_errors_m(mean_pose, wide).mean())
    error = float(parity.effector_errors_m(training.predicted(model, wide), wide).mean())
    yield Figure("the same, joints anywhere within their limits", error, "m", baseline=f"mean pose {of_mean:.3f}")


def _feet(model: Any) -> Iterator[Figure]:
    """Whether planted feet stay in place between two frames. The original's document claims it and does not measure it."""
    from rigpact.training.blender_ik import training

    from .training_sides import blender_ik as parity

    pairs = training.draw_pairs(_PAIRS, np.random.default_rng(41))
    mean_pose = pairs.rotations.mean(dim=0, keepdim=True).expand_as(pairs.rotations)
    height, slide = parity.foot_errors_m(training.predicted(model, pairs), pairs)
    of_mean = parity.foot_errors_m(mean_pose, pairs)
    yield Figure("grounded feet, mean miss of their height", height, "m", baseline=f"mean pose {of_mean[0]:.3f}")
    yield Figure("planted feet, mean slide a frame", slide, "m", baseline=f"mean pose {of_mean[1]:.3f}")


def _truth() -> Figure:
    from rigpact.training.blender_ik.build import ik_clip

    clip = ik_clip()
    contract = contract_in_memory(SYSTEM, CONSTANTS)
    known = {**clip.given, "rotations": clip.rotations}
    right = float(stages_from(contract, known)["effector_error"].max())
    wrong = stages_from(contract.with_conventions({"rest_orientation": "ignored"}), known)["effector_error"].mean()
    words = f"without rest orientations {float(wrong):.2f}"
    return below("kinematics of the truth from its effectors, worst", right, KINEMATICS_M, "m", words)


def _speed(model: Any) -> Iterator[Figure]:
    """Median times of one frame. Forward pass and whole step are measured alternately in one run."""
    from rigpact.training.blender_ik.build import ik_clip

    from .training_sides.blender_ik import numpy_network

    forward = numpy_network(model)
    given = {name: rows[:1] for name, rows in ik_clip(tasks=("idle",)).given.items()}
    contract = contract_in_memory(SYSTEM, CONSTANTS)
    row = np.zeros((1, 50), np.float32)
    passes, steps = [], []
    for _ in range(_REPEATS):
        passes.append(_seconds(lambda: forward(row)))
        steps.append(_seconds(lambda: run_clip(contract, given, lambda inputs: [forward(inputs[0])])))
    pass_ms, step_ms = 1e3 * float(np.median(passes)), 1e3 * float(np.median(steps))
    yield below("forward pass of one frame, median", pass_ms, FORWARD_MS, "ms", "the document: < 0.1 ms")
    yield Figure(
        "whole step over the forward pass", step_ms / pass_ms, "x", baseline=f"{step_ms:.2f} ms, context to errors"
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
