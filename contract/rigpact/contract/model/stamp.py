"""Writes the hash of a contract into a model's metadata, so that `rigpact check` knows which contract the model belongs to."""

from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file, write_bytes
from rigpact.contract.model.graph import open_model

STAMP = "rigpact_contract_sha256"
"""The key of the hash."""


def write_stamped(model: Path, sha256: str, out: Path) -> None:
    """Write the model with the hash; everything else stays byte for byte. Weights in other files are copied beside it."""
    from onnx.helper import set_model_props

    graph = open_model(model)
    if not graph.nodes:  # any bytes can look like an empty model
        raise UnusableInput(model, "a file without nodes", "an ONNX model")
    set_model_props(graph.proto, {**graph.metadata, STAMP: sha256})
    for name, problem in graph.beside.items() if out.resolve().parent != model.resolve().parent else ():
        if problem:
            raise UnusableInput(model, f"weights in {name!r} ({problem})", "weights in a file beside the model")
        target = out.parent / name
        if target.exists():
            raise UnusableInput(target, "a file", "no file: the model's weights go there", "choose another folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(model.parent / name, target)
    write_bytes(out, graph.proto.SerializeToString())
