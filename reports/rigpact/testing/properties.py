"""Properties of a system under the user's contract and model, on drawn input.

Without the package hypothesis they fail: a check that cannot run is missing. The properties of rotations need a published pose; a
system without one has only the properties of its network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.testing.files import Judgement, NotJudged, Refuted, UserFiles

LARGEST_Z = 8.0
"""Range of a network's inputs and outputs: eight standard deviations."""
ORTHONORMAL = 1e-4
"""Tolerance of a rotation as six float32 numbers: 24 roundings of 6e-8, amplified 100 times by Gram–Schmidt."""
SAME_ROTATION = 1e-4
"""Tolerance of the entries of a rotation after six float32 numbers and a product."""


def property_judgements(files: UserFiles, examples: int, seed: int | None) -> Iterator[Judgement]:
    """One judgement for each property that the system can have."""
    for name, check in ((POSE_PROPERTIES if files.system.posed else {}) | PROPERTIES).items():
        yield Judgement(("property", name), partial(_judge, check, files, examples, seed))


def _judge(check: Callable[..., None], files: UserFiles, examples: int, seed: int | None) -> None:
    if find_spec("hypothesis") is None:
        raise Refuted(
            "not judged: hypothesis is not installed: pip install 'rigpact[testing]', or leave it out: -k 'not property'"
        )
    check(files, partial(_run, examples=examples, seed=seed))


