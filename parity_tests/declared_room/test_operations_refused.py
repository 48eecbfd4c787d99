"""Operations of a declaration that fit no numbers, each refused at its place; readings that change nothing, not offered."""

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from rigpact.contract.declared.vocabulary import RIGPACT, known_operations, origin_of

from ..every_case import every_case
from ..measuring.pages.operations_page import sample_text
from .one_operation import offered
from .test_operations_joints import CHAIN, JOINTS, SIX

HEAD = 'format = "rigpact-contract"\nversion = 1\nname = "one"\n'
Q, W, P = '{ name = "q", kind = "quaternion_wxyz" }', '{ name = "w", size = 3 }', '{ name = "p", size = 4 }'
LEGS = '[names]\nlegs = ["hip_l", "hip_r"]\nother = ["hip_r", "hip_l"]\n'
KP = '[numbers]\nkp = { names = ["hip_l", "knee"], value = [1, 2] }\n'
J = '{ name = "j", names = "legs" }'
BODY = (
    '{ name = "body", fields = [{ name = "hip_pos", kind = "position", unit = "cm" }, '
    '{ name = "hip_turn", kind = "quaternion_xyzw" }, { name = "leg_pos", kind = "position", unit = "cm" }] }'
)
ROTATE = 'operation = "rotate", of = ["q", "v"], direction = "forward"'
RELATIVE = 'operation = "relative", of = ["p", "o", "q"], direction = "into_frame"'
NO_FRAMES = "a rate where no frames a second are said"
REFUSED: dict[str, tuple[str, str, str, str, str]] = {
    # name: (given, the stage's keys, more, place, what the answer says)
    NO_FRAMES: (W, 'operation = "difference", of = "w", rate = "per_second"', "", "/rate", "fps at the top of the file"),
    "vectors of four numbers": (f"{Q}, {P}", 'operation = "rotate", of = ["q", "p"]', "", "/of", "vectors, 3 each"),
    "a vector of two": (Q, 'operation = "rotate", of = "q", vector = [0, 1]', "", "/vector", "2 numbers"),
    "a factor of nothing": (W, 'operation = "affine", of = "w"', "", "/scale", "scale, and offset or subtract"),
    "both constants": (W, 'operation = "affine", of = "w", scale = 2, offset = 1, subtract = 1', "", "/scale", "or subtract"),
    "a mixture of widths": (f"{W}, {P}", 'operation = "blend", of = ["w", "p"], weights = [1, 1]', "", "/of", "one width"),
    "lengths of halves": (P, 'operation = "norm", of = "p"', "", "/of", "vectors of 3"),
    "a function that is not said": (W, 'operation = "squash", of = "w"', "", "/function", "one of"),
    "a function that nobody knows": (W, 'operation = "squash", of = "w", function = "tan"', "", "/function", "one of"),
    "a state and a rate of two widths": (f"{W}, {P}", 'operation = "integrate", of = ["p", "w"]', "", "/of", ""),
    "a turn of two quaternions": (
        f'{{ name = "q", kind = "quaternion_wxyz" }}, {P}', 'operation = "integrate_rotation", of = ["q", "p"]', "",
        "/of", "as many angular velocities",
    ),
    "half a frame": (W, 'operation = "shift", of = "w", frames = 0.5', "", "/frames", "a whole number of frames"),
    "a frame of another age": (W, f'operation = "shift", of = "w", frames = {9**20}', "", "/frames", "at most 65536"),
    "a frame in words": (W, 'operation = "shift", of = "w", frames = true', "", "/frames", "a whole number of frames"),
    "no rotation": (W, 'operation = "convert", of = "w", to = "quaternion_wxyz"', "", "/of", "one kind of"),
    "points of four numbers": (f"{P}, {W}, {Q}", 'operation = "relative", of = ["p", "w", "q"]', "", "/of", "points, 3 each"),
    "a number for a quaternion's field": (Q, 'operation = "constant", of = "q", value = 1', "", "/of", "fields of one number"),
    "no number for a name": (
        J, 'operation = "constant", of = "j", value = "kp"', f"{LEGS}{KP}", "/value", "no number for hip_r",
    ),
    "readings that are not a table": (
        J, 'operation = "select", of = "j", take = "legs", wrong = ["hip_l"]', LEGS, "/wrong", "lists of names",
    ),
    "a reading that is shorter": (
        J, 'operation = "select", of = "j", take = "legs", wrong = { short = ["hip_l"] }', LEGS, "/wrong", "2 names, as take has",
    ),
    "parts of other lengths, interleaved": (
        f'{J}, {{ name = "one", names = ["a"] }}', 'operation = "concatenate", of = ["j", "one"], layout = "interleaved"', LEGS,
        "/of", "as many fields of each vector",
    ),
    "no field of that name": (
        f"{BODY}, {P}", 'operation = "replaced", of = ["body", "p"], taken = ["hip"]', "", "/taken/0", "a field of body",
    ),
    "fields and numbers that do not fit": (
        f"{BODY}, {P}", 'operation = "replaced", of = ["body", "p"], taken = ["leg_pos"]', "", "/of", "3, as the fields",
    ),
    "a place beyond the end": (W, 'operation = "gather", of = "w", places = [0, 3]', "", "/places", "places of 3 numbers"),
    "a view of other numbers": (
        W, 'operation = "gather", of = "w", places = { shape = [2, 2], order = [1, 0] }', "", "/places", "a list, or { shape",
    ),
    "a list in words": (W, 'operation = "gather", of = "w", places = "all"', "", "/places", "places of 3 numbers"),
    "either of two widths": (f"{W}, {P}", 'operation = "either", of = ["w", "p"]', "", "/of", "4 numbers of p"),
    "a matrix of another size": (
        P, 'operation = "linear_map", of = "p", matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]', "", "/matrix", "a part of the stage",
    ),
    "two rows of three": (W, 'operation = "linear_map", of = "w", matrix = [[1, 0, 0], [0, 1, 0]]', "", "/matrix", "n rows"),
    "one number for a matrix": (W, 'operation = "linear_map", of = "w", matrix = 2', "", "/matrix", "n rows of n numbers"),
    "a sign of two": (J, 'operation = "calibrate", of = "j", signs = [2, 1]', LEGS, "/signs", "1 or -1 of each field"),
    "a stranger reversed": (J, 'operation = "calibrate", of = "j", reversed = ["hip_lol"]', LEGS, "/reversed/0", ""),
    "a parent behind its child": (SIX, CHAIN.replace("[-1, 0, 1, 1, 3]", "[-1, 0, 1, 4, 3]"), "", "/parents", "one before it"),
    "a root that is rotations": (SIX, CHAIN.replace('["r", "root"]', '["r", "r"]'), "", "/of", "3: where the root is"),
    "joints without a rotation": (JOINTS, CHAIN.replace('["r", "root"]', '"q"'), "", "/of", "one kind of"),
    **{
        f"joints of the parents {parents}": (SIX, CHAIN.replace("[-1, 0, 1, 1, 3]", parents), "", "/parents", "")
        for parents in ("[0, 0, 1, 1, 3]", "[-1, 0, 1, -1, 3]", "[-1, 0, 0.5, 1, 3]", "[-1, 0, -1e30, 1, 3]")
    },
    **{
        f"counts of {given} that do not meet": (given, stage, "", "/of", "one")
        for given, stage in (
            ('{ name = "q", kind = "quaternion_wxyz", size = 8 }, { name = "v", size = 9 }', ROTATE),
            ('{ name = "q", kind = "quaternion_wxyz", size = 8 }, { name = "v", size = 3 }', ROTATE),
            ('{ name = "a", kind = "quaternion_wxyz", size = 8 }, { name = "b", kind = "quaternion_wxyz", size = 24 }',
             'operation = "compose", of = ["a", "b"], product = "first_second"'),
            (f'{{ name = "p", size = 3 }}, {{ name = "o", size = 6 }}, {Q}', RELATIVE),
            ('{ name = "p", size = 6 }, { name = "o", size = 3 }, { name = "q", kind = "quaternion_wxyz", size = 12 }', RELATIVE),
        )
    },
}  # fmt: skip


