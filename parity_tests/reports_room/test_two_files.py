"""`rigpact diff a b` with nothing else: two files that people have, and what makes one of the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact.testing import agrees

from ..every_case import every_case

FRAMES = 120
Arrays = dict[str, np.ndarray]


def _arrays() -> Arrays:
    """Twelve joints, a unit quaternion (w x y z) and a velocity of a made-up run."""
    random = np.random.default_rng(11)
    time = np.arange(FRAMES)[:, None] / 50.0
    joints = 0.4 * np.sin(2.0 * np.pi * (0.4 + 0.1 * np.arange(12)) * time + np.arange(12))
    turns = np.array([1.0, 0.0, 0.0, 0.0]) + np.cumsum(0.05 * random.normal(size=(FRAMES, 4)), axis=0)
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    found = {
        "joints": joints + 0.05 * random.normal(size=(FRAMES, 12)),
        "tilt": turns,
        "velocity": random.normal(size=(FRAMES, 3)),
    }
    return {name: rows.astype(np.float32) for name, rows in found.items()}


def _with(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Arrays:
    arrays = _arrays()
    return {**arrays, name: np.asarray(change(arrays[name]), np.float32)}


def _exchanged(rows: np.ndarray) -> np.ndarray:
    return rows[:, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11]]


def _about_z(rows: np.ndarray) -> np.ndarray:
    angle = np.radians(30.0)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    return rows.astype(np.float64) @ turn.T


def _negated(rows: np.ndarray) -> np.ndarray:
    return np.where(np.arange(rows.shape[1]) == 5, -rows, rows)


MISTAKES = {
    "exchanged columns": (_with("joints", _exchanged), "joints[3] and joints[4] exchanged"),
    "a sign": (_with("joints", _negated), "-1 times"),
    "degrees": (_with("joints", np.degrees), "180/π times"),
    "a factor": (_with("velocity", lambda rows: 0.25 * rows), "0.25"),
    "quaternion order": (_with("tilt", lambda rows: rows[:, [1, 2, 3, 0]]), "x, y, z, w"),
    "one frame late": (_with("joints", lambda rows: np.concatenate([rows[:1], rows[:-1]])), "frame t-1"),
    "another episode first": (
        _with("joints", lambda rows: np.roll(rows, -40, axis=0)),
        "frames 0 to 79 those of 40 to 119",
    ),
    "a constant turn": (_with("velocity", _about_z), "turned by 30° about z"),
}


def _written(path: Path, arrays: Arrays) -> Path:
    """Arrays as .npz, or as .csv with the columns that pandas writes."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    names = [f"{name}_{place}" for name, rows in arrays.items() for place in range(rows.shape[1])]
    table = np.hstack(list(arrays.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.9g")
    return path


@pytest.mark.parametrize("ending", [".npz", ".csv"])
@every_case(("kind",), [(kind,) for kind in MISTAKES])
def test_what_makes_one_of_the_other_is_named(command: Any, tmp_path: Path, ending: str, kind: str) -> None:
    """Two logs of one robot are what people have on the first day; a largest difference alone tells them nothing."""
    wrong, said = MISTAKES[kind]
    ours, theirs = _written(tmp_path / f"python{ending}", _arrays()), _written(tmp_path / f"cpp{ending}", wrong)

    answer = command("diff", ours, theirs)

    words = said if ending == ".npz" else said.replace("joints[3]", "joints_3").replace("joints[4]", "joints_4")
    assert answer.status == 1
    assert answer.out.strip().splitlines()[-1].startswith("DIFFERS")
    assert words in answer.out.strip().splitlines()[-1]


def _rounded_otherwise(rows: np.ndarray) -> np.ndarray:
    """Numbers of another order of operations: a few roundings of float32, each of the column's size."""
    random = np.random.default_rng(2)
    return rows.astype(np.float64) + 8 * 2.0**-24 * np.abs(rows).max(axis=0) * random.uniform(-1, 1, rows.shape)


@every_case(
    ("name", "change"),
    [
        ("joints", lambda rows: rows),
        ("joints", _rounded_otherwise),
        ("velocity", _rounded_otherwise),
        ("tilt", lambda rows: -rows),
    ],
)
def test_rounding_and_the_other_sign_of_a_quaternion_are_the_same(
    command: Any, tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    """An alarm on a right port ends the use of a tool."""
    ours, theirs = _written(tmp_path / "a.npz", _arrays()), _written(tmp_path / "b.npz", _with(name, change))

    answer = command("diff", ours, theirs)

    assert (answer.status, answer.out.strip().splitlines()[-1].split(":")[0]) == (0, "SAME")


def test_numbers_with_four_decimals_are_judged_by_their_digits(command: Any, tmp_path: Path) -> None:
    """A log that prints `%.4f` is not wrong by half of its last digit, and a mistake in it still shows."""
    rounded = {name: np.round(rows, 4) for name, rows in _arrays().items()}
    wrong = {**rounded, "joints": np.round(_exchanged(_arrays()["joints"]), 4)}

    right = command("diff", _written(tmp_path / "a.npz", _arrays()), _written(tmp_path / "b.csv", rounded))
    found = command("diff", _written(tmp_path / "c.csv", rounded), _written(tmp_path / "d.csv", wrong))

    assert right.status == 1  # the first file keeps every bit: what the second lost is said with --resolution
    assert command("diff", tmp_path / "a.npz", tmp_path / "b.csv", "--resolution", "4 decimals").status == 0
    assert found.status == 1
    assert "exchanged" in found.out


def test_a_search_that_was_cut_still_says_that_files_differ(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file of a stranger must not search for hours, nor pass for undetermined when it is seen to differ."""
    monkeypatch.setattr("rigpact.reports.command_line.judging.diff.USUAL", 1e-6)
    ours = _written(tmp_path / "a.npz", _arrays())
    theirs = _written(tmp_path / "b.npz", _with("joints", np.degrees))

    answer = command("diff", ours, theirs)

    assert answer.status == 1
    last = answer.out.strip().splitlines()[-1]
    assert last.startswith("DIFFERS: joints of 3 arrays; not tried: ")


def test_what_only_one_file_has_is_not_passed_over(command: Any, tmp_path: Path) -> None:
    """SAME of the half that both have would hide the array that was not written."""
    ours = _written(tmp_path / "a.npz", {**_arrays(), "torque": np.ones((FRAMES, 2), np.float32)})
    theirs = _written(tmp_path / "b.npz", {name: rows[:-3] for name, rows in _arrays().items()})

    answer = command("diff", ours, theirs)

    assert answer.status == 2
    assert "torque stands only in a.npz" in answer.out
    assert "joints: 3 rows have no partner" in answer.out
    assert answer.out.strip().splitlines()[-1].startswith("UNDETERMINED")


def test_rows_are_matched_by_the_frames_that_both_say(command: Any, tmp_path: Path) -> None:
    """A recorder that starts two frames later has no frame late."""
    arrays, frame = _arrays(), np.arange(FRAMES)
    ours = _written(tmp_path / "a.npz", {**arrays, "frame": frame})
    theirs = _written(tmp_path / "b.npz", {**{name: rows[2:] for name, rows in arrays.items()}, "frame": frame[2:]})

    answer = command("diff", ours, theirs)

    assert (answer.status, "2 rows have no partner" in answer.out) == (2, True)


def test_an_array_of_another_name_is_found_by_its_numbers(command: Any, tmp_path: Path) -> None:
    """`joint_pos` here and `q` there."""
    arrays = _arrays()
    theirs = {"q": _exchanged(arrays["joints"]), "tilt": arrays["tilt"], "velocity": arrays["velocity"]}

    answer = command(
        "diff", _written(tmp_path / "a.npz", arrays), _written(tmp_path / "b.npz", {**theirs, "q": arrays["joints"]})
    )
    assert (answer.status, "joints of a.npz is taken for q of b.npz" in answer.out) == (0, True)


@every_case(
    ("words", "status", "said"),
    [
        (("--tolerance", "2"), 0, "SAME"),
        (("--stage", "tilt"), 0, "SAME"),
        (("--stage", "nothing"), 2, "nothing"),
        (("--teacher", "clip.json"), 2, "--contract"),
        (("--format", "json"), 1, '"explained"'),
    ],
)
def test_options_of_two_files(command: Any, tmp_path: Path, words: tuple[str, ...], status: int, said: str) -> None:
    """An option that has no meaning without a contract is refused, not ignored."""
    ours = _written(tmp_path / "a.npz", _arrays())
    theirs = _written(tmp_path / "b.npz", _with("joints", _exchanged))

    answer = command("diff", ours, theirs, *words)

    assert answer.status == status
    assert said in answer.out + answer.err
    if "json" in words:
        assert json.loads(answer.out)["relations"][0]["stage"] == "joints"


def test_files_without_a_common_array_are_refused(command: Any, tmp_path: Path) -> None:
    """Nothing compared is not the same."""
    ours = _written(tmp_path / "a.npz", {"x": np.ones((4, 2))})
    theirs = _written(tmp_path / "b.npz", {"y": np.zeros((4, 3))})

    answer = command("diff", ours, theirs)

    assert answer.status == 2
    assert "an array in both" in answer.err


SCRIPT = """
import numpy as np
import onnx


def step(gyro, tilt, joints, last_action):
    w, x, y, z = tilt
    gravity = -np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    obs = np.concatenate([0.25 * gyro, gravity, joints, last_action])
    return {"obs": obs, "action": np.tanh(obs[:4])}


def scaled(gyro):
    return {"obs": np.concatenate([0.25 * gyro, gyro], axis=1)}


def fails(gyro):
    raise RuntimeError("not today")


def asks_for_more(gyro, jonits):
    return gyro
"""


def _engine(path: Path, *, scale: float = 0.25, order: tuple[int, ...] = (0, 1, 2, 3)) -> Path:
    """What an engine in float32 records of SCRIPT's loop; scale of its gyro, order of its joints."""
    random, last = np.random.default_rng(4), np.zeros(4, np.float32)
    gyro, tilt, joints = (random.normal(size=(FRAMES, width)).astype(np.float32) for width in (3, 4, 4))
    tilt /= np.linalg.norm(tilt, axis=1, keepdims=True)
    down = np.array([0.0, 0.0, -1.0], np.float32)
    obs = []
    for turn, rate, angles in zip(tilt, gyro, joints, strict=True):
        w, v = turn[0], -turn[1:]
        gravity = down + 2 * w * np.cross(v, down) + 2 * np.cross(v, np.cross(v, down))
        obs.append(np.concatenate([np.float32(scale) * rate, gravity, angles[list(order)], last]).astype(np.float32))
        last = np.tanh(obs[-1][:4])
    rows = np.array(obs)
    np.savez(path, gyro=gyro, tilt=tilt, joints=joints, obs=rows, action=np.tanh(rows[:, :4]))
    return path


@every_case(
    ("engine", "status", "said"),
    [
        ({}, 0, "SAME: 2 arrays"),
        ({"order": (0, 2, 1, 3)}, 1, "obs[7] and obs[8] exchanged"),
        ({"scale": 0.2}, 1, "0.8 times"),
    ],
)
def test_a_script_is_a_side(command: Any, tmp_path: Path, engine: dict[str, Any], status: int, said: str) -> None:
    """People have a reference in Python and a log of C++; nobody writes a contract on the first day."""
    (tmp_path / "reference.py").write_text(SCRIPT, encoding="utf-8")
    recording = _engine(tmp_path / "engine.npz", **engine)

    answer = command("diff", f"{tmp_path / 'reference.py'}:step", recording, "--state", "last_action=action")

    assert (answer.status, said in answer.out) == (status, True), answer.out


@every_case(
    ("function", "words", "said"),
    [
        ("scaled", (), "return {NAME: numbers}"),
        ("fails", (), "not today"),
        ("asks_for_more", (), "did you mean joints?"),
        ("missing", (), "one of step, scaled"),
        ("step", ("--state", "last_action"), "PARAMETER=RESULT"),
        ("step", ("--state", "last_action=torque"), "torque"),
        ("step", ("--state", "memory=action"), "a parameter of"),
        ("step", ("--contract", "contract.toml"), "a function"),
    ],
)
def test_what_a_script_cannot_do_is_one_clear_error(
    command: Any, tmp_path: Path, function: str, words: tuple[str, ...], said: str
) -> None:
    """A traceback of a process that the user does not know tells nothing."""
    (tmp_path / "reference.py").write_text(SCRIPT, encoding="utf-8")
    engine = _engine(tmp_path / "engine.npz")
    np.savez(engine, **{name: rows for name, rows in np.load(engine).items() if name != "obs"})

    answer = command("diff", f"{tmp_path / 'reference.py'}:{function}", engine, *words)

    assert answer.status == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_a_test_of_ones_own_holds_a_function_to_a_recording(tmp_path: Path) -> None:
    """The same answer in pytest, with the cause in the failure."""
    space: dict[str, Any] = {}
    exec(SCRIPT, space)  # noqa: S102 - the text above

    agrees(space["step"], _engine(tmp_path / "right.npz"), state={"last_action": "action"})
    with pytest.raises(AssertionError, match=r"obs\[7\] and obs\[8\] exchanged"):
        agrees(space["step"], _engine(tmp_path / "wrong.npz", order=(0, 2, 1, 3)), state={"last_action": "action"})


def _model(
    path: Path, *, bias: float = 0.5, order: tuple[int, ...] = (0, 1, 2), width: int = 5, name: str = "hidden"
) -> Path:
    """obs -> tanh(obs W + bias) V: two layers, whose answers an exporter may exchange."""
    random = np.random.default_rng(7)
    first, last = (random.normal(size=size).astype(np.float32) for size in ((width, 4), (4, 3)))
    weights = {"W": first, "bias": np.full(4, bias, np.float32), "V": last[:, list(order)]}
    nodes = [
        helper.make_node("MatMul", ["obs", "W"], ["product"]), helper.make_node("Add", ["product", "bias"], [name], "add_1"),
        helper.make_node("Tanh", [name], ["bent"]), helper.make_node("MatMul", ["bent", "V"], ["action"]),
    ]  # fmt: skip
    ends = ([helper.make_tensor_value_info(*each)] for each in (("obs", 1, ["n", width]), ("action", 1, ["n", 3])))
    graph = helper.make_graph(
        nodes, "policy", *ends, [numpy_helper.from_array(each, key) for key, each in weights.items()]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@every_case(
    ("changed", "status", "said"),
    [
        ({}, 0, ("SAME",)),
        (
            {"bias": 0.75},
            1,
            ("the first that parts is hidden, of the node add_1 (Add)", "bias is another in 4 of 4 numbers"),
        ),
        ({"order": (0, 2, 1)}, 1, ("the first that parts is action", "action[1] and action[2] exchanged")),
        ({"name": "h", "bias": 0.75}, 1, ("the first that parts is bent",)),
        ({"width": 6}, 2, ("found the inputs obs float32 ['n', 6], expected those of a.onnx",)),
    ],
)
def test_two_models_part_at_a_value(
    command: Any, tmp_path: Path, changed: dict[str, Any], status: int, said: tuple[str, ...]
) -> None:
    """A new export that answers otherwise: which layer, and which of its weights."""
    answer = command("diff", _model(tmp_path / "a.onnx"), _model(tmp_path / "b.onnx", **changed))

    assert answer.status == status, answer
    assert all(words in answer.out + answer.err for words in said), answer
