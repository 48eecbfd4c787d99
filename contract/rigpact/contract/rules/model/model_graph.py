"""RP420-RP450: what stands inside a model's graph: operators, leftovers of training, clamps.

A game runs with these defects and reports nothing, or the editor imports the model and the build fails. model_weights.py
judges the weights; rigpact.contract.model.graph reads the graph.
"""

from collections.abc import Callable, Iterator, Sequence

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.edges import clamps
from rigpact.contract.model.graph import ModelGraph, Node, TensorSignature
from rigpact.contract.rules.family import Artefacts, Need, family
from rigpact.contract.rules.wording import first_in

OLDEST_OPSET, NEWEST_OPSET = 7, 18
"""onnxruntime promises opset 7 and later; 18 is what the contract's exporter writes and the deployed engine runs."""

MODEL_NOT_LOADABLE = Rule.of("""RP420 error model-not-loadable
    onnxruntime does not load the model: {reason}
    hint: the findings beside this one may say why; else export again and look at the exporter's warnings
    why: the engine's runtime is onnxruntime too: the character does not move""")
OPSET_TOO_OLD = Rule.of("""RP421 error model-opset-too-old
    operator set {found}: onnxruntime promises {limit} and later
    hint: export again with opset 18, or convert with onnx.version_converter
    why: operators changed their meaning since; the same model may give other numbers tomorrow""")
OPSET_TOO_NEW = Rule.of("""RP422 warning model-opset-too-new
    operator set {found}: the contract's exporter writes {limit}
    hint: export with opset_version=18
    why: an engine ships an older onnxruntime than the desk has: the import works here and fails there""")
OPSET_NOT_THE_CONTRACTS = Rule.of("""RP450 warning model-opset-below-contract
    operator set {found}: the contract's exporter writes {limit}
    hint: export with opset_version=18; a converter or an old script wrote this file
    why: the model did not come from the contract's exporter: nobody checked its clamps, names and order, and operators changed
    their meaning in between""")
OPSET_MISSING = Rule.of("""RP423 error model-opset-missing
    the model declares no version of the standard operator set
    hint: export again; a converter or a hand edit lost opset_import
    why: no runtime knows what its operators mean""")
BATCH_AXES_DIFFER = Rule.of("""RP424 warning model-batch-axes-differ
    the inputs' batch axes are not the same: {found}
    hint: give all five inputs one batch axis: 1, or one symbol
    why: it runs with one row; with two, rows of one input meet the single row of another, or the run fails""")
INPUT_UNUSED = Rule.of("""RP425 error model-input-unused
    input {index} ({name}) does not reach the output{how}
    hint: look where the network lost it: a branch that was cut, a detach, a wrong variable in forward()
    why: the character ignores these inputs: the player's command, its feet or its past""")
TRAINING_MODE = Rule.of("""RP426 error model-in-training-mode
    {op} is exported in training mode
    hint: call model.eval() before exporting
    why: dropout makes every frame random, batch normalisation makes it depend on itself: the pose jitters""")
RANDOM_NODE = Rule.of("""RP428 error model-draws-random-numbers
    {op} draws random numbers{more}
    hint: call model.eval() before exporting; take sampling out of forward()
    why: the same inputs give another pose each time: nothing can be reproduced or compared""")
INPUT_CLAMPED = Rule.of("""RP430 info model-input-clamped
    {name} is clamped to [{low:g}, {high:g}] inside the graph
    hint: fine if training clamps as well; otherwise values outside are clipped silently
    why: a near-constant channel reaches such values easily; the engine's trace shows them uncut, the network sees them cut""")
CLAMP_EMPTY = Rule.of("""RP431 error model-clamp-empty
    Clip from {low:g} to {high:g}: the lower bound is not below the upper
    hint: the bounds are swapped, or both were exported as one constant
    why: every number becomes the same: the input no longer matters""")
DOUBLE_PRECISION = Rule.of("""RP432 warning model-double-precision
    float64 inside the graph: {what}{more}
    hint: cast the parameters to float32 before exporting; a Python float or numpy scalar often brings it in
    why: slow on a CPU and refused by GPU runtimes, which then fall back or fail in the build""")
