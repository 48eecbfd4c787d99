"""Training and deploy configurations of other stacks: what they say becomes a contract, nothing in them runs."""

import re
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from rigpact.reports.importing.configuration_classes import UnreadValue, read_classes
from rigpact.reports.importing.isaaclab import is_whole

from ..every_case import every_case
from .foreign_files import BASE, CLASSES, ENV, ROBOT_BASE, ROBOT_POLICY, imported, write_model
from .samples_of_files import sample


@pytest.fixture
def readers(real_data):
    """The stacks' own configurations."""
    if not (real_data / "readers").is_dir():
        pytest.skip(f"no configurations in {real_data}")
    return real_data / "readers"


def _written(tmp_path, **texts: str):
    paths = [tmp_path / name.replace("_DOT_", ".") for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_configuration_classes_are_read_with_what_they_inherit(tmp_path, command):
    """A class says only what differs from its base; a reader that imports it runs whatever stands beside it."""
    source, base = _written(tmp_path, walker_DOT_py=CLASSES, base_DOT_py=BASE)
    root = imported(command, source, "--builds-on", base)
    stages, numbers = root["stages"], root["numbers"]
    assert root["fps"] == 50  # 1 / (0.005 · 4)
    assert numbers["stiffness"]["value"] == [20, 35]  # `nee` fits the knee too, and is the last
    assert numbers["damping"]["value"] == [0.5, 0]
    assert numbers["default_pose"]["value"] == [-0.1, 0.5]
    assert (stages["obs"]["lowest"], stages["action_clipped"]["highest"]) == (-100, 100)
    assert stages["commands"]["scale"] == [2, 2, 0.25]
    assert [given["carried"] for given in root["given"].values() if "carried" in given] == ["action_clipped"]


def test_a_robot_and_its_policy_agree_with_a_loop_written_by_hand(tmp_path, command):
    """rl_sar: the mapping points from the policy to the motors, the history is newest first, clipped before it is kept."""
    (tmp_path / "trot").mkdir()
    (tmp_path / "base.yaml").write_text(ROBOT_BASE, encoding="utf-8")
    source = tmp_path / "trot" / "config.yaml"
    source.write_text(ROBOT_POLICY, encoding="utf-8")
    model = write_model(tmp_path / "policy.onnx", 36, 4)
    contract = tmp_path / "contract.toml"
    root = imported(command, source, "--onnx", model, out=contract)
    assert root["names"]["policy"] == ["left_hip", "left_knee", "right_hip", "right_knee"]
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    rng, mapping = np.random.default_rng(3), [2, 3, 0, 1]
    kept, action = [np.zeros(12, np.float32)] * 3, np.zeros(4, np.float32)
    rows: dict[str, list[Any]] = {name: [] for name in ("q", "dq", "actions", "obs", "action", "target", "motor_q")}
    for _ in range(20):
        q, dq = (rng.normal(size=4).astype(np.float32) * scale for scale in (1, 20))
        pose = np.float32([0.1, 0.2, 0.3, 0.4])
        frame = np.clip(np.concatenate([q[mapping] - pose, dq[mapping] * np.float32(0.05), action]), -1.5, 1.5)
        kept = [frame.astype(np.float32), *kept[:2]]
        obs = np.concatenate(kept)
        answer = session.run(None, {session.get_inputs()[0].name: obs[None]})[0][0]
        motors, before = np.zeros(4, np.float32), action
        action = np.clip(answer, -2, 2)
        target = action * np.float32([0.5, 0.25, 0.5, 0.25]) + pose
        motors[mapping] = target
        for name, row in zip(rows, (q, dq, before, obs, answer, target, motors), strict=True):
            rows[name].append(row)
    np.savez(tmp_path / "run.npz", **{name: np.array(each) for name, each in rows.items()})
    answer = command("explain", tmp_path / "run.npz", "--contract", contract, "--mode", "free")
    assert answer.status == 0, answer.out + answer.err
    assert np.abs(rows["obs"]).max() == 1.5  # the clip was at work
    wrong = np.array(rows["motor_q"])[:, mapping]
    np.savez(tmp_path / "wrong.npz", **{name: np.array(each) for name, each in {**rows, "motor_q": wrong}.items()})
    assert command("explain", tmp_path / "wrong.npz", "--contract", contract, "--mode", "free").status == 1


def test_the_axes_of_a_velocity_stay_open_as_those_of_a_gyro_do(tmp_path, command):
    """One simulator gives it in the world's axes, the robot in the body's: the policy walks askew, and every stage agrees.

    The base lies two folders up, as for four of rl_sar's sixteen policies.
    """
    (tmp_path / "base.yaml").write_text(ROBOT_BASE, encoding="utf-8")
    source, contract = tmp_path / "tracking" / "dance" / "config.yaml", tmp_path / "contract.toml"
    source.parent.mkdir(parents=True)
    terms = 'observations: ["lin_vel", "ang_vel", "gravity_vec", '
    policy = _changed(_changed(ROBOT_POLICY, "observations: [", terms), "observations: 12", "observations: 21")
    source.write_text(policy + "  lin_vel_scale: 2.0\n  ang_vel_scale: 0.25\n", encoding="utf-8")
    root = imported(command, source, out=contract)
    turned = {name: root["stages"][f"{name}_turned"] for name in ("lin_vel", "ang_vel")}
    assert {name: (each["operation"], each["left_open"]) for name, each in turned.items()} == {
        "lin_vel": ("rotate", ["direction"]), "ang_vel": ("rotate", ["direction"]),
    }  # fmt: skip
    assert turned["lin_vel"]["of"][1] == "base_lin_vel"
    assert "lin_vel_turned.direction is not declared" in root["checked"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", "AGREES"),
        ("columns", "motion_anchor_ori_b.writes = columns"),
        ("pelvis", "torso_quat.product = first_only"),
        ("waist", "waist_turn.reads = XZY_rad"),
        ("heading", "motion_anchor.product = second_only"),
        ("exchanged", "product = inverse_of_second"),
    ],
)
def test_a_policy_that_tracks_a_motion_is_read_and_judged(tmp_path, command, wrong, said):
    """The torso from the pelvis and the waist, the reference's heading aligned at the start, six numbers row by row.

    Each mistake is one that a public thread took weeks to find.
    """
    names = "joint_names: [waist_yaw_joint, waist_roll_joint, waist_pitch_joint, knee]"
    (tmp_path / "base.yaml").write_text(re.sub("joint_names: .*", names, ROBOT_BASE), encoding="utf-8")
    source, contract, prefix = (
        tmp_path / "dance" / "config.yaml",
        tmp_path / "contract.toml",
        "whole_body_tracking/motion_",
    )
    source.parent.mkdir()
    terms = f'observations: ["{prefix}command", "{prefix}anchor_ori_b", '
    policy = _changed(_changed(ROBOT_POLICY, "observations: [", terms), "observations: 12", "observations: 26")
    source.write_text(_changed(policy, "[0, 1, 2]", "[]").replace("clip_obs: 1.5", "clip_obs: 100"), encoding="utf-8")
    root = imported(command, source, out=contract)
    assert "nothing computes" not in root["told"]
    text = contract.read_text(encoding="utf-8")
    contract.write_text(text.replace('"imu_quat", size = 4', '"imu_quat", kind = "quaternion_wxyz"'), encoding="utf-8")
    rng, frames, mapping = np.random.default_rng(5), 30, [2, 3, 0, 1]
    q, dq, positions, speeds, last = rng.normal(size=(5, frames, 4))
    pelvis, reference = (Rotation.random(frames, random_state=seed) for seed in (1, 2))
    heading = Rotation.from_euler("z", 0.9)
    waist = Rotation.from_euler("XZY" if wrong == "waist" else "ZXY", q[:, :3])
    torso = pelvis if wrong == "pelvis" else pelvis * waist
    turned = reference if wrong == "heading" else heading * reference
    relative = torso * turned.inv() if wrong == "exchanged" else torso.inv() * turned
    columns = relative.as_matrix()[:, :, :2]
    six = (columns.swapaxes(1, 2) if wrong == "columns" else columns).reshape(frames, 6)
    pose = [0.1, 0.2, 0.3, 0.4]
    obs = np.hstack([positions, speeds, six, q[:, mapping] - pose, 0.05 * dq[:, mapping], last])
    quats = {
        name: turn.as_quat(scalar_first=True)
        for name, turn in (("imu_quat", pelvis), ("motion_anchor_quat", reference))
    }
    held = {
        "q": q,
        "dq": dq,
        "motion_joint_pos": positions,
        "motion_joint_vel": speeds,
        "actions": last,
        "obs": obs,
        **quats,
    }
    held["heading_turn"] = np.tile(heading.as_quat(scalar_first=True), (frames, 1))
    np.savez(tmp_path / "run.npz", **{name: np.asarray(rows, np.float32) for name, rows in held.items()})
    answer = command("explain", tmp_path / "run.npz", "--contract", contract, "--allow-unjudged", "actions")
    assert said in answer.out.splitlines()[-1], answer.out


