"""Contracts, systems, operations and profiles as tables, and the changes between two contracts in words.

Lists of sections are built from the system's stages and rendered as text or as a page. So the contract document can be generated
instead of kept by hand. A system's `Description` adds the sections that only this system has. Nothing here judges.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import EntryPoint
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rigpact.contract.as_json import as_json
from rigpact.contract.compatibility import Compatibility, Consumer, compare_contracts
from rigpact.contract.compatibility.kinds import MEANING
from rigpact.contract.contract_files import contract_to_bytes, contract_to_json
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.values import Profile
from rigpact.contract.declared.vocabulary import RIGPACT, origin_of, package_of
from rigpact.contract.documents import Document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, write_bytes
from rigpact.contract.findings import number_of
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.pages.registry import meaning_of
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import Row, Section, System
from rigpact.reports.terminal import Answer, Sentence, plain, print_answer, template


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
    assumed = "declared" if "fps" in root else f"not declared: {system.name} assumes it"
    rate = "not declared" if contract.fps is None else f"{contract.fps:g} ({assumed})"
    identity = (
        ("file", contract.path.name), ("system", f"{system.name}: {system.title}"),
        ("sha256", contract.sha256[:_HASH_CHARACTERS]), ("frames per second", rate),
        *system.description.facts(contract, root),
    )  # fmt: skip
    sources, knobs = system.description.declared(root), []
    for name, knob in system.knobs.items():
        value = contract.conventions[name]
        assumed = "default" if value == knob.default else "set, or follows from the files"
        knobs.append((name, value_text(value), sources.get(name, assumed), knob.meaning))
    said = ("Every place where two correct-looking implementations differ, and the value of this contract.",)
    return [
        Section("Contract", (), ("", "value"), identity),
        _stages(system, layouts),
        _fields(layouts),
        _tensors(system, layouts, model),
        Section("Conventions", said, ("knob", "value", "source", "what it decides"), tuple(knobs)),
        _feedback(system),
        *system.description.sections(contract, model),
        *(() if model is None else (_model(model),)),
    ]


def _tensors(system: System, layouts: Mapping[str, FieldLayout], model: ModelSignature | None) -> Section:
    found = [side or () for side in bound_tensors(model, system.binding)] if model else [(), ()]
    rows = []
    for title, names, side in (("", system.inputs, found[0]), ("output ", system.outputs, found[1])):
        bound = [
            f"{each.name} {each.dtype} [{', '.join('?' if axis is None else str(axis) for axis in each.shape)}]"
            for each in side
        ]
        for place, name in enumerate(names):
            held = () if model is None else (bound[place] if place < len(bound) else "missing",)
            rows.append((f"{title}{place}", name, _width(layouts[name]), *held, origin(system.graph[name])))
    lines = ("Inputs are bound by position, float32; names do not count.",)
    columns = ("position", "tensor", "width", *(("in the model",) if model else ()), "computed from")
    return Section("Tensors", lines, columns, tuple(rows))


def _stages(system: System, layouts: Mapping[str, FieldLayout]) -> Section:
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


def _fields(layouts: Mapping[str, FieldLayout]) -> Section:
    """Every field. Stages with the same layout share a table; fields that repeat for every bone share a row."""
    stages: dict[FieldLayout, list[str]] = {}
    for name, layout in layouts.items():
        stages.setdefault(layout, []).append(name)
    rows = tuple((", ".join(names), *_field_row(run)) for layout, names in stages.items() for run in _bone_runs(layout))
    columns = ("stage", "field", "start", "stop", "size", "kind", "unit", "space", "range", "bones")
    return Section("Fields", ("Ranges of numbers are half open.",), columns, rows)


def _bone_runs(layout: FieldLayout) -> Iterator[list[Field]]:
    """Group neighbouring fields that differ only in place and bone; any other field is a group of its own."""

    def meaning(pair: tuple[int, Field]) -> tuple[object, ...]:
        place, field = pair
        own = (field.name, field.size, field.kind, field.unit, field.space, field.low, field.high)
        return *own, None if field.bone else place

    for _, run in groupby(enumerate(layout), meaning):
        yield [field for _, field in run]


def _field_row(run: list[Field]) -> Row:
    first, last = run[0], run[-1]
    bones = f"{len(run)} × {first.size}" if len(run) > 1 else first.bone
    low, high = ("" if each is None else f"{each:g}" for each in (first.low, first.high))
    limits = f"{low} … {high}" if low or high else ""
    return (
        first.name or "every bone", str(first.start), str(last.stop), str(last.stop - first.start), first.kind.value,
        first.unit, first.space, limits, bones,
    )  # fmt: skip


def value_text(value: object) -> str:
    """A knob's value as text for people."""
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _feedback(system: System) -> Section:
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