HALF_PRECISION = Rule.of("""RP433 warning model-half-precision
    {dtype} inside the graph: {what}{more}
    hint: export in float32, or record the reference with the same precision
    why: three decimal digits: poses shimmer, and no comparison with the training side can hold its tolerances""")
QUANTISED = Rule.of("""RP434 warning model-quantised
    {op} works on 8-bit numbers{more}
    hint: compare the quantised model with the original before shipping; export in float32 for parity
    why: rounding of a percent: the pose differs from training's, frame after frame in free-run""")
FOREIGN_OPERATOR = Rule.of("""RP435 warning model-operator-not-standard
    {op} is of the domain {domain}, not of the ONNX standard{more}
    hint: export with standard operators; do not save a model that a runtime has optimised
    why: the runtime of the desk may have it, that of the engine or console has not""")
FLOW_CONTROL = Rule.of("""RP445 warning model-has-branches-or-loops
    {op} chooses or repeats at run time{more}
    hint: write it as tensor operations, or fix the choice before exporting
    why: GPU runtimes refuse it, and the time of a frame depends on its input""")
ABOUT_THE_EXPORTER = (OPSET_TOO_NEW, OPSET_NOT_THE_CONTRACTS)
"""What only the exporter of a schema bundle promises: other systems' models have the operator set of their own tools."""

_STANDARD = {"", "ai.onnx"}
_ONLY_SHAPE = {"Shape", "Size"}
_RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
_QUANTISED = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul", "MatMulInteger"}
_BRANCHING = {"If", "Loop", "Scan"}
_CAST_TO = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}


def _check_graph(subject: Artefacts) -> Iterator[Finding]:
    for model in subject.models:
        if model.refusal:
            yield MODEL_NOT_LOADABLE.at(model.path, "", reason=model.refusal)
        if model.graph is not None:
            # the engine of a bundle reads output 0; networks of other contracts may have more outputs than one
            answers = model.graph.outputs[:1] if subject.bundle is not None else model.graph.outputs
            yield from _check_inputs_used(model.graph, [entry.name for entry in answers])
            silent = () if subject.system is None else ABOUT_THE_EXPORTER
            yield from (finding for finding in _check_operators_of(model.graph) if finding.rule not in silent)


FAMILY = family(globals(), (Need.MODEL,), _check_graph)


def _check_operators_of(graph: ModelGraph) -> Iterator[Finding]:
    for check_part in (_check_opset, _check_batch_axes, _check_training_mode, _check_clamps, _check_precision):
        yield from check_part(graph)
    for rule, is_meant in _BY_OPERATOR:
        meant: dict[tuple[str, str], list[Node]] = {}
        for node in (each for each in graph.nodes if is_meant(graph, each)):
            meant.setdefault((node.domain, node.op), []).append(node)
        for (domain, op), nodes in meant.items():
            for first, more in first_in(nodes, "nodes"):
                yield rule.at(graph.path, first.pointer, op=op, domain=domain, more=more)


def _check_opset(graph: ModelGraph) -> Iterator[Finding]:
    found = max((version for domain, version in graph.opsets.items() if domain in _STANDARD), default=None)
    if found is None:
        yield OPSET_MISSING.at(graph.path, "/opset_import")
    elif found < OLDEST_OPSET:
        yield OPSET_TOO_OLD.at(graph.path, "/opset_import", found=found, limit=OLDEST_OPSET)
    elif found != NEWEST_OPSET:
        rule = OPSET_NOT_THE_CONTRACTS if found < NEWEST_OPSET else OPSET_TOO_NEW
        yield rule.at(graph.path, "/opset_import", found=found, limit=NEWEST_OPSET)


def _check_batch_axes(graph: ModelGraph) -> Iterator[Finding]:
    axes = {entry.name: _batch_axis(entry) for entry in graph.inputs if entry.shape}
    if len(set(axes.values())) > 1:
        found = ", ".join(f"{name} {'?' if axis is None else axis}" for name, axis in axes.items())
        yield BATCH_AXES_DIFFER.at(graph.path, "/graph/input", found=found)


