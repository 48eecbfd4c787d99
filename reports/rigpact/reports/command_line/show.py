"""`rigpact show`: a contract, and everything that rigpact knows by a name."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.options import (
    ONNX,
    Bundle,
    Format,
    Frames,
    OutputFormat,
    argument,
    example,
    known_words,
    option,
)

if TYPE_CHECKING:
    from rigpact.contract.systems.system import Section
    from rigpact.reference_runtime.files.declared import ContractFiles
    from rigpact.reports.describing.shown import Shown


ShownFormat = StrEnum("ShownFormat", "TEXT JSON MARKDOWN")
"""How it is printed."""


_NAME = (
    "A contract's file, a rule (RP104), a system (neurarig), an operation (affine) or a profile, `schema gate`, "
    "`page neurarig`, `recorder`."
)
_WRITE_CONTRACT = "Of a system: write a contract with the published constants."
_WRITE = "Of `schema`: write the schemas that an editor needs into FOLDER."


def show(
    name: Annotated[list[str] | None, options.argument("[NAME]", _NAME, autocompletion=known_words)] = None,
    *,
    companion: options.Companion = None,
    onnx: options.Model = None,
    beside: Annotated[
        Path | None, options.option("--beside", "OTHER", "Of a contract: only the differences to this one.")
    ] = None,
    write_contract: Annotated[Path | None, options.option("--write-contract", "FILE", _WRITE_CONTRACT)] = None,
    write: Annotated[Path | None, options.option("--write", "FOLDER", _WRITE)] = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: Annotated[
        ShownFormat, typer.Option("--format", help="Text for people, JSON for machines.")
    ] = ShownFormat.TEXT,
) -> None:
    """Show a contract, a rule, an operation, a schema, how to record.

    Without NAME it lists what can be shown. Exit status 0; 2 for a word that names nothing, and for a contract that the
    engine refuses.
    """
    from rigpact.reports.describing.shown import Shown, shown

    words = name or []
    path = Path(words[0]) if len(words) == 1 and Path(words[0]).is_file() else None
    found = Shown("a contract", []) if path is not None else shown(words)
    asked: dict[str, object] = {"--companion": companion, "--onnx": onnx, "--beside": beside}
    asked |= {"--set": settings, "--conventions": conventions}
    of_kinds: dict[str, dict[str, object]] = {"a contract": asked, "a system": {"--write-contract": write_contract}}
    for kind, given in (of_kinds | {"the schemas": {"--write": write}}).items():
        if found.kind != kind:
            said = f"{' '.join(words)}, {found.kind}" if words else "no NAME"
            options.refuse_beside(given, said, f"{kind} as NAME")
    if path is not None:
        files = options.contract_files(path, companion, settings, conventions)
        found = Shown(found.kind, _contract_sections(files, path, onnx, beside))
    if write_contract is not None:
        from rigpact.contract.files import write_bytes
        from rigpact.contract.pages.registry import find_system
        from rigpact.reports.describing.description import contract_template

        write_bytes(write_contract, contract_template(find_system(words[0])))
    if write is not None:
        from rigpact.reports.describing.shown import write_schemas
        from rigpact.reports.terminal import say

        for each in write_schemas(write):
            say(f"{each} written")
        return
    _print(found, output_format)


def _contract_sections(files: ContractFiles, path: Path, onnx: Path | None, beside: Path | None) -> list[Section]:
    from rigpact.contract.documents import read_document
    from rigpact.contract.model.signature import read_model
    from rigpact.reports.describing.description import beside_section, describe_contract

    read = files.opened()
    if beside is not None:
        return [beside_section(read_document(path), read_document(beside))]
    return describe_contract(read, read_document(path).data, read_model(onnx) if onnx else None)


def _print(found: Shown, output_format: ShownFormat) -> None:
    from rigpact.reports.describing import description as described
    from rigpact.reports.terminal import print_json, stdout

    if output_format is ShownFormat.MARKDOWN:
        sys.stdout.write(described.description_markdown(found.sections))
    elif output_format is ShownFormat.JSON and found.kind != "a schema":
        print_json(described.description_to_json(found.sections))
    elif found.text:
        sys.stdout.write(found.text)
    else:
        described.print_description(found.sections, stdout())


# `rigpact demo`: what rigpact does, on the built-in character or robot.
Hero = StrEnum("Hero", "CHARACTER ROBOT")
"""What is shown."""


def demo(
    shown: Annotated[
        Hero, argument("character|robot", "A character in an engine, or a policy on a robot.")
    ] = Hero.CHARACTER,
    *,
    into: Annotated[Path | None, option("--into", "FOLDER", "Only copy the files into a new folder.")] = None,
    is_opened: Annotated[
        bool, typer.Option("--open", help="Write the HTML page of the mistake, and open it in the browser.")
    ] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Show what rigpact does, on the built-in character or robot.

    The character: check, run and compare it, then explain an engine with a mistake. Exit status 0: its three parts pass.
    The robot: explain a recording of a runtime with a mistake. Exit status 1: the mistake is named.
    --open writes the page into the folder of --into, or into a new one for temporary files.
    """
    import contextlib
    import tempfile

    from rigpact.fixtures import copy_demo

    is_robot = shown is Hero.ROBOT
    if into is not None or is_opened:
        folder = into or Path(tempfile.mkdtemp(prefix="rigpact-")) / shown
        copy_demo(folder, is_robot=is_robot)
        typer.echo(f"the {shown}'s files are in {folder}")
        if is_opened:
            _open(shown, folder)
        return
    with tempfile.TemporaryDirectory() as above:
        copy_demo(Path(above) / shown, is_robot=is_robot)
        with contextlib.chdir(Path(above) / shown):  # findings name the files as the commands do
            status = _shown(shown, is_json=output_format is OutputFormat.JSON)
    raise typer.Exit(status)


