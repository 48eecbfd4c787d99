"""`rigpact neurarig serve`: NeuraRig's server, with a trained model. A plug-in of one system, left out of `rigpact --help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.examples import example
from rigpact.reports.command_line.options import ONNX, Bundle, Format, Frames, OutputFormat

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
    server.close()
    served = asdict(session.counts)
    served["refused"] = {reason.name.lower(): count for reason, count in session.counts.refused.items()}
    if output_format is OutputFormat.JSON:
        print_json(served)
    else:
        stdout().print("\n".join(plain(f"{name}: {value}") for name, value in served.items()), markup=False)
