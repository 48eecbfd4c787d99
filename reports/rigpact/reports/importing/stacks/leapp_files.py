"""The files beside a LEAPP YAML: a path of it never leaves its folder, a model is the one whose hash it has."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import is_file, read_bytes
from rigpact.reports.importing.draft import Entry
from rigpact.reports.importing.model_beside import Model, path_inside, read_model_beside
from rigpact.reports.importing.values import Node


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
    model = read_model_beside(path)
    inside = path_inside(path, out)
    if inside is None:
        return Entry(
            {}, (f"LEFT OPEN: file. {path.name} is not in this folder: copy it here, or give it with --onnx",)
        ), model
    return Entry({"file": inside}), model


def refuse_other_names(node: Node, model: Model, inputs: list[str], outputs: list[str]) -> None:
    """UnusableInput where the file's names and the model's differ."""
    for side, names, known in (("inputs", inputs, model.inputs), ("outputs", outputs, model.outputs)):
        other = sorted(set(names) ^ set(known))
        if other:
            place, whose = node.get(side).place, f"{model.path.name}'s {side}"
            raise UnusableInput(
                place, f"{', '.join(names)} ({other[0]} is on one side only)", f"{whose}: {', '.join(known)}"
            )
