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
from rigpact.contract.rules.family import Artefacts, Need, Rules
from rigpact.contract.rules.wording import listed

rules = Rules("model")


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
        values = {"index": index, "name": entry.name, "shape": _shape(entry)}
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
        yield rules.OUTPUT_WIDTH_DYNAMIC.at(model.path, place, name=output.name, shape=_shape(output))
    elif view is not None and view.output is not None and output.width != view.output.width:
        values = {"name": output.name, "found": output.width, "expected": view.output.width}
        yield rules.OUTPUT_WIDTH_DIFFERS.at(model.path, place, **values)
    if len(model.outputs) > 1:
        names = listed([entry.name for entry in model.outputs])
        yield rules.SEVERAL_OUTPUTS.at(model.path, "/graph/output", found=len(model.outputs), names=names)


def _shape(entry: TensorSignature) -> str:
    return f"[{', '.join('?' if axis is None else str(axis) for axis in entry.shape)}]"


FAMILY = rules.family("FAMILY", (Need.MODEL, Need.POSITIONS), _check_inputs, _check_output)


_HASH_CHARACTERS = 12


def _check_stamp(subject: Artefacts) -> Iterator[Finding]:
    expected = subject.bundle.file.sha256 if subject.bundle is not None else need(need(subject.system).contract).sha256
    for model in subject.models:
        found = expected if model.graph is None else model.graph.metadata.get(STAMP, expected)
        if found != expected:
            values = {"found": found[:_HASH_CHARACTERS], "expected": expected[:_HASH_CHARACTERS]}
            yield rules.OTHER_CONTRACT.at(model.path, ("metadata", STAMP), **values)


STAMPED = rules.family("STAMPED", (Need.MODEL, Need.CONTRACT), _check_stamp)
