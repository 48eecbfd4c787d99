"""One defect a rule of declared contracts, on a sample that is clean without it: four joints, their contract, a model."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files

from ..models import floats, saved
from .samples_of_files import sample

SMALL = sample("two_joints.toml")
STATISTICS = '{"mean": [0.0, 0.0], "std": [0.25, 0.5], "words": ["a"], "empty": []}'

DAMAGES: Mapping[str, tuple[str, str, str, str, str, str]] = {
    # name: (text, its replacement, code, place, a word of what was found, a word of what was expected)
    "another_format": ('"rigpact-contract"', '"rigpact-contrakt"', "", "#", "an object", "declaration"),
    "another_version": ("version = 1", "version = 2", "RP023", "/version", "2", "const 1"),
    "version_as_text": ("version = 1", 'version = "1"', "RP023", "/version", "1", "const 1"),
    "no_name": ('name = "two_joints"\n', "", "RP021", "", "name", "missing"),
    "name_with_blanks": ('"two_joints"', '"Two joints"', "RP023", "/name", "Two joints", "pattern"),
    "name_is_a_number": ('"two_joints"', "7", "RP020", "/name", "7", "string"),
    "fps_is_zero": ("fps = 50", "fps = 0", "RP023", "/fps", "0", "more than 0"),
    "fps_in_words": ("fps = 50", 'fps = "50"', "RP020", "/fps", "50", "number"),
    "fps_is_not_finite": ("fps = 50", "fps = nan", "RP744", "/fps", "nan", "finite"),
    "unknown_section": ("[numbers]", "[number]", "RP740", "/number", "number", "numbers"),
    "names_empty": ('policy = ["hip", "knee"]', "policy = []", "RP022", "/names/policy", "0", "1"),
    "names_of_numbers": ('policy = ["hip", "knee"]', "policy = [1, 2]", "RP020", "/names/policy/0", "1", "string"),
    "name_twice_in_a_list": ('policy = ["hip", "knee"]', 'policy = ["hip", "hip"]', "RP747", "/names/policy", "hip", "once"),
    "numbers_in_words": ("value = [0.1, -0.4]", 'value = ["0.1", "-0.4"]', "RP744", "/numbers/pose", "0.1", "number"),
    "numbers_not_finite": ("limits = [0.5, 1.5]", "limits = [0.5, inf]", "RP744", "/numbers/limits", "inf", "finite"),
    "numbers_ragged": ("limits = [0.5, 1.5]", "limits = [[0.5], [1.5, 2]]", "RP744", "/numbers/limits", "[[0.5]", "number"),
    "numbers_empty": ("limits = [0.5, 1.5]", "limits = []", "RP023", "/numbers/limits", "array of 0", "list of numbers"),
    "numbers_and_names": ("value = [0.1, -0.4]", "value = [0.1]", "RP743", "/numbers/pose", "1 number", "2"),
    "names_of_numbers_unknown": ('names = "policy" }', 'names = "polcy" }', "RP740", "/numbers/pose/names", "polcy", "policy"),
    "source_absent": ('"stats.json"', '"stat.json"', "RP745", "/numbers/spread", "stat.json", "file"),
    "source_outside": ('"stats.json"', '"../stats.json"', "RP745", "/numbers/spread", "../stats.json", "inside"),
    "source_absolute": ('"stats.json"', '"/etc/passwd"', "RP745", "/numbers/spread", "/etc/passwd", "inside"),
    "source_of_a_drive": ('"stats.json"', '"C:\\\\stats.json"', "RP745", "/numbers/spread", "stats.json", "inside"),
    "source_of_no_format": ('"stats.json"', '"stats.txt"', "RP745", "/numbers/spread", "stats.txt", ".json"),
    "source_key_unknown": ('at = "/std"', 'at = "/sdt"', "RP740", "/numbers/spread/at", "/sdt", "std"),
    "source_key_missing": (', at = "/std"', "", "RP745", "/numbers/spread", "nothing", "mean"),
    "source_of_words": ('at = "/std"', 'at = "/words"', "RP744", "/numbers/spread", "a", "number"),
    "source_inside_a_number": ('at = "/std"', 'at = "/std/0/x"', "RP745", "/numbers/spread/at", "/std/0/x", "a path inside"),
    "source_beyond_a_list": ('at = "/std"', 'at = "/std/2"', "RP745", "/numbers/spread/at", "/std/2", "2 is not there"),
    "source_with_a_typo": ('{ file = "stats.json"', '{ fiel = "stats.json"', "RP023", "/numbers/spread", "object", "file"),
    "network_without_inputs": ('inputs = ["obs"]\n', "", "RP021", "/networks/policy", "inputs", "missing"),
    "network_takes_nothing": ('inputs = ["obs"]', "inputs = []", "RP023", "/networks/policy/inputs", "array of 0", "stages"),
    "network_takes_a_stranger": ('inputs = ["obs"]', 'inputs = ["obz"]', "RP740", "/networks/policy/inputs", "obz", "obs"),
    "network_gives_a_stranger": (
        'outputs = ["action"]', 'outputs = ["acton"]', "RP740", "/networks/policy/outputs", "acton", "a",
    ),
    "network_gives_a_sensor": (
        'outputs = ["action"]', 'outputs = ["action", "q"]', "RP748", "/networks/policy/outputs", "q", "network",
    ),
    "network_file_absent": (
        'inputs = ["obs"]', 'file = "no.onnx"\ninputs = ["obs"]', "RP745", "/networks/policy/file", "no.onnx", "file",
    ),
    "recording_of_a_stranger": ('q = "joint_q"', 'qq = "joint_q"', "RP740", "/recordings/qq", "qq", "q"),
    "names_taken_from_nowhere": ('take = "policy"', "take = 5", "RP741", "/stages/1/take", "5", "a list of names"),
    "number_without_value": ("scale = 0.5", "scale = { wrong = { two = 1 } }", "RP741", "/stages/2/scale", "value", "NUMBERS"),
    "given_without_name": ('name = "q"\n', "", "RP021", "/given/0", "name", "missing"),
    "given_without_fields": ('names = "motors"\n', "", "RP741", "/given/0", "q", "size"),
    "given_names_unknown": ('names = "motors"', 'names = "motor"', "RP740", "/given/0/names", "motor", "motors"),
    "given_kind_unknown": ('"quaternion_wxyz"', '"quaternion_wzyx"', "RP740", "/given/1/kind", "wzyx", "quaternion_wxyz"),
    "given_kind_and_size": ('kind = "quaternion_wxyz"', 'kind = "quaternion_wxyz"\nsize = 3', "RP743", "/given/1/size", "3", "4"),
    "given_key_misspelt": ('unit = "rad"', 'units = "rad"', "RP740", "/given/0/units", "units", "unit"),
    "given_range_turned": ('unit = "rad"', "low = 1\nhigh = -1", "RP744", "/given/0", "1", "below"),
    "given_twice": ('name = "tilt"', 'name = "q"', "RP747", "/given/1/name", "q", "own"),
    "carried_unknown": ('carried = "action"', 'carried = "acton"', "RP740", "/given/2/carried", "acton", "action"),
    "carried_of_another_width": ('carried = "action"', 'carried = "gravity"', "RP743", "/given/2/carried", "3", "2"),
    "carried_fields_unknown": (
        'carried = "action"', 'carried = "action"\ncarried_fields = ["hp"]', "RP740", "/given/2/carried_fields", "hp", "hip",
    ),
    "carried_fields_of_nothing": (
        'carried = "action"\nstart = "zeros"', 'carried_fields = "policy"', "RP741", "/given/2/carried", "nothing", "taken over",
    ),
    "start_of_another_width": ('start = "zeros"', "start = [1, 2, 3]", "RP743", "/given/2/start", "3", "2"),
    "start_unknown": ('start = "zeros"', 'start = "zeroes"', "RP740", "/given/2/start", "zeroes", "[numbers]"),
    "operation_unknown": ('operation = "select"', 'operation = "selct"', "RP740", "/stages/1/operation", "selct", "select"),
    "operation_missing": ('operation = "select"\n', "", "RP021", "/stages/1", "operation", "missing"),
    "left_open_of_no_vector": (
        'kind = "quaternion_wxyz"', 'kind = "quaternion_wxyz"\nleft_open = ["word"]', "RP023", "/given/1/left_open/0", "word",
        "operation",
    ),
    "left_open_unknown": (
        'direction = "inverse"', 'direction = "inverse"\nleft_open = ["vector"]',
        "RP740", "/stages/0/left_open/0", "vector", "direction",
    ),
    "of_unknown": ('of = "joints"', 'of = "jonts"', "RP740", "/stages/2/of", "jonts", "joints"),
    "of_a_later_stage": ('of = "joints"', 'of = "normal"', "RP742", "/stages/2/of", "normal", "earlier"),
    "of_too_many": ('of = "joints"', 'of = ["joints", "q"]', "RP741", "/stages/2/of", "2", "1"),
    "of_nothing": ('of = "joints"\n', "", "RP741", "/stages/2/of", "0", "1"),
    "of_a_vector_that_is_no_rotation": ('of = "tilt"', 'of = "q"', "RP743", "/stages/0/of", "2", "4"),
    "parameter_misspelt": ("scale = 0.5", "scael = 0.5", "RP740", "/stages/2/scael", "scael", "scale"),
    "parameter_in_words": ("scale = 0.5", 'scale = "half"', "RP740", "/stages/2/scale", "half", "[numbers]"),
    "parameter_of_another_width": ("scale = 0.5", "scale = [1, 2, 3]", "RP743", "/stages/2/scale", "3", "2"),
    "parameter_missing": ('std = "spread"\n', "", "RP741", "/stages/3/std", "nothing", "std"),
    "field_unknown": ('take = "policy"', 'take = ["hip", "ankle"]', "RP740", "/stages/1/take", "ankle", "knee"),
    "field_taken_twice": ('take = "policy"', 'take = ["hip", "hip"]', "RP747", "/stages/1/take", "twice", "once"),
    "choice_unknown": ('layout = "term_major"', 'layout = "term_maior"', "RP746", "/stages/4/layout", "term_maior", "term_major"),
    "length_not_whole": ("length = 2", "length = 2.5", "RP744", "/stages/4/length", "2.5", "whole"),
    "length_zero": ("length = 2", "length = 0", "RP744", "/stages/4/length", "0", "at least 1"),
    "stage_twice": ('name = "bent"', 'name = "joints"', "RP747", "/stages/2/name", "joints", "own"),
    "answer_without_fields": (
        'operation = "network"\nnames = "policy"', 'operation = "network"', "RP741", "/stages/5", "nothing", "fields",
    ),
    "answer_of_no_network": (
        'outputs = ["action"]', 'outputs = ["target"]', "RP748", "/networks/policy/outputs", "target", "network",
    ),
    "ends_exchanged": ("lowest = -2", "lowest = 3", "RP744", "/stages/6/lowest", "below", "highest"),
    "vector_of_two": ("vector = [0, 0, -1]", "vector = [0, -1]", "RP743", "/stages/0/vector", "2", "3"),
}  # fmt: skip


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
