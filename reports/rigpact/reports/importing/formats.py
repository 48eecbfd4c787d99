"""Tells the formats apart by what the file holds, and makes the text of the declaration.

To add a format: a row in `_YAML`, or in `_OTHER_ENDINGS` for another kind of file.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.bags import mcap_words
from rigpact.reference_runtime.recordings.named_columns import CLOCK
from rigpact.reference_runtime.recordings.opened import labelled_vectors, open_file
from rigpact.reports.importing import deployed, isaaclab, legged_gym
from rigpact.reports.importing.columns_by_value import FRAMES, Pairing
from rigpact.reports.importing.draft import Draft, Entry, draft_to_toml
from rigpact.reports.importing.values import ImportRequest, Model, PlacedValue, named_file, read_model_beside

# Which column of a recording holds which vector: guessed by numbers, then by names and widths, and marked as a guess
_SAME_WORDS = {
    "position": "pos", "positions": "pos", "velocity": "vel", "velocities": "vel", "quaternion": "quat", "orientation": "quat",
    "rotation": "quat", "observation": "obs", "observations": "obs", "angular": "ang", "linear": "lin", "cmd": "command",
    "torque": "tau", "gyroscope": "gyro", "joints": "joint",
}  # fmt: skip
_SAY_NOTHING = {"data", "value", "values", "robot"}
_OF_ANOTHER_MOMENT = {"last", "previous", "prev", "rel", "raw", "in", "out", "next"}
_ORDERS = {"wxyz": "quaternion_wxyz", "xyzw": "quaternion_xyzw"}
Widths = Mapping[str, int]


def map_columns(draft: Draft, contract: Contract, path: Path) -> None:
    """Write [recordings] of a draft that reads as this contract: by the recorded numbers, then by names and widths."""
    rows = {
        name: each
        for name, (each, _) in labelled_vectors(open_file(path)).items()
        if name not in CLOCK and np.isfinite(each).all()
    }
    vectors = {stage.name: stage.fields(None).width for stage in contract.system.stages}
    fields = _field_names(draft)
    named = _guessed(vectors, {name: int(each.shape[1]) for name, each in rows.items()}, fields)
    count = min((len(each) for each in rows.values()), default=0)
    first = {name: each[: min(count, FRAMES)] for name, each in rows.items()}
    frame = np.arange(min(count, FRAMES))

    def likeness(vector: str, column: str) -> float:
        return _likeness(vector, column, fields.get(vector, ()))

    found = Pairing(contract, first, frame, named, likeness).run()
    _cut(draft, found, contract)
    names: dict[str, str] = {}
    for old in found.misnamed:
        operation = next(entry.table.get("operation") for entry in draft.stages if entry.table["name"] == old)
        names[old] = draft.free_name(f"{old}_{_MADE.get(str(operation), 'made')}")
        draft.rename(old, names[old])
    kept = {vector: column for vector, column in found.columns.items() if vector not in draft.dropped}
    columns = {names.get(vector, vector): column for vector, column in kept.items()}
    draft.recordings = {vector: column for vector, column in columns.items() if vector != column}
    draft.recordings_comments = [f"Guessed from the numbers, names and widths in {path.name}: look at every line."]
    left = [f"{name} ({each.shape[1]})" for name, each in rows.items() if name not in columns.values()]
    if left:
        draft.recordings_comments.append(f"Columns that belong to no vector here: {', '.join(left[:20])}.")
    _take_quaternion_orders(draft, columns, path)


_MADE = {"affine": "scaled", "clip": "clipped", "select": "taken", "rotate": "turned", "history": "frames"}
"""What a stage is called besides, whose name the recording has for another vector."""


def _cut(draft: Draft, found: Pairing, contract: Contract) -> None:
    for name in found.cut:
        entry = next(each for each in draft.stages if each.table["name"] == name)
        table = {key: entry.table[key] for key in ("name", "names", "unit") if key in entry.table}
        size = {} if "names" in table else {"size": contract.fields(name).width}
        draft.stages.remove(entry)
        draft.given.append(Entry({**table, **size}, (f"the recording has {found.columns[name]} in its place",)))
    draft.drop_unused({name for cut in found.cut for name in contract.system.graph[cut].needs})


def _guessed(vectors: Widths, columns: Widths, fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Vector -> column, the best pair first; a pair that another is as good as is left out."""
    fitting = [pair for pair in product(vectors, columns) if vectors[pair[0]] == columns[pair[1]]]
    scores = {(vector, column): _likeness(vector, column, fields.get(vector, ())) for vector, column in fitting}
    found: dict[str, str] = {}
    for pair, score in sorted(scores.items(), key=lambda each: -each[1]):
        equal = [other for other, value in scores.items() if value == score and other != pair]
        free = [other for other in equal if other[0] not in found and other[1] not in found.values()]
        has_rival = any(other[0] == pair[0] or other[1] == pair[1] for other in free)
        if score > 0.0 and pair[0] not in found and pair[1] not in found.values() and not has_rival:
            found[pair[0]] = pair[1]
    return {vector: found[vector] for vector in vectors if vector in found}


