"""`rigpact adequacy`: what a set of clips cannot show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line import options


def adequacy(
    clips: Annotated[
        list[Path] | None, options.argument("CLIP…", "Clips to compare engines on: files, folders, patterns.")
    ] = None,
    *,
    bundle: Annotated[Path, options.BUNDLE],
    synthesise: Annotated[
        Path | None, options.option("--synthesise", "FILE", "Write a short probe clip for this bundle.")
    ] = None,
    onnx: options.Model = None,
    replay: options.Replay = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
) -> None:
    """Say which conventions the clips cannot tell apart.

    It also names the clips that are enough. Clips that hold the network's answers need no --onnx. Exit status 0: the clips
    separate every convention that any clip can; 1: a convention can differ unseen; 2: nothing to judge.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.files.declared import files_of
    from rigpact.reports.diagnosing.adequacy import assess
    from rigpact.reports.diagnosing.adequacy_text import print_adequacy
    from rigpact.reports.diagnosing.probe import read_probe, write_probe
    from rigpact.reports.file_lists import listed_files
    from rigpact.reports.running.run import read_network
    from rigpact.reports.terminal import working

    contract = options.contract_files(bundle, companion, settings, conventions).opened()
    paths = listed_files(clips or [], files_of(contract).clip_endings, "CLIP")
    if synthesise is not None:
        write_probe(contract, synthesise)
        paths.append(synthesise)
    if not paths:
        raise UnusableInput("CLIP", "no clip", "at least one clip, or --synthesise FILE")
    named = {str(path): files_of(contract).clip(path, contract) for path in paths}
    network = read_network(contract, onnx, replay)
    with working("replaying every convention on every clip"):
        result = assess(named, read_probe(contract), contract, network)
    options.print_found(result, print_adequacy, output_format)
    raise typer.Exit(1 if result.missed else 0)
