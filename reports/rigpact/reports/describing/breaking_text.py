"""Print the changes between two bundles for people, and write the change record."""

from datetime import date
from pathlib import Path, PurePath

from rich.console import Console
from rich.text import Text

from rigpact.contract.compatibility import Change, Compatibility, Consumer
from rigpact.contract.compatibility.kinds import MEANING
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, write_bytes
from rigpact.contract.findings import number_of
from rigpact.reports.templates import template
from rigpact.reports.terminal import plain, sum_up

_STYLES = {Consumer.RETRAIN: "bold magenta", Consumer.TRACE: "yellow", Consumer.COSMETIC: "dim"}
_STYLES |= dict.fromkeys((Consumer.ENGINE_LAYOUT, Consumer.ENGINE_MATH), "bold red")


def print_breaking(found: Compatibility, console: Console) -> None:
    """Print every change, then who has to act and how, then the version that the changes require."""
    for each in found.changes:
        _print_change(each, console)
    for name, advice in found.duties.items():
        consumer = Consumer(name)
        if consumer is not Consumer.COSMETIC:
            console.print(Text(f"{name}: {MEANING[consumer]}", style=_STYLES[consumer]))
            console.print(Text(f"  to do: {advice}", style="dim"))
    line = Text("BREAKING", style="bold red") if found.is_breaking else Text("COMPATIBLE", style="bold green")
    said = f": {number_of(len(found.changes), 'change')}; version {found.version_step}: {plain(found.version_reason)}"
    sum_up(line.append(said, style="default"), console)


def _print_change(each: Change, console: Console) -> None:
    line = Text(f"{plain(each.pointer) or '/'}: {each.kind.name} ")
    line.append(" ".join(consumer.value for consumer in each.classes), style=_STYLES[each.classes[0]])
    console.print(line.append(f": {plain(each.message)}", style="default"))
    if Consumer.COSMETIC not in each.classes:
        console.print(Text(f"  why: {each.kind.why}", style="dim"))


def write_record(found: Compatibility, path: Path, day: date) -> bool:
    """Add the entry to a change record, and create the file if needed; False if the entry is already there."""
    text = "# Change record\n"
    if path.exists():
        try:
            text = read_bytes(path, is_updated=True).decode("utf-8")
        except UnicodeDecodeError:
            raise UnusableInput(path, "bytes that are not text", "a change record in Markdown") from None
    if found.record_key in text:
        return False
    cosmetic = sum(Consumer.COSMETIC in each.classes for each in found.changes)
    entry = template(Path(__file__).with_name("change_record.md.j2")).render(
        found=found, day=day.isoformat(), name=PurePath(found.new).name, meaning=MEANING, cosmetic=cosmetic
    )
    write_bytes(path, f"{text.rstrip()}\n\n{entry}".encode())
    return True
