"""Print the changes between two bundles for people, and write the change record."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path, PurePath

from rich.console import Console

from rigpact.contract.compatibility import Compatibility, Consumer
from rigpact.contract.compatibility.kinds import MEANING
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, write_bytes
from rigpact.contract.findings import number_of
from rigpact.reports.terminal import Answer, Sentence, print_answer, template

_STYLES = {Consumer.RETRAIN: "bold magenta", Consumer.TRACE: "yellow", Consumer.COSMETIC: "dim"}
_STYLES |= dict.fromkeys((Consumer.ENGINE_LAYOUT, Consumer.ENGINE_MATH), "bold red")


def print_breaking(found: Compatibility, console: Console) -> None:
    """Print every change, then who has to act and how, then the version that the changes require."""
    said = f"{number_of(len(found.changes), 'change')}; version {found.version_step}: {found.version_reason}"
    word = "BREAKING" if found.is_breaking else "COMPATIBLE"
    print_answer(Answer(word, said, int(found.is_breaking), tuple(_body(found))), console)


def _body(found: Compatibility) -> Iterator[Sentence]:
    for each in found.changes:
        classes = " ".join(each.classes)
        yield Sentence(f"{each.pointer or '/'}: {each.kind.name} {classes}: {each.message}", _STYLES[each.classes[0]])
        if Consumer.COSMETIC not in each.classes:
            yield Sentence(f"  why: {each.kind.why}", "dim")
    for name, advice in found.duties.items():
        if name != Consumer.COSMETIC:
            yield Sentence(f"{name}: {MEANING[Consumer(name)]}", _STYLES[Consumer(name)])
            yield Sentence(f"  to do: {advice}", "dim")


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
