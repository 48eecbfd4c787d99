"""Pasted engine logs: prefixes, other lines in between, CRLF, lines cut off anywhere, three printed decimals."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ..every_case import every_case

Matrix = list[list[float]]
PREFIX = "[2025.11.16-10.20.30:123][ 42]LogTemp: Warning: "
NOISE = (
    "[2025.11.16-10.20.30:124][ 42]LogAnimation: Display: Montage ended",
    PREFIX + "[TDbg][BuildCondVector] useTeacher=1 Dim=7 Raw=0,1,0,0,1.00,0.00,1.20 Out=0,1,0,0,1.00,0.00,1.20",
    PREFIX + "[Probe-CS] pelvis P=(0.1,0.2,95.3) R=(P=1.00 Y=-90.00 R=2.00)",
)


def turn(axis: int, degrees: float) -> Matrix:
    """A rotation about a coordinate axis, columns are axes."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = [[float(row == column) for column in range(3)] for row in range(3)]
    matrix[first][first] = matrix[second][second] = cos
    matrix[first][second], matrix[second][first] = -sin, sin
    return matrix


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[row][k] * b[k][column] for k in range(3)) for column in range(3)] for row in range(3)]


def vector(name: str, matrix: Matrix, axis: int) -> str:
    return f"{name}=({','.join(f'{matrix[row][axis]:.3f}' for row in range(3))})"


def compose_line(frame: int, previous: Matrix, delta: Matrix, following: Matrix) -> str:
    named = (("prev", previous), ("delta", delta), ("next", following))
    vectors = " ".join(vector(f"{name}{'XZ'[axis // 2]}", matrix, axis) for name, matrix in named for axis in (0, 2))
    return f"[DeltaCompose] frame={frame} {vectors}"


POSES = [product(turn(2, 40.0 + 5 * frame), turn(0, 70.0 - 9 * frame)) for frame in range(4)]
DELTAS = [product(turn(1, 12.0 + frame), turn(2, 7.0)) for frame in range(4)]


def lines(*, reverse: bool = False, deltas: list[Matrix] | None = None, poses: list[Matrix] | None = None) -> list[str]:
    """Four [DeltaCompose] lines; `reverse` composes R_prev · ΔR."""
    found = []
    for frame, (previous, delta) in enumerate(zip(poses or POSES, deltas or DELTAS, strict=True)):
        following = product(previous, delta) if reverse else product(delta, previous)
        found.append(compose_line(frame, previous, delta, following))
    return found


