"""A training side's own functions"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rigpact.reports.command_line import run_command_line

from ..every_case import every_case
from ..geometry_room.planted import IN_NUMPY, PLANTED, STYLES, text_of_style
from .tried import passes, refused, tries

SUBJECTS = Path(__file__).parent.parent / "geometry_room" / "subjects"


class Answer(NamedTuple):
    """The exit status, the JSON answer and what stands on standard error."""

    status: int
    report: dict[str, Any]
    err: str

    def messages(self, severity: str = "error") -> list[str]:
        """The messages of one severity."""
        return [f"{each['code']} {each['message']}" for each in self.report["findings"] if each["severity"] == severity]


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
    return [word for each in STYLES[style] for word in ("--set", each)]


@passes(
    "a training module with flat poses, batches first and `axis_angle_to_matrix(axis, angle)`",
    "all 72 questions judged, no false error",
)
def test_a_training_side_is_judged_as_it_is_written(geometry):
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
def test_a_sound_module_of_any_style_has_no_error(geometry, style):
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
def test_a_planted_defect_is_named_in_every_style(geometry, planted):
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
REST = "sound._turn('X', e[..., 1]) @ sound._turn('Z', e[..., 2])\n"
LOG = "so3_log_map = sound.so3_log_map\n"
EULER = HEAD + "def euler_to_matrix(angles):\n    return sound.euler_to_matrix(angles, 'ZYX')\n"
BY_ORDER = HEAD + (
    "def euler_to_matrix(angles, order='xyz'):\n    assert order in ('xyz', 'zyx')\n"
    "    return sound.euler_to_matrix(angles, order.upper())\n"
)
POSES = HEAD + (
    "def pose_matrices(pose):\n    assert pose.shape[-1] == 132\n"
    "    return sound.rot6d_to_matrix(pose.reshape(*pose.shape[:-1], 22, 6))\n"
)
COMPILED = """import torch

@torch.jit.script
def wrap_to_pi(x):
    return torch.atan2(torch.sin(x), torch.cos(x))
@torch.jit.script
def angvel_from_quat_seq(q, dt: float):
    a, b = q[1:], q[:-1]
    av, aw, bv, bw = a[..., :3], a[..., 3:], -b[..., :3], b[..., 3:]
    v = aw * bv + bw * av + torch.cross(av, bv, dim=-1)
    w = aw * bw - (av * bv).sum(-1, keepdim=True)
    size = (v * v).sum(-1, keepdim=True).clamp_min(1e-30).sqrt()
    return v / size * 2 * torch.atan2(size * torch.sign(w), w.abs()) / dt
@torch.jit.script
def quat_from_angle_axis(angle, axis):
    half = (angle / 2).unsqueeze(-1)
    return torch.cat([axis * half.sin(), half.cos()], dim=-1)
