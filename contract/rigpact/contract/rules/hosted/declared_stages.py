"""RP763 and RP764: stages of your own contract that compute nothing, and factors that are applied twice."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Family, Need, on_declaration, rules_in
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.statistics import FloatArray

IDENTITY = Rule.titled(
    "RP763 info declared-stage-is-identity",
    message="{stage} changes nothing: {reason}",
    hint="leave it out; where sides read it differently, declare both readings: a table with value and wrong",
    why="the factor, the order or the range that was meant may be missing",
)
TWICE = Rule.titled(
    "RP764 warning declared-scale-applied-twice",
    message="{stage} scales by {numbers} what {earlier} has already scaled by the same",
    hint="keep one of the two",
    why="the network gets every number scaled by the square of the factor of its training",
)


def check_stages(view: DeclaredView) -> Iterator[Finding]:
    """Yield stages that hand their input on, and factors that a stage before them has applied."""
    for stage in view.tables:
        reason = _hands_on(view, stage)
        if reason:
            yield IDENTITY.at(view.path, view.at(stage), stage=stage, reason=reason)
    for stage, _ in view.stages_of("affine", "normalise", "denormalise"):
        earlier = _scaled_before(view, stage)
        if earlier:
            shown = shown_numbers(view.scale(stage))
            yield TWICE.at(view.path, view.at(stage), stage=stage, numbers=shown, earlier=earlier)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION,), on_declaration(check_stages))


def _hands_on(view: DeclaredView, stage: str) -> str:
    """Why a stage changes nothing; '' where it does, or where the contract names it as a place where sides differ."""
    table = view.tables[stage]
    reason = {"affine": _affine, "normalise": _affine, "denormalise": _affine, "select": _select, "clip": _clip}.get(
        view.operation(stage)
    )
    if reason is None or any(isinstance(value, dict) and "wrong" in value for value in (table, *table.values())):
        return ""
    return reason(view, stage)


def _affine(view: DeclaredView, stage: str) -> str:
    scale = view.scale(stage)
    if view.tables[stage].get("applied") == "skipped":
        return ""
    if view.tables[stage].get("scale") == 1 and not {"offset", "subtract"} & view.tables[stage].keys():
        return ""  # a second name for a vector, as a recording has it
    constants = [view.numbers(stage, key) for key in ("offset", "subtract", "mean")]
    if (scale is None or np.all(scale == 1.0)) and all(each is None or not each.any() for each in constants):
        return "the factor is 1 and nothing is added"
    return ""


def _select(view: DeclaredView, stage: str) -> str:
    own, theirs = view.names(stage), view.names(view.inputs_of(stage)[0])
    has_other_order = any(words != own and sorted(words) == sorted(own) for words in view.lists.values())
    return "it takes every field, in order" if own == theirs and not has_other_order else ""


def _clip(view: DeclaredView, stage: str) -> str:
    fields = view.layout(view.inputs_of(stage)[0])
    width = fields.width
    ends = ((view.numbers(stage, key), other) for key, other in (("lowest", -np.inf), ("highest", np.inf)))
    low, high = (np.broadcast_to(other if end is None else end, width) for end, other in ends)
    is_within = all(
        field.low is not None
        and field.high is not None
        and np.all(low[field.range] <= field.low)
        and np.all(high[field.range] >= field.high)
        for field in fields
    )
    return "the declared ranges of its numbers lie within lowest and highest" if is_within else ""


def _scaled_before(view: DeclaredView, stage: str) -> str:
    """The one stage that multiplied every number of this stage's input by this stage's own factors; '' without one."""
    own, channels = view.scale(stage), view.channels(view.inputs_of(stage)[0])
    makers = {name for name, _ in channels}
    if own is None or len(makers) != 1:
        return ""
    earlier = makers.pop()
    before = view.scale(earlier)
    if before is None:
        return ""
    factors = np.broadcast_to(before, view.layout(earlier).width)[[place for _, place in channels]]
    return earlier if changes_much(own) and np.allclose(factors, own, rtol=1e-6, atol=0.0) else ""


def changes_much(scale: FloatArray) -> bool:
    """Whether factors are more than signs: 1 and -1 may well follow one another."""
    return bool(np.any(np.abs(scale) != 1.0))


def shown_numbers(value: FloatArray | None) -> str:
    """The first of some numbers."""
    if value is None:
        return "nothing"
    first = f"{value[0]:g}"
    return first if np.all(value == value[0]) else f"{first}, …"
