"""docs/trust.md: which wrong passes were tried and refused, which benign variations were tried and passed."""

import importlib
from pathlib import Path

from ...trust_room.tried import Tried

_ROOM = Path(__file__).resolve().parents[2] / "trust_room"
_TEXT = """# Verdicts that cannot lie

A pass that should not be is worse than no check: a team stops looking. An alarm that should not be is nearly as bad: a team stops
believing. Each row below is a test under parity_tests/trust_room/ that builds the situation and asks rigpact.

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it.
"""
_TABLES = {
    "refused": ("Wrong passes, refused", "tried", "answer"),
    "passes": ("Benign variations, passed", "variation", "answer"),
}


def trust_page() -> str:
    """The page: two tables, one section for each module of the room that has rows."""
    parts = [_TEXT]
    sections = [_section(path.stem) for path in sorted(_ROOM.glob("test_*.py"))]
    for kind, (heading, *columns) in _TABLES.items():
        parts.append(f"## {heading}\n")
        for title, rows in sections:
            lines = [f"| {row.tried} | {row.answer} |" for row in rows if row.kind == kind]
            if lines:
                parts.append(f"### {title}\n\n| {columns[0]} | {columns[1]} |\n|---|---|\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _section(module_name: str) -> tuple[str, list[Tried]]:
    module = importlib.import_module(f"...trust_room.{module_name}", __package__)
    title = (module.__doc__ or module_name).splitlines()[0].rstrip(".")
    return title, [row for thing in vars(module).values() for row in getattr(thing, "tried", [])]