@every_case("case", REFUSED)
def test_an_operation_that_fits_no_numbers_is_refused_at_its_place(case, tmp_path, command):
    """Numbers that are cut or repeated until they fit make a contract that no engine can follow."""
    given, stage, more, place, says = REFUSED[case]
    path = tmp_path / "contract.toml"
    fps = "" if case == NO_FRAMES else "fps = 50\n"
    path.write_text(
        f'{HEAD}{fps}given = [{given}]\nstages = [{{ name = "result", {stage} }}]\n{more}', encoding="utf-8"
    )
    answer = command("check", path, "--format", "json")
    errors = [each for each in json.loads(answer.out)["findings"] if each["severity"] == "error"]
    assert answer.status == 1
    assert [(each["pointer"], says in each["message"]) for each in errors] == [(f"/stages/0{place}", True)], errors


@every_case(
    ("name", "key"),
    [
        ("blend", "weights"), ("joint_positions", "offsets"), ("joint_positions", "parents"),
        ("rotate", "vector"),
    ],
)  # fmt: skip
def test_one_number_stands_for_no_table(tmp_path, command, name, key):
    """What is a factor for every joint elsewhere was an internal error where a row of each bone is meant."""
    path, text = tmp_path / "contract.toml", sample_text(name)
    found, replaced = re.subn(rf"\b{key} = (\[[^\[\]]*\]|\[(?:\[[^\[\]]*\],? ?)+\])", f"{key} = 0.5", text)
    assert replaced == 1
    path.write_text(found, encoding="utf-8")
    answer = command("check", path, "--format", "json")
    assert (answer.status, f"/stages/0/{key}" in answer.out) == (1, True), answer.text


