"""Render a contract's description as text for the terminal or as a Markdown page."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rigpact.contract.compatibility import Consumer, compare_contracts
from rigpact.contract.compatibility.record import markdown_cell
from rigpact.contract.documents import Document
from rigpact.contract.systems.description import Section
from rigpact.reports.terminal import plain


# Two contracts beside each other: a table of the places where they part.
def beside_section(contract: Document, other: Document) -> Section:
    """Every place where two contracts compute something else; what only differs in its wording is counted."""
    found = compare_contracts(contract, other)
    parting = [each for each in found.changes if Consumer.COSMETIC not in each.classes]
    rows = tuple((str(place), each.message, each.pointer or "/") for place, each in enumerate(parting, 1))
    wording = len(found.changes) - len(parting)
    lines = (f"{contract.path.name} → {other.path.name}" + (f"; {wording} more in wording only" if wording else ""),)
    if not rows:
        lines = (f"{contract.path.name} and {other.path.name} compute the same.",)
    return Section("Where they part", lines, ("", "what", "place"), rows)


def print_description(sections: Sequence[Section], console: Console) -> None:
    """Print the sections for people."""
    for section in sections:
        console.print(Text(section.title, style="bold"))
        for line in section.lines:
            console.print(Text(plain(line), style="dim"))
        if section.rows:
            console.print(_table(section))
        console.print()


def _table(section: Section) -> Table:
    """A table: columns of whole numbers are right-aligned, all others left-aligned."""
    built = Table(header_style="dim", box=None, pad_edge=False, show_header=any(section.columns[:1]))
    for place, name in enumerate(section.columns):
        numbers = all(row[place].isdigit() for row in section.rows)
        built.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in section.rows:
        built.add_row(*(Text(plain(cell)) for cell in row))
    return built


def description_markdown(sections: Sequence[Section]) -> str:
    """The sections as a Markdown page; the same files give the same text."""
    levels = ("#", *("##" for _ in sections[1:]))
    return "\n".join(line for each in zip(levels, sections, strict=True) for line in _markdown(*each))


def _markdown(level: str, section: Section) -> Iterator[str]:
    yield from (f"{level} {section.title}", "")
    for line in section.lines:
        yield from (line, "")
    if section.rows:
        yield "| " + " | ".join(section.columns) + " |"
        yield "|" + "---|" * len(section.columns)
        yield from ("| " + " | ".join(markdown_cell(cell) for cell in row) + " |" for row in section.rows)
        yield ""


def description_to_json(sections: Sequence[Section]) -> dict[str, Any]:
    """The `rigpact-description` document, version 1: the same tables as data."""
    return {
        "format": "rigpact-description",
        "version": 1,
        "sections": [
            {"title": each.title, "lines": list(each.lines), "columns": list(each.columns),
             "rows": [[str(cell) for cell in row] for row in each.rows]}
            for each in sections
        ],
    }  # fmt: skip
