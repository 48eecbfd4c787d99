"""Pasted engine logs: prefixes, other lines in between, CRLF, lines cut off anywhere, three printed decimals."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture
def paste(tmp_path: Path) -> Any:
    """Write a log and return its path."""

    def write(text: str) -> Path:
        path = tmp_path / "Game.log"
        path.write_bytes(text.encode("utf-8"))
        return path

    return write


@pytest.mark.parametrize("reverse", [False, True], ids=["contract's order", "other order"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("prefix", ["", PREFIX], ids=["bare", "prefixed"])
def test_the_composition_order_is_told_from_the_lines_alone(
    command: Any, paste: Any, reverse: bool, ending: str, prefix: str
) -> None:
    """The one question every team asks first, answered from a log that is already on disk."""
    body = []
    for line, previous, delta in zip(lines(reverse=reverse), POSES, DELTAS, strict=True):
        following = product(previous, delta) if reverse else product(delta, previous)
        body += [NOISE[0], prefix + line, *NOISE[1:], published_line(following)]
    document = explained(command, paste(ending.join(body)))
    if reverse:
        assert document["verdict"] == "explained"
        offered = [document["causes"][0]["changes"], *document["causes"][0]["equivalents"]]
        assert {"compose_order": "prev_delta"} in offered
        assert document["first_divergence"]["stage"] == "next6d"
    else:
        assert (document["verdict"], document["causes"]) == ("agrees", [])
        assert ["compose_order", "prev_delta"] not in document["indistinguishable"]


@pytest.mark.parametrize("reverse", [False, True])
def test_rotations_that_commute_tell_nothing_and_that_is_said(command: Any, paste: Any, reverse: bool) -> None:
    """A character that turns about one axis only agrees with both orders; a verdict would be a coin toss."""
    poses, deltas = [turn(2, 20.0 * frame) for frame in range(4)], [turn(2, 9.0)] * 4
    document = explained(command, paste("\n".join(lines(reverse=reverse, poses=poses, deltas=deltas))))
    assert document["verdict"] == "agrees"
    assert ["compose_order", "prev_delta"] in document["indistinguishable"]


@pytest.mark.parametrize("cut", [1, 4, 25, 60, 90])
def test_a_line_cut_off_is_passed_over_and_counted(command: Any, paste: Any, cut: int) -> None:
    """A crash cuts the log in the middle of a number; 0.98 read as 0.9 would be a defect of its own."""
    whole = lines(reverse=True)
    answer = command("explain", paste("\n".join(whole)[:-cut]))
    assert "1 [DeltaCompose] lines are cut off and were passed over" in answer.out
    assert answer.status == 1
    assert "compose_order = prev_delta" in " ".join(answer.out.split())


def test_a_log_without_a_whole_line_is_refused_in_one_line(command: Any, paste: Any) -> None:
    """Nothing compared is never a pass."""
    answer = command("explain", paste(PREFIX + lines()[0][:80]))
    assert answer.status == 2
    assert answer.err.count("\n") == 1
    assert "1 cut off [DeltaCompose] lines" in answer.err


def test_widths_of_the_log_are_held_against_the_bundle(command: Any, paste: Any, demo_files: Any) -> None:
    """The engine may have loaded another bundle than the given one; the widths in its log show this."""
    head = "[Schema OK] X=420 Y=276 C=7 fps=30.0  (tanh_scales: rv=2, ang=138, pose_hist=828 | len=3)"
    dims = "[FusedModel] Requested dims: motion=420 cond=7 contacts=2 angvel=138 pose_hist=828"
    fallback = "[PoseHist] Fallback enabled: Frames=3 Dim=276 (runtime required 828)."
    text = "\n".join((head, dims, fallback, *lines()))
    shown = " ".join(command("explain", paste(text), "--contract", demo_files["bundle"]).out.split())
    assert "the engine reports state = 420, the bundle gives 422" in shown
    assert "the engine reports fps = 30, the bundle gives 60" in shown
    assert "fell back" in shown


def test_noise_in_the_printed_numbers_is_no_convention(command: Any, paste: Any) -> None:
    """A defect that is not an order: one axis of the result is wrong by degrees."""
    wrong = [
        compose_line(k, POSES[k], DELTAS[k], product(turn(0, 6.0), product(DELTAS[k], POSES[k]))) for k in range(4)
    ]
    document = explained(command, paste("\n".join(wrong)))
    assert (document["verdict"], document["causes"]) == ("unexplained", [])


BOUND = "[StepModel] lens X=422 C=7 Contacts=2 Ang=138 Pose=828 | bound 422/{}/2/138/828"


@pytest.mark.parametrize("bound", [7, 6])
def test_what_the_model_binds_is_held_against_what_the_engine_gives(command: Any, paste: Any, bound: int) -> None:
    """The runtime cuts or pads without a word: a condition of six numbers has lost the speed."""
    answer = command("explain", paste("\n".join((BOUND.format(bound), *lines()))))
    said = "the engine gives cond 7 numbers and binds 6: it is silently cut or padded"
    assert (answer.status, said in " ".join(answer.out.split())) == ((1, True) if bound == 6 else (0, False))


def test_a_condition_that_says_another_width_than_it_prints_is_a_contradiction(command: Any, paste: Any) -> None:
    """The vector was built for one layout and read as another."""
    condition = "[TDbg][BuildCondVector] useTeacher=1 Dim=7 Raw=0,1,0,0,1.00,0.00 Out=0,1,0,0,1.00,0.00"
    answer = command("explain", paste("\n".join((PREFIX + condition, *lines()))))
    assert answer.status == 1
    assert "[BuildCondVector] line 1 says Dim=7 and prints 6 numbers" in " ".join(answer.out.split())


def test_orders_that_look_alike_here_are_all_said(command: Any, paste: Any) -> None:
    """Who mends the first of two that this log cannot tell apart may mend the wrong one."""
    document = explained(command, paste("\n".join(lines(reverse=True))))
    others = document["causes"][0]["equivalents"]
    text = " ".join(command("explain", paste("\n".join(lines(reverse=True)))).out.split())
    assert bool(others) == ("the same on this data: " in text)
    for changes in others[:6]:
        assert all(name in text for name in changes)


def test_widths_without_a_bundle_are_said_to_be_unjudged(command: Any, paste: Any) -> None:
    """A pass over widths that nothing was held against would be read as a check of them."""
    head = "[Schema OK] X=420 Y=276 C=7 fps=60.0  (tanh_scales: rv=2, ang=138, pose_hist=828 | len=3)"
    answer = command("explain", paste("\n".join((head, *lines()))))
    assert "the widths in the log were not judged: give --contract" in " ".join((answer.out + answer.err).split())


def test_a_log_is_of_the_enemy_animation_alone(command: Any, paste: Any) -> None:
    """A contract of another system has no such lines: its stages would be judged by somebody else's numbers."""
    other = Path(__file__).parents[2] / "fixtures" / "bundles" / "rig_inversion" / "rig_inversion.json"
    answer = command("explain", paste("\n".join(lines())), "--contract", other)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "expected the schema bundle of the logged engine" in answer.err
