"""RP400-RP414, RP770: whether the engine can bind the model's inputs and use its output, and the contract it was stamped for.

The engine binds five inputs by position and reads no names. Before that, it silently pads or cuts each vector to the
model's width. So these rules judge exactly what the engine does not report. `rigpact codegen --stamp` writes the hash.
"""

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONDITION_WIDTH, CONTACTS, CONTACTS_WIDTH, INPUTS
from rigpact.contract.model.binding import accepted_orders, interchangeable_pairs
from rigpact.contract.model.copies import STAMP
from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.bundle_view import BundleView, history_length, need
from rigpact.contract.rules.family import Artefacts, Need, family
from rigpact.contract.rules.wording import listed

INPUT_COUNT_DIFFERS = Rule.of("""RP400 error model-input-count-differs
    the model has {found} inputs ({names}), the engine binds exactly 5
    hint: export with the inputs state, cond, contacts, angvel, pose_hist; an exporter drops an input that the network does not
    use
    why: the engine refuses the model: the character does not move""")
INPUT_NAME_DIFFERS = Rule.of("""RP401 warning model-input-name-differs
    input {index} is called {found!r}, {expected!r} is bound there
    hint: give the inputs the exporter's names, so that their order can be checked
    why: the engine binds by position: with other names nobody can see that two inputs have changed places""")
INPUTS_OUT_OF_ORDER = Rule.of("""RP402 error model-inputs-out-of-order
    the inputs are {found}, the engine binds {expected} by position
    hint: export them in this order; the names do not help the engine
    why: each vector is padded or cut to the width of the wrong input, silently: the pose is noise""")
INPUT_WIDTH_DIFFERS = Rule.of("""RP403 error model-input-width-differs
    input {index} ({name}) is {found} wide, the bundle says {expected}: the engine would {action}
    hint: model and bundle come from two exports; export both again
    why: the engine pads with zeros or cuts to the model's width silently""")
INPUT_DTYPE_DIFFERS = Rule.of("""RP404 error model-input-dtype-differs
    input {index} ({name}) takes {found}, the engine binds float32
    hint: export in float32; convert half-precision weights inside the graph
    why: the engine hands over the bytes of float32 numbers""")
INPUT_RANK_DIFFERS = Rule.of("""RP405 error model-input-rank-differs
    input {index} ({name}) has the shape {shape}, the engine binds [1, width]
    hint: move reshapes for time or bones into the graph
    why: the engine sets the input's shape to [1, width] and the run fails""")
INPUT_BATCH_FIXED = Rule.of("""RP406 error model-batch-not-one
    input {index} ({name}) has a fixed batch of {found}, the engine binds 1
    hint: export with batch 1 or with a dynamic batch axis
    why: the engine sets the input's shape to [1, width] and the run fails""")
INPUT_WIDTH_DYNAMIC = Rule.of("""RP407 warning model-input-width-dynamic
    the width of input {index} ({name}) is dynamic ({shape})
    hint: only the batch axis should be dynamic; fix the width when exporting
    why: a bundle of another character binds without complaint and fails, or runs, inside the graph""")
HISTORY_WIDTH_NOT_WHOLE = Rule.of("""RP408 error model-history-not-whole-frames
    input {index} ({name}) is {found} wide, which is not a multiple of {frame} (6 numbers of {bones} bones)
    hint: export the model for the skeleton of the bundle
    why: without a declared length the engine divides the model's width by that of a frame: the rest is cut off""")
INPUTS_INTERCHANGEABLE = Rule.of("""RP409 warning model-inputs-interchangeable
    {pairs}: {accepted} of the 120 input orders pass a check of byte sizes
    hint: name a prediction or an engine's recording beside the model: `rigpact check` finds the order; or export other widths
    why: the engine binds by position and compares at most byte sizes: two inputs that change places go unnoticed""")
OUTPUT_MISSING = Rule.of("""RP410 error model-output-missing
    the model has no output
    hint: export with the output motion_pred
    why: the engine has nothing to read the pose from""")
OUTPUT_WIDTH_DIFFERS = Rule.of("""RP411 error model-output-width-differs
    output 0 ({name}) is {found} wide, the bundle says {expected}
    hint: model and bundle come from two exports; export both again
    why: the engine only warns and goes on: bones read their neighbours' numbers, or none""")
OUTPUT_WIDTH_DYNAMIC = Rule.of("""RP412 error model-output-width-dynamic
    output 0 ({name}) has the shape {shape}: its width is not static
    hint: only the batch axis may be dynamic; avoid reshapes to -1 before the output
    why: the engine allocates the output before it runs and refuses a shape it does not know""")
OUTPUT_DTYPE_DIFFERS = Rule.of("""RP413 error model-output-dtype-differs
    output 0 ({name}) gives {found}, the engine reads float32
    hint: cast the output to float32 inside the graph
    why: the engine reads the bytes as float32 numbers""")
