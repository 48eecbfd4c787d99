"""A use of each operation of declared contracts; docs/operations.md shows it with its knobs."""

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.pages.registry import every_system
from rigpact.contract.systems.system import System

_QUATERNION = '{ name = "tilt", kind = "quaternion_wxyz" }'
_VECTOR = '{ name = "v", size = 3 }'
_TURNS = '{ name = "q", names = ["thigh_l", "thigh_r"], size = 4 }'
_JOINTS = '{ name = "q", names = ["left_hip", "right_hip", "left_knee", "right_knee"] }'
# fmt: off
SAMPLES: Mapping[str, tuple[str, str]] = {
    "affine": (_VECTOR, 'of = "v", subtract = [0.1, -0.4, 0], scale = 0.5'),
    "blend": ('{ name = "last", size = 3 }, { name = "new", size = 3 }', 'of = ["last", "new"], weights = [0.2, 0.8]'),
    "clip": (_VECTOR, 'of = "v", lowest = -0.5, highest = 2'),
    "compose": (f'{_QUATERNION}, {{ name = "turn", kind = "quaternion_wxyz" }}',
        'of = ["tilt", "turn"], product = "first_second"'),
    "concatenate": (f"{_VECTOR}, {_QUATERNION}", 'of = ["v", "tilt"]'),
    "copied": (_VECTOR, 'of = "v", bytes = "whole"'),
    "constant": (_JOINTS, 'of = "q", value = [100, 150, 40, 60]'),
    "convert": ('{ name = "pose", kind = "rot6d" }', 'of = "pose", to = "quaternion_xyzw", reads = "columns"'),
    "denormalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4]'),
    "difference": (_VECTOR, 'of = "v", span = "backward", rate = "per_second"'),
    "history": (f"{_VECTOR}, {_QUATERNION}",
        'of = ["v", "tilt"], length = 3, layout = "term_major", order = "oldest_first", start = "first"'),
    "either": (f'{_VECTOR}, {{ name = "w", size = 3 }}', 'of = ["v", "w"]'),
    "gather": ('{ name = "head", size = 12 }', 'of = "head", places = { shape = [6, 2], order = [1, 0], part = [0, 2] }'),
    "integrate": ('{ name = "place", size = 3 }, { name = "velocity", size = 3 }', 'of = ["place", "velocity"]'),
    "integrate_rotation": (f'{_QUATERNION}, {{ name = "rate", kind = "angular_rate" }}', 'of = ["tilt", "rate"], side = "left"'),
    "linear_map": (_VECTOR, 'of = "v", matrix = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]'),
    "network": (_VECTOR, "size = 2"),
    "norm": (_VECTOR, 'of = "v", measure = "euclidean"'),
    "normalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4], epsilon = 0.01'),
    "relative": (f'{{ name = "hand", kind = "position" }}, {{ name = "root", kind = "position" }}, {_QUATERNION}',
        'of = ["hand", "root", "tilt"], direction = "into_frame"'),
    "replaced": (f'{_JOINTS}, {{ name = "knees", size = 2 }}', 'of = ["q", "knees"], taken = ["left_knee", "right_knee"]'),
    "rotate": (_QUATERNION, 'of = "tilt", vector = [0, 0, -1], direction = "inverse"'),
    "select": (_JOINTS, 'of = "q", take = ["right_knee", "left_hip", "left_knee", "right_hip"]'),
    "shift": (_VECTOR, 'of = "v", frames = -1'),
    "range_normalise": (_VECTOR, 'of = "v", mode = "min_max", min = -1, max = [1, 2, 3], mean = 0.1, std = 2'),
    "range_denormalise": (_VECTOR, 'of = "v", mode = "quantiles", q01 = -1, q99 = [1, 2, 3], mean = 0.1, std = 2'),
    "calibrate": (_JOINTS,
        'of = "q", reversed = ["right_hip", "right_knee"], zeros = [0.1, 0, -0.3, 0], direction = "from_robot"'),
    "joint_positions": ('{ name = "turns", names = ["hips", "spine", "head", "hand"], kind = "rot6d" }, { name = "root", '
        'kind = "position" }',
        'of = ["turns", "root"], parents = [-1, 0, 1, 1], offsets = [0, 0, 0, 0, 0, 0.3, 0, 0.1, 0.4, 0.5, 0, 0.2], '
        'reads = "columns", rotations_in = "parent"'),
    "held": (_VECTOR, 'of = "v", every = 2, length = 4'),
    "played": ('{ name = "chunk", size = 8 }', 'of = "chunk", length = 4, every = 2, size = 2'),
    "phase_clock": (_VECTOR, "period = 0.8, first = 1"),
    "switch": (f'{_VECTOR}, {{ name = "w", size = 3 }}, {{ name = "is_w", kind = "flag" }}', 'of = ["v", "w", "is_w"]'),
    "standardise": (_VECTOR, 'of = "v", divisor = "count"'),
    "squash": (_VECTOR, 'of = "v", function = "tanh", scale = 2'),
    "threshold": (_VECTOR, 'of = "v", limit = 0.2, side = "above"'),
    "unit_quaternions": (_TURNS, 'of = "q", normalisation = "unit", sign = "w_not_negative"'),
    "wrap": ('{ name = "angle", size = 1 }', 'of = "angle", unit_of_angle = "rad", range = "symmetric"'),
}
# fmt: on
"""Of each operation: the tables of `given`, and the parameters of the stage."""


