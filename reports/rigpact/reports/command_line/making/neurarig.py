"""`rigpact neurarig serve`, `play` and `read`: both ends of NeuraRig's wire, on this machine by default, and a capture of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.reports.command_line.examples import example
from rigpact.reports.command_line.options import (
    BUNDLE,
    OUT,
    Bundle,
    Format,
    Frames,
    Model,
    Out,
    OutputFormat,
    argument,
    option,
)
from rigpact.reports.command_line.written import answer_written

if TYPE_CHECKING:
    from rigpact.reference_runtime.systems.neurarig.session import Learner, Session

neurarig = typer.Typer(
    help="Serve, play or read NeuraRig's UDP protocol.",
    epilog=example("neurarig"),
    no_args_is_help=True,
    rich_markup_mode=None,
)
Host = Annotated[str, typer.Option("--host", help="IPv4 address.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="UDP port; 0 takes a free one.")]
_HANDSHAKE = "Name the bones (0x01) before the first frame; public builds do not."
Handshake = Annotated[bool, typer.Option("--handshake/--no-handshake", help=_HANDSHAKE)]


class ProfileName(StrEnum):
    """The content of the datagrams."""

    LEGS = "legs"
    TWO_BONE = "two-bone"


@neurarig.command(epilog=example("neurarig serve"))
def serve(
    bundle: Bundle = None,
    onnx: Model = None,
    profile: Annotated[
        ProfileName, typer.Option("--profile", help="63 floats in and 24 out, or the early build of two bones.")
    ] = ProfileName.LEGS,
    solve_below: Annotated[
        float | None, typer.Option("--solve-below", help="Answer below this loss; 2.25 cm² (legs) or 0.001 (two-bone).")
    ] = None,
    frames: Frames = None,
    host: Host = "127.0.0.1",
    port: Port = 6003,
    *,
    handshake: Handshake = True,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Be the server: learn from every frame, answer once the loss is low.

    Control-C ends it. With --onnx it answers with the model and learns nothing. Learning needs torch
    (pip install "rigpact[training]"). Every refused datagram is counted and logged on stderr.
    """
    import logging
    from contextlib import suppress

    from rigpact.reference_runtime.systems.neurarig.server import Server
    from rigpact.reference_runtime.systems.neurarig.session import Session
    from rigpact.reference_runtime.systems.neurarig.wire import PROFILES
    from rigpact.reports.terminal import plain, print_json, say_aside, stdout

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    learner, threshold = _learner(bundle, onnx, profile, solve_below)
    session = Session(learner, PROFILES[profile.value], threshold, needs_handshake=handshake)
    server = Server(session, host, port)
    say_aside(f"listening on {server.address[0]}:{server.address[1]} ({profile.value})")
    with suppress(KeyboardInterrupt):
        server.serve(frames)
    server.close()
    served = _served(session)
    if output_format is OutputFormat.JSON:
        print_json(served)
    else:
        stdout().print("\n".join(plain(f"{name}: {value}") for name, value in served.items()), markup=False)


def _learner(
    bundle: Path | None, onnx: Path | None, profile: ProfileName, solve_below: float | None
) -> tuple[Learner, float | None]:
    from rigpact.contract.contract_files import contract_in_memory
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
    from rigpact.reference_runtime.systems.neurarig.answering import FixedModel
    from rigpact.reference_runtime.systems.neurarig.wire import SYSTEM
    from rigpact.reports.running.played import open_own_contract

    contract = contract_in_memory(SYSTEM, SYSTEM.template()) if bundle is None else open_own_contract(bundle)
    if onnx is not None:
        if profile is not ProfileName.LEGS or solve_below is not None:
            raise UnusableInput("--onnx", "--profile two-bone or --solve-below beside it", "--onnx alone")
        return FixedModel(contract, OnnxSystemNetwork(onnx, SYSTEM)), None
    try:
        from rigpact.fixtures.systems.neurarig import learner as learners
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        hint = 'pip install "rigpact[training]", or answer with a trained model: --onnx FILE'
        raise UnusableInput("rigpact neurarig serve", "no torch", "torch, which learning needs", hint) from None
    if profile is ProfileName.TWO_BONE:
        return learners.TwoBoneLearner(), learners.TWO_BONE_BELOW if solve_below is None else solve_below
    return learners.LegLearner(contract), learners.SOLVE_BELOW_CM2 if solve_below is None else solve_below


