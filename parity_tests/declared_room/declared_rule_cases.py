"""One defect a rule of declared contracts, on a sample that is clean without it: four joints, their contract, a model."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files

from ..models import floats, saved
from .samples_of_files import sample

SMALL = sample("two_joints.toml")
STATISTICS = '{"mean": [0.0, 0.0], "std": [0.25, 0.5], "words": ["a"], "empty": []}'

DAMAGES: Mapping[str, Sequence[str]] = yaml.safe_load(sample("damages.yaml"))


def write_small(folder: Path, text: str = SMALL) -> Path:
    """The small contract, or a damaged one, with its statistics beside it."""
    (folder / "stats.json").write_text(STATISTICS, encoding="utf-8")
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    return path


FOUR = sample("four_joints.toml")
MEAN, SPREAD = (tomllib.loads(FOUR)["numbers"][name] for name in ("mean", "spread"))
WIDTH, JOINTS, NORMAL = 17, 4, slice(9, 13)
"""Of `obs`, of `action`; where `normal` stands in `obs`."""
METADATA = {
    "joint_names": "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint", "action_scale": "0.250",
    "default_joint_pos": "0.100,0.150,-0.400,-0.450", "command_names": "twist",
    "observation_names": "base_ang_vel,projected_gravity,command,joint_pos,actions",
    "observation_terms_history_length": "1.000,1.000,1.000,0.000,1.000",
}  # fmt: skip
"""As exporters write it; terms have other names than here."""


@dataclass(frozen=True)
class Network:
    """A small model: metadata, and what stands before and behind its layer, as (operator, numbers)."""

    metadata: dict[str, str]
    before: Sequence[tuple[str, Any]] = ()
    behind: Sequence[tuple[str, Any]] = ()

    def write(self, path: Path) -> Path:
        """Write the file."""
        weights = {"layer": np.full((WIDTH, JOINTS), 0.01), "bias": np.full(JOINTS, 0.02)}
        nodes, last = "", "obs"
        for place, (operator, numbers) in enumerate([*self.before, ("", 0.0), *self.behind]):
            out = f"value_{place}"
            nodes += f"{out} = {operator or 'Gemm'}({last}, {f'number_{place}' if operator else 'layer, bias'}) "
            weights |= {f"number_{place}": np.array(numbers)} if operator else {}
            last = out
        graph = f"({floats('obs', WIDTH)}) => ({floats('actions', JOINTS)}) {{ {nodes} actions = Identity({last}) }}"
        numbers = {name: value.astype(np.float32) for name, value in weights.items()}
        return saved(path, graph, opset=17, said=self.metadata, **numbers)


def said(**changes: str) -> Network:
    return Network({**METADATA, **changes})


def inside(*before: tuple[str, Any], behind: Sequence[tuple[str, Any]] = ()) -> Network:
    return Network(METADATA, before, behind)


def whole(values: Sequence[float], other: float) -> list[float]:
    """Numbers for each number of `obs`: those of `normal`, and another for the rest."""
    full = np.full(WIDTH, other)
    full[NORMAL] = values
    return full.tolist()


SOUND = Network(METADATA)


@dataclass(frozen=True)
class DeclaredCase:
    """A defect: the rule that names it, edits of the text, the model, the place, a part of the message, other rules beside."""

    code: str
    edits: tuple[tuple[str, str], ...]
    pointer: str
    says: str
    model: Network = SOUND
    beside: frozenset[str] = frozenset()

    def findings(self, folder: Path) -> list[dict[str, Any]]:
        """Everything that is said of the damaged sample."""
        text = FOUR
        for old, new in self.edits:
            assert old in text, f"{old} is not in the sample"
            text = text.replace(old, new, 1)
        return findings_of(folder, text, self.model)


def findings_of(folder: Path, text: str, model: Network | None) -> list[dict[str, Any]]:
    """Everything that `rigpact check` says of a contract and a model."""
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    onnx_file = None if model is None else model.write(folder / "policy.onnx")
    report = check_files(CheckRequest([read_document(path)], model=onnx_file))
    return json.loads(json.dumps(report.to_json()["findings"]))


_INSIDE = [("Sub", whole(MEAN, 0.0)), ("Div", whole(SPREAD, 1.0))]
_ALL = [round(0.1 * place + 0.123456, 6) for place in range(WIDTH)]
_MOTOR_Q = '{ name = "motor_q", operation = "select", of = "target", take = "motors" }'
_DELTA = f'{_MOTOR_Q},\n    {{ name = "delta", operation = "affine", of = "motor_q", subtract = "pose" }}'
_HALF = '{ name = "half", operation = "affine", of = "target", scale = 0.5 }'
_POSE = 'pose = { names = "policy", value = [0.1, 0.15, -0.4, -0.45] }'
_SPREAD, _ROUNDED = f"spread = {SPREAD}", "spread = [0.257, 0.315, 0.509, 0.419]"
_MEAN, _OLD = f"mean = {MEAN}", ("scale = 0.25", 'scale = { value = 0.25, wrong = { old = "spread2" } }')
_MOTORS, _SAME_ORDER = (
    f'motors = ["{first}", "right_knee"]'
    for first in ('left_hip", "left_knee", "right_hip', 'left_hip", "right_hip", "left_knee')
)
_PROFILE = ('name = "four_joints"', 'name = "four_joints"\nprofile = "PROFILE"')


def named(profile: str, *edits: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return ((_PROFILE[0], _PROFILE[1].replace("PROFILE", profile)), *edits)


CASES: tuple[DeclaredCase, ...] = (
    DeclaredCase("RP756", named("isaaclab-3"), "/given/1", "wxyz"),
    DeclaredCase("RP757", named("mjlab"), "/stages/6", "level by level"),
    DeclaredCase("RP758", (("mean = [", "joint_ids_map = [0, 2, 1, 3]\nmean = ["),), "/numbers/joint_ids_map",
        "each name of motors", beside=frozenset({"RP762"})),
    DeclaredCase("RP759", ((_SPREAD, _ROUNDED),),
        "/stages/4/std", "0.19%"),
    DeclaredCase("RP760", (
        (_POSE, "pose = [0.1, 0.15, -0.4, -0.45]"),
        (_MOTOR_Q, _DELTA),
    ), "/numbers/pose", "in the order motors"),
    DeclaredCase("RP761", (('of = "joints", subtract', 'of = "q", names = "policy", subtract'),), "/stages/3",
        "in the order motors"),
    DeclaredCase("RP762", (("mean = [", "variance = [0.1, 0.2]\nmean = ["),), "/numbers/variance", "2 numbers"),
    DeclaredCase("RP763", (("lowest = -0.5, highest = 1", "lowest = -1, highest = 1"),), "/stages/1", "lie within"),
    DeclaredCase("RP764", (
        ('{ name = "obs"', '{ name = "again", operation = "normalise", of = "normal", mean = "mean", std = "spread" },\n    '
         '{ name = "obs"'),
        ('"command", "normal"', '"command", "again"'),
    ), "/stages/5", "normal has already"),
    DeclaredCase("RP765", (), "/obs", "normal normalises", inside(*_INSIDE)),
    DeclaredCase("RP766", (('"command", "normal"', '"command", "bent"'), ("mean = [", f"all = {_ALL}\nmean = [")),
        "/numbers/all", "17 numbers", beside=frozenset({"RP762"})),
    DeclaredCase("RP767", (), "/actions", "0.25", inside(behind=[("Mul", 0.25)])),
    DeclaredCase("RP768", (), "/metadata/joint_names", "joint 1 is left_knee",
        said(joint_names="left_hip_joint,left_knee_joint,right_hip_joint,right_knee_joint",
             default_joint_pos="0.100,-0.400,0.150,-0.450")),
    DeclaredCase("RP769", (), "/metadata/action_scale", "0.8%", said(action_scale="0.248")),
    DeclaredCase("RP770", (), "/metadata/rigpact_contract_sha256", "aaaaaaaaaaaa", said(rigpact_contract_sha256="a" * 64)),
    DeclaredCase("RP771", (
        ('pose = { names = "policy"', 'pose = { names = ["hip_l", "hip_r", "knee_l", "knee_r"]'),
    ), "/stages/3/subtract", "hip_l", beside=frozenset({"RP771"})),
    DeclaredCase("RP772", (('name = "gyro",', 'name = "gyro", left_open = ["operation", "space"],'),), "/given/0/left_open/0",
        "nothing computes gyro"),
)  # fmt: skip
DAMAGED = {
    "RP740": "operation_unknown", "RP741": "parameter_missing", "RP742": "of_a_later_stage", "RP743": "carried_of_another_width",
    "RP744": "numbers_in_words", "RP745": "source_absent", "RP746": "choice_unknown", "RP747": "stage_twice",
    "RP748": "network_gives_a_sensor",
}  # fmt: skip
"""Cases of the rules about mistakes, among the damages above."""
OPEN = ("RP749", 'direction = "inverse"\n')
"""A convention that the small contract then leaves open."""


def findings_of_damage(code: str, folder: Path) -> list[dict[str, Any]]:
    """What is said of a damaged small contract."""
    text, replacement = (OPEN[1], "") if code == OPEN[0] else DAMAGES[DAMAGED[code]][:2]
    folder = folder / "sample"  # its name stands in an answer
    folder.mkdir()
    path = write_small(folder, SMALL.replace(text, replacement, 1))
    return json.loads(json.dumps(check_files(CheckRequest([read_document(path)])).to_json()["findings"]))


Edit = Callable[[str], str]
NEAR_MISSES: tuple[tuple[str, str, tuple[tuple[str, str], ...], Network], ...] = (
    ("RP756", "the profile of the sample's own conventions", named("isaaclab-2"), SOUND),
    ("RP756", "another rate under a profile that says none", named("unitree-sdk", ("fps = 50", "fps = 200")), SOUND),
    ("RP757", "joints level by level, as IsaacLab has them", named("isaaclab-2"), SOUND),
    ("RP757", "motors limb by limb, as the SDK has them", named("unitree-sdk"), SOUND),
    ("RP757", "one declared order only", named("mjlab",
        (_MOTORS, _SAME_ORDER)), SOUND),
    ("RP772", "a command that comes from outside", (('low = -1, high = 1', 'low = -1, high = 1, why = "a gamepad"'),), SOUND),
    ("RP758", "numbers that are not an order", (("mean = [0.01234", "mean = [0"),), SOUND),
    ("RP758", "0, 1, 2, 3 without two orders of names", (
        (_MEAN, "mean = [0, 1, 2, 3]"),
        (_MOTORS, _SAME_ORDER)), SOUND),
    ("RP759", "a mean of 0 and a deviation of 1 for most", (
        (_SPREAD, "spread = [1, 1, 1, 0.41927]"),
        (_MEAN, "mean = [0, 0, 0, 0.5]")), SOUND),
    ("RP759", "one number of three digits", (("0.31466", "0.315"),), SOUND),
    ("RP759", "a pose and a factor with two digits", (), SOUND),
    ("RP760", "one number for all joints in two orders", (
        (_POSE, "pose = [0.2, 0.2, 0.2, 0.2]"),
        (_MOTOR_Q, _DELTA)), SOUND),
    ("RP760", "numbers with names in two orders", (
        (_MOTOR_Q, _DELTA),), SOUND),
    ("RP761", "fields with new names", (('subtract = "pose" }', 'subtract = "pose", names = ["a", "b", "c", "d"] }'),), SOUND),
    ("RP762", "numbers that only a start takes", (('start = "zeros"', 'start = "first_action"'),
        ("mean = [", "first_action = [0.1, 0.2, 0.3, 0.4]\nmean = [")), SOUND),
    ("RP762", "one number for each joint that only a wrong reading takes", (
        _OLD,
        ("mean = [", "spread2 = [0.5, 0.25, 0.5, 0.25]\nmean = [")), SOUND),
    ("RP762", "numbers that only a wrong reading takes", (_OLD,
        ("mean = [", "spread2 = [0.5]\nmean = [")), SOUND),
    ("RP763", "a factor of 1 where sides differ",
        (("scale = 0.25", "scale = { value = 1, wrong = { half = 0.5 } }"), ('offset = "pose"', "offset = 0")),
        said(action_scale="1.000", default_joint_pos="0.000,0.000,0.000,0.000")),
    ("RP763", "a second name", (('{ name = "obs"', '{ name = "seen", operation = "affine", of = "normal", scale = 1 },\n    '
         '{ name = "obs"'), ('"command", "normal"', '"command", "seen"')), SOUND),
    ("RP763", "a range that cuts one end", (("lowest = -0.5, highest = 1", "lowest = -1, highest = 0.99"),), SOUND),
    ("RP763", "every field in order, where another order is declared", (('take = "motors"', 'take = "policy"'),), SOUND),
    ("RP764", "two factors that differ", ((_MOTOR_Q, f"{_MOTOR_Q}, {_HALF}"),), SOUND),
    ("RP764", "a sign that is turned round twice", (("scale = 0.25, ", "scale = -1, "),
        (_MOTOR_Q, f"{_MOTOR_Q}, {_HALF.replace('0.5', '-1')}")),
        said(action_scale="-1.000")),
    ("RP765", "a normaliser inside for the other numbers", (),
        inside(("Sub", whole([0.0] * 4, 0.1)), ("Div", whole([1.0] * 4, 0.7)))),
    ("RP765", "a normaliser inside with other numbers", (),
        inside(("Sub", whole([0.3] * 4, 0.1)), ("Div", whole([2.0] * 4, 0.7)))),
    ("RP766", "no statistics at all", (), SOUND),
    ("RP767", "another factor inside", (), inside(behind=[("Mul", 0.5)])),
    ("RP767", "a bias that is as large as the factor", (), inside(behind=[("Add", 0.25)])),
    ("RP768", "a passive joint between", (), said(
        joint_names="left_hip_joint,right_hip_joint,tail_joint,left_knee_joint,right_knee_joint",
        default_joint_pos="0.100,0.150,0.000,-0.400,-0.450")),
    ("RP768", "joints with names that the contract does not have", (), said(joint_names="a,b,c,d")),
    ("RP768", "no metadata", (), Network({})),
    ("RP769", "three decimals of the same number", (("scale = 0.25", "scale = 0.2504"),), SOUND),
    ("RP770", "no stamp", (), SOUND),
    ("RP771", "the names of the fields in another order", (
        (_POSE,
         'pose = { names = "motors", value = [0.1, -0.4, 0.15, -0.45] }'),), SOUND),
)  # fmt: skip