def test_a_dump_of_a_training_run_resolves_its_expressions(tmp_path, command):
    """The file has no joint: `.*L_hip_joint` is a number for four of them, in an order that Isaac Lab makes."""
    [source] = _written(tmp_path, env_DOT_yaml=ENV)
    root = imported(command, source)
    stages = root["stages"]
    assert root["names"]["joints"][:5] == [
        "FL_hip_joint", "FR_hip_joint", "RL_hip_joint", "RR_hip_joint", "FL_thigh_joint",
    ]  # fmt: skip
    assert root["numbers"]["default_pose"]["value"] == [0.1, -0.1, 0.1, -0.1, 0.8, 0.8, 1, 1, -1.5, -1.5, -1.5, -1.5]
    assert root["numbers"]["damping"]["value"] == [0.5] * 4 + [0.6] * 8
    assert root["numbers"]["action_scale"]["value"] == [0.125] * 4 + [0.25] * 8
    assert root["names"][stages["joint_vel_raw_controlled"]["take"]] == [
        f"{leg}_calf_joint" for leg in ("FL", "FR", "RL", "RR")
    ]
    assert stages["joint_pos_history"]["length"] == 3
    assert (stages["gait_phase"]["operation"], stages["gait_phase"]["period"]) == ("phase_clock", 0.8)
    assert [0.25, 0.25, 0.2] in [each.get("scale") for each in stages.values()]
    assert [-9, -9, -8] in [each.get("lowest") for each in stages.values()]
    assert "/home/" not in root["text"]
    terms = {
        "command": "generated_commands",
        "anchor": "motion_anchor_pos_b",
        "bodies": "robot_body_ori_b",
        "at": "robot_body_pos_b",
    }
    rows = [f'    {name}: {{func: "a:{func}", params: {{command_name: motion}}}}\n' for name, func in terms.items()]
    commands = "commands: {motion: {anchor_body_name: torso, body_names: [a, b]}}\n"
    source.write_text(_changed(ENV, "    gait_phase", "".join(rows) + "    gait_phase") + commands, encoding="utf-8")
    root = imported(command, source)
    assert root["stages"]["command"]["of"] == ["motion_joint_pos", "motion_joint_vel"]
    assert root["stages"]["anchor"]["of"] == ["motion_anchor_pos", "robot_anchor_pos", "robot_anchor_quat"]
    assert (root["given"]["robot_body_quat"]["size"], root["stages"]["bodies"]["writes"]) == (8, "interleaved")
    assert root["given"]["robot_body_pos"]["size"] == 2 * 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "base", "width", "fps", "said"), yaml.safe_load(sample("stacks.yaml")))
