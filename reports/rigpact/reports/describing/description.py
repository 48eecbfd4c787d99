"""A contract of any system as tables: stages, fields, tensors, conventions, feedback, numbers, the model.

This module builds a list of sections from the system's stages, and renders it as text or as a page. So the contract
document can be generated instead of kept by hand. A system's `Description` adds the sections that only this system has.
Nothing here judges; `rigpact check` does.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rigpact.contract.as_json import as_json
from rigpact.contract.compatibility import Consumer, compare_contracts
from rigpact.contract.documents import Document
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import Row, Section, System
from rigpact.reports.terminal import plain, template


def beside_section(contract: Document, other: Document) -> Section:
    """Every place where two contracts compute something else; what only differs in its wording is counted."""
    found = compare_contracts(contract, other)
    parting = [each for each in found.changes if Consumer.COSMETIC not in each.classes]
    rows = tuple((str(place), each.message, each.pointer or "/") for place, each in enumerate(parting, 1))
    wording = len(found.changes) - len(parting)
    lines = (f"{contract.path.name} → {other.path.name}" + (f"; {wording} more in wording only" if wording else ""),)
    if not rows:
        lines = (f"{contract.path.name} and {other.path.name} compute the same.",)
    return Section("Where they part", lines, ("", "what", "place"), rows)


_HASH_CHARACTERS = 12


def describe_contract(
    contract: Contract, root: Mapping[str, Any], model: ModelSignature | None = None
) -> list[Section]:
    """All sections about a contract, and about a model if there is one.

    root: the JSON object of the contract's file. It shows which values are declared and which are assumed.
    """
    system: System = contract.system
    layouts = {stage.name: stage.fields(contract) for stage in system.stages}
    found = [side or () for side in bound_tensors(model, system.binding)] if model else [(), ()]
    rows = [
        (f"{title}{place}", name, _width(layouts[name]), *_bound(side, place, model), origin(system.graph[name]))
        for title, names, side in (("", system.inputs, found[0]), ("output ", system.outputs, found[1]))
        for place, name in enumerate(names)
    ]
    lines = ("Inputs are bound by position, float32; names do not count.",)
    columns = ("position", "tensor", "width", *(("in the model",) if model else ()), "computed from")
    return [
        _identity(contract, root),
        stages_section(system, layouts),
        fields_section(layouts),
        Section("Tensors", lines, columns, tuple(rows)),
        _conventions(contract, system.description.declared(root)),
        feedback_section(system),
        *system.description.sections(contract, model),
        *(() if model is None else (_model(model),)),
    ]


def _identity(contract: Contract, root: Mapping[str, Any]) -> Section:
    system: System = contract.system
    assumed = "declared" if "fps" in root else f"not declared: {system.name} assumes it"
    rate = "not declared" if contract.fps is None else f"{contract.fps:g} ({assumed})"
    rows = (
        ("file", contract.path.name),
        ("system", f"{system.name}: {system.title}"),
        ("sha256", contract.sha256[:_HASH_CHARACTERS]),
        ("frames per second", rate),
        *system.description.facts(contract, root),
    )
    return Section("Contract", columns=("", "value"), rows=rows)


def stages_section(system: System, layouts: Mapping[str, FieldLayout]) -> Section:
    """The stages of a system in the order of its loop, with their widths where the layout is known."""
    lines = ("A window of frames is evaluated as a whole.",) if system.windowed else ()
    rows = tuple(
        (stage.name, _width(layouts.get(stage.name)), origin(stage), ", ".join(knob.name for knob in stage.knobs))
        for stage in system.stages
    )
    return Section("Stages", lines, ("stage", "numbers", "computed from", "conventions"), rows)


def origin(stage: Stage) -> str:
    """The sources of a stage, in words."""
    needs = ", ".join(stage.needs)
    if stage.is_answer:
        return f"the network, from {needs}"
    if not needs:
        return "given from outside"
    return f"{needs}, if known {', '.join(stage.may_use)}" if stage.may_use else needs


def _width(layout: FieldLayout | None) -> str:
    return "the contract's" if layout is None else str(layout.width) if layout.width else "the model's"


def fields_section(layouts: Mapping[str, FieldLayout]) -> Section:
    """Every field. Stages with the same layout share a table; fields that repeat for every bone share a row."""
    stages: dict[FieldLayout, list[str]] = {}
    for name, layout in layouts.items():
        stages.setdefault(layout, []).append(name)
    rows = tuple((", ".join(names), *_field_row(run)) for layout, names in stages.items() for run in bone_runs(layout))
    columns = ("stage", "field", "start", "stop", "size", "kind", "unit", "space", "range", "bones")
    return Section("Fields", ("Ranges of numbers are half open.",), columns, rows)


def bone_runs(layout: FieldLayout) -> Iterator[list[Field]]:
    """Group neighbouring fields that differ only in place and bone; any other field is a group of its own."""
    for (_, bone_less), run in groupby(enumerate(layout), lambda pair: _alike(*pair)):
        found = [field for _, field in run]
        yield from [[field] for field in found] if bone_less is not None else [found]


def _alike(place: int, field: Field) -> tuple[object, int | None]:
    meaning = (field.name, field.size, field.kind, field.unit, field.space, field.low, field.high)
    return meaning, None if field.bone else place


def _field_row(run: list[Field]) -> Row:
    first, last = run[0], run[-1]
    bones = f"{len(run)} × {first.size}" if len(run) > 1 else first.bone
    limits = "" if first.low is None and first.high is None else f"{_limit(first.low)} … {_limit(first.high)}"
    return (
        first.name or "every bone", str(first.start), str(last.stop), str(last.stop - first.start), first.kind.value,
        first.unit, first.space, limits, bones,
    )  # fmt: skip


def _limit(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _bound(side: tuple[TensorSignature, ...], place: int, model: ModelSignature | None) -> Row:
    if model is None:
        return ()
    if place >= len(side):
        return ("missing",)
    entry = side[place]
    return (f"{entry.name} {entry.dtype} [{', '.join('?' if axis is None else str(axis) for axis in entry.shape)}]",)


def _conventions(contract: Contract, sources: Mapping[str, str]) -> Section:
    rows = []
    for name, knob in contract.system.knobs.items():
        value = contract.conventions[name]
        assumed = "default" if value == knob.default else "set, or follows from the files"
        rows.append((name, value_text(value), sources.get(name, assumed), knob.meaning))
    lines = ("Every place where two correct-looking implementations differ, and the value of this contract.",)
    return Section("Conventions", lines, ("knob", "value", "source", "what it decides"), tuple(rows))


def value_text(value: object) -> str:
    """A knob's value as text for people."""
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def feedback_section(system: System) -> Section:
    """The stages that a frame takes from the frame before when the system feeds itself."""
    carried = [(stage.name, stage.carried, ", ".join(stage.carried_fields)) for stage in system.stages if stage.carried]
    rows = tuple((name, source, fields or "every field") for name, source, fields in carried)
    lines = () if rows else ("No stage is fed back: each frame is computed from its own inputs.",)
    return Section("Feedback", lines, ("stage", "takes over from the frame before", "fields"), rows)