"""


def declared(**keys: object) -> str:
    return "[[geometry.function]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


ZYX, POSE = (
    declared(name="euler_to_matrix", order="ZYX"),
    declared(name="pose_matrices", role="rot6d_to_matrix", shape="(N, J*)", bones=22),
)
FOUR = declared(name="so3_log_map", shape="(B, T, J, *)")
UNSURE = HEAD + LOG
BATCHES = "np.moveaxis(sound.angvel_vec_from_R_seq(np.moveaxis(R_seq, 1, 0), fps), 0, 1)[:, :-1]"
OUT = declared(name="wrap_yaw", role="none", reason="wraps a texture")
SOUND: dict[str, Any] = {"not_judged": []}
ROWS: tuple[tuple[str, str, str, tuple[tuple[str, str, int, str, dict[str, Any]], ...]], ...] = (
    # row of docs/trust.md, then cases: the module, rigpact.toml, exit status, the first message, what the answer holds
    ("passes", "velocities of T - 1 steps, of batches, of flat six numbers, with a period instead of a rate", "passes", (
        (VELOCITY.format("sound.angvel_vec_from_R_seq(R_seq, fps)[:-1]"), "", 0, "", SOUND),
        (VELOCITY.format(BATCHES), "", 0, "", SOUND),
        (HEAD + "def angvel_from_rot6d_seq(x, dt):\n    assert x.ndim == 2\n"
         "    return sound.angvel_from_rot6d_seq(x.reshape(len(x), -1, 6), 1 / dt).reshape(len(x), -1)\n", "", 0, "", SOUND))),
    ("passes", "functions compiled by `torch.jit.script`", "passes", ((COMPILED, "", 0, "", SOUND),)),
    ("passes", "a function whose name has several meanings and computes another one", "said, no error", (
        (UNSURE + "def rotation_vector(R):\n    return R[..., :, 0]\n", "", 0, "RP883", {}),
        (UNSURE + "def compute_angular_velocity(R):\n    return sound.angvel_vec_from_R_seq(R, 1)\n", "", 0, "RP883", {}),
        (UNSURE + "def normalize_angle(x):\n    return x % (2 * np.pi)\n", "", 0, "RP883", {}),
        (UNSURE + "def euler_to_matrix(e):\n    return sound._turn('Z', e[..., 0]) @ " + REST, "", 0, "RP883", {}))),
    ("refused", "a module of which no function can be judged", "undetermined, exit 2", (
        ("def quat_rotate(q, v, frame, world):\n    return v\n\n\ndef rotation_vector(a):\n    raise KeyError(a)\n", "", 2, "",
         {"verdict": "undetermined", "not_judged": ["rotation_vector", "quat_rotate"]}),)),
    ("refused", "a function of the contract that no call of any shape gets an answer from, beside others that are right",
     "undetermined, exit 2", (
        (HEAD + LOG + "def compose_rot6d_delta(prev, delta, skeleton):\n    return prev\n", "", 2, "",
         {"verdict": "undetermined", "not_judged": ["compose_rot6d_delta"]}),)),
    ("refused", "Euler angles about the fixed axes where the moving axes are declared", "RP884, exit 1", (
        (EULER, ZYX, 0, "", {}),
        (EULER, ZYX.replace("ZYX", "zyx"), 1,
         "RP884 euler_to_matrix computes R = Rz(a) · Ry(b) · Rx(c); its order is zyx (declared)", {}))),
    ("passes", "an Euler order declared for a function that takes it as an argument, in small letters only", "passes", (
        (BY_ORDER, ZYX, 0, "", {}), (BY_ORDER, ZYX.replace("ZYX", "YXZ"), 2, "", {}))),
    ("passes", "a function under a name of its own, with 22 bones in a flat pose, declared in rigpact.toml", "passes", (
        (POSES, POSE, 0, "", {"missing": 0}), (POSES.replace("sound.rot6d", "-sound.rot6d"), POSE, 1, "RP", {}))),
    ("refused", "a function that does not take what rigpact.toml declares of it", "RP850 or RP851, exit 1", (
        (HEAD + "def so3_log_map(R):\n    assert R.ndim == 3\n    return sound.so3_log_map(R)\n", FOUR, 1,
         "RP850 so3_log_map raises AssertionError for the declared call", {}),
        (HEAD + "def so3_log_map(R):\n    return sound.so3_log_map(R).sum(0)\n", FOUR, 1,
         "RP851 so3_log_map returns the shape [7, 5, 3] for the declared call", {}))),
    ("passes", "a function that rigpact.toml leaves out with a reason", "counts as waived, and is named", (
        (HEAD + LOG + "def wrap_yaw(u):\n    return u % 1\n", OUT, 0, "",
         {"waived": 1, "left_out": {"wrap_yaw": "wraps a texture"}}),)),
)  # fmt: skip


@tries(row[:3] for row in ROWS)
@every_case(("text", "toml", "status", "message", "holds"), [case for row in ROWS for case in row[3]], ids=lambda _: "")
def test_a_module_is_judged_by_what_it_computes_and_by_what_is_declared(geometry, text, toml, status, message, holds):
    """A false error costs more than an open question, and a question that is passed over is worse than either."""
    if "torch" in text:
        pytest.importorskip("torch")
    answer = geometry(text, toml=toml)
    said = answer.messages("warning" if message == "RP883" else "error")
    assert (answer.status, said[0][: len(message)] if message else said) == (status, message or [])
    assert status == 1 or answer.messages() == []
    held = answer.report["summary"] | answer.report["ledger"] | {"verdict": answer.report["verdict"]}
    assert {key: held[key] for key in holds} == holds


@refused(
    "a declaration in rigpact.toml that says nothing that exists, or leaves a function out without a reason",
    "one clear line, exit 2",
)
@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('role = "so3_log"', "did you mean so3_log_map?"),
        ('shape = "(N, J, 6)"', "one of (N, *); (B, T, J, *)"),
        ('takes = "angle"', "one of axis, angle; angle, axis"),
        ('order = "XYX"', "one of XYZ; "),
        ("bones = 2.5", "a whole number"),
        ('degree = "true"', "did you mean degrees?"),
        ('role = "none"', "no reason"),
        ('name = "so3_log_mop"', "near it: so3_log_map"),
    ],
    ids=lambda value: value.split(" ")[0] if "=" in value else "",
)
def test_a_declaration_that_leads_nowhere_is_one_clear_line(geometry, keys, says):
    """A mistyped declaration that is ignored judges the function as something else."""
    name = "" if keys.startswith("name") else 'name = "so3_log_map"\n'
    answer = geometry(HEAD + "so3_log_map = sound.so3_log_map\n", toml=f"[[geometry.function]]\n{name}{keys}\n")
    assert (answer.status, answer.report, answer.err.count("\n")) == (2, {}, 1)
    assert "rigpact.toml: geometry.function[0]" in answer.err
    assert says in answer.err
