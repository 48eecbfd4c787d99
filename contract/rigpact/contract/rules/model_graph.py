"""RP400-RP450, RP770: what stands inside a model's graph, and how an engine binds its inputs and its output.

A game runs with these defects and reports nothing, or the editor imports the model and the build fails.
rigpact.contract.model.graph reads the graph and measures the weights.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONDITION_WIDTH, CONTACTS, CONTACTS_WIDTH, INPUTS
from rigpact.contract.model.binding import accepted_orders, interchangeable_pairs
from rigpact.contract.model.copies import STAMP
from rigpact.contract.model.edges import clamps
from rigpact.contract.model.graph import ESCAPES, MISSING, ModelGraph, Node, TensorSignature, Weight
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.bundle_view import BundleView, history_length, need
from rigpact.contract.rules.family import Artefacts, Need, Rules
from rigpact.contract.rules.wording import and_more, first_in, listed

rules = Rules("model_graph")


OLDEST_OPSET, NEWEST_OPSET = 7, 18
"""onnxruntime promises opset 7 and later; 18 is what the contract's exporter writes and the deployed engine runs."""


ABOUT_THE_EXPORTER = (rules.OPSET_TOO_NEW, rules.OPSET_NOT_THE_CONTRACTS)
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
            yield rules.MODEL_NOT_LOADABLE.at(model.path, "", reason=model.refusal)
        if model.graph is not None:
            # the engine of a bundle reads output 0; networks of other contracts may have more outputs than one
            answers = model.graph.outputs[:1] if subject.bundle is not None else model.graph.outputs
            yield from _check_inputs_used(model.graph, [entry.name for entry in answers])
            silent = () if subject.system is None else ABOUT_THE_EXPORTER
            yield from (finding for finding in _check_operators_of(model.graph) if finding.rule not in silent)


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
        yield rules.OPSET_MISSING.at(graph.path, "/opset_import")
    elif found < OLDEST_OPSET:
        yield rules.OPSET_TOO_OLD.at(graph.path, "/opset_import", found=found, limit=OLDEST_OPSET)
    elif found != NEWEST_OPSET:
        rule = rules.OPSET_NOT_THE_CONTRACTS if found < NEWEST_OPSET else rules.OPSET_TOO_NEW
        yield rule.at(graph.path, "/opset_import", found=found, limit=NEWEST_OPSET)


def _check_batch_axes(graph: ModelGraph) -> Iterator[Finding]:
    axes = {entry.name: _batch_axis(entry) for entry in graph.inputs if entry.shape}
    if len(set(axes.values())) > 1:
        found = ", ".join(f"{name} {'?' if axis is None else axis}" for name, axis in axes.items())
        yield rules.BATCH_AXES_DIFFER.at(graph.path, "/graph/input", found=found)


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
            yield rules.INPUT_UNUSED.at(graph.path, ("graph", "input", index), index=index, name=entry.name, how=how)


def _reached(graph: ModelGraph, outputs: Sequence[str]) -> tuple[set[str], set[str]]:
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
            yield rules.TRAINING_MODE.at(graph.path, node.pointer, op=node.op)


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
            yield rules.CLAMP_EMPTY.at(graph.path, clamp.pointer, **bounds)
        elif clamp.source:
            yield rules.INPUT_CLAMPED.at(graph.path, clamp.pointer, name=clamp.source, **bounds)


def _check_precision(graph: ModelGraph) -> Iterator[Finding]:
    places: dict[str, list[tuple[str, str]]] = {}
    for weight in graph.weights:
        places.setdefault(weight.dtype, []).append((weight.pointer, f"the weight {weight.name}"))
    for node in graph.nodes:
        if node.op == "Cast":
            dtype = _CAST_TO.get(int(node.attributes.get("to", 0)), "")
            places.setdefault(dtype, []).append((node.pointer, "a Cast"))
    for dtype, rule in (
        ("float64", rules.DOUBLE_PRECISION),
        ("float16", rules.HALF_PRECISION),
        ("bfloat16", rules.HALF_PRECISION),
    ):
        for (pointer, what), more in first_in(places.get(dtype, []), "places"):
            yield rule.at(graph.path, pointer, what=what, dtype=dtype, more=more)


