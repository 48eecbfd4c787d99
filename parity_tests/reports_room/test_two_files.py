"""`rigpact diff a b` with nothing else: two files that people have, and what makes one of the other."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact.testing import agrees

from ..every_case import every_case

FRAMES = 120


def _arrays():
    """Twelve joints, a unit quaternion (w x y z) and a velocity of a made-up run."""
    random, time = np.random.default_rng(11), np.arange(FRAMES)[:, None] / 50.0
    joints = 0.4 * np.sin(2.0 * np.pi * (0.4 + 0.1 * np.arange(12)) * time + np.arange(12))
    turns = np.array([1.0, 0.0, 0.0, 0.0]) + np.cumsum(0.05 * random.normal(size=(FRAMES, 4)), axis=0)
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    joints = joints + 0.05 * random.normal(size=(FRAMES, 12))
    found = {"joints": joints, "tilt": turns, "velocity": random.normal(size=(FRAMES, 3))}
    return {name: rows.astype(np.float32) for name, rows in found.items()}


ARRAYS = _arrays()


def _with(name, change):
    return {**ARRAYS, name: np.asarray(change(ARRAYS[name]), np.float32)}


def _exchanged(rows):
    return rows[:, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11]]


def _about_z(rows):
    c, s = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    return rows.astype(np.float64) @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T


MISTAKES = {
    "exchanged": (_with("joints", _exchanged), "joints[3] and joints[4] exchanged"),
    "a sign": (_with("joints", lambda rows: np.where(np.arange(12) == 5, -rows, rows)), "-1 times"),
    "degrees": (_with("joints", np.degrees), "180/π times"),
    "a factor": (_with("velocity", lambda rows: 0.25 * rows), "0.25"),
    "quaternion order": (_with("tilt", lambda rows: rows[:, [1, 2, 3, 0]]), "x, y, z, w"),
    "one frame late": (_with("joints", lambda rows: np.concatenate([rows[:1], rows[:-1]])), "frame t-1"),
    "another episode": (_with("joints", lambda rows: np.roll(rows, -40, axis=0)), "frames 0 to 79 those of 40 to 119"),
    "a constant turn": (_with("velocity", _about_z), "turned by 30° about z"),
}


@pytest.fixture
def diff(command, tmp_path_factory):
    """Compare arrays of two files; the answer, and its last line."""

    def call(ours, theirs, *words, ending=".npz"):
        folder = tmp_path_factory.mktemp("two")
        answer = command("diff", _written(folder / f"a{ending}", ours), _written(folder / f"b{ending}", theirs), *words)
        return answer, (answer.out.strip().splitlines() or [""])[-1]

    return call


def _written(path, arrays):
    """Arrays as .npz, or as .csv with the columns that pandas writes."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    names = [f"{name}_{place}" for name, rows in arrays.items() for place in range(rows.shape[1])]
    np.savetxt(path, np.hstack(list(arrays.values())), delimiter=",", header=",".join(names), comments="", fmt="%.9g")
    return path


@every_case("ending", [".npz", ".csv"])
@every_case("kind", MISTAKES)
def test_what_makes_one_of_the_other_is_named(diff, ending, kind):
    """Two logs of one robot are what people have on the first day; a largest difference alone tells them nothing."""
    wrong, said = MISTAKES[kind]
    answer, last = diff(ARRAYS, wrong, ending=ending)
    words = said if ending == ".npz" else said.replace("joints[3]", "joints_3").replace("joints[4]", "joints_4")
    assert (answer.status, last.startswith("DIFFERS"), words in last) == (1, True, True), last


def _rounded_otherwise(rows):
    """Numbers of another order of operations: a few roundings of float32, each of the column's size."""
    random = np.random.default_rng(2)
    return rows.astype(np.float64) + 8 * 2.0**-24 * np.abs(rows).max(axis=0) * random.uniform(-1, 1, rows.shape)


@every_case(
    ("theirs", "words", "status", "said"),
    [
        (ARRAYS, (), 0, "SAME"),
        (_with("joints", _rounded_otherwise), (), 0, "SAME"),
        (_with("velocity", _rounded_otherwise), (), 0, "SAME"),
        (_with("tilt", lambda rows: -rows), (), 0, "SAME"),
        # the first file keeps every bit: what the second lost is said with --resolution
        ({name: np.round(rows, 4) for name, rows in ARRAYS.items()}, (), 1, "DIFFERS"),
        ({name: np.round(rows, 4) for name, rows in ARRAYS.items()}, ("--resolution", "4 decimals"), 0, "SAME"),
        (_with("joints", _exchanged), ("--tolerance", "2"), 0, "SAME"),
        (_with("joints", _exchanged), ("--stage", "tilt"), 0, "SAME"),
        (_with("joints", _exchanged), ("--stage", "nothing"), 2, "nothing"),
        (_with("joints", _exchanged), ("--teacher", "clip.json"), 2, "--contract"),
        ({"y": np.zeros((4, 3))}, (), 2, "an array in both"),
        ({"q": ARRAYS["joints"], "tilt": ARRAYS["tilt"], "velocity": ARRAYS["velocity"]}, (), 0, "joints of a.npz is taken"),
    ],
    ids=lambda _: "",
)  # fmt: skip
def test_rounding_signs_names_and_options_of_two_files(diff, theirs, words, status, said):
    """An alarm on a right port ends the use of a tool; an option without a meaning here is refused, not ignored."""
    answer, _ = diff(ARRAYS, theirs, *words)
    assert (answer.status, said in answer.out + answer.err) == (status, True), answer