SEVERAL_OUTPUTS = Rule.of("""RP414 info model-several-outputs
    the model has {found} outputs ({names}); the engine uses the first
    hint: make sure that the first is the motion, or export it alone
    why: an exporter that lists an auxiliary output first makes the engine play that""")

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
        yield INPUT_COUNT_DIFFERS.at(model.path, place, found=len(names), names=listed(names, shown=8) + pruned)
        return
    # all inputs in another order are one defect (RP402), not five wrong widths
    is_reordered = sorted(names) == sorted(INPUTS)
    if is_reordered and names != list(INPUTS):
        yield INPUTS_OUT_OF_ORDER.at(model.path, place, found=", ".join(names), expected=", ".join(INPUTS))
    roles = names if is_reordered else INPUTS
    widths = _expected_widths(view, history_length(subject.auxiliaries)) if view else {}
    for index, (entry, role) in enumerate(zip(model.inputs, roles, strict=True)):
        if entry.name != role:
            yield INPUT_NAME_DIFFERS.at(model.path, f"{place}/{index}", index=index, found=entry.name, expected=role)
        values = {"index": index, "name": entry.name, "shape": _shape(entry)}
        frame = 6 * (view.bone_count or 0) if view is not None and role == "pose_hist" else 0
        for rule, numbers in _input_defects(entry, widths.get(role), frame):
            yield rule.at(model.path, f"{place}/{index}", **values | numbers)
    taken = {role: entry.width or widths.get(role) for entry, role in zip(model.inputs, roles, strict=True)}
    pairs = interchangeable_pairs(taken)
    if pairs:
        said = "; ".join(f"{first} and {second} are both {taken[first]} wide" for first, second in pairs)
        yield INPUTS_INTERCHANGEABLE.at(model.path, place, pairs=said, accepted=len(accepted_orders(taken)))


def _input_defects(
    entry: TensorSignature, expected: int | None, frame: int
) -> Iterator[tuple[Rule, dict[str, object]]]:
    """Yield rule and numbers; frame: the width of a frame of the pose history, 0 of another input."""
    if entry.dtype != "float32":
        yield INPUT_DTYPE_DIFFERS, {"found": entry.dtype}
    if len(entry.shape) != _RANK:
        yield INPUT_RANK_DIFFERS, {}
    elif isinstance(entry.shape[0], int) and entry.shape[0] != 1:
        yield INPUT_BATCH_FIXED, {"found": entry.shape[0]}
    if entry.width is None and len(entry.shape) == _RANK:
        yield INPUT_WIDTH_DYNAMIC, {}
    if entry.width is not None and expected is not None and entry.width != expected:
        missing = entry.width - expected
        action = f"pad it with {missing} zeros" if missing > 0 else f"cut off the last {-missing} numbers"
        yield INPUT_WIDTH_DIFFERS, {"found": entry.width, "expected": expected, "action": action}
    if entry.width is not None and frame and entry.width % frame:
        yield HISTORY_WIDTH_NOT_WHOLE, {"found": entry.width, "frame": frame, "bones": frame // 6}


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
        yield OUTPUT_MISSING.at(model.path, "/graph/output")
        return
    output, place = model.outputs[0], ("graph", "output", 0)
    if output.dtype != "float32":
        yield OUTPUT_DTYPE_DIFFERS.at(model.path, place, name=output.name, found=output.dtype)
    if output.width is None:
        yield OUTPUT_WIDTH_DYNAMIC.at(model.path, place, name=output.name, shape=_shape(output))
    elif view is not None and view.output is not None and output.width != view.output.width:
        values = {"name": output.name, "found": output.width, "expected": view.output.width}
        yield OUTPUT_WIDTH_DIFFERS.at(model.path, place, **values)
    if len(model.outputs) > 1:
        names = listed([entry.name for entry in model.outputs])
        yield SEVERAL_OUTPUTS.at(model.path, "/graph/output", found=len(model.outputs), names=names)


def _shape(entry: TensorSignature) -> str:
    return f"[{', '.join('?' if axis is None else str(axis) for axis in entry.shape)}]"


_ABOUT = "whether the engine can bind the model's inputs and use its output"
FAMILY = family(globals(), (Need.MODEL, Need.POSITIONS), _check_inputs, _check_output, about=_ABOUT)


OTHER_CONTRACT = Rule.of("""RP770 error model-stamped-for-other-contract
    the model is stamped for the contract {found}, this one is {expected}
    hint: take the contract that the model was exported with; if this one is meant, `rigpact codegen --stamp` writes its hash
    why: a model and a contract of different runs load together, and nothing crashes""")
_HASH_CHARACTERS = 12


def _check_stamp(subject: Artefacts) -> Iterator[Finding]:
    expected = subject.bundle.file.sha256 if subject.bundle is not None else need(need(subject.system).contract).sha256
    for model in subject.models:
        found = expected if model.graph is None else model.graph.metadata.get(STAMP, expected)
        if found != expected:
            values = {"found": found[:_HASH_CHARACTERS], "expected": expected[:_HASH_CHARACTERS]}
            yield OTHER_CONTRACT.at(model.path, ("metadata", STAMP), **values)


_ABOUT = "a model that carries the hash of another contract"
STAMPED = family(globals(), (Need.MODEL, Need.CONTRACT), _check_stamp, about=_ABOUT)
