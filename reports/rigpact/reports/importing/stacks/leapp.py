"""LEAPP's YAML: models, the flow between them, feedback to the next call, initial values.

Scaling, gravity, history and offsets are inside the graph, so the declaration is networks with named inputs and outputs. The
format has no field for a frame, a unit or the order of a quaternion; only the names of elements say it.

A path in it never leaves its folder, and a model is the one whose hash it has.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import is_file, read_bytes
from rigpact.reports.importing.draft import Draft, Entry, word
from rigpact.reports.importing.values import ImportRequest, Model, Node, named_file, path_inside, read_model_beside


def inside_folder(node: Node, folder: Path) -> Path:
    """The file that a value names; UnusableInput where the path leaves the folder."""
    name = node.word()
    inside = PurePosixPath(name.replace("\\", "/"))
    path = folder / inside
    leaves = inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0] or not name.isprintable()
    if leaves or not path.resolve().is_relative_to(folder.resolve()):
        raise node.wrong("a path inside this file's folder")
    return path


def model_of_node(node: Node, yaml: Path, out: Path, onnx: Path | None) -> tuple[Entry, Model | None]:
    """The node's model, checked against the hash that the file has; without it, a comment."""
    parameters = node.get("parameters")
    backend = parameters.get("backend").value
    if backend not in (None, "onnx"):
        raise parameters.get("backend").wrong("onnx: rigpact runs no other models")
    path = onnx
    if path is None and not parameters.get("model_path").is_nothing:
        path = inside_folder(parameters.get("model_path"), yaml.parent)
    if path is None or (onnx is None and not is_file(path)):
        what = path.name if path is not None else "the model"
        return Entry({}, (f"LEFT OPEN: file. {what} was not here: copy it beside this file and write file = …",)), None
    wanted = parameters.get("sha256sum")
    if not wanted.is_nothing and hashlib.sha256(read_bytes(path)).hexdigest() != wanted.word().lower():
        raise wanted.wrong(
            f"the hash of {path.name}", "the YAML and the model are of different exports", found="another sha256"
        )
    return named_file(path, out), read_model_beside(path)


def refuse_other_names(node: Node, model: Model, inputs: list[str], outputs: list[str]) -> None:
    """UnusableInput where the file's names and the model's differ."""
    for side, names, known in (("inputs", inputs, model.inputs), ("outputs", outputs, model.outputs)):
        other = sorted((set(names) ^ set(known)) - set(model.left_out))
        if other:
            found = f"{', '.join(names)} ({other[0]} is on one side only)"
            raise node.get(side).wrong(f"{model.path.name}'s {side}: {', '.join(known)}", found=found)


_QUATERNIONS = {("qx", "qy", "qz", "qw"): "quaternion_xyzw", ("qw", "qx", "qy", "qz"): "quaternion_wxyz"}
_SPACES = {"_b": "body", "_w": "world"}
_UNITS = {"position": "rad", "velocity": "rad/s"}
"""Of joints: IsaacLab's units."""


@dataclass(frozen=True)
class _Tensor:
    """An input or output of a node, and its name among the declaration's vectors."""

    node: str
    name: str
    vector: str
    entry: Node

    @property
    def key(self) -> str:
        return f"{self.node}/{self.name}"

    @property
    def size(self) -> int:
        return prod(self.entry.need("shape", "the tensor's shape").wholes(1))


@dataclass(eq=False)
class _Pipeline:
    """The file while it is read. sources: input -> the output that feeds it in the same call; feedback: at the next one."""

    root: Node
    out: Path
    onnx: Path | None
    draft: Draft
    inputs: dict[str, _Tensor]
    outputs: dict[str, _Tensor]
    sources: dict[str, str]
    feedback: dict[str, str]
    start: Mapping[str, Any] | None
    start_file: str | None
    is_start_said: bool = False


