"""`rigpact adequacy`: what a set of clips cannot show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    contract_from_options,
)


def adequacy(
    clips: Annotated[
        list[Path] | None, typer.Argument(metavar="CLIP…", help="Raw clips to compare engines on.")
    ] = None,
    *,
    bundle: Annotated[Path, typer.Option("--bundle", metavar="FILE", help="The schema bundle.")],
    synthesise: Annotated[
        Path | None, typer.Option("--synthesise", metavar="FILE", help="Write a short probe clip for this bundle.")
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Say which conventions the given clips cannot tell apart, and which of the clips are enough.

    Exit status 0: the clips separate everything separable; 1: some convention could differ unseen; 2: nothing to judge.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.recordings.clip import read_clip
    from rigpact.reports.diagnosing.adequacy import assess
    from rigpact.reports.diagnosing.adequacy_text import print_adequacy, read_probe, write_probe
    from rigpact.reports.terminal import print_json, stdout, working

    contract = contract_from_options(bundle, companion, settings, conventions)
    paths = list(clips or [])
    if synthesise is not None:
        write_probe(contract, synthesise)
        paths.append(synthesise)
    if not paths:
        raise UnusableInput("CLIP", "no clip", "at least one raw clip, or --synthesise FILE")
    named = {str(path): read_clip(path) for path in paths}
    with working("replaying every convention on every clip"):
        result = assess(named, read_probe(contract), contract)
    if output_format is OutputFormat.JSON:
        print_json(result.to_json())
    else:
        print_adequacy(result, stdout())
    raise typer.Exit(1 if result.missed else 0)
