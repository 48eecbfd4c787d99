"""A training side's own functions"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rigpact.reports.command_line import run_command_line

from ..geometry_room.planted import IN_NUMPY, PLANTED, STYLES, Planted, text_of_style
from .tried import passes, refused

SUBJECTS = Path(__file__).parent.parent / "geometry_room" / "subjects"


class Answer(NamedTuple):
    """The exit status, the JSON answer and what stands on standard error."""

    status: int
    report: dict[str, Any]
    err: str

    def messages(self, severity: str = "error") -> list[str]:
        """The messages of one severity."""
        return [f"{each['code']} {each['message']}" for each in self.report["findings"] if each["severity"] == severity]

    def function(self, name: str) -> dict[str, Any]:
        """What is said of one function."""
        return next(each for each in self.report["summary"]["functions"] if each["function"] == name)


Geometry = Callable[..., Answer]


@pytest.fixture
def geometry(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Geometry:
    """Run `rigpact check --module` on a module's text, in a folder of its own with this rigpact.toml."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *words: str, toml: str = "") -> Answer:
        (tmp_path / "theirs.py").write_text(text, encoding="utf-8")
        (tmp_path / "rigpact.toml").write_text(f"# theirs\n{toml}", encoding="utf-8")
        capfd.readouterr()
        status = run_command_line(["check", "--module", "theirs.py", *words, "--format", "json"])
        captured = capfd.readouterr()
        return Answer(status, json.loads(captured.out) if captured.out else {}, captured.err)

    return call


def text_of(style: str) -> str:
    """The text of a style's module."""
    if style not in IN_NUMPY:
        pytest.importorskip("torch")
    return text_of_style(style)


def words_of(style: str) -> list[str]:
    """The command line's words for a style's conventions."""
    return [word for each in STYLES[style] for word in ("--set", each)]


@passes(
    "a training module with flat poses, batches first and `axis_angle_to_matrix(axis, angle)`",
    "all 72 questions judged, no false error",
)
def test_a_training_side_is_judged_as_it_is_written(geometry: Geometry) -> None:
    """Three errors out of four that were false made people stop to read the fourth: the half angle."""
    pytest.importorskip("torch")
    answer = geometry((SUBJECTS / "training_side.py").read_text(encoding="utf-8"))
    assert answer.messages() == [
        "RP853 so3_log_map returns half the angle: measured ratio 0.5000 over 70 rotations",
        "RP853 angvel_vec_from_R_seq returns half the angle: measured ratio 0.5000 over 9 rotations",
    ]
    assert answer.report["ledger"] == {"declared": 72, "compared": 72, "waived": 0, "missing": 0}
    called = {each["function"]: each["called"] for each in answer.report["summary"]["functions"]}
    assert called["rot6d_to_matrix"] == "with (N, J·6)"
    assert called["axis_angle_to_matrix"] == "with axis, angle"
    assert called["angvel_vec_from_R_seq"] == "with (B, T, J, 3, 3)"


@pytest.mark.parametrize("style", STYLES)
@passes("eight modules in the styles of public training code, each with its conventions declared")
def test_a_sound_module_of_any_style_has_no_error(geometry: Geometry, style: str) -> None:
    """An error in code that is right teaches people to ignore the command."""
    answer = geometry(text_of(style), *words_of(style))
    assert (answer.status, answer.messages()) == (0, [])
    assert answer.report["summary"]["not_judged"] == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.style}-{planted.code}-{planted.says[:24]}")
@refused(
    "a defect planted in each of these modules: no frame rate, half an angle, an inverse, another Euler order, rows for columns, "
    "wxyz for xyzw, degrees, a transposed matrix",
    "named with its function, exit 1",
)
def test_a_planted_defect_is_named_in_every_style(geometry: Geometry, planted: Planted) -> None:
    """Each of these trains without an error, and the character moves wrongly in the game."""
    text = text_of(planted.style)
    assert planted.text in text
    answer = geometry(text.replace(planted.text, planted.instead), *words_of(planted.style))
    assert answer.status == 1
    assert any(message.startswith(planted.code) and planted.says in message for message in answer.messages()), (
        answer.messages()
    )


HEAD = f"import sys\nsys.path.insert(0, {str(SUBJECTS)!r})\nimport numpy as np\nimport sound_numpy as sound\n"
VELOCITY = HEAD + "def angvel_vec_from_R_seq(R_seq, fps):\n    return {}\n"


@passes("velocities of T - 1 steps, of batches, of flat six numbers, with a period instead of a rate")
@pytest.mark.parametrize(
    "text",
    [
        VELOCITY.format("sound.angvel_vec_from_R_seq(R_seq, fps)[:-1]"),
        VELOCITY.format("np.moveaxis(sound.angvel_vec_from_R_seq(np.moveaxis(R_seq, 1, 0), fps), 0, 1)[:, :-1]"),
        HEAD + "def angvel_from_rot6d_seq(x, dt):\n    assert x.ndim == 2\n"
        "    return sound.angvel_from_rot6d_seq(x.reshape(len(x), -1, 6), 1 / dt).reshape(len(x), -1)\n",
    ],
    ids=["T - 1 rows", "batches first", "flat"],
)
def test_velocities_are_read_as_they_stand(geometry: Geometry, text: str) -> None:
    """Training code differences the frames that it has; an error for that hides the missing frame rate."""
    answer = geometry(text, "--strict")
    assert (answer.status, answer.messages(), answer.report["summary"]["not_judged"]) == (0, [], [])


