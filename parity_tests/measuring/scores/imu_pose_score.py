"""The figures of IMU pose: simulate, train, calibrate, export, and measure on people that training did not see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .figure import Figure, below, exactly, within

if TYPE_CHECKING:
    from .training_sides.imu_pose import Evaluation

MEAN_JOINT_ERROR_CM = 2.5
COVERAGE_PERCENT = (60.0, 80.0)

_HELD_OUT_WINDOWS = 200


def figures(*, reduced: bool = False) -> Iterator[Figure]:
    """Train and measure. `reduced` trains for seconds and keeps only the bars that such a network can meet."""
    from rigpact.training.imu_pose.build import FULL_PLAN, HELD_OUT_SEED, SMALL_PLAN, train_imu_pose
    from rigpact.training.imu_pose.model import FULL, ImuPoseNetwork
    from rigpact.training.imu_pose.training import simulate_windows

    from .training_sides import parameter_count
    from .training_sides.imu_pose import evaluate, export_error, exported, streaming_difference

    yield exactly("parameters at 3 exercises and 5 forms", parameter_count(ImuPoseNetwork(FULL)), 6_107_375)
    trained = train_imu_pose(SMALL_PLAN if reduced else FULL_PLAN)
    held_out = simulate_windows(HELD_OUT_SEED, 20 if reduced else _HELD_OUT_WINDOWS)
    before = evaluate(trained.model, held_out, trained.mean_pose_m)
    after = evaluate(trained.model, held_out, trained.mean_pose_m, trained.temperature)
    yield from _accuracy(before, after, trained.temperature, reduced=reduced)
    network = exported(trained.model)
    yield below("ONNX against torch, other batch and length", export_error(trained.model, network), 1e-5)
    yield below("a stream against its windows", streaming_difference(network, held_out.samples[0].numpy()), 0.0)


def _accuracy(before: Evaluation, after: Evaluation, temperature: float, *, reduced: bool) -> Iterator[Figure]:
    error_cm, covered = 100.0 * after.error_m, 100.0 * after.coverage
    mean_pose = f"mean pose {100.0 * after.mean_pose_error_m:.2f}"
    said = f"before calibration {100.0 * before.coverage:.0f}, temperature {temperature:.3f}"
    names = "mean joint error on people never seen", "coordinates within one sigma after calibration"
    if reduced:
        yield Figure(names[0], error_cm, "cm", baseline=mean_pose)
        yield Figure(names[1], covered, "%", baseline=said)
    else:
        yield below(names[0], error_cm, MEAN_JOINT_ERROR_CM, "cm", mean_pose)
        yield within(names[1], covered, *COVERAGE_PERCENT, "%", said)
    yield Figure("windows whose exercise is named", 100.0 * after.exercise_accuracy, "%", baseline="one of three: 33")
    yield Figure("windows whose form is named", 100.0 * after.form_accuracy, "%", baseline="one of five: 20")