def to_draft(root: Node, request: ImportRequest) -> Draft:
    """The declaration of a LEAPP package; models and initial values are read where they lie beside the YAML."""
    nodes = list(root.need("models", "the nodes of the pipeline").children())
    if not nodes:
        raise root.get("models").wrong("at least one node", found="no node")
    if request.onnx is not None and len(nodes) > 1:
        hint = "the YAML names the model of each node; put them beside it"
        raise UnusableInput("--onnx", request.onnx.name, f"no model for {len(nodes)} nodes", hint)
    draft = Draft.imported(
        root.path.stem,
        root.path.name,
        ". Scaling, gravity, history and offsets are inside the graph.",
        "The format has no field for frames: space follows IsaacLab's names (_b: body, _w: world). Find out whether the engine",
        "gives the same.",
        fallback="pipeline",
    )
    frequency = root.get("pipeline").get("configs").get("frequency")
    if not frequency.is_nothing:
        draft.fps = frequency.number()
        if not 0.0 < draft.fps <= 100_000.0:
            raise frequency.wrong("calls a second")
    inputs, outputs = _tensors(nodes, "inputs"), _tensors(nodes, "outputs")
    taken: set[str] = set()
    named = [{key: _unlike(tensor, taken) for key, tensor in each.items()} for each in (inputs, outputs)]
    flow, back = (_flow(root, key, *named) for key in ("data_flow", "feedback_flow"))
    start = _initial_values(root, request.out)
    pipeline = _Pipeline(root, request.out, request.onnx, draft, named[0], named[1], flow, back, *start)
    for tensor in pipeline.inputs.values():
        _add_given(pipeline, tensor)
    for name, node in nodes:
        _add_node(pipeline, name, node)
    return draft


def _tensors(nodes: list[tuple[str, Node]], side: str) -> dict[str, _Tensor]:
    found: dict[str, _Tensor] = {}
    for node_name, node in nodes:
        for entry in node.need(side, f"the {side} of the node").elements():
            name = entry.need("name", "the name of the tensor").word()
            tensor = _Tensor(node_name, name, word(name, "vector"), entry)
            if tensor.key in found:
                raise entry.get("name").wrong("each name once")
            if entry.get("dtype").value not in (None, "float32"):
                raise entry.get("dtype").wrong("float32, as every stage is", "convert before the export")
            found[tensor.key] = tensor
    return found


def _unlike(tensor: _Tensor, taken: set[str]) -> _Tensor:
    """A vector's name of its own; where two nodes share one, the node's name stands before it."""
    name = tensor.vector
    if name in taken:
        name = word(f"{tensor.node}_{tensor.name}", "vector")
    if name in taken:
        raise tensor.entry.get("name").wrong("a name that differs in more than signs")
    taken.add(name)
    return replace(tensor, vector=name)


def _flow(root: Node, key: str, inputs: dict[str, _Tensor], outputs: dict[str, _Tensor]) -> dict[str, str]:
    """Input -> output of data_flow or feedback_flow."""
    table, found = root.need("pipeline", "the flow between the nodes").get(key), dict[str, str]()
    for source, wanted in [] if table.is_nothing else table.children():
        if source not in outputs:
            raise UnusableInput(wanted.place, f"the output {source}", f"one of {', '.join(list(outputs)[:8])}")
        for each in wanted.elements():
            name = each.word()
            if name not in inputs:
                raise each.wrong(f"one of {', '.join(list(inputs)[:8])}")
            if name in found:
                raise each.wrong("one output for each input", found=f"{name} twice")
            found[name] = source
    return found


def _initial_values(root: Node, out: Path) -> tuple[Mapping[str, Any] | None, str | None]:
    """The arrays of the file of initial values, where it is there, and its path from the declaration."""
    node = root.get("pipeline").get("initial_values")
    path = None if node.is_nothing else inside_folder(node, root.path.parent)
    is_there = path is not None and is_file(path)
    return (read_arrays(read_bytes(path), path), path_inside(path, out)) if path and is_there else (None, None)


def _add_given(pipeline: _Pipeline, tensor: _Tensor) -> None:
    """An input that no node gives in the same call: from outside, or from the call before."""
    if tensor.key in pipeline.sources:
        return
    fields, comments = _fields(tensor, pipeline.draft)
    source = pipeline.feedback.get(tensor.key)
    if source is None:
        pipeline.draft.give(tensor.vector, *comments, **fields)
        return
    start, note = _start(pipeline, tensor)
    carried = pipeline.outputs[source].vector
    pipeline.draft.give(tensor.vector, *comments, *note, **fields, carried=carried, start=start)