AB, X2 = '{ name = "a", size = 2 }, { name = "b", size = 1 }', '{ name = "x", size = 2 }'
HELD = 'operation = "history", start ='
LEFT: tuple[tuple[str, str, Mapping[str, tuple[str, ...]]], ...] = (
    # given, stage, what is left of each knob; of the long ones only the knobs of that kind
    (W, 'operation = "affine", of = "w", scale = 1, offset = 0', {"scale": ("declared", "negated")}),
    (W, 'operation = "affine", of = "w", scale = 1, offset = 2',
     {"scale": ("declared", "negated"), "offset": ("declared", "none", "negated", "twice")}),
    (W, 'operation = "affine", of = "w", scale = -1, offset = 0', {"scale": ("declared", "none")}),
    (W, 'operation = "normalise", of = "w", mean = 0, std = 1', {}),
    (W, 'operation = "clip", of = "w", lowest = -1, highest = 1', {"applied": ("clamped", "none", "low_only", "high_only")}),
    (W, 'operation = "clip", of = "w", highest = 1', {"applied": ("clamped", "none")}),
    (W, 'operation = "squash", of = "w", function = "relu"', {"function": ("relu", "none", "tanh", "sigmoid", "softmax", "exp")}),
    (W, 'operation = "wrap", of = "w", unit_of_angle = "deg", range = "none"', {"range": ("none", "symmetric", "positive")}),
    (W, 'operation = "norm", of = "w", measure = "euclidean", of_each = 1', {"measure": ("euclidean", "squared")}),
    (AB, f'{HELD} "first", of = ["a", "b"], length = 1, layout = "term_major", order = "oldest_first"',
     {"delay": ("none", "one_frame"), "terms": ("as_declared", "a_and_b_exchanged")}),
    (X2, f'{HELD} "zeros", of = "x", length = 2, layout = "frame_major", order = "newest_first"',
     {"layout": ("frame_major", "channel_major"), "order": ("newest_first", "oldest_first"), "start": ("zeros", "first"),
      "delay": ("none", "one_frame")}),
    ('{ name = "s", size = 2 }, { name = "v", size = 2 }', 'operation = "integrate", of = ["s", "v"], step = 1',
     {"step": ("declared", "half_of_it"), "rate_means": ("derivative", "absolute", "negated", "skipped")}),
    ('{ name = "m", kind = "matrix" }', 'operation = "convert", of = "m", to = "rot6d", writes = "columns"',
     {"writes": ("columns", "interleaved", "rows", "columns_exchanged"), "...": ()}),
)  # fmt: skip


@every_case(("given", "stage", "left"), LEFT)
def test_a_reading_that_changes_nothing_is_not_offered(given, stage, left):
    """A convention that is named and changes nothing sends a team to a place where nothing is wrong."""
    found = offered(given, stage)
    if "..." in left:
        found = {key: found.get(key, values[:1]) for key, values in left.items()}
    assert found == left


def test_a_second_is_no_frame_where_both_are_one():
    """At one frame a second a rate is the same either way."""
    found = offered(X2, 'operation = "difference", of = "x", span = "backward", rate = "per_second"', "", 1.0)
    assert found == {"span": ("backward", "forward", "reversed")}


ELSEWHERE = {"constant", "convert", "network"}
"""Judged without a `Subject`: numbers that stand in the contract, forms of rotations against scipy, a model's answer."""


def test_every_operation_has_an_oracle():
    """An operation that only agrees with itself explains an engine with a mistake of its own."""
    judged = set(ELSEWHERE)
    for path in Path(__file__).parent.glob("test_operations_*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for subject in getattr(module, "SUBJECTS", ()):
            judged |= set(re.findall(r'operation = "(\w+)"', subject.stage))
    own = {name for name, each in known_operations().items() if origin_of(name) == RIGPACT and not each.only_on_pages}
    assert own - judged == set()
