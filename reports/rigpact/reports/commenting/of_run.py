"""The comment on a run: where the first value that is not finite was produced, or that all of them are finite."""

from collections.abc import Iterator

from rigpact.reports.commenting.comment import Comment
from rigpact.reports.nonfinite.drift import Drift
from rigpact.reports.nonfinite.investigation import Investigation
from rigpact.reports.nonfinite.origin import LOADING, Origin


def comment_on_run(found: Investigation) -> Comment:
    """The answer of `rigpact nan`."""
    return Comment(f"{found.verdict.upper()}: {_headline(found)}", found.exit_code, tuple(_lines(found)))


def _headline(found: Investigation) -> str:
    if found.origin is not None:
        return _place(found.origin)
    return str(found.left) if found.left else f"{found.frames} finite frames"


def _place(origin: Origin) -> str:
    if origin.stage == LOADING:
        return f"produced by loading: {origin.operation}"
    words = [word for word in (origin.bone, origin.slice, origin.component) if word]
    return f"produced at frame {origin.frame}, stage {origin.stage}, {', '.join(words)}: {origin.value} by {origin.operation}"


def _lines(found: Investigation) -> Iterator[str]:
    origin = found.origin
    if origin is not None:
        yield f"{found.frames} finite frames before it"
        if origin.operands:
            yield f"With {', '.join(f'{name} = {value:.6g}' for name, value in origin.operands.items())}"
        if origin.node:
            weight = f", weight {origin.node.weight}" if origin.node.weight else ""
            yield f"Node {origin.node.name} ({origin.node.op}): the {origin.node.blame} are to blame{weight}"
    first = found.precursor
    if first is not None:
        yield f"Announced at frame {first.frame} by {first.stage}, {first.where}: {first.zscore:.3g}, limit {first.limit:.3g}"
    yield from (f"Guard {each.guard}: {each}" for each in found.guards if each.survived)
    yield from (f"Suspect {each.rule.code}: {each.message}" for each in found.suspects)
    yield from (f"Note: {each}" for each in (*found.notes, *map(str, found.swallowed)))
    if found.command:
        yield f"Again: {found.command}"


def comment_on_drift(found: Drift) -> Comment:
    """The answer of `rigpact nan --drift`."""
    factor = f"{found.growth_per_frame:.6f} a frame ({found.trend})"
    growth = f"{found.frames} frames: differences change by a factor {factor}"
    compared = (f"{found.compared_frames} frames of a trace compared",) if found.compared_frames else ()
    worst = _worst(found)
    lines = (*((growth,) if worst else ()), *compared, *found.lines)
    return Comment(f"{found.verdict.upper()}: {worst or growth}", found.exit_code, lines)


def _worst(found: Drift) -> str:
    if found.left:
        return str(found.left)
    place = found.outside
    if place is None:
        return ""
    size = f"{place.error:.3g} {found.unit}, {place.allowed:.3g} allowed"
    return f"from frame {place.frame} on the trace is off by more than rounding explains: {place.bone}, {size}"