def _start(pipeline: _Pipeline, tensor: _Tensor) -> tuple[str | None, tuple[str, ...]]:
    if pipeline.start is not None and tensor.key in pipeline.start:
        array = pipeline.start[tensor.key]
        if array.size != tensor.size:
            place = f"{pipeline.root.path.parent}#{tensor.key}"
            raise UnusableInput(place, f"{array.size} initial values", f"{tensor.size}")
        if not array.any():
            return "zeros", ("zeros, as the file of initial values has",)
        name, in_file = f"start_{tensor.vector}", {"file": pipeline.start_file, "at": tensor.key}
        pipeline.draft.numbers[name] = array.ravel().tolist() if pipeline.start_file is None else in_file
        return name, ()
    if pipeline.start is not None:
        return "zeros", ("not in the file of initial values: zeros",)
    if pipeline.root.get("pipeline").get("initial_values").is_nothing or pipeline.is_start_said:
        return "zeros", ()
    pipeline.is_start_said = True
    note = "LEFT OPEN: start, here and below. The file of initial values was not here: zeros are what the runtime takes then"
    return "zeros", (note,)


def _fields(tensor: _Tensor, draft: Draft) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Names, kind, unit and space of a tensor, as far as the file says them."""
    size, entry = tensor.size, tensor.entry
    kind = entry.get("kind").value if isinstance(entry.get("kind").value, str) else ""
    connection = entry.get("isaaclab_connection").value
    found: dict[str, Any] = {}
    if isinstance(connection, str) and connection[-2:] in _SPACES:
        found["space"] = _SPACES[connection[-2:]]
    if "/joint/" in kind:
        found["unit"] = _UNITS.get(kind.rsplit("/", 1)[-1])
    names = _element_names(entry)
    if names in _QUATERNIONS and size == 4:
        return {"kind": _QUATERNIONS[names], **found}, ()
    if names is None:
        open_order = kind.endswith("/rotation") or kind.endswith("/orientation")
        comment = "LEFT OPEN: kind. Find out the order of the quaternion's components"
        return {"size": size, **found}, (comment,) if open_order and size == 4 else ()
    if len(names) != size:
        comment = f"LEFT OPEN: names. The shape has {size} numbers and the file {len(names)} names ({', '.join(names)})"
        return {"size": size, **found}, (comment,)
    if len(names) <= 4:
        return {"names": list(names), **found}, ()
    of_joints = "joints" if kind.startswith("state/joint/") else "controlled"
    return {"names": draft.list_of(names, of_joints if "joint" in kind else f"names_of_{tensor.vector}"), **found}, ()


def _element_names(entry: Node) -> tuple[str, ...] | None:
    """The names along the only axis that has some; None where no axis has."""
    axes = entry.get("element_names")
    if axes.is_nothing:
        return None
    named = [axis for axis in axes.elements() if not axis.is_nothing]
    return named[0].words() if len(named) == 1 else None


def _add_node(pipeline: _Pipeline, name: str, node: Node) -> None:
    """The outputs of a node as stages, and its network."""
    draft = pipeline.draft
    inputs = {each.name: _source(pipeline, each) for each in pipeline.inputs.values() if each.node == name}
    file, model = model_of_node(node, pipeline.root.path, pipeline.out, pipeline.onnx)
    outputs = {each.name: each for each in pipeline.outputs.values() if each.node == name}
    if model is not None:
        refuse_other_names(node, model, list(inputs), list(outputs))
    for each in outputs.values():
        fields, notes = _fields(each, draft)
        draft.compute(each.vector, "network", None, *notes, **fields)
    bound = {"inputs": inputs, "outputs": {each.name: each.vector for each in outputs.values()}}
    draft.networks[word(name, "network")] = Entry({**file.table, **bound}, file.comments)


def _source(pipeline: _Pipeline, tensor: _Tensor) -> str:
    source = pipeline.sources.get(tensor.key)
    if source is None:
        return tensor.vector
    output = pipeline.outputs[source]
    if output.size != tensor.size:
        raise tensor.entry.wrong(f"{output.size}, as {source} gives", found=f"{tensor.size} numbers")
    return output.vector
