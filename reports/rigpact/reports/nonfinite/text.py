"""The answer about a run, and about the drift of one, in words."""

from collections.abc import Iterator

from rigpact.contract.findings import number_of
from rigpact.reports.answer import Answer, Sentence
from rigpact.reports.nonfinite.drift import SIZES, Drift
from rigpact.reports.nonfinite.investigation import Investigation
from rigpact.reports.nonfinite.origin import LOADING, Origin

_SHOWN = 6


def answer_of_run(found: Investigation) -> Answer:
    """Where the first value that is not finite was produced, or that all of them are finite."""
    said = str(found.left) if found.left else number_of(found.frames, "finite frame")
    headline = said if found.origin is None else _place(found.origin)
    return Answer(found.verdict.upper(), headline, found.exit_code, tuple(_lines(found)))


def _place(origin: Origin) -> str:
    if origin.stage == LOADING:
        return f"produced by loading: {origin.operation}"
    words = [word for word in (origin.bone, origin.slice, origin.component) if word]
    return f"produced at frame {origin.frame}, stage {origin.stage}, {', '.join(words)}: {origin.value} by {origin.operation}"


def _lines(found: Investigation) -> Iterator[Sentence]:
    origin = found.origin
    if origin is not None or found.left:
        yield Sentence(f"{number_of(found.frames, 'finite frame')} before it", "", 0)
    if origin is not None:
        yield from _of_origin(origin)
    for place, entry in enumerate(found.precursors[:_SHOWN]):
        lead = "" if entry.lead_frames is None else f", {entry.lead_frames} frames ahead"
        where = f"frame {entry.frame}{lead}, {entry.stage}, {entry.where}"
        rank = None if place else 2
        yield Sentence(
            f"  precursor ({entry.kind}): {where}: {entry.size:.3g}, limit {entry.limit:.3g}", "yellow", rank
        )
    for result in found.guards[:_SHOWN]:
        yield Sentence(f"  guard {result.guard}: {result}", *(("green", 3) if result.survived else ("dim", None)))
    yield from (Sentence(f"  suspect {each.rule.code}: {each.message}", "", 4) for each in found.suspects[:_SHOWN])
    yield from (Sentence(f"  note: {note}", "dim", 5) for note in (*found.notes, *map(str, found.swallowed)))
    if found.command:
        yield Sentence(f"  again: {found.command}", "", 6)


def _of_origin(origin: Origin) -> Iterator[Sentence]:
    if origin.channel is not None:
        yield Sentence(f"  channel {origin.channel}")
    if operands := ", ".join(f"{name} = {value:.6g}" for name, value in origin.operands.items()):
        yield Sentence(f"  with {operands}", "", 1)
    if node := origin.node:
        weight = f", weight {node.weight}" if node.weight else ""
        bits = "same bits as the failing run" if node.same_bits else "NOT the bits of the failing run: a fused group"
        yield Sentence(f"  node {node.name} ({node.op}): the {node.blame} are to blame{weight}; {bits}", "", 1)
    if origin.chain:
        yield Sentence(f"  passed on by {', '.join(f'{link.stage} ({link.channels})' for link in origin.chain)}", "dim")


def answer_of_drift(found: Drift) -> Answer:
    """Whether a free run, or a trace of one, stays within what rounding explains."""
    place, unit = found.outside, found.unit
    growth = (
        f"{found.frames} frames: differences change by a factor {found.growth_per_frame:.6f} a frame ({found.trend}); "
        f"largest spread of {found.stage} {found.envelope[-1]:.3g} {unit} from starts up to {max(SIZES):g} apart"
    )
    left = "" if place is None else (
        f"from frame {place.frame} on the trace is off by more than rounding explains: {place.bone}, {place.error:.3g} {unit}, "
        f"{place.allowed:.3g} allowed"
    )  # fmt: skip
    worst, body = str(found.left) if found.left else left, [*(Sentence(f"  {line}", "", 2) for line in found.lines)]
    if found.benign_apart is not None:
        parted = f"parts at frame {found.parted_frame}" if found.parted_frame is not None else "does not part"
        largest = f"largest difference {found.benign_apart:.3g} {unit}"
        body.append(Sentence(f"a run in another precision, which does no harm, {parted} ({largest})"))
    if found.compared_frames:
        body.append(Sentence(f"{found.compared_frames} frames of a trace compared", "", 1))
    if worst:
        body.insert(0, Sentence(growth, "", 0))
    if left and worst != left:
        body.append(Sentence(left, "bold yellow", 0))
    return Answer(found.verdict.upper(), worst or growth, found.exit_code, body)
