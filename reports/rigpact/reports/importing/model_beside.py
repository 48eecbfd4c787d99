"""The network that belongs to a declaration: its inputs, outputs and metadata, and whether the declaration can name it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from rigpact.reports.importing.draft import Entry


@dataclass(frozen=True)
class Model:
    """A model file: names and widths of its inputs and outputs in order, its metadata.

    left_out: inputs that no output needs, and outputs of constants and copies.
    """

    path: Path
    inputs: Mapping[str, int | None]
    outputs: Mapping[str, int | None]
    metadata: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    @property
    def input_width(self) -> int | None:
        """The width of the only input; None where there are several."""
        return next(iter(self.inputs.values())) if len(self.inputs) == 1 else None

    @property
    def output_width(self) -> int | None:
        """The width of the first output."""
        return next(iter(self.outputs.values()), None)


def input_width(model: Model | None) -> int | None:
    """The width of a model's only input; None where there is no model, or several inputs."""
    return None if model is None else model.input_width


def read_model_beside(path: Path) -> Model:
    """Open a model; UnusableInput where onnxruntime does not load it, or weights lie outside its folder."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.model.graph import read_model_graph
    from rigpact.contract.model.signature import open_session, session_signature

    graph = read_model_graph(path)
    if not graph.is_contained:
        raise UnusableInput(path, "weights that are not in the model's folder", "a model with all its weights")
    session = open_session(path)
    signature = session_signature(session, path)
    outputs = {each.name: _width(each.shape) for each in signature.outputs if not graph.is_copied(each.name)}
    outputs = outputs or {each.name: _width(each.shape) for each in signature.outputs}
    needed = graph.inputs_of(outputs)
    inputs = {each.name: _width(each.shape) for each in signature.inputs if each.name in needed}
    left_out = [each.name for each in (*signature.inputs, *signature.outputs) if each.name not in {**inputs, **outputs}]
    return Model(path, inputs, outputs, dict(session.get_modelmeta().custom_metadata_map), tuple(left_out))


def _width(shape: tuple[int | str | None, ...]) -> int | None:
    """Numbers in one row: every fixed axis, without the batch; an axis alone is the batch."""
    if len(shape) == 1 and not (isinstance(shape[0], int) and shape[0] > 1):
        return 1
    sizes = [size for size in shape if isinstance(size, int)]
    return prod(sizes) if sizes and len(sizes) >= len(shape) - 1 else None


def named_file(path: Path | None, out: Path) -> Entry:
    """The key `file` of a network, where the declaration's folder holds it; else a comment that says what to do."""
    if path is None:
        return Entry({}, ("LEFT OPEN: file. Give the model with --onnx, or copy it beside this file and name it here",))
    inside = path_inside(path, out)
    if inside is None:
        return Entry({}, (f"LEFT OPEN: file. {path.name} is not in this folder: copy it here, or give it with --onnx",))
    return Entry({"file": inside})


def path_inside(path: Path, out: Path) -> str | None:
    """The path of a file from the declaration's folder; None where it lies outside."""
    folder = out.parent.resolve()
    whole = path.resolve()
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else None