def test_the_stacks_own_configurations_become_contracts(readers, tmp_path, command, name, base, width, fps, said):
    """What a stack ships must be readable as it is; widths, rates and the fourth joint are read off the files by hand."""
    from rigpact.contract.contract_files import open_contract

    options = () if base is None else ("--builds-on", readers / base)
    root = imported(command, readers / name, *options, out=tmp_path / "contract.toml")
    assert root["fps"] == fps
    assert open_contract(tmp_path / "contract.toml").fields("obs").width == width
    assert {key: root["names"][key][3] for key in said} == said


def _changed(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


NESTED = (
    "".join(
        f"class N{depth + 1}:\n    class x(N{depth}):\n        pass\n    class y(N{depth}):\n        pass\n"
        for depth in range(20)
    ).replace("(N0)", "")
    + "class Robot(N20):\n    class init_state:\n        pass\n"
)
"""Twenty classes that hold a million."""


@every_case(
    ("name", "text", "says"),
    [
        ("a.py", "class A(:\n", ["a.py:1", "not Python"]),
        ("a.py", "x = 1\n", ["0 classes", "one configuration class"]),
        ("a.py", _changed(CLASSES, '"hip": -0.1, ', ""), ["/init_state/default_joint_angles", "1 joints", "2"]),
        ("a.py", _changed(CLASSES, "-0.1", "read_angle()"), ["/default_joint_angles", "read_angle", "line 10", "a table"]),
        ("a.py", _changed(CLASSES, "6 * 3", "6 * 4"), ["/env/num_observations", "24", "17 or 18"]),
        ("a.py", _changed(CLASSES, "LeggedRobotCfg.env", "Other.env"), ["a.py:6", "Other.env", "--builds-on"]),
        ("a.yaml", _changed(ROBOT_POLICY, "[2, 3, 0, 1]", "[2, 3, 0, 0]"), ["/joint_mapping", "each once"]),
        ("a.yaml", _changed(ROBOT_POLICY, "[0, 1, 2]", "[0, 2, 4]"), ["/observations_history", "every frame"]),
        ("a.yaml", _changed(ROBOT_POLICY, "observations: 12", "observations: 13"), ["/num_observations", "36 numbers", "39"]),
        ("a.yaml", _changed(ROBOT_POLICY, "[1, 2, 3, 4]", "[1, 2, 3]"), ["/rl_kp", "3 numbers", "4, one for each joint"]),
        ("a.yaml", f"{ROBOT_POLICY}  decimation: 0\n", ["/decimation"]),
        ("a.yaml", _changed(ENV, "F[L,R]_thigh_joint", ".*_thigh_joint"), ["/joint_pos", "2 that fit RL_thigh_joint"]),
        ("a.yaml", _changed(ENV, ".*L_hip_joint", "(L_hip"), ["/joint_pos", "a regular expression"]),
        ("a.yaml", _changed(ENV, ".*L_hip_joint", "(a+)+b"), ["/joint_pos", "a repetition of a group"]),
        ("a.yaml", _changed(ENV, ".*L_hip_joint", '"a{3}"'), ["/joint_pos", "'{3}', which is not read here"]),
        ("a.yaml", _changed(ENV, ".*L_hip_joint", "a" * 300), ["/joint_pos", "300 characters"]),
        ("a.py", NESTED, ["more than 4096 classes"]),
        ("a.yaml", _changed(ENV, "Go2/go2.usd", "mine.usd"), ["/scene/robot", "no names of joints", "--onnx"]),
        ("a.yaml", _changed(ENV, "  policy:", "  critic:"), ["/observations", "groups: critic", "policy or actor"]),
    ],
)  # fmt: skip
def test_a_damaged_configuration_is_refused_at_its_place(tmp_path, command, name, text, says):
    """A list that is one short shifts every joint behind it; an expression must not run for ever."""
    source, classes, robot = _written(
        tmp_path, **{name.replace(".", "_DOT_"): text, "base_DOT_py": BASE, "base_DOT_yaml": ROBOT_BASE}
    )
    answer = command(
        "init", "--from", source, "-o", tmp_path / "c.toml", "--builds-on", classes if name.endswith("py") else robot
    )
    assert answer.status == 2, answer.out
    assert not (tmp_path / "c.toml").exists()
    assert all(each in answer.err for each in (*says, "found", "expected")), answer.err


def test_a_number_that_doubles_its_digits_with_every_line_is_not_computed(tmp_path):
    """Forty such lines are a number that no memory holds; a list that stands in lists of itself is as large."""
    lines = ["class Large:", "    n0, l0 = 99999, 1", "    n0 = 99999", "    l0 = [1, 2]"]
    lines += [f"    n{each + 1} = n{each} * n{each}\n    l{each + 1} = [l{each}, l{each}]" for each in range(4)]
    lines += [f"    most = {2**63 - 2} + 1", f"    more = {2**63 - 1} + 1"]
    (source,) = _written(tmp_path, large_DOT_py="\n".join(lines))
    values = read_classes(source)["Large"].values
    assert values["n1"] == 9999800001
    assert values["most"] == 2**63 - 1
    assert [isinstance(values[name], UnreadValue) for name in ("n4", "l2", "more")] == [True] * 3


NAMES = ("FL_hip_joint", "left_knee", "ab", "aab", "aaaa", "", "b", "aba", "[", "hip.1")
SPOKEN = (
    ".*_hip_joint", "F[L,R]_.*", "(left|right)_knee", "^(?!.*hip).*$", "(?=a)[ab]+", "a*?b?", ".+", "[^a]*", r"hip\.\d",
    "a|ab|aab", r"\[", "$", "^", "[]a]", "a+b", "(a|aa)?(a|aa)?", "", ".*_hip_.*|.*_knee_.*|.*_ankle_.*|.*_toe_.*|.*_arm_.*",
)  # fmt: skip


@every_case("pattern", SPOKEN)
def test_an_expression_takes_the_names_that_python_takes(pattern):
    """A joint with another's gain is a robot that falls."""
    assert [is_whole(pattern, name) for name in NAMES] == [re.fullmatch(pattern, name) is not None for name in NAMES]


def test_drawn_expressions_take_the_names_that_python_takes():
    """What nobody thought of: parts in any order, one behind or inside the other."""
    rng = np.random.default_rng(5)
    letters, groups = ("a", "b", ".", "[ab]", "[^a]"), ("(a|b)", "(ab|a)", "(?:b|)", "(?!b)", "(?=a)", "^", "$")
    pieces, fitting = [*groups, *(each + sign for each in letters for sign in ("", "*", "+", "?", "*?"))], 0
    for _ in range(400):
        pattern = "".join(rng.choice(pieces, rng.integers(1, 6)))
        for name in ("", "a", "b", "ab", "ba", "aab", "abab", "bbaa"):
            expected = re.fullmatch(pattern, name) is not None
            assert is_whole(pattern, name) == expected, (pattern, name)
            fitting += expected
    assert fitting > 500


@every_case("pattern", [
    "a?" * 34 + "a" * 34, "a*" * 60 + "c", "(a|a)*b", "(a|aa)*c", "(a|a)" * 30 + "c", "a*" + "(?=a" * 38 + ")" * 38 + "c",
])  # fmt: skip
def test_no_expression_takes_long(pattern):
    """A file of a kilobyte held an import for hours."""
    for name in ("a" * 200, "a" * 34):
        with pytest.raises(ValueError, match=r"a repetition of a group|too many repetitions"):
            is_whole(pattern, name)
