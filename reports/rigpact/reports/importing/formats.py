"""Tells the formats apart by what the file holds, and makes the text of the declaration.

To add a format: a row in `_YAML`, or in `_OTHER_ENDINGS` for another kind of file.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.other_formats.bvh_files import read_bvh_animation
from rigpact.reference_runtime.recordings.other_formats.mcap_files import mcap_words
from rigpact.reports.importing.animations import animation_to_draft
from rigpact.reports.importing.configurations import env_yaml, legged_gym, rl_sar
from rigpact.reports.importing.draft import Draft
from rigpact.reports.importing.lerobot import is_policy, policy_to_draft
from rigpact.reports.importing.model_beside import Model, named_file, read_model_beside
from rigpact.reports.importing.recording_columns import map_columns
from rigpact.reports.importing.stacks import deploy_yaml, io_descriptor, leapp, mjlab_metadata
from rigpact.reports.importing.toml_text import draft_to_toml
from rigpact.reports.importing.values import Node

KNOWN = (
    "unitree_rl_lab's or unitree_rl_mjlab's deploy.yaml (joint_ids_map, observations)",
    "an ONNX file with mjlab's metadata (joint_names, observation_names)",
    "IsaacLab's IO descriptor (articulations, actions, observations)",
    "IsaacLab's or mjlab's params/env.yaml (sim, decimation, observations, actions)",
    "configuration classes of legged_gym and its kin (.py), unitree_rl_gym's g1.yaml (kps, default_angles)",
    "rl_sar's config.yaml (observations, rl_kp)",
    "LEAPP's YAML (models, pipeline)",
    "a LeRobot policy's config.json (type, input_features)",
    "BVH animations",
)


@dataclass(frozen=True)
class ImportRequest:
    """What to import: the file, where the contract goes, its model, a recording to map, the rate, the file it builds on."""

    source: Path
    out: Path
    onnx: Path | None = None
    recording: Path | None = None
    fps: float | None = None
    base: Path | None = None


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
    model = read_model_beside(request.source)
    if not mjlab_metadata.is_one(model.metadata):
        found = f"a model with {', '.join(sorted(model.metadata)[:8]) or 'no metadata'}"
        missing = ", ".join(key for key in mjlab_metadata.REQUIRED if key not in model.metadata)
        hint = "`rigpact init` in a folder with it and a recording drafts a contract from any model"
        raise UnusableInput(request.source, found, f"mjlab's metadata; {missing} is not there", hint)
    return mjlab_metadata.to_draft(model, named_file(request.source, request.out))


def _robot(make: Callable[[Node, Model | None, Any], Draft]) -> Callable[[Node, ImportRequest], Draft]:
    def draft(root: Node, request: ImportRequest) -> Draft:
        model = None if request.onnx is None else read_model_beside(request.onnx)
        return make(root, model, named_file(request.onnx, request.out))

    return draft


def _policy_draft(request: ImportRequest) -> Draft:
    if not is_policy(bytes_to_json(read_bytes(request.source), request.source).data):
        expected, hint = "a LeRobot policy's config.json", f"known are {'; '.join(KNOWN)}"
        raise UnusableInput(request.source, "a file that ends in .json", expected, hint)
    return policy_to_draft(request.source, request.out, named_file(request.onnx, request.out))


def _bvh_draft(request: ImportRequest) -> Draft:
    return animation_to_draft(request.source, read_bvh_animation(request.source))


def _bag_draft(request: ImportRequest) -> Draft:
    """The declaration that a bag's metadata makes: names, scales and poses that the runtime wrote beside its topics."""
    said = mcap_words(request.source)
    if not mjlab_metadata.is_one(said):
        held = ", ".join(sorted(said)[:8]) or "none"
        hint = "`rigpact convert BAG -o NAME.npz` takes its topics as columns"
        raise UnusableInput(request.source, f"metadata: {held}", f"{', '.join(mjlab_metadata.REQUIRED)}", hint)
    beside = None if request.onnx is None else read_model_beside(request.onnx)
    joints = len(said["joint_names"].split(","))
    inputs, outputs = ({"obs": None}, {"actions": joints}) if beside is None else (beside.inputs, beside.outputs)
    return mjlab_metadata.to_draft(Model(request.source, inputs, outputs, said), named_file(request.onnx, request.out))


def _python_draft(request: ImportRequest) -> Draft:
    root = legged_gym.read_configuration(request.source, request.base)
    return _robot(legged_gym.configuration_to_draft)(root, request)


_YAML: Mapping[Callable[[Any], bool], Callable[[Node, ImportRequest], Draft]] = {
    deploy_yaml.is_one: _robot(deploy_yaml.to_draft),
    io_descriptor.is_one: _robot(io_descriptor.to_draft),
    leapp.is_one: lambda root, request: leapp.to_draft(root, request.out, request.onnx),
    env_yaml.is_one: _robot(env_yaml.to_draft),
    legged_gym.is_deploy: _robot(legged_gym.deploy_to_draft),
    rl_sar.is_one: lambda root, request: _robot(partial(rl_sar.to_draft, base=request.base))(root, request),
}


def _yaml_draft(request: ImportRequest) -> Draft:
    content = read_bytes(request.source)
    if request.source.suffix.lower() not in (".yaml", ".yml"):
        found, hint = f"a file that ends in {request.source.suffix or 'nothing'}", f"known are {'; '.join(KNOWN)}"
        raise UnusableInput(request.source, found, ".yaml, .yml, .onnx, .py, .json, .mcap or .bvh", hint)
    root = parse_yaml(content, request.source)
    for is_one, draft in _YAML.items():
        if is_one(root):
            return draft(Node(root, request.source), request)
    keys = ", ".join(map(str, list(root)[:8])) if isinstance(root, Mapping) else type(root).__name__
    raise UnusableInput(request.source, f"YAML with {keys or 'nothing'}", f"one of {'; '.join(KNOWN)}", _nearest(root))


def _nearest(root: Any) -> str:
    """Which format the keys are nearest to, and what of it is missing."""
    marks = {
        "deploy.yaml": {"joint_ids_map", "observations"}, "IO descriptor": {"articulations", "observations", "actions"},
        "LEAPP": {"models", "pipeline"},
    }  # fmt: skip
    if not isinstance(root, Mapping):
        return "every one of them is a table"
    found = {name: keys - root.keys() for name, keys in marks.items() if keys & root.keys()}
    if not found:
        return "none of their keys is there"
    name = min(found, key=lambda each: len(found[each]))
    return f"nearest is {name}, but {', '.join(sorted(found[name]))} is missing"


_OTHER_ENDINGS: Mapping[str, Callable[[ImportRequest], Draft]] = {
    ".onnx": _onnx_draft, ".py": _python_draft, ".json": _policy_draft, ".mcap": _bag_draft,
    ".bvh": _bvh_draft,
}  # fmt: skip
"""What reads a file of another ending than YAML's."""
