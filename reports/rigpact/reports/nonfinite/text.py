"""Print the answer about a run for people."""

from rich.console import Console
from rich.text import Text

from rigpact.reports.nonfinite.investigation import Investigation
from rigpact.reports.nonfinite.origin import LOADING, Origin
from rigpact.reports.terminal import plain, sum_up

_STYLE = {"finite": "bold green", "nonfinite": "bold red", "diverging": "bold yellow", "undetermined": "bold yellow"}
_SHOWN = 6


def print_investigation(found: Investigation, console: Console) -> None:
    """Print verdict, origin, chain, precursors, guards and suspects."""
    line = Text(found.verdict.upper(), style=_STYLE[found.verdict])
    sum_up(line.append(f": {found.frames} finite frames", style="default"), console)
    if found.origin:
        _print_origin(found.origin, console)
    if found.left:
        console.print(Text(f"  {plain(str(found.left))}", style="bold yellow"))
    _print_precursors(found, console)
    for result in found.guards[:_SHOWN]:
        console.print(Text(f"  guard {result.guard}: {plain(result)}", style="green" if result.survived else "dim"))
    for finding in found.suspects[:_SHOWN]:
        console.print(Text(f"  suspect {finding.rule.code} {finding.rule.name}: {plain(finding.message)}"))
    for note in (*found.notes, *map(str, found.swallowed)):
        console.print(Text(f"  note: {plain(note)}", style="dim"))
    if found.command:
        console.print(Text(f"  again: {plain(found.command)}"))


def _print_origin(origin: Origin, console: Console) -> None:
    if origin.stage == LOADING:
        console.print(Text(f"Produced by loading: {plain(origin.operation)}", style="bold"))
        return
    words = [word for word in (origin.bone, origin.slice, origin.component) if word]
    place = ", ".join([*words, f"channel {origin.channel}"] if origin.channel is not None else words)
    where = f"Produced at frame {origin.frame}, stage {origin.stage}, {plain(place)}: {origin.value}"
    console.print(Text(where, "bold"))
    console.print(Text(f"  by {plain(origin.operation)}"))
    operands = ", ".join(f"{plain(name)} = {value:.6g}" for name, value in origin.operands.items())
    if operands:
        console.print(Text(f"  with {operands}"))
    if origin.node:
        node = origin.node
        weight = f", weight {plain(node.weight)}" if node.weight else ""
        bits = "same bits as the failing run" if node.same_bits else "NOT the bits of the failing run: a fused group"
        console.print(Text(f"  node {plain(node.name)} ({node.op}): the {node.blame} are to blame{weight}; {bits}"))
    if origin.chain:
        links = ", ".join(f"{link.stage} ({link.channels})" for link in origin.chain)
        console.print(Text(f"  passed on by {links}", style="dim"))


def _print_precursors(found: Investigation, console: Console) -> None:
    failing = found.origin.frame if found.origin else None
    for entry in found.precursors[:_SHOWN]:
        lead = "" if failing is None else f", {failing - entry.frame} frames ahead"
        where = f"frame {entry.frame}{lead}, {entry.stage}, {plain(entry.where)}"
        size = f"{entry.zscore:.3g}, limit {entry.limit:.3g}"
        console.print(Text(f"  precursor ({entry.kind}): {where}: {size}", style="yellow"))