def _batch_axis(entry: TensorSignature) -> int | str | None:
    """The first axis; the second one of a history of [frames, 1, numbers]."""
    is_history = len(entry.shape) == 3 and entry.shape[1] == 1 and isinstance(entry.shape[0], int)
    return entry.shape[1] if is_history else entry.shape[0]


def _check_inputs_used(graph: ModelGraph, outputs: Sequence[str]) -> Iterator[Finding]:
    if not outputs:
        return
    values, shapes = _reached(graph, outputs)
    for index, entry in enumerate(graph.inputs):
        if entry.name not in values:
            how = " (only its shape does)" if entry.name in shapes else ""
            yield INPUT_UNUSED.at(graph.path, ("graph", "input", index), index=index, name=entry.name, how=how)


def _reached(graph: ModelGraph, outputs: Sequence[str]) -> tuple[set[str], set[str]]:
    """The names whose values, and those whose shapes only, the outputs depend on."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    values, shapes, waiting = set(outputs), set[str](), list(outputs)
    while waiting:
        node = makers.get(waiting.pop())
        if node is None:
            continue
        read = {*node.inputs, *node.captured}
        if node.op in _ONLY_SHAPE:
            shapes |= read
            continue
        waiting += read - values
        values |= read
    return values, shapes


def _check_training_mode(graph: ModelGraph) -> Iterator[Finding]:
    for node in graph.nodes:
        trains = _TRAINS.get(node.op)
        if trains is not None and trains(graph, node):
            yield TRAINING_MODE.at(graph.path, node.pointer, op=node.op)


def _dropout_trains(graph: ModelGraph, node: Node) -> bool:
    """From opset 12 the third input decides; before 7 the attribute is_test does, which is absent in training."""
    if len(node.inputs) > 2 and node.inputs[2] in graph.weight:
        return any(graph.weight[node.inputs[2]].values)
    return min(graph.opsets.values(), default=OLDEST_OPSET) < OLDEST_OPSET and not node.attributes.get("is_test")


def _normalisation_trains(_graph: ModelGraph, node: Node) -> bool:
    """From opset 14 the attribute decides; before 14, running statistics among the outputs do."""
    return bool(node.attributes.get("training_mode")) or len([name for name in node.outputs if name]) > 1


_TRAINS: dict[str, Callable[[ModelGraph, Node], bool]] = {
    "Dropout": _dropout_trains,
    "BatchNormalization": _normalisation_trains,
}


def _check_clamps(graph: ModelGraph) -> Iterator[Finding]:
    for clamp in clamps(graph):
        bounds = {"low": clamp.low, "high": clamp.high}
        if clamp.low >= clamp.high:
            yield CLAMP_EMPTY.at(graph.path, clamp.pointer, **bounds)
        elif clamp.source:
            yield INPUT_CLAMPED.at(graph.path, clamp.pointer, name=clamp.source, **bounds)


def _check_precision(graph: ModelGraph) -> Iterator[Finding]:
    places: dict[str, list[tuple[str, str]]] = {}
    for weight in graph.weights:
        places.setdefault(weight.dtype, []).append((weight.pointer, f"the weight {weight.name}"))
    for node in graph.nodes:
        if node.op == "Cast":
            dtype = _CAST_TO.get(int(node.attributes.get("to", 0)), "")
            places.setdefault(dtype, []).append((node.pointer, "a Cast"))
    for dtype, rule in (("float64", DOUBLE_PRECISION), ("float16", HALF_PRECISION), ("bfloat16", HALF_PRECISION)):
        for (pointer, what), more in first_in(places.get(dtype, []), "places"):
            yield rule.at(graph.path, pointer, what=what, dtype=dtype, more=more)


_BY_OPERATOR: tuple[tuple[Rule, Callable[[ModelGraph, Node], bool]], ...] = (
    (RANDOM_NODE, lambda _graph, node: node.op in _RANDOM),
    (QUANTISED, lambda _graph, node: node.op in _QUANTISED),
    (FLOW_CONTROL, lambda _graph, node: node.op in _BRANCHING),
    (FOREIGN_OPERATOR, lambda graph, node: node.domain not in _STANDARD | graph.own_domains),
)