# Describe operations and profiles of declared contracts: the tables that `rigpact show` and docs/operations.md have.
_MANY = 1 << 10


def operation_sections(operations: Sequence[Operation]) -> list[Section]:
    """A table of the operations; of a single one its parameters too. Those that rigpact does not bring say who does."""
    origins = {each.name: origin_of(each.name) for each in operations}
    columns: tuple[str, ...] = ("name", "takes", "what it computes")
    rows: tuple[tuple[str, ...], ...] = tuple((each.name, _inputs_of(each), each.summary) for each in operations)
    if set(origins.values()) != {RIGPACT}:
        columns, rows = (*columns, "from"), tuple((*row, origins[row[0]]) for row in rows)
    sections = [Section("Operations", (), columns, rows)]
    if len(operations) == 1:
        choices = operations[0].choices
        meanings = operations[0].parameters.items()
        told = tuple((key, meaning, "yes" if key in choices else "") for key, meaning in meanings)
        shared = tuple((knob.name, ", ".join(knob.values), meaning_of(knob)) for knob in operations[0].shared)
        line = "Every stage that looks at one shares it; the system's page says its value."
        if told:
            sections.append(Section("Parameters", (), ("key", "meaning", "left open if it is not said"), told))
        if shared:
            sections.append(Section("Conventions", (line,), ("name", "readings", "what it decides"), shared))
    return sections


def _inputs_of(operation: Operation) -> str:
    """How many vectors an operation reads, in words."""
    fewest, most = operation.inputs
    if most == 0:
        return "what its network takes"
    words = str(fewest) if fewest == most else f"{fewest} or more" if most >= _MANY else f"{fewest} to {most}"
    return f"{words} vector{'s' if words != '1' else ''}"


def profiles_section(profiles: Sequence[Profile]) -> Section:
    """A row for each profile that a contract can name."""
    said = (", ".join(f"{key} {value}" for key, value in each.says.items()) for each in profiles)
    rows = tuple((each.name, each.title, words) for each, words in zip(profiles, said, strict=True))
    return Section("Profiles", ('A contract names one of them: profile = "NAME".',), ("name", "stack", "says"), rows)


def profile_sections(profile: Profile) -> list[Section]:
    """One profile: what it says, and what a parameter means that a contract leaves out."""
    said, chosen = tuple((key, f"{value}") for key, value in profile.says.items()), tuple(profile.choices.items())
    sections = [Section(f"Profile {profile.name}", (profile.title, f"Source: {profile.source}."), ("what", "is"), said)]
    if chosen:
        sections.append(Section("Parameters that a contract leaves out", (), ("parameter", "is"), chosen))
    return sections


def systems_section(systems: Iterable[tuple[System, EntryPoint]]) -> Section:
    """One row for each system, with its package and module."""
    rows = tuple(
        (
            system.name, system.title, str(len(system.stages)), str(len(system.knobs)), _rate(system), package_of(entry),
            entry.module,
        )
        for system, entry in systems
    )  # fmt: skip
    return Section("Systems", (), ("name", "title", "stages", "knobs", "a second", "package", "module"), rows)


