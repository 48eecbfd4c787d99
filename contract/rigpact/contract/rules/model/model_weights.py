"""RP429, RP436-RP444, RP446: the weights of a model: numbers, places, names.

model_graph.py judges the operators; rigpact.contract.model.graph measures the weights.
"""

import math
from collections import Counter
from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import INPUTS
from rigpact.contract.model.graph import ESCAPES, MISSING, ModelGraph, Weight
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.wording import and_more, first_in, listed

LARGEST_BYTES = 2**31 - 1
"""The largest protobuf message, and so the largest ONNX file."""

WEIGHT_NOT_FINITE = Rule.of("""RP429 error model-weight-not-finite
    {weight}{place} = {value}{more}
    hint: the training run diverged: go back to an earlier checkpoint
    why: every output that it reaches is not a number: the character vanishes""")
EXTERNAL_ESCAPES = Rule.of("""RP436 error model-weights-outside-folder
    {weight} is to be read from {location!r}, outside the model's folder; it was not opened
    hint: save the model again with its weights beside it; do not open models of unknown origin with other tools
    why: such a model reads any file of the machine that loads it""")
EXTERNAL_MISSING = Rule.of("""RP437 error model-weights-missing
    {weight} stands in {location!r}, which is {found}
    hint: copy the weights file with the model, or save both as one file
    why: the model does not load: the character does not move""")
EXTERNAL_WEIGHTS = Rule.of("""RP438 warning model-weights-in-second-file
    {count} weights ({megabytes:.1f} MB) stand in {location!r}
    hint: save as one file (onnx.save with save_as_external_data=False)
    why: the engine imports one file; copied alone, the model does not load""")
TOO_LARGE = Rule.of("""RP439 error model-too-large
    the weights take {found} bytes, one file holds at most {limit}
    hint: a motion network has a few million numbers: was the wrong model, or the optimiser's state, exported?
    why: it cannot be one file, and the engine imports one file""")
WEIGHT_UNUSED = Rule.of("""RP440 warning model-weight-unused
    no node reads {weight} ({shape}){more}
    hint: look whether a part of the network was lost in the export; else remove it
    why: trained numbers that nothing reads are a branch of the network that the character plays without""")
WEIGHT_REPEATED = Rule.of("""RP441 error model-weight-name-repeated
    {count} weights are called {weight}
    hint: export again; a merge of two graphs did not rename
    why: which one counts depends on the runtime""")
INPUT_HAS_DEFAULT = Rule.of("""RP442 error model-input-has-default
    the input {name} has a default value of the same name
    hint: remove the initializer of that name
    why: onnxruntime then does not count it among the inputs: the engine binds the others one place too early""")
WEIGHTS_AS_INPUTS = Rule.of("""RP443 warning model-weights-listed-as-inputs
    {count} weights are listed among the graph's inputs ({names})
    hint: export with keep_initializers_as_inputs=False
    why: a runtime that counts them sees more than five inputs; others cannot fold them into the graph""")
WEIGHT_ALL_ZERO = Rule.of("""RP444 warning model-weight-all-zero
    {weight} ({shape}) is zero throughout
    hint: a layer that was never trained or never loaded; look at the checkpoint's missing keys
    why: whatever goes through that layer does not arrive""")
CONSTANT_INFINITE = Rule.of("""RP446 info model-constant-infinite
    {weight} holds {value}{more}; every way to the output passes {catchers}, which keeps it out
    hint: nothing to do for an attention mask; `rigpact nan` says whether a run gets past it
    why: a mask over every place leaves 0/0: the character vanishes in that frame""")

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
            yield (CONSTANT_INFINITE if catchers else WEIGHT_NOT_FINITE).at(graph.path, weight.pointer, **values)
        elif weight.all_zero and len(weight.shape) > 1:  # a bias of zeros is common
            yield WEIGHT_ALL_ZERO.at(graph.path, weight.pointer, weight=weight.name, shape=_shape(weight))


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
            yield EXTERNAL_ESCAPES.at(graph.path, weight.pointer, **values)
        elif weight.external.problem:
            found = "not there" if weight.external.problem == MISSING else "too short"
            yield EXTERNAL_MISSING.at(graph.path, weight.pointer, found=found, **values)
        else:
            sound.setdefault(weight.external.location, []).append(weight)
    for location, weights in sound.items():
        megabytes = sum(weight.bytes for weight in weights) / 1e6
        said = {"count": len(weights), "megabytes": megabytes, "location": location}
        yield EXTERNAL_WEIGHTS.at(graph.path, weights[0].pointer, **said)
    found_bytes = sum(weight.bytes for weight in graph.weights)
    if found_bytes > LARGEST_BYTES:
        yield TOO_LARGE.at(graph.path, "/graph/initializer", found=found_bytes, limit=LARGEST_BYTES)


def _check_use(graph: ModelGraph) -> Iterator[Finding]:
    read = {name for node in graph.nodes for name in (*node.inputs, *node.captured)}
    unused = [w for w in graph.weights if w.name not in read and w.name not in {entry.name for entry in graph.outputs}]
    # constant folding leaves unused scalars
    for weight, more in first_in([weight for weight in unused if weight.shape], "weights"):
        yield WEIGHT_UNUSED.at(graph.path, weight.pointer, weight=weight.name, shape=_shape(weight), more=more)


def _check_names(graph: ModelGraph) -> Iterator[Finding]:
    for name, count in Counter(weight.name for weight in graph.weights).items():
        if count > 1:
            yield WEIGHT_REPEATED.at(graph.path, graph.weight[name].pointer, weight=name, count=count)
    listed_twice = {index: name for index, name in enumerate(graph.listed) if name in graph.weight}
    for index, name in listed_twice.items():
        if name in INPUTS:
            yield INPUT_HAS_DEFAULT.at(graph.path, ("graph", "input", index), name=name)
    others = [name for name in listed_twice.values() if name not in INPUTS]
    if others:
        yield WEIGHTS_AS_INPUTS.at(graph.path, "/graph/input", count=len(others), names=listed(others))


def _shape(weight: Weight) -> str:
    return " × ".join(map(str, weight.shape)) or "a single number"


FAMILY = family(globals(), (Need.MODEL,), _check_numbers, _check_places, _check_use, _check_names)
