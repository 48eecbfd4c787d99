"""`rigpact breaking`: what changed between two contracts, and for whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.options import Base, Format, OutputFormat, argument, option, print_found

if TYPE_CHECKING:
    from rigpact.contract.documents import Document
    from rigpact.reports.git_revision import Revision


def breaking(
    contracts: Annotated[list[Path], argument("OLD NEW", "Two contracts of one system; with --base only the new one.")],
    *,
    base: Base = None,
    against: Annotated[str | None, typer.Option("--against", hidden=True)] = None,
    companion: Annotated[
        list[Path] | None, option("--companion", "FILE", "File with the auxiliary-input statistics.")
    ] = None,
    record: Annotated[
        Path | None, option("--record", "FILE", "Add the change to this change record (Markdown).")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """List the changes between two contracts, and whom they break.

    A change breaks the engine's code, its numbers, training or recordings. Give --companion for OLD, then for NEW; with
    --base once. Exit status 0: nothing breaks; 1: something breaks; 2: a file cannot be read.
    """
    from contextlib import nullcontext
    from dataclasses import replace
    from datetime import UTC, datetime

    from rigpact.contract.compatibility import compare_contracts
    from rigpact.reports.describing.breaking_text import print_breaking, write_record
    from rigpact.reports.git_revision import opened_revision
    from rigpact.reports.terminal import say_aside

    if against is not None:
        raise UnusableInput("--against", against, f"--base {against}", "--against names a file, --base a git revision")
    wanted = 1 if base is not None else 2
    _refuse_wrong_count(contracts, wanted, "contract")
    if companion:
        _refuse_wrong_count(companion, wanted, "companion")
    with opened_revision(base) if base is not None else nullcontext() as was:
        found = compare_contracts(*_pair(contracts, was), _pair(companion, was) if companion else None)
    if base is not None:
        found = replace(found, old=f"{base}:{contracts[0].name}")
    print_found(found, print_breaking, output_format)
    if record is not None and found.changes:
        written = write_record(found, record, datetime.now(UTC).date())
        say_aside(f"{record}: {'entry added' if written else 'has this entry already'}")
    raise typer.Exit(int(found.is_breaking))


def _pair(paths: list[Path], base: Revision | None) -> tuple[Document, Document]:
    from rigpact.contract.documents import read_document

    return (read_document if base is None else base.document)(paths[0]), read_document(paths[-1])


def _refuse_wrong_count(paths: list[Path], wanted: int, what: str) -> None:
    expected, hint = f"two {what}s, OLD and NEW", "or one, with --base REV"
    if wanted == 1:
        expected, hint = f"one {what}", "the old version comes from git"
    if len(paths) != wanted:
        raise UnusableInput(what, f"{len(paths)} file(s)", expected, hint)