def _likeness(vector: str, column: str, fields: Sequence[str]) -> float:
    """Which part of the words two names share; 0 where neither name is a part of the other."""
    if vector == column:
        return 2.0
    own, other = _words(vector), _words(column)
    with_fields = own | {each for field in fields for each in _words(field)}
    if not own or not other:
        return 0.0
    if own <= other and not (other - own) & _OF_ANOTHER_MOMENT:
        return max(len(own & other) / len(own | other), len(with_fields & other) / len(with_fields | other))
    if other <= own and not (own - other) & _OF_ANOTHER_MOMENT:
        return len(other) / len(own) - 0.01  # the longer name of a column says more
    return 0.0


def _words(name: str) -> frozenset[str]:
    parts = re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name)
    lower = [part.lower() for part in parts if part]
    same = [_SAME_WORDS.get(each, each[:-1] if len(each) > 3 and each.endswith("s") else each) for each in lower]
    return frozenset(each for each in same if each not in _SAY_NOTHING)


def _field_names(draft: Draft) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for entry in (*draft.given, *draft.stages):
        names: Any = entry.table.get("names", ())
        listed = draft.names.get(names, ()) if isinstance(names, str) else names
        if 0 < len(listed) <= 4:
            found[entry.table["name"]] = listed
    return found


def _take_quaternion_orders(draft: Draft, guessed: Mapping[str, str], path: Path) -> None:
    """The order of a quaternion, where the name of its column says it: imu_quat_wxyz."""
    for place, entry in enumerate(draft.given):
        column = guessed.get(entry.table["name"], "")
        said = [kind for order, kind in _ORDERS.items() if order in re.split(r"[^a-z]+", column.lower())]
        if entry.table.get("size") == 4 and len(said) == 1:
            table = {key: value for key, value in entry.table.items() if key != "size"}
            comments = [each for each in entry.comments if not each.startswith("LEFT OPEN: kind")]
            comments.append(f"the order is the one that the column {column} of {path.name} names")
            draft.given[place] = Entry({**table, "kind": said[0]}, tuple(comments))


@dataclass(frozen=True)
class Imported:
    """The bytes of a contract, the conventions that it leaves open, and notes."""

    content: bytes
    left_open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def import_contract(request: ImportRequest) -> Imported:
    """The declaration that a foreign file becomes. UnusableInput for a file of no known format."""
    if request.out.suffix.lower() != ".toml":
        hint = "`rigpact convert` writes arrays; torch.onnx.export or onnx.helper makes a model: docs/importing.md"
        raise UnusableInput("-o", request.out.name, "a name that ends in .toml", hint)
    return finished(_OTHER_ENDINGS.get(request.source.suffix.lower(), _yaml_draft)(request), request)


def finished(draft: Draft, request: ImportRequest) -> Imported:
    """The draft as text, read again as every command will read it."""
    if request.fps is not None:
        draft.fps = request.fps
        draft.header = [line for line in draft.header if not line.startswith("LEFT OPEN: fps")]
    declaration = _read_again(draft, request)
    if request.recording is not None:
        map_columns(draft, drafted_contract(draft, request), request.recording)
        declaration = _read_again(draft, request)
    opened = tuple(each.knob for each in declaration.left_open)
    return Imported(draft_to_toml(draft).encode("utf-8"), opened, tuple(draft.notes))


def drafted_contract(draft: Draft, request: ImportRequest) -> Contract:
    """The draft as the contract that it will be, without a file."""
    declaration = _read_again(draft, request)
    system = declaration.system
    if system is None:
        raise UnusableInput(request.source, "a draft of no stage", "a contract")
    conventions = system.conventions(None)
    return Contract(system, request.out, "", system.vectors, conventions, declaration.constants, system.fps)


def _read_again(draft: Draft, request: ImportRequest) -> Declaration:
    """What the draft declares; a mistake in it comes from the file's own names or numbers."""
    declaration = read_declaration(tomllib.loads(draft_to_toml(draft)), request.out.parent)
    if declaration.problems:
        first = declaration.problems[0]
        found = f"{first.found} ({first.pointer} of the contract)"
        raise UnusableInput(request.source, found, first.expected, "no contract was written")
    return declaration