@passes("functions compiled by `torch.jit.script`")
def test_compiled_functions_are_read_too(geometry: Geometry) -> None:
    """Robot simulators compile all of their functions; a gate that cannot read them asks nothing there."""
    pytest.importorskip("torch")
    text = (
        "import torch\n\n"
        "@torch.jit.script\ndef wrap_to_pi(x):\n    return torch.atan2(torch.sin(x), torch.cos(x))\n"
        "@torch.jit.script\ndef angvel_from_quat_seq(q, dt: float):\n    a, b = q[1:], q[:-1]\n"
        "    av, aw, bv, bw = a[..., :3], a[..., 3:], -b[..., :3], b[..., 3:]\n"
        "    v = aw * bv + bw * av + torch.cross(av, bv, dim=-1)\n    w = aw * bw - (av * bv).sum(-1, keepdim=True)\n"
        "    size = (v * v).sum(-1, keepdim=True).clamp_min(1e-30).sqrt()\n"
        "    return v / size * 2 * torch.atan2(size * torch.sign(w), w.abs()) / dt\n"
        "@torch.jit.script\ndef quat_from_angle_axis(angle, axis):\n    half = (angle / 2).unsqueeze(-1)\n"
        "    return torch.cat([axis * half.sin(), half.cos()], dim=-1)\n"
    )
    answer = geometry(text)
    assert (answer.status, answer.messages(), answer.report["summary"]["not_judged"]) == (0, [], [])
    assert answer.function("quat_from_angle_axis")["called"] == "with angle, axis"


REST = "sound._turn('X', e[..., 1]) @ sound._turn('Z', e[..., 2])\n"


@passes("a function whose name has several meanings and computes another one", "said, no error")
@pytest.mark.parametrize(
    "text",
    [
        HEAD + "def rotation_vector(R):\n    return R[..., :, 0]\n",
        HEAD + "def compute_angular_velocity(R):\n    return sound.angvel_vec_from_R_seq(R, 1)\n",
        HEAD + "def normalize_angle(x):\n    return x % (2 * np.pi)\n",
        HEAD + "def euler_to_matrix(e):\n    return sound._turn('Z', e[..., 0]) @ " + REST,
    ],
    ids=["another vector", "per frame, for its caller", "another range", "two turns about one axis"],
)
def test_what_is_not_certain_is_no_error(geometry: Geometry, text: str) -> None:
    """A false error costs more than an open question, and the question is asked aloud."""
    sound = "\ndef so3_log_map(R):\n    return sound.so3_log_map(R)\n"
    answer = geometry(text + sound)
    assert (answer.status, answer.messages()) == (0, [])
    (said,) = [message for message in answer.messages("warning") if message.startswith("RP883")]
    assert "is not judged" in said


@refused("a module of which no function can be judged", "undetermined, exit 2")
def test_nothing_judged_is_no_pass(geometry: Geometry) -> None:
    """A gate that passes without a question is worse than none."""
    answer = geometry(
        "def quat_rotate(q, v, frame, world):\n    return v\n\n\ndef rotation_vector(a):\n    raise KeyError(a)\n"
    )
    assert (answer.status, answer.report["verdict"]) == (2, "undetermined")
    assert answer.report["summary"]["not_judged"] == ["rotation_vector", "quat_rotate"]


@refused(
    "a function of the contract that no call of any shape gets an answer from, beside others that are right",
    "undetermined, exit 2",
)
def test_a_function_that_must_be_judged_and_is_not_is_no_pass(geometry: Geometry) -> None:
    """After a change of its arguments, `compose_rot6d_delta` would silently leave the gate."""
    answer = geometry(
        HEAD + "so3_log_map = sound.so3_log_map\ndef compose_rot6d_delta(prev, delta, skeleton):\n    return prev\n"
    )
    assert (answer.status, answer.messages(), answer.report["verdict"]) == (2, [], "undetermined")
    assert answer.report["summary"]["not_judged"] == ["compose_rot6d_delta"]
    assert answer.report["ledger"]["missing"] > 0


EULER = HEAD + "def euler_to_matrix(angles):\n    return sound.euler_to_matrix(angles, 'ZYX')\n"
ORDER = '[[geometry.function]]\nname = "euler_to_matrix"\norder = "{}"\n'


