"""docs/operations.md: the vocabulary of declared contracts, from the operations themselves; a use of each shows its knobs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.reference_runtime.files.contracts import ContractFiles, open_contract

_HEAD = """# Operations

A stage of a contract of your own names one of these operations; [own-contract.md](own-contract.md) is the tutorial. Each section
says what the operation takes, its parameters, and a sample use. Below the sample stand the knobs of this use: the readings that
sides confuse. The first value is what the sample declares. `rigpact explain` searches the others. A reading that changes nothing
under a stage's own parameters is not offered, so another use may have fewer knobs.

A parameter of numbers is one number, a list, or a name of `[numbers]`. It may also be a table:
`{ value = 0.2, wrong = { old = 0.25 } }` adds a reading of your own. `knobs = { order = "joint_order" }` gives a knob another
name; stages that name the same knob share it.

This page is generated; `python -m parity_tests.pages.generated_docs` writes it.
"""
_QUATERNION = '{ name = "tilt", kind = "quaternion_wxyz" }'
_VECTOR = '{ name = "v", size = 3 }'
_JOINTS = '{ name = "q", names = ["left_hip", "right_hip", "left_knee", "right_knee"] }'
SAMPLES: Mapping[str, tuple[str, str]] = {
    "affine": (_VECTOR, 'of = "v", subtract = [0.1, -0.4, 0], scale = 0.5'),
    "blend": ('{ name = "last", size = 3 }, { name = "new", size = 3 }', 'of = ["last", "new"], weights = [0.2, 0.8]'),
    "clip": (_VECTOR, 'of = "v", lowest = -0.5, highest = 2'),
    "compose": (
        f'{_QUATERNION}, {{ name = "turn", kind = "quaternion_wxyz" }}',
        'of = ["tilt", "turn"], product = "first_second"',
    ),
    "concatenate": (f"{_VECTOR}, {_QUATERNION}", 'of = ["v", "tilt"]'),
    "constant": (_JOINTS, 'of = "q", value = [100, 150, 40, 60]'),
    "convert": ('{ name = "pose", kind = "rot6d" }', 'of = "pose", to = "quaternion_xyzw", reads = "columns"'),
    "denormalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4]'),
    "difference": (_VECTOR, 'of = "v", span = "backward", rate = "per_second"'),
    "history": (
        f"{_VECTOR}, {_QUATERNION}",
        'of = ["v", "tilt"], length = 3, layout = "term_major", order = "oldest_first", start = "first"',
    ),
    "integrate": ('{ name = "place", size = 3 }, { name = "velocity", size = 3 }', 'of = ["place", "velocity"]'),
    "integrate_rotation": (
        f'{_QUATERNION}, {{ name = "rate", kind = "angular_rate" }}',
        'of = ["tilt", "rate"], side = "left"',
    ),
    "network": (_VECTOR, "size = 2"),
    "norm": (_VECTOR, 'of = "v", measure = "euclidean"'),
    "normalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4], epsilon = 0.01'),
    "relative": (
        f'{{ name = "hand", kind = "position" }}, {{ name = "root", kind = "position" }}, {_QUATERNION}',
        'of = ["hand", "root", "tilt"], direction = "into_frame"',
    ),
    "rotate": (_QUATERNION, 'of = "tilt", vector = [0, 0, -1], direction = "inverse"'),
    "select": (_JOINTS, 'of = "q", take = ["right_knee", "left_hip", "left_knee", "right_hip"]'),
    "shift": (_VECTOR, 'of = "v", frames = -1'),
    "squash": (_VECTOR, 'of = "v", function = "tanh", scale = 2'),
    "threshold": (_VECTOR, 'of = "v", limit = 0.2, side = "above"'),
    "wrap": ('{ name = "angle", size = 1 }', 'of = "angle", unit_of_angle = "rad", range = "symmetric"'),
}
"""Of each operation: the tables of `given`, and the parameters of the stage."""


def operations_page() -> str:
    """docs/operations.md."""
    own = [operation for name, operation in known_operations().items() if name in SAMPLES]
    return _HEAD + "\n".join(line for operation in own for line in _section(operation)) + "\n"


def sample_contract(name: str) -> Any:
    """The contract that uses an operation once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        path.write_text(_sample_text(name), encoding="utf-8")
        return open_contract(ContractFiles(path))


def _sample_text(name: str) -> str:
    given, parameters = SAMPLES[name]
    network = '[networks.policy]\ninputs = ["v"]\noutputs = ["result"]\n' if name == "network" else ""
    head = 'format = "rigpact-contract"\nversion = 1\nname = "sample"\nfps = 50\n'
    return f"{head}given = [{given}]\nstages = [{_stage(name, parameters)}]\n{network}"


def _stage(name: str, parameters: str) -> str:
    return f'{{ name = "result", operation = "{name}", {parameters} }}'


def _section(operation: Operation) -> Iterator[str]:
    contract = sample_contract(operation.name)
    yield f"\n## {operation.name}\n\nGives {operation.summary}. Takes {_takes(operation)}.\n"
    if operation.parameters:
        yield "| parameter | meaning |\n|---|---|"
        yield from (f"| `{key}` | {_meaning(operation, key)} |" for key in operation.parameters)
        yield ""
    given, parameters = SAMPLES[operation.name]
    yield f"```toml\ngiven = [{given}]\nstages = [{_stage(operation.name, parameters)}]\n```"
    knobs = contract.system.knobs.values()
    if knobs:
        yield "\n| knob | readings | meaning |\n|---|---|---|"
        yield from (knob_row(each) for each in knobs)


def _meaning(operation: Operation, key: str) -> str:
    left_open = "; a convention: left open where it is not said" if key in operation.choices else ""
    return f"{operation.parameters[key]}{left_open}"


def _takes(operation: Operation) -> str:
    fewest, most = operation.inputs
    if most == 0:
        return "what its network takes: `[networks.NAME]` says it"
    if fewest == most:
        return f"{fewest} vector{'s' if fewest > 1 else ''}"
    return f"{fewest} to {most} vectors" if most < 10 else f"{fewest} or more vectors"


def knob_row(knob: Knob) -> str:
    """A row of a table of knobs: its readings, the declared one first."""
    declared, *others = (f"`{value}`" for value in knob.values)
    return f"| `{knob.name}` | {' '.join([f'**{declared}**', *others])} | {knob.meaning} |"