def _served(session: Session) -> dict[str, Any]:
    counts = session.counts
    return {
        "frames": counts.frames, "handshakes": counts.handshakes, "pings": counts.pings, "replies": counts.replies,
        "refused": {reason.name.lower(): count for reason, count in counts.refused.items()},
        "solving": session.solving, "switched_at": session.switched_at, "last_loss": session.last_loss,
    }  # fmt: skip


@neurarig.command(epilog=example("neurarig play"))
def play(
    clip: Annotated[Path, argument("TRACE", "A trace of neurarig that holds engine_pose or packet.")],
    bundle: Annotated[Path, BUNDLE],
    out: Annotated[Path | None, OUT] = None,
    rate: Annotated[float, typer.Option("--rate", min=1.0, max=1000.0, help="Frames a second.")] = 60.0,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="How often to send the clip.")] = 1,
    host: Host = "127.0.0.1",
    port: Port = 6003,
    *,
    handshake: Handshake = True,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Be the engine: send the frames of a clip and collect the replies.

    A refused reply is shown with the reason; --out writes both sides as a trace. Exit status 0: every frame was answered;
    1: some were not (a server that still learns answers nothing).
    """
    import numpy as np

    from rigpact.reference_runtime.systems.neurarig.client import play as play_frames
    from rigpact.reports.running.played import packets_of, write_played
    from rigpact.reports.terminal import print_json, stdout, working

    contract, trace, packets = packets_of(clip, bundle)
    with working("playing"):
        played = play_frames(np.tile(packets, (repeat, 1)), host, port, rate, shakes_hands=handshake)
    if out is not None:
        write_played(out, contract, trace, packets, played)
    if output_format is OutputFormat.JSON:
        print_json({
            "sent": played.sent, "replies": len(played.replies), "refused": played.refused,
            "refusals": dict(played.refusals), "seconds": played.seconds,
        })  # fmt: skip
    else:
        answered = f"{len(played.replies)} replies, {played.refused} datagrams refused"
        stdout().print(f"{played.sent} frames sent in {played.seconds:.2f} s, {answered}")
        for words, count in played.refusals.items():
            stdout().print(f"refused {count} times: {words}", markup=False)
    raise typer.Exit(0 if len(played.replies) == played.sent else 1)


@neurarig.command(epilog=example("neurarig read"))
def read(
    capture: Annotated[Path, argument("CAPTURE", "A .pcap of tcpdump or Wireshark.")],
    bundle: Annotated[Path, BUNDLE],
    out: Out,
    *,
    port: Port = 6003,
    reply_port: Annotated[
        int | None, option("--reply-port", "PORT", "The port that replies go to; else they come from --port.")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write a captured session of engine and server as a trace.

    A refused datagram is shown with the reason. A declared contract with the vectors packet and reply reads datagrams
    without a first byte, as the public plug-in sends them. Exit status 0; 2 where the capture holds no frame.
    """
    from rigpact.contract.files import read_bytes
    from rigpact.reference_runtime.systems.neurarig.capture import read_capture
    from rigpact.reports.running.played import contract_of_wire, write_captured

    contract, profile = contract_of_wire(bundle)
    captured = read_capture(read_bytes(capture), capture, port, profile, reply_port)
    write_captured(out, contract, captured)
    counts = {"frames": len(captured.frames), "replies": len(captured.replies), "refused": captured.refusals.total()}
    answered = f"{counts['replies']} replies, {counts['refused']} datagrams refused"
    lines = [f"{out} written: {counts['frames']} frames, {answered}"]
    notes = [f"refused {count} times: {words}" for words, count in captured.refusals.items()]
    facts = {**counts, "refusals": dict(captured.refusals)}
    answer_written("neurarig read", [out], output_format, lines=lines, facts=facts, notes=notes)
