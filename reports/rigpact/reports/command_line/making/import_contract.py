"""`rigpact import`: a contract from the file that another stack exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Force, Format, Fps, Model, Out, OutputFormat, argument, option
from rigpact.reports.command_line.written import answer_written

Recording = Annotated[
    Path | None, option("--recording", "FILE", "A recording: its columns are matched to the vectors.")
]
Base = Annotated[Path | None, option("--builds-on", "FILE", "The file below FILE: legged_robot_config.py, base.yaml.")]
Tick = Annotated[str | None, option("--tick", "TOPIC", "Of a bag: the topic that gives the frames.")]
Episode = Annotated[int | None, typer.Option("--episode", min=0, help="Of a data set: the episode to take.")]


def import_contract(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "deploy.yaml, env.yaml, g1.yaml, rl_sar's config.yaml, a configuration class (.py), an IO descriptor, a LeRobot "
            "policy's config.json, BVH, a bag or a data set of a robot, "
            "LEAPP's YAML, an .onnx of mjlab, arrays (.npz, .json).",
        ),
    ],
    *,
    out: Out,
    onnx: Model = None,
    recording: Recording = None,
    fps: Fps = None,
    below: Annotated[str, option("--below", "PATH", "Of arrays: those below this path, as sequences[0].")] = "",
    base: Base = None,
    tick: Tick = None,
    episode: Episode = None,
    force: Force = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write a contract from the export of another stack.

    A word that FILE leaves open stays open, with a comment. Arrays become .npz.
    Exit status 0; 2 for a file of an unknown format, or one that contradicts itself or its model.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.reports.importing.formats import ImportRequest, import_file

    if out.exists() and not force:
        raise UnusableInput(out, "a file", "none yet", "--force writes over it")
    imported = import_file(ImportRequest(file, out, onnx, recording, fps, below, base, tick, episode))
    write_bytes(out, imported.content)
    lines = [f"{out} written: {imported.what}"]
    notes = list(imported.notes)
    computed, open_words = (
        [name.removesuffix(".operation") for name in imported.left_open if name.endswith(".operation") == is_computed]
        for is_computed in (True, False)
    )
    if computed:
        notes.append(f"nothing computes {', '.join(computed)}: write the stages that do")
    if open_words:
        notes.append(f"left open: {', '.join(open_words)}; `rigpact check` names each place")
    facts = {"what": imported.what, "left_open": list(imported.left_open)}
    answer_written("import", [out], output_format, lines=lines, facts=facts, notes=notes)
