"""An ONNX file as the rules judge it: its signature by onnxruntime, and its graph.

The graph is read first: a model whose weights lie outside its folder is never opened.
"""

from dataclasses import replace
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.graph import ModelGraph, read_model_graph
from rigpact.contract.model.signature import ModelSignature, read_model_signature


def read_model(path: str | Path) -> ModelSignature:
    """Read everything that rules can judge; UnusableInput for a file that is not a model.

    If onnxruntime refuses a model whose file can be read, the result carries the `refusal`; the graph may show the reason.
    """
    graph = read_model_graph(path)
    if not graph.is_contained:
        return _declared_signature(graph, "")
    try:
        return replace(read_model_signature(path), graph=graph)
    except UnusableInput as error:
        if not graph.nodes:  # any bytes can look like an empty model
            raise
        return _declared_signature(graph, error.found)


def _declared_signature(graph: ModelGraph, refusal: str) -> ModelSignature:
    return ModelSignature(graph.path, graph.sha256, graph.inputs, graph.outputs, graph, refusal=refusal)
