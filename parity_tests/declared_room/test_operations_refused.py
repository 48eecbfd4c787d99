"""Operations of a declaration that fit no numbers, each refused at its place; readings that change nothing, not offered."""

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

import yaml

from rigpact.contract.declared.vocabulary import RIGPACT, known_operations, origin_of

from ..every_case import every_case
from ..measuring.pages.generated_docs import sample_text
from .one_operation import offered
from .samples_of_files import sample
from .test_operations_joints import CHAIN, JOINTS, SIX

HEAD = 'format = "rigpact-contract"\nversion = 1\nname = "one"\n'
W = '{ name = "w", size = 3 }'
WORDS = {
    "Q": '{ name = "q", kind = "quaternion_wxyz" }', "W": W, "P": '{ name = "p", size = 4 }',
    "J": '{ name = "j", names = "legs" }',
    "LEGS": '[names]\nlegs = ["hip_l", "hip_r"]\nother = ["hip_r", "hip_l"]\n',
    "KP": '[numbers]\nkp = { names = ["hip_l", "knee"], value = [1, 2] }\n',
    "BODY": '{ name = "body", fields = [{ name = "hip_pos", kind = "position", unit = "cm" }, '
    '{ name = "hip_turn", kind = "quaternion_xyzw" }, { name = "leg_pos", kind = "position", unit = "cm" }] }',
    "ROTATE": 'operation = "rotate", of = ["q", "v"], direction = "forward"', "SIX": SIX, "JOINTS": JOINTS,
    "RELATIVE": 'operation = "relative", of = ["p", "o", "q"], direction = "into_frame"',
    "OFFSETS": CHAIN[CHAIN.index("offsets = ") :],
}  # fmt: skip
NO_FRAMES = "a rate where no frames a second are said"
REFUSED: dict[str, list[str]] = {
    name: [Template(each).substitute(WORDS) for each in row]
    for name, row in yaml.safe_load(sample("refused_operations.yaml")).items()
}


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
