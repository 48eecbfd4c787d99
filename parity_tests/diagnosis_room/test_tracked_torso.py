"""A torso on three joints of a waist, as a policy that tracks a motion sees it: what goes wrong there is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "torso"
title = "A torso behind a waist"
fps = 50
given = [
    { name = "pelvis", kind = "quaternion_xyzw" },
    { name = "yaw", kind = "rotation_vector" }, { name = "roll", kind = "rotation_vector" },
    { name = "pitch", kind = "rotation_vector" },
]
stages = [
    { name = "yaw_turn", operation = "convert", of = "yaw", to = "quaternion_xyzw", reads = "radians" },
    { name = "roll_turn", operation = "convert", of = "roll", to = "quaternion_xyzw", reads = "radians" },
    { name = "pitch_turn", operation = "convert", of = "pitch", to = "quaternion_xyzw", reads = "radians" },
    { name = "two", operation = "compose", of = ["yaw_turn", "roll_turn"], product = "first_second" },
    { name = "waist", operation = "compose", of = ["two", "pitch_turn"], product = "first_second" },
    { name = "torso", operation = "compose", of = ["pelvis", "waist"], product = "first_second" },
    { name = "head", operation = "rotate", of = "torso", vector = "neck", direction = "forward" },
    { name = "scaled", operation = "normalise", of = "head", mean = 0.01, std = 0.3, epsilon = 0.05 },
    { name = "start", operation = "held", of = "head", every = 65536 },
    { name = "ground", operation = "affine", of = "start", scale = [1, 1, 0] },
    { name = "way", operation = "blend", of = ["head", "ground"], weights = [1, -1] },
    { name = "apart", operation = "rotate", of = ["torso", "way"], direction = "inverse" },
    { name = "sent", operation = "convert", of = "torso", to = "quaternion_wxyz" },
]
[numbers]
neck = [-0.02, 0.03, 0.4]
"""
FRAMES = 80
Step = Callable[..., FloatArray]


def _vectors(axis: int, seed: int) -> FloatArray:
    time, rng = np.arange(FRAMES) / 50.0, np.random.default_rng(seed)
    vectors = np.zeros((FRAMES, 3))
    vectors[:, axis] = 0.6 * np.sin(time * rng.uniform(3.0, 6.0) + rng.uniform(0.0, 6.0)) + 0.1
    return vectors.astype(np.float32)


def _diagnosed(folder: Path, drift: float = 1.0, **wrong: Step) -> Diagnosis:
    """The torso in scipy, with steps of it replaced; drift: the length of the pelvis' quaternion."""
    yaw, roll, pitch = (_vectors(axis, seed) for axis, seed in ((2, 1), (0, 2), (1, 3)))
    pelvis = Rotation.from_rotvec(_vectors(0, 4) + _vectors(1, 5)).as_quat()
    step: dict[str, Step] = {
        "waist": lambda y, r, p: (y * r * p).as_quat(),
        "neck": lambda: np.array([-0.02, 0.03, 0.4]),
        "scaled": lambda head: (head - 0.01) / (0.3 + 0.05),
        "way": lambda head: head - head[0] * [1.0, 1.0, 0.0],
        **wrong,
    }
    waist = step["waist"](*(Rotation.from_rotvec(each) for each in (yaw, roll, pitch)))
    torso = Rotation.from_quat(pelvis) * Rotation.from_quat(waist)
    head = torso.apply(step["neck"]())
    rows = {
        "pelvis": drift * pelvis, "yaw": yaw, "roll": roll, "pitch": pitch, "waist": waist, "torso": drift * torso.as_quat(),
        "sent": drift * torso.as_quat()[:, [3, 0, 1, 2]],
    }  # fmt: skip
    if drift == 1.0:  # how a vector is turned by another length is a matter of its own
        rows |= {"head": head, "scaled": step["scaled"](head), "apart": torso.inv().apply(step["way"](head))}
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    np.savez(folder / "run.npz", **{name: each.astype(np.float32) for name, each in rows.items()})
    return explain(ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml")))[0]


MISTAKES: dict[str, tuple[Step, str]] = {
    "waist": (lambda y, r, p: (y * p * r).as_quat(), "pitch_turn and roll_turn in each other's place"),
    "neck": (lambda: np.array([-0.02, 0.03, 0.41]), "neck 0.41 for 0.4 at [2]"),
    "scaled": (lambda head: (head - 0.01) / np.sqrt(0.3**2 + 0.05), "'scaled.summand_of': 'variance'"),
}


@every_case("case", MISTAKES)
def test_a_mistake_is_named(tmp_path: Path, case: str) -> None:
    """By one relation or convention, with its number."""
    wrong, words = MISTAKES[case]
    found = _diagnosed(tmp_path, **{case: wrong})
    said = [each.sentence for each in found.relations] + [str(dict(cause.changes)) for cause in found.causes]
    assert (found.verdict, len(said)) == ("explained", 1), said
    assert words in said[0]


def test_the_length_of_a_quaternion_may_drift(tmp_path: Path) -> None:
    """As products of many move it; a hundredth is no drift."""
    assert _diagnosed(tmp_path).verdict == "agrees"
    assert _diagnosed(tmp_path, 1.0 + 2e-5).verdict == "agrees"
    assert _diagnosed(tmp_path, 1.01).verdict != "agrees"


def test_a_number_that_acts_on_what_stands_still_is_no_claim(tmp_path: Path) -> None:
    """The height of the start from elsewhere: a scale of the own one would do as well, as would any other formula."""
    found = _diagnosed(tmp_path, way=lambda head: head - head[0] * [1.0, 1.0, 0.0] - [0.0, 0.0, 0.0113729])
    said = [each.sentence for each in found.relations if each.is_rule]
    assert {"ground.scale" in each for each in said} == {False}, said