def test_what_only_one_file_has_is_not_passed_over(diff):
    """SAME of the half that both have would hide the array that was not written. Rows are matched by the frames both say."""
    answer, last = diff({**ARRAYS, "torque": np.ones((FRAMES, 2))}, {name: rows[:-3] for name, rows in ARRAYS.items()})
    assert (answer.status, last[:12]) == (2, "UNDETERMINED")
    assert "torque stands only in a.npz" in answer.out
    assert "joints: 3 rows have no partner" in answer.out
    frame = np.arange(FRAMES)
    answer, _ = diff({**ARRAYS, "frame": frame}, {name: rows[2:] for name, rows in {**ARRAYS, "frame": frame}.items()})
    assert (answer.status, "2 rows have no partner" in answer.out) == (2, True)


def test_a_search_that_was_cut_still_says_that_files_differ(diff, monkeypatch):
    """A large file of a stranger must not search for hours, nor pass for undetermined when it is seen to differ."""
    answer, _ = diff(ARRAYS, _with("joints", _exchanged), "--format", "json")
    assert (answer.status, json.loads(answer.out)["relations"][0]["stage"]) == (1, "joints")
    monkeypatch.setattr("rigpact.reports.command_line.check.USUAL", 1e-6)
    answer, last = diff(ARRAYS, _with("joints", np.degrees))
    assert (answer.status, last[:40]) == (1, "DIFFERS: joints of 3 arrays; not tried: ")


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


def _engine(path, *, scale=0.25, order=(0, 1, 2, 3)):
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
        ({}, 0, "SAME: 2 arrays"), ({"order": (0, 2, 1, 3)}, 1, "obs[7] and obs[8] exchanged"),
        ({"scale": 0.2}, 1, "0.8 times"),
    ],
)  # fmt: skip
def test_a_script_is_a_side(command, tmp_path_factory, engine, status, said):
    """People have a reference in Python and a log of C++; nobody writes a contract on the first day."""
    tmp_path = tmp_path_factory.mktemp("script")
    (tmp_path / "reference.py").write_text(SCRIPT, encoding="utf-8")
    recording = _engine(tmp_path / "engine.npz", **engine)
    answer = command("diff", f"{tmp_path / 'reference.py'}:step", recording, "--state", "last_action=action")
    assert (answer.status, said in answer.out) == (status, True), answer.out


@every_case(
    ("function", "words", "said"),
    [
        ("scaled", (), "return {NAME: numbers}"), ("fails", (), "not today"),
        ("asks_for_more", (), "did you mean joints?"), ("missing", (), "one of step, scaled"),
        ("step", ("--state", "last_action"), "PARAMETER=RESULT"),
        ("step", ("--state", "last_action=torque"), "torque"),
        ("step", ("--state", "memory=action"), "a parameter of"),
        ("step", ("--contract", "contract.toml"), "a function"),
    ],
)  # fmt: skip
def test_what_a_script_cannot_do_is_one_clear_error(command, tmp_path_factory, function, words, said):
    """A traceback of a process that the user does not know tells nothing."""
    tmp_path = tmp_path_factory.mktemp("script")
    (tmp_path / "reference.py").write_text(SCRIPT, encoding="utf-8")
    engine = _engine(tmp_path / "engine.npz")
    np.savez(engine, **{name: rows for name, rows in np.load(engine).items() if name != "obs"})
    answer = command("diff", f"{tmp_path / 'reference.py'}:{function}", engine, *words)
    assert answer.status == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_a_test_of_ones_own_holds_a_function_to_a_recording(tmp_path):
    """The same answer in pytest, with the cause in the failure."""
    space = {}
    exec(SCRIPT, space)  # noqa: S102 - the text above
    agrees(space["step"], _engine(tmp_path / "right.npz"), state={"last_action": "action"})
    with pytest.raises(AssertionError, match=r"obs\[7\] and obs\[8\] exchanged"):
        agrees(space["step"], _engine(tmp_path / "wrong.npz", order=(0, 2, 1, 3)), state={"last_action": "action"})


def _model(path, *, bias=0.5, order=(0, 1, 2), width=5, name="hidden"):
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
            {"bias": 0.75}, 1,
            ("the first that parts is hidden, of the node add_1 (Add)", "bias is another in 4 of 4 numbers"),
        ),
        ({"order": (0, 2, 1)}, 1, ("the first that parts is action", "action[1] and action[2] exchanged")),
        ({"name": "h", "bias": 0.75}, 1, ("the first that parts is bent",)),
        ({"width": 6}, 2, ("found the inputs obs float32 ['n', 6], expected those of a.onnx",)),
    ],
)  # fmt: skip
def test_two_models_part_at_a_value(command, tmp_path_factory, changed, status, said):
    """A new export that answers otherwise: which layer, and which of its weights."""
    tmp_path = tmp_path_factory.mktemp("models")
    answer = command("diff", _model(tmp_path / "a.onnx"), _model(tmp_path / "b.onnx", **changed))
    assert answer.status == status, answer
    assert [words for words in said if words not in answer.out + answer.err] == [], answer