@refused("Euler angles about the fixed axes where the moving axes are declared", "RP884, exit 1")
def test_a_declared_order_is_exact(geometry: Geometry) -> None:
    """Fixed axes taken for moving ones are right in the rest pose, and wrong in every turn about two axes."""
    assert geometry(EULER, toml=ORDER.format("ZYX")).status == 0
    answer = geometry(EULER, toml=ORDER.format("zyx"))
    assert answer.status == 1
    assert answer.messages() == [
        "RP884 euler_to_matrix computes R = Rz(a) · Ry(b) · Rx(c); its order is zyx (declared)"
    ]


@passes("an Euler order declared for a function that takes it as an argument, in small letters only")
def test_a_declared_order_is_passed_to_the_function(geometry: Geometry) -> None:
    """Whether a function spells its axes with capitals says nothing of the axes that it turns about."""
    text = HEAD + (
        "def euler_to_matrix(angles, order='xyz'):\n    assert order in ('xyz', 'zyx')\n"
        "    return sound.euler_to_matrix(angles, order.upper())\n"
    )
    assert geometry(text, toml=ORDER.format("ZYX")).status == 0
    assert geometry(text, toml=ORDER.format("YXZ")).status == 2


@passes("a function under a name of its own, with 22 bones in a flat pose, declared in rigpact.toml")
def test_a_declaration_says_role_shape_and_bones(geometry: Geometry) -> None:
    """Studios have names and skeletons of their own; they declare them once."""
    text = HEAD + (
        "def pose_matrices(pose):\n    assert pose.shape[-1] == 132\n"
        "    return sound.rot6d_to_matrix(pose.reshape(*pose.shape[:-1], 22, 6))\n"
    )
    toml = '[[geometry.function]]\nname = "pose_matrices"\nrole = "rot6d_to_matrix"\nshape = "(N, J*)"\nbones = 22\n'
    answer = geometry(text, toml=toml)
    assert (answer.status, answer.messages(), answer.report["ledger"]["missing"]) == (0, [], 0)
    assert geometry(text.replace("sound.rot6d", "-sound.rot6d"), toml=toml).status == 1


@refused("a function that does not take what rigpact.toml declares of it", "RP850 or RP851, exit 1")
def test_a_declared_call_must_give_an_answer(geometry: Geometry) -> None:
    """What is declared is not tried out: the declaration is the contract of the function's callers."""
    toml = '[[geometry.function]]\nname = "so3_log_map"\nshape = "(B, T, J, *)"\n'
    raising = geometry(
        HEAD + "def so3_log_map(R):\n    assert R.ndim == 3\n    return sound.so3_log_map(R)\n", toml=toml
    )
    shapeless = geometry(HEAD + "def so3_log_map(R):\n    return sound.so3_log_map(R).sum(0)\n", toml=toml)
    assert (raising.status, shapeless.status) == (1, 1)
    assert raising.messages()[0].startswith("RP850 so3_log_map raises AssertionError for the declared call")
    assert shapeless.messages()[0].startswith("RP851 so3_log_map returns the shape [7, 5, 3] for the declared call")


@refused(
    "a declaration in rigpact.toml that says nothing that exists, or leaves a function out without a reason",
    "one clear line, exit 2",
)
@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('role = "so3_log"', "'so3_log_map' was meant?"),
        ('shape = "(N, J, 6)"', "one of (N, *); (B, T, J, *)"),
        ('takes = "angle"', "one of axis, angle; angle, axis"),
        ('order = "XYX"', "one of XYZ; "),
        ("bones = 2.5", "a whole number"),
        ('degree = "true"', "'degrees' was meant?"),
        ('role = "none"', "no reason"),
        ('name = "so3_log_mop"', "near it: so3_log_map"),
    ],
    ids=lambda value: value.split(" ")[0] if "=" in value else "",
)
def test_a_declaration_that_leads_nowhere_is_one_clear_line(geometry: Geometry, keys: str, says: str) -> None:
    """A mistyped declaration that is ignored judges the function as something else."""
    name = "" if keys.startswith("name") else 'name = "so3_log_map"\n'
    answer = geometry(HEAD + "so3_log_map = sound.so3_log_map\n", toml=f"[[geometry.function]]\n{name}{keys}\n")
    assert (answer.status, answer.report, answer.err.count("\n")) == (2, {}, 1)
    assert "rigpact.toml: geometry.function[0]" in answer.err
    assert says in answer.err


@passes("a function that rigpact.toml leaves out with a reason", "counts as waived, and is named")
def test_what_is_left_out_is_named(geometry: Geometry) -> None:
    """A function that only looks like a rotation's must not hold up the gate, and must not vanish either."""
    toml = '[[geometry.function]]\nname = "wrap_yaw"\nrole = "none"\nreason = "wraps a texture"\n'
    answer = geometry(HEAD + "so3_log_map = sound.so3_log_map\ndef wrap_yaw(u):\n    return u % 1\n", toml=toml)
    assert answer.status == 0
    assert answer.report["ledger"]["waived"] == 1
    assert answer.report["summary"]["left_out"] == {"wrap_yaw": "wraps a texture"}