def _model(model: ModelSignature) -> Section:
    rows = [("file", model.path.name), ("sha256", model.sha256[:_HASH_CHARACTERS])]
    if model.graph is not None:
        graph = model.graph
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(graph.opsets.items()))
        operators = f"{len(graph.nodes)} nodes: {', '.join(sorted({node.op for node in graph.nodes}))}"
        weights = f"{graph.parameters:,} numbers, {sum(weight.bytes for weight in graph.weights) / 1e6:.1f} MB"
        rows += [("operator sets", opsets), ("operators", operators), ("weights", weights)]
    if model.refusal:
        rows.append(("onnxruntime", f"does not load it: {model.refusal}"))
    return Section("Model", columns=("", "value"), rows=tuple(rows))


# Render a contract's description as text for the terminal or as a Markdown page.
def print_description(sections: Sequence[Section], console: Console) -> None:
    """Print the sections for people."""
    for section in sections:
        console.print(Text(section.title, style="bold"))
        for line in section.lines:
            console.print(Text(plain(line), style="dim"))
        if section.rows:
            built = Table(header_style="dim", box=None, pad_edge=False, show_header=any(section.columns[:1]))
            for place, name in enumerate(section.columns):
                numbers = all(row[place].isdigit() for row in section.rows)
                built.add_column(name, justify="right" if numbers else "left", overflow="fold")
            for row in section.rows:
                built.add_row(*(Text(plain(cell)) for cell in row))
            console.print(built)
        console.print()


def description_markdown(sections: Sequence[Section]) -> str:
    """The sections as a Markdown page; the same files give the same text."""
    return template(Path(__file__).with_name("description.md.j2")).render(sections=sections).removesuffix("\n")


def description_to_json(sections: Sequence[Section]) -> dict[str, Any]:
    """The `rigpact-description` document, version 1: the same tables as data."""
    return {"format": "rigpact-description", "version": 1, "sections": as_json(sections)}