def operations() -> str:
    """A section for each operation."""
    own = [each for name, each in known_operations().items() if name in SAMPLES or each.only_on_pages]
    return "\n".join(line for operation in own for line in _section(operation)) + "\n"


def stage_on_a_page(name: str) -> tuple[str, System]:
    """The stage of a hosted system that uses an operation in the fewest words, and the system."""
    found = [
        (table["name"], system)
        for system in every_system()
        for table in tomllib.loads(system.own_page or "stages = []")["stages"]
        if table["operation"] == name
    ]
    if not found:
        raise LookupError(f"no page has the operation {name}")
    return min(found, key=lambda each: len(_said_on_page(*each)))


def _said_on_page(stage: str, system: System) -> str:
    """What a page says of a stage: its line, and its formulas."""
    text = str(system.own_page)
    [line] = re.findall(rf"\n    (\{{ name = \"{stage}\",(?:.|\n    )*?\}}),?\n(?=    [{{#]|\])", text)
    blocks = [each for each in text.split("\n\n") if re.search(rf"(?m)^\[formulas\.{stage}[.\]]", each)]
    return "\n\n".join([line, *blocks])


def sample_contract(name: str) -> Any:
    """The contract that uses an operation once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        path.write_text(sample_text(name), encoding="utf-8")
        return open_contract(path)


def sample_text(name: str) -> str:
    """The text of that contract."""
    given, parameters = SAMPLES[name]
    network = '[networks.policy]\ninputs = ["v"]\noutputs = ["result"]\n' if name == "network" else ""
    head = 'format = "rigpact-contract"\nversion = 1\nname = "sample"\nfps = 50\n'
    return f"{head}given = [{given}]\nstages = [{_stage(name, parameters)}]\n{network}"


def _stage(name: str, parameters: str) -> str:
    return f'{{ name = "result", operation = "{name}", {parameters} }}'


def _section(operation: Operation) -> Iterator[str]:
    yield f"\n## {operation.name}\n\nGives {operation.summary}. Takes {_takes(operation)}.\n"
    if operation.parameters:
        yield "| parameter | meaning |\n|---|---|"
        open_ = dict.fromkeys(operation.choices, "; a convention: left open where it is not said")
        yield from (f"| `{key}` | {meaning}{open_.get(key, '')} |" for key, meaning in operation.parameters.items())
        yield ""
    sample, knobs = _sample(operation)
    yield f"```toml\n{sample}\n```"
    if knobs:
        yield "\n| knob | readings | meaning |\n|---|---|---|"
        for each in knobs:
            declared, *others = (f"`{value}`" for value in each.values)
            yield f"| `{each.name}` | {' '.join([f'**{declared}**', *others])} | {each.meaning} |"


def _sample(operation: Operation) -> tuple[str, Sequence[Knob]]:
    """A use of the operation, and the knobs of this use."""
    if operation.only_on_pages:
        stage, system = stage_on_a_page(operation.name)
        return _said_on_page(stage, system), system.graph[stage].knobs
    given, parameters = SAMPLES[operation.name]
    knobs = tuple(sample_contract(operation.name).system.knobs.values())
    return f"given = [{given}]\nstages = [{_stage(operation.name, parameters)}]", knobs


def _takes(operation: Operation) -> str:
    fewest, most = operation.inputs
    if most == 0 and operation.only_on_pages:
        return "what comes with the clip, or the system's network"
    if most == 0:
        return "what its network takes: `[networks.NAME]` says it"
    if fewest == most:
        return f"{fewest} vector{'s' if fewest > 1 else ''}"
    return f"{fewest} to {most} vectors" if most < 10 else f"{fewest} or more vectors"