def published_line(pose: Matrix) -> str:
    """The published numbers of two bones: axes X and Z of the pose, and no rotation."""
    numbers = [pose[row][axis] for axis in (0, 2) for row in range(3)] + [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    return PREFIX + f"[TDbg][StepModel] y_reproj[0..11]={','.join(f'{number:.3f}' for number in numbers)} (len=276)"


def explained(command: Any, path: Path, *more: object) -> dict[str, Any]:
    answer = command("explain", path, *more, "--format", "json")
    document: dict[str, Any] = json.loads(answer.out)
    return document


def written(folder: Path, text: str) -> Path:
    """A log."""
    (folder / "Game.log").write_bytes(text.encode("utf-8"))
    return folder / "Game.log"


@every_case(
    ("reverse", "ending", "prefix"), [(False, "\n", PREFIX), (True, "\r\n", ""), (True, "\n", PREFIX)], ids=repr
)
def test_the_composition_order_is_told_from_the_lines_alone(
    command: Any, tmp_path: Path, reverse: bool, ending: str, prefix: str
) -> None:
    """The one question every team asks first, answered from a log that is already on disk."""
    body = []
    for line, previous, delta in zip(lines(reverse=reverse), POSES, DELTAS, strict=True):
        following = product(previous, delta) if reverse else product(delta, previous)
        body += [NOISE[0], prefix + line, *NOISE[1:], published_line(following)]
    document = explained(command, written(tmp_path, ending.join(body)))
    if not reverse:
        assert (document["verdict"], document["causes"]) == ("agrees", [])
        assert ["compose_order", "prev_delta"] not in document["indistinguishable"]
        return
    assert (document["verdict"], document["first_divergence"]["stage"]) == ("explained", "next6d")
    cause = document["causes"][0]
    assert {"compose_order": "prev_delta"} in [cause["changes"], *cause["equivalents"]]
    said = " ".join(command("explain", tmp_path / "Game.log").out.split())
    assert bool(cause["equivalents"]) == ("the same on this data: " in said)


@every_case("reverse", [False, True])
def test_rotations_that_commute_tell_nothing_and_that_is_said(command: Any, tmp_path: Path, reverse: bool) -> None:
    """A character that turns about one axis only agrees with both orders; a verdict would be a coin toss."""
    poses, deltas = [turn(2, 20.0 * frame) for frame in range(4)], [turn(2, 9.0)] * 4
    document = explained(command, written(tmp_path, "\n".join(lines(reverse=reverse, poses=poses, deltas=deltas))))
    assert document["verdict"] == "agrees"
    assert ["compose_order", "prev_delta"] in document["indistinguishable"]


@pytest.mark.nightly
def test_noise_in_the_printed_numbers_is_no_convention(command: Any, tmp_path: Path) -> None:
    """A defect that is not an order: one axis of the result is wrong by degrees."""
    results = [product(turn(0, 6.0), product(DELTAS[k], POSES[k])) for k in range(4)]
    wrong = [compose_line(k, POSES[k], DELTAS[k], results[k]) for k in range(4)]
    document = explained(command, written(tmp_path, "\n".join(wrong)))
    assert (document["verdict"], document["causes"]) == ("unexplained", [])


HEAD = "[Schema OK] X=420 Y=276 C=7 fps={}  (tanh_scales: rv=2, ang=138, pose_hist=828 | len=3)"
BOUND = "[StepModel] lens X=422 C=7 Contacts=2 Ang=138 Pose=828 | bound 422/{}/2/138/828"
CONDITION = PREFIX + "[TDbg][BuildCondVector] useTeacher=1 Dim=7 Raw=0,1,0,0,1.00,0.00 Out=0,1,0,0,1.00,0.00"
FALLBACK = "[PoseHist] Fallback enabled: Frames=3 Dim=276 (runtime required 828)."
RIGHT, REVERSED = "\n".join(lines()), "\n".join(lines(reverse=True))
BUNDLE = "norm_template.json"
OTHER = Path(__file__).parents[2] / "fixtures" / "bundles" / "rig_inversion" / "rig_inversion.json"
SAID: tuple[tuple[str, str | Path, int, tuple[str, ...]], ...] = (
    *((REVERSED[:-cut], "", 1, ("1 [DeltaCompose] lines are cut off", "compose_order = prev_delta")) for cut in (1, 25, 90)),
    (PREFIX + lines()[0][:80], "", 2, ("1 cut off [DeltaCompose] lines",)),
    (f"{HEAD.format('30.0')}\n{FALLBACK}\n{RIGHT}", BUNDLE, 1,
     ("reports state = 420, the bundle gives 422", "reports fps = 30, the bundle gives 60", "fell back")),
    (f"{BOUND.format(6)}\n{RIGHT}", "", 1, ("gives cond 7 numbers and binds 6: it is silently cut or padded",)),
    (f"{BOUND.format(7)}\n{RIGHT}", "", 0, ("AGREES",)),
    (f"{CONDITION}\n{RIGHT}", "", 1, ("[BuildCondVector] line 1 says Dim=7 and prints 6 numbers",)),
    (f"{HEAD.format('60.0')}\n{RIGHT}", "", 0, ("the widths in the log were not judged: give --contract",)),
    (RIGHT, OTHER, 2, ("expected the schema bundle of the logged engine",)),
)  # fmt: skip


@every_case(("text", "contract", "status", "words"), SAID, ids=lambda value: str(value)[-30:])
def test_what_a_log_says_beside_its_poses(
    command: Any,
    tmp_path: Path,
    demo_bundle: Path,
    text: str,
    contract: str | Path,
    status: int,
    words: tuple[str, ...],
) -> None:
    """0.98 read as 0.9 at a torn line would be a defect of its own; widths of another bundle are one; nothing is no pass."""
    given = ("--contract", demo_bundle / contract) if contract else ()
    answer = command("explain", written(tmp_path, text), *given)
    said = " ".join((answer.out + answer.err).split())
    assert answer.status == status, said
    assert [word for word in words if word not in said] == []
    assert status != 2 or answer.err.count("\n") == 1
