"""`rigpact breaking`: what changed between two contracts, and for whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.options import Format, OutputFormat

if TYPE_CHECKING:
    from rigpact.contract.compatibility import Compatibility
    from rigpact.contract.documents import Document


def breaking(
    contracts: Annotated[
        list[Path],
        typer.Argument(metavar="OLD NEW", help="Two contracts of one system; with --against only the new one."),
    ],
    *,
    against: Annotated[
        str | None, typer.Option("--against", metavar="REV", help="Take the old version from this git revision.")
    ] = None,
    companion: Annotated[
        list[Path] | None,
        typer.Option("--companion", metavar="FILE", help="Companion of OLD, then of NEW; with --against only once."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Add the change to this change record (Markdown).")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Say what changed between two contracts: for the engine's code, its numbers, training and recordings.

    Exit status 0: nothing breaking; 1: breaking; 2: a file that cannot be read.
    """
    from datetime import UTC, datetime

    from rigpact.reports.describing.breaking_text import print_breaking, write_record
    from rigpact.reports.terminal import print_json, stdout

    found = _compare(contracts, companion or [], against)
    if output_format is OutputFormat.JSON:
        print_json(found.to_json())
    else:
        print_breaking(found, stdout())
    if record is not None and found.changes:
        written = write_record(found, record, datetime.now(UTC).date())
        typer.echo(f"{record}: {'entry added' if written else 'has this entry already'}", err=True)
    raise typer.Exit(int(found.is_breaking))


def _compare(contracts: list[Path], companions: list[Path], against: str | None) -> Compatibility:
    from rigpact.contract.compatibility import compare_contracts

    wanted = 1 if against is not None else 2
    _refuse_wrong_count(contracts, wanted, "contract", against)
    if companions:
        _refuse_wrong_count(companions, wanted, "companion", against)
    return compare_contracts(*_pair(contracts, against), _pair(companions, against) if companions else None)


def _pair(paths: list[Path], against: str | None) -> tuple[Document, Document]:
    from rigpact.contract.documents import read_document
    from rigpact.reports.git_revision import read_document_at

    old = read_document(paths[0]) if against is None else read_document_at(paths[0], against)
    return old, read_document(paths[-1])


def _refuse_wrong_count(paths: list[Path], wanted: int, what: str, against: str | None) -> None:
    from rigpact.contract.errors import UnusableInput

    if len(paths) != wanted:
        expected = f"one {what}" if wanted == 1 else f"two {what}s, OLD and NEW"
        hint = "the old version comes from git" if against is not None else "or one, with --against REV"
        raise UnusableInput(what, f"{len(paths)} file(s)", expected, hint)