def _rate(system: System) -> str:
    return "" if system.fps is None else f"{system.fps:g}"


def system_sections(system: System, entry: EntryPoint) -> list[Section]:
    """One system in full: stages, fields, feedback, and conventions with hints for a search in the code."""
    rows = (
        ("name", system.name), ("title", system.title), ("package", package_of(entry)), ("module", entry.module),
        ("frames per second", _rate(system) or "the contract's"), ("network takes", ", ".join(system.inputs)),
        ("network gives", ", ".join(system.outputs)),
    )  # fmt: skip
    own = system.knobs.items()
    knobs = tuple((name, value_text(each.default), ", ".join(each.values[1:]), each.meaning) for name, each in own)
    hints = tuple((f"{name}={value}", knob.hint(value)) for name, knob in own for value in knob.hints)
    return [
        Section("System", (), ("", "value"), rows),
        _stages(system, system.vectors),
        *((_fields(system.vectors),) if system.vectors else ()),
        _feedback(system),
        Section("Conventions", (), ("knob", "the contract's", "others", "what it decides"), knobs),
        Section("Signs in code", (), ("where a side has", "look for"), hints),
    ]


def contract_template(system: System) -> bytes:
    """A contract file to start from, with the published constants. UnusableInput where the layouts depend on the character."""
    if set(system.vectors) != set(system.graph.names):
        found = f"{system.name}, whose vectors are as wide as each character makes them"
        hint = "docs/systems.md says which files its contract is"
        raise UnusableInput("--write-contract", found, "a system with vectors of its own", hint)
    return contract_to_bytes(contract_to_json(system, system.template()))


_STYLES = {Consumer.RETRAIN: "bold magenta", Consumer.TRACE: "yellow", Consumer.COSMETIC: "dim"}
_STYLES |= dict.fromkeys((Consumer.ENGINE_LAYOUT, Consumer.ENGINE_MATH), "bold red")


def print_breaking(found: Compatibility, console: Console) -> None:
    """Print every change, then who has to act and how, then the version that the changes require."""
    said = f"{number_of(len(found.changes), 'change')}; version {found.version_step}: {found.version_reason}"
    word = "BREAKING" if found.is_breaking else "COMPATIBLE"
    print_answer(Answer(word, said, int(found.is_breaking), tuple(_body(found))), console)


def _body(found: Compatibility) -> Iterator[Sentence]:
    for each in found.changes:
        classes = " ".join(each.classes)
        yield Sentence(f"{each.pointer or '/'}: {each.kind.name} {classes}: {each.message}", _STYLES[each.classes[0]])
        if Consumer.COSMETIC not in each.classes:
            yield Sentence(f"  why: {each.kind.why}", "dim")
    for name, advice in found.duties.items():
        if name != Consumer.COSMETIC:
            yield Sentence(f"{name}: {MEANING[Consumer(name)]}", _STYLES[Consumer(name)])
            yield Sentence(f"  to do: {advice}", "dim")


def write_record(found: Compatibility, path: Path, day: date) -> bool:
    """Add the entry to a change record, and create the file if needed; False if the entry is already there."""
    text = "# Change record\n"
    if path.exists():
        try:
            text = read_bytes(path, is_updated=True).decode("utf-8")
        except UnicodeDecodeError:
            raise UnusableInput(path, "bytes that are not text", "a change record in Markdown") from None
    if found.record_key in text:
        return False
    cosmetic = sum(Consumer.COSMETIC in each.classes for each in found.changes)
    entry = template(Path(__file__).with_name("change_record.md.j2")).render(
        found=found, day=day.isoformat(), name=PurePath(found.new).name, meaning=MEANING, cosmetic=cosmetic
    )
    write_bytes(path, f"{text.rstrip()}\n\n{entry}".encode())
    return True