def _shown(shown: Hero, *, is_json: bool) -> int:
    from functools import partial

    from rich.console import Console

    from rigpact.reports.demonstration import demonstrate, demonstrate_robot
    from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
    from rigpact.reports.terminal import is_quiet, print_answer, print_json, show, stdout

    console = Console(quiet=True) if is_json or is_quiet() else stdout()
    if shown is Hero.ROBOT:
        diagnosis = demonstrate_robot(console)
        document, status = diagnosis.to_json(), diagnosis.exit_code
    else:
        report, diagnosis = demonstrate(console)
        document, status = report.to_json(), report.exit_code()
    if is_json:
        print_json(document)
    elif is_quiet():
        show(partial(print_answer, answer_of_diagnosis(diagnosis)))
    else:
        console.print(f"try it: rigpact demo {shown} --into {shown}; see it: rigpact demo {shown} --open", style="dim")
    return status


def _open(shown: Hero, folder: Path) -> None:
    import contextlib
    import webbrowser

    from rigpact.reports.demonstration import write_page

    with contextlib.chdir(folder):
        page = write_page(is_robot=shown is Hero.ROBOT)
    typer.echo(f"the page is {page}")
    if not webbrowser.open(page.as_uri()):
        typer.echo("no browser could be opened: open it yourself", err=True)


# `rigpact neurarig serve`: NeuraRig's server, with a trained model. A plug-in of one system, left out of `rigpact --help`.
neurarig = typer.Typer(
    help="Serve NeuraRig's UDP protocol.",
    epilog=example("neurarig"),
    hidden=True,
    no_args_is_help=True,
    rich_markup_mode=None,
)
_HANDSHAKE = "Name the bones (0x01) before the first frame; public builds do not."


@neurarig.command(epilog=example("neurarig serve"))
def serve(
    onnx: Annotated[Path, ONNX],
    bundle: Bundle = None,
    frames: Frames = None,
    host: Annotated[str, typer.Option("--host", help="IPv4 address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="UDP port; 0 takes a free one.")] = 6003,
    *,
    handshake: Annotated[bool, typer.Option("--handshake/--no-handshake", help=_HANDSHAKE)] = True,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Be the server: answer every frame with a model.

    Control-C ends it. Every refused datagram is counted and logged on stderr.
    """
    import logging
    from contextlib import suppress
    from dataclasses import asdict

    from rigpact.contract.contract_files import contract_in_memory, open_contract
    from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
    from rigpact.reference_runtime.systems.neurarig import SYSTEM, Server, Session, answer_with
    from rigpact.reports.terminal import plain, print_json, say_aside, stdout

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    contract = contract_in_memory(SYSTEM, SYSTEM.template()) if bundle is None else open_contract(bundle)
    if contract.system is not SYSTEM:
        raise UnusableInput(str(bundle), f"a contract of {contract.system.name}", SYSTEM.name)
    session = Session(answer_with(contract, OnnxSystemNetwork(onnx, SYSTEM)), needs_handshake=handshake)
    server = Server(session, host, port)
    say_aside(f"listening on {server.address[0]}:{server.address[1]}")
    with suppress(KeyboardInterrupt):
        server.serve(frames)
    served = asdict(session.counts)
    served["refused"] = {reason.name.lower(): count for reason, count in session.counts.refused.items()}
    if output_format is OutputFormat.JSON:
        print_json(served)
    else:
        stdout().print("\n".join(plain(f"{name}: {value}") for name, value in served.items()), markup=False)