def _onnx_draft(request: ImportRequest) -> Draft:
    hint = "`rigpact init` in a folder with it and a recording drafts a contract from any model"
    file = named_file(request.source, request.out)
    return deployed.metadata_to_draft(read_model_beside(request.source), file, hint)


def _json_draft(request: ImportRequest) -> Draft:
    root, hint = bytes_to_json(read_bytes(request.source), request.source).data, f"known are {_KNOWN}"
    if isinstance(root, Mapping) and root.keys() >= {"type", "input_features", "output_features"}:
        hint = "a LeRobot policy is declared by hand, its statistics read from its files: docs/importing.md, LeRobot"
    raise UnusableInput(request.source, "a file that ends in .json", "a file of a known format", hint)


def _bag_draft(request: ImportRequest) -> Draft:
    said, beside = mcap_words(request.source), request.model
    joints = len(said.get("joint_names", "").split(","))
    inputs, outputs = ({"obs": None}, {"actions": joints}) if beside is None else (beside.inputs, beside.outputs)
    hint = "`rigpact convert BAG -o NAME.npz` takes its topics as columns"
    return deployed.metadata_to_draft(Model(request.source, inputs, outputs, said), request.file, hint)


_YAML: Mapping[str, tuple[str, set[str], Callable[[PlacedValue, ImportRequest], Draft]]] = {
    "deploy.yaml": (
        "unitree_rl_lab's or unitree_rl_mjlab's deploy.yaml", {"joint_ids_map", "observations"}, deployed.deploy_yaml_to_draft,
    ),
    "IO descriptor": ("IsaacLab's IO descriptor", {"articulations", "observations", "actions"}, isaaclab.descriptor_to_draft),
    "env.yaml": (
        "IsaacLab's or mjlab's params/env.yaml", {"observations", "actions", "decimation", "sim"}, isaaclab.dump_to_draft,
    ),
    "g1.yaml": (
        "unitree_rl_gym's g1.yaml", {"kps", "kds", "default_angles", "num_actions", "num_obs"}, legged_gym.deploy_to_draft,
    ),
    "rl_sar": ("rl_sar's config.yaml", {"observations", "rl_kp"}, legged_gym.rl_sar_to_draft),
}  # fmt: skip
"""The formats in YAML: what each is, the keys that tell one, of rl_sar those under its only key, and what makes a draft of it."""
_KNOWN = "; ".join((
    *(f"{title} ({', '.join(sorted(keys))})" for title, keys, _ in _YAML.values()),
    "configuration classes of legged_gym and its kin (.py)",
    "an ONNX file with mjlab's metadata (joint_names, observation_names)",
))  # fmt: skip


def _yaml_draft(request: ImportRequest) -> Draft:
    content = read_bytes(request.source)
    if request.source.suffix.lower() not in (".yaml", ".yml"):
        found, hint = f"a file that ends in {request.source.suffix or 'nothing'}", f"known are {_KNOWN}"
        raise UnusableInput(request.source, found, ".yaml, .yml, .onnx, .py or .mcap", hint)
    root = parse_yaml(content, request.source)
    if not isinstance(root, Mapping):
        found, hint = f"YAML with {type(root).__name__}", "every one of them is a table"
        raise UnusableInput(request.source, found, f"one of {_KNOWN}", hint)
    held = {name: legged_gym.only_table(root) if name == "rl_sar" else root for name in _YAML}
    missing = {name: keys - held[name].keys() for name, (_, keys, _) in _YAML.items()}
    for name, (_, _, draft) in _YAML.items():
        if not missing[name]:
            return draft(PlacedValue(root, request.source), request)
    near = [name for name, (_, keys, _) in _YAML.items() if missing[name] != keys]
    name = min(near, key=lambda each: len(missing[each]), default="")
    hint = (
        f"nearest is {name}, but {', '.join(sorted(missing[name]))} is missing"
        if near
        else "none of their keys is there"
    )
    keys = ", ".join(map(str, list(root)[:8])) or "nothing"
    raise UnusableInput(request.source, f"YAML with {keys}", f"one of {_KNOWN}", hint)


_OTHER_ENDINGS: Mapping[str, Callable[[ImportRequest], Draft]] = {
    ".onnx": _onnx_draft, ".py": legged_gym.classes_to_draft, ".json": _json_draft, ".mcap": _bag_draft,
}  # fmt: skip
"""What reads a file of another ending than YAML's."""