_BY_OPERATOR: tuple[tuple[Rule, Callable[[ModelGraph, Node], bool]], ...] = (
    (rules.RANDOM_NODE, lambda _graph, node: node.op in _RANDOM),
    (rules.QUANTISED, lambda _graph, node: node.op in _QUANTISED),
    (rules.FLOW_CONTROL, lambda _graph, node: node.op in _BRANCHING),
    (rules.FOREIGN_OPERATOR, lambda graph, node: node.domain not in _STANDARD | graph.own_domains),
)


LARGEST_BYTES = 2**31 - 1
"""The largest protobuf message, and so the largest ONNX file."""


_CATCHES: dict[str, frozenset[float]] = {
    **dict.fromkeys(("Softmax", "Max", "Relu", "Exp"), frozenset({-math.inf})),
    "Min": frozenset({math.inf}),
    **dict.fromkeys(("Clip", "Tanh", "Sigmoid", "HardSigmoid"), frozenset({-math.inf, math.inf})),
    **dict.fromkeys(("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "IsInf"), frozenset({-math.inf, math.inf})),
}  # fmt: skip
"""The operators whose output is finite for that infinity, if another number stands beside it where they choose."""
_HANDS_ON = frozenset({
    "Identity", "Cast", "Where", "Add", "Expand", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Slice", "Gather",
    "Tile", "Concat", "Trilu", "Pad", "ScatterND", "ScatterElements", "ConstantOfShape",
})  # fmt: skip
"""The operators that put an infinity among other numbers, and compute nothing from it but its sum with a finite one."""


def _check_numbers(graph: ModelGraph) -> Iterator[Finding]:
    for weight in graph.weights:
        bad = weight.not_finite
        if bad is not None:
            place = f"[{', '.join(map(str, bad.index))}]" if bad.index else ""  # a single number has no index
            more, catchers = and_more(bad.count - 1, "in the same weight"), listed(sorted(_catchers(graph, weight)))
            values = {"weight": weight.name, "value": bad.value, "more": more, "place": place, "catchers": catchers}
            yield (rules.CONSTANT_INFINITE if catchers else rules.WEIGHT_NOT_FINITE).at(
                graph.path, weight.pointer, **values
            )
        elif weight.all_zero and len(weight.shape) > 1:  # a bias of zeros is common
            yield rules.WEIGHT_ALL_ZERO.at(graph.path, weight.pointer, weight=weight.name, shape=_shape(weight))


def _catchers(graph: ModelGraph, weight: Weight) -> set[str]:
    """The operators that keep a weight's infinity from the output; empty if one way to it is open, or for a NaN."""
    bad = weight.not_finite
    if bad is None or not bad.is_mask:
        return set()
    found, waiting, seen = set[str](), [weight.name], {weight.name}
    ends = {entry.name for entry in graph.outputs}
    while waiting:
        name = waiting.pop()
        readers = [node for node in graph.nodes if name in (*node.inputs, *node.captured)]
        if name in ends:
            return set()
        for node in readers:
            if bad.value in _CATCHES.get(node.op, ()):
                found.add(node.op)
            elif node.op in _HANDS_ON:
                waiting += set(node.outputs) - seen
                seen |= set(node.outputs)
            else:
                return set()
    return found


def _check_places(graph: ModelGraph) -> Iterator[Finding]:
    sound: dict[str, list[Weight]] = {}
    for weight in graph.weights:
        if weight.external is None:
            continue
        values = {"weight": weight.name, "location": weight.external.location}
        if weight.external.problem == ESCAPES:
            yield rules.EXTERNAL_ESCAPES.at(graph.path, weight.pointer, **values)
        elif weight.external.problem:
            found = "not there" if weight.external.problem == MISSING else "too short"
            yield rules.EXTERNAL_MISSING.at(graph.path, weight.pointer, found=found, **values)
        else:
            sound.setdefault(weight.external.location, []).append(weight)
    for location, weights in sound.items():
        megabytes = sum(weight.bytes for weight in weights) / 1e6
        said = {"count": len(weights), "megabytes": megabytes, "location": location}
        yield rules.EXTERNAL_WEIGHTS.at(graph.path, weights[0].pointer, **said)
    found_bytes = sum(weight.bytes for weight in graph.weights)
    if found_bytes > LARGEST_BYTES:
        yield rules.TOO_LARGE.at(graph.path, "/graph/initializer", found=found_bytes, limit=LARGEST_BYTES)


def _check_use(graph: ModelGraph) -> Iterator[Finding]:
    read = {name for node in graph.nodes for name in (*node.inputs, *node.captured)}
    unused = [w for w in graph.weights if w.name not in read and w.name not in {entry.name for entry in graph.outputs}]
    # constant folding leaves unused scalars
    for weight, more in first_in([weight for weight in unused if weight.shape], "weights"):
        yield rules.WEIGHT_UNUSED.at(graph.path, weight.pointer, weight=weight.name, shape=_shape(weight), more=more)


def _check_names(graph: ModelGraph) -> Iterator[Finding]:
    for name, count in Counter(weight.name for weight in graph.weights).items():
        if count > 1:
            yield rules.WEIGHT_REPEATED.at(graph.path, graph.weight[name].pointer, weight=name, count=count)
    listed_twice = {index: name for index, name in enumerate(graph.listed) if name in graph.weight}
    for index, name in listed_twice.items():
        if name in INPUTS:
            yield rules.INPUT_HAS_DEFAULT.at(graph.path, ("graph", "input", index), name=name)
    others = [name for name in listed_twice.values() if name not in INPUTS]
    if others:
        yield rules.WEIGHTS_AS_INPUTS.at(graph.path, "/graph/input", count=len(others), names=listed(others))


def _shape(weight: Weight) -> str:
    return " × ".join(map(str, weight.shape)) or "a single number"


FAMILY = rules.family("FAMILY", (Need.MODEL,), _check_graph, _check_numbers, _check_places, _check_use, _check_names)


# RP400-RP414, RP770: whether the engine can bind the model's inputs and use its output, and the contract it was stamped for.
_RANK = 2


def _of_the_engine(subject: Artefacts) -> ModelSignature:
    """The model; `Unread` where it is one of something else, which no engine binds so."""
    model = need(subject.model)
    names = {each.name for each in model.inputs}
    return need(model, when=subject.bundle is not None or not names.isdisjoint(INPUTS))


def _check_inputs(subject: Artefacts) -> Iterator[Finding]:
    model, view = _of_the_engine(subject), subject.view
    names, place = [entry.name for entry in model.inputs], "/graph/input"
    if len(names) != len(INPUTS):
        # an exporter drops inputs that no node uses
        missing = [name for name in INPUTS if name not in names]
        pruned = f"; {', '.join(missing)} missing" if len(missing) == len(INPUTS) - len(names) else ""
        yield rules.INPUT_COUNT_DIFFERS.at(model.path, place, found=len(names), names=listed(names, shown=8) + pruned)
        return
    # all inputs in another order are one defect (RP402), not five wrong widths
    is_reordered = sorted(names) == sorted(INPUTS)
    if is_reordered and names != list(INPUTS):
        yield rules.INPUTS_OUT_OF_ORDER.at(model.path, place, found=", ".join(names), expected=", ".join(INPUTS))
    roles = names if is_reordered else INPUTS
    widths = _expected_widths(view, history_length(subject.auxiliaries)) if view else {}
    for index, (entry, role) in enumerate(zip(model.inputs, roles, strict=True)):
        if entry.name != role:
            yield rules.INPUT_NAME_DIFFERS.at(
                model.path, f"{place}/{index}", index=index, found=entry.name, expected=role
            )
        values = {"index": index, "name": entry.name, "shape": _shape_of_model(entry)}
        frame = 6 * (view.bone_count or 0) if view is not None and role == "pose_hist" else 0
        for rule, numbers in _input_defects(entry, widths.get(role), frame):
            yield rule.at(model.path, f"{place}/{index}", **values | numbers)
    taken = {role: entry.width or widths.get(role) for entry, role in zip(model.inputs, roles, strict=True)}
    pairs = interchangeable_pairs(taken)
    if pairs:
        said = "; ".join(f"{first} and {second} are both {taken[first]} wide" for first, second in pairs)
        yield rules.INPUTS_INTERCHANGEABLE.at(model.path, place, pairs=said, accepted=len(accepted_orders(taken)))


def _input_defects(
    entry: TensorSignature, expected: int | None, frame: int
) -> Iterator[tuple[Rule, dict[str, object]]]:
    """Yield rule and numbers; frame: the width of a frame of the pose history, 0 of another input."""
    if entry.dtype != "float32":
        yield rules.INPUT_DTYPE_DIFFERS, {"found": entry.dtype}
    if len(entry.shape) != _RANK:
        yield rules.INPUT_RANK_DIFFERS, {}
    elif isinstance(entry.shape[0], int) and entry.shape[0] != 1:
        yield rules.INPUT_BATCH_FIXED, {"found": entry.shape[0]}
    if entry.width is None and len(entry.shape) == _RANK:
        yield rules.INPUT_WIDTH_DYNAMIC, {}
    if entry.width is not None and expected is not None and entry.width != expected:
        missing = entry.width - expected
        action = f"pad it with {missing} zeros" if missing > 0 else f"cut off the last {-missing} numbers"
        yield rules.INPUT_WIDTH_DIFFERS, {"found": entry.width, "expected": expected, "action": action}
    if entry.width is not None and frame and entry.width % frame:
        yield rules.HISTORY_WIDTH_NOT_WHOLE, {"found": entry.width, "frame": frame, "bones": frame // 6}


def _expected_widths(view: BundleView, length: int | None) -> dict[str, int | None]:
    """The width of each input by the bundle, None where only the network knows it. It does not fail on a broken bundle."""
    state, bones = view.state, view.bone_count
    return {
        "state": state.width if state else None,
        "cond": CONDITION_WIDTH,
        "contacts": state[CONTACTS].size if state and CONTACTS in state else CONTACTS_WIDTH,
        "angvel": state[ANGULAR_VELOCITIES].size if state and ANGULAR_VELOCITIES in state else None,
        "pose_hist": length * bones * 6 if length and bones else None,
    }


def _check_output(subject: Artefacts) -> Iterator[Finding]:
    model, view = _of_the_engine(subject), subject.view
    if not model.outputs:
        yield rules.OUTPUT_MISSING.at(model.path, "/graph/output")
        return
    output, place = model.outputs[0], ("graph", "output", 0)
    if output.dtype != "float32":
        yield rules.OUTPUT_DTYPE_DIFFERS.at(model.path, place, name=output.name, found=output.dtype)
    if output.width is None:
        yield rules.OUTPUT_WIDTH_DYNAMIC.at(model.path, place, name=output.name, shape=_shape_of_model(output))
    elif view is not None and view.output is not None and output.width != view.output.width:
        values = {"name": output.name, "found": output.width, "expected": view.output.width}
        yield rules.OUTPUT_WIDTH_DIFFERS.at(model.path, place, **values)
    if len(model.outputs) > 1:
        names = listed([entry.name for entry in model.outputs])
        yield rules.SEVERAL_OUTPUTS.at(model.path, "/graph/output", found=len(model.outputs), names=names)


def _shape_of_model(entry: TensorSignature) -> str:
    return f"[{', '.join('?' if axis is None else str(axis) for axis in entry.shape)}]"


BINDING = rules.family("BINDING", (Need.MODEL, Need.POSITIONS), _check_inputs, _check_output)


_HASH_CHARACTERS = 12


def _check_stamp(subject: Artefacts) -> Iterator[Finding]:
    expected = subject.bundle.file.sha256 if subject.bundle is not None else need(need(subject.system).contract).sha256
    for model in subject.models:
        found = expected if model.graph is None else model.graph.metadata.get(STAMP, expected)
        if found != expected:
            values = {"found": found[:_HASH_CHARACTERS], "expected": expected[:_HASH_CHARACTERS]}
            yield rules.OTHER_CONTRACT.at(model.path, ("metadata", STAMP), **values)


STAMPED = rules.family("STAMPED", (Need.MODEL, Need.CONTRACT), _check_stamp)