def _run(test: Callable[..., None], *strategies: Any, examples: int, seed: int | None) -> None:
    """Run a test on drawn input. Without a seed, the draws are always the same. A failure is shrunk and shown."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    unchecked: Any = HealthCheck  # large characters are slow to draw; that is not a failure
    giving: Any = given(*strategies)
    drawing: Any = settings(
        max_examples=examples, derandomize=seed is None, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(unchecked), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    drawn: Callable[[], None] = drawing(giving(test))
    if seed is not None:
        drawn = seeded(seed)(drawn)
    drawn()


def _row(width: int) -> Any:
    """One row of z-scores."""
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as st_numpy

    elements = st.floats(-LARGEST_Z, LARGEST_Z, width=32, allow_subnormal=False)
    return st_numpy.arrays(np.float32, (1, width), elements=elements, fill=st.just(0.0))


def _published(files: UserFiles, y_norm: FloatArray, previous: FloatArray, before: FloatArray) -> FloatArray:
    outputs = OutputStages(files.contract)
    return outputs(y_norm, previous, before)["y_out"][..., outputs.rotations]


def _refute_unless_rotations(files: UserFiles, rotations6d: FloatArray, words: str) -> None:
    a, b = Rot6d(files.contract.conventions).split(rotations6d.astype(np.float64))
    off = np.stack([(a * a).sum(-1) - 1.0, (b * b).sum(-1) - 1.0, (a * b).sum(-1)])
    wrong = np.where(np.isfinite(off), np.abs(off), np.inf).max(axis=0)
    if wrong.max() > ORTHONORMAL:
        bone = int(np.argmax(wrong.reshape(-1, character_of(files.contract).bone_count).max(axis=0)))
        raise Refuted(
            f"{words}: {character_of(files.contract).bone_names[bone]} is off orthonormal by {wrong.max():.3g}"
        )


def _needs_orthonormal_output(files: UserFiles) -> None:
    conventions = files.contract.conventions
    if conventions.reproject in ("before", "none") or conventions.output_mode == "absolute":
        raise NotJudged(f"reproject={conventions.reproject}, output_mode={conventions.output_mode} promise no rotation")
    if conventions.degenerate_axis == "zero":
        raise NotJudged("degenerate_axis=zero lets an axis collapse")


def composition_stays_a_rotation(files: UserFiles, run: Callable[..., None]) -> None:
    """For any network output, the published pose consists of rotations."""
    from rigpact.testing import strategies

    _needs_orthonormal_output(files)

    def test(y_norm: FloatArray, previous: FloatArray) -> None:
        published = _published(files, y_norm, previous, previous)
        _refute_unless_rotations(files, published, "the composed pose is not a rotation")

    run(test, _row(character_of(files.contract).output.width), strategies.poses(files.contract))


def degenerate_output_is_replaced(files: UserFiles, run: Callable[..., None]) -> None:
    """Axes that are zero, parallel or tiny are replaced before they are published."""
    from rigpact.testing import strategies

    _needs_orthonormal_output(files)
    outputs, bones = OutputStages(files.contract), character_of(files.contract).bone_count

    def test(six: FloatArray, previous: FloatArray) -> None:
        y_raw = np.zeros((1, character_of(files.contract).output.width), np.float32)
        y_raw[:, outputs.rotations] = six
        published = outputs.of_raw(y_raw, previous, previous)["y_out"][..., outputs.rotations]
        _refute_unless_rotations(
            files, published, f"six numbers of largest size {np.abs(six).max():.3g} are published as they are"
        )

    run(test, strategies.near_degenerate_rot6d(bones, files.contract.conventions), strategies.poses(files.contract))


def no_turn_keeps_the_pose(files: UserFiles, run: Callable[..., None]) -> None:
    """The identity as a delta publishes the previous pose."""
    from rigpact.testing import strategies

    conventions = files.contract.conventions
    if conventions.output_mode == "absolute":
        raise NotJudged("output_mode=absolute has no delta")
    outputs = OutputStages(files.contract)

    def test(previous: FloatArray) -> None:
        identity = outputs.codec.identity(character_of(files.contract).bone_count).astype(np.float32)[None]
        after = outputs.compose(identity, previous)
        error = float(np.abs(after - previous).max())
        if error > SAME_ROTATION:
            raise Refuted(f"the identity as a delta moves the pose by {error:.3g}")

    run(test, strategies.poses(files.contract))


def rotations_survive_their_packing(files: UserFiles, run: Callable[..., None]) -> None:
    """Encoding and decoding give the rotation back."""
    from rigpact.testing import strategies

    if files.contract.conventions.derived_axis != "second_cross_first":
        raise NotJudged(f"derived_axis={files.contract.conventions.derived_axis} may mirror")
    codec = Rot6d(files.contract.conventions)

    def test(matrices: FloatArray) -> None:
        back = codec.decode(codec.encode(matrices).astype(np.float32)).astype(np.float64)
        error = float(np.abs(back - matrices).max())
        if error > SAME_ROTATION:
            raise Refuted(f"a rotation comes back from its six numbers off by {error:.3g}")

    run(test, strategies.rotations((1, character_of(files.contract).bone_count)))


def the_network_stays_finite(files: UserFiles, run: Callable[..., None]) -> None:
    """Inputs within eight standard deviations give finite output, and the same output in a second call."""
    from hypothesis import strategies as st

    widths = files.input_widths()

    def test(vectors: tuple[FloatArray, ...]) -> None:
        inputs = dict(zip(widths, vectors, strict=True))
        first, second = (list(files.answers(inputs).values()) for _ in range(2))
        wrong = sum(int((~np.isfinite(answer)).sum()) for answer in first)
        if wrong:
            raise Refuted(f"{wrong} of {sum(answer.size for answer in first)} outputs are not finite")
        if not all(map(np.array_equal, first, second)):
            raise Refuted("the same input gives another output the second time")

    run(test, st.tuples(*(_row(width) for width in widths.values())))


POSE_PROPERTIES: dict[str, Callable[[UserFiles, Callable[..., None]], None]] = {
    "composition stays a rotation": composition_stays_a_rotation,
    "degenerate output is replaced": degenerate_output_is_replaced,
    "no turn keeps the pose": no_turn_keeps_the_pose,
    "rotations survive their packing": rotations_survive_their_packing,
}
"""The properties of a published pose, by name."""
PROPERTIES: dict[str, Callable[[UserFiles, Callable[..., None]], None]] = {
    "the network stays finite": the_network_stays_finite
}
"""The properties of any system, by name."""
