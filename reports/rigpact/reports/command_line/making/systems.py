"""`rigpact systems`: which systems there are, their vectors and their conventions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.reports.command_line.options import Format, OutputFormat

if TYPE_CHECKING:
    from rigpact.contract.systems.definition import SystemDefinition


def systems(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One system: every field of its vectors, every knob.")
    ] = None,
    *,
    write_contract: Annotated[
        Path | None,
        typer.Option(
            "--write-contract", metavar="FILE", help="Write a contract file of NAME to start from, without constants."
        ),
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """List the systems beside the enemy animation that check, run, diff and explain work for."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files import write_bytes
    from rigpact.contract.systems.reading import contract_to_bytes, contract_to_json
    from rigpact.contract.systems.registry import SYSTEMS, find_system
    from rigpact.reports.terminal import print_json

    chosen = [find_system(name).definition] if name else [each.definition for each in SYSTEMS.values()]
    if write_contract is not None:
        if name is None:
            raise UnusableInput("--write-contract", "no NAME", "the system to write it for")
        write_bytes(write_contract, contract_to_bytes(contract_to_json(chosen[0], {})))
    if output_format is OutputFormat.JSON:
        print_json([_to_json(definition) for definition in chosen])
    else:
        for definition in chosen:
            _print_system(definition, in_full=name is not None)


def _to_json(definition: SystemDefinition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "title": definition.title,
        "fps": definition.fps,
        "windowed": definition.windowed,
        "inputs": definition.inputs,
        "outputs": definition.outputs,
        "vectors": {name: layout.to_json() for name, layout in definition.vectors.items()},
        "knobs": definition.knobs,
    }


def _print_system(definition: SystemDefinition, *, in_full: bool) -> None:
    from rich.text import Text

    from rigpact.reports.terminal import stdout, table

    console = stdout()
    rate = "" if definition.fps is None else f", {definition.fps:g} a second"
    console.print(Text(definition.name, style="bold").append(f"  {definition.title}{rate}", style="default"))
    roles = {**dict.fromkeys(definition.inputs, "model input"), **dict.fromkeys(definition.outputs, "model output")}
    rows = [
        (name, layout.width, len(layout.fields), layout.layout_hash[:12], roles.get(name, ""))
        for name, layout in definition.vectors.items()
    ]
    console.print(table("", ("vector", "numbers", "fields", "layout hash", ""), rows))
    if in_full:
        for name, layout in definition.vectors.items():
            fields = [
                (f"{name}.{field.name}", f"{field.start}:{field.stop}", field.kind.value, field.unit, field.space)
                for field in layout
            ]
            console.print(table("", ("field", "numbers", "kind", "unit", "space"), fields))
        knobs = [(knob, values[0], ", ".join(values[1:])) for knob, values in definition.knobs.items()]
        console.print(table("", ("knob", "the contract's", "others"), knobs))
    else:
        console.print(Text(f"{len(definition.knobs)} knobs: {', '.join(definition.knobs)}\n"))
