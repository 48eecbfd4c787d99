"""Describe a system without a contract: the tables that `rigpact show` prints."""

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint

from rigpact.contract.contract_files import contract_to_bytes, contract_to_json
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.values import Profile
from rigpact.contract.declared.vocabulary import RIGPACT, origin_of, package_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import meaning_of
from rigpact.contract.systems.system import Section, System
from rigpact.reports.describing.description import feedback_section, fields_section, stages_section, value_text

# Describe operations and profiles of declared contracts: the tables that `rigpact show` and docs/operations.md have.
_MANY = 1 << 10


def operation_sections(operations: Sequence[Operation]) -> list[Section]:
    """A table of the operations; of a single one its parameters too. Those that rigpact does not bring say who does."""
    origins = {each.name: origin_of(each.name) for each in operations}
    columns: tuple[str, ...] = ("name", "takes", "what it computes")
    rows: tuple[tuple[str, ...], ...] = tuple((each.name, inputs_of(each), each.summary) for each in operations)
    if set(origins.values()) != {RIGPACT}:
        columns, rows = (*columns, "from"), tuple((*row, origins[row[0]]) for row in rows)
    sections = [Section("Operations", (), columns, rows)]
    if len(operations) == 1:
        choices = operations[0].choices
        meanings = operations[0].parameters.items()
        told = tuple((key, meaning, "yes" if key in choices else "") for key, meaning in meanings)
        if told:
            sections.append(Section("Parameters", (), ("key", "meaning", "left open if it is not said"), told))
        sections += _shared(operations[0])
    return sections


def _shared(operation: Operation) -> list[Section]:
    """The conventions of the whole contract that an operation looks at, if any."""
    rows = tuple((knob.name, ", ".join(knob.values), meaning_of(knob)) for knob in operation.shared)
    line = "Every stage that looks at one shares it; the system's page says its value."
    return [Section("Conventions", (line,), ("name", "readings", "what it decides"), rows)] if rows else []


def inputs_of(operation: Operation) -> str:
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
    return [
        Section("System", (), ("", "value"), rows),
        stages_section(system, system.vectors),
        *((fields_section(system.vectors),) if system.vectors else ()),
        feedback_section(system),
        _knobs(system),
        _hints(system),
    ]


def _knobs(system: System) -> Section:
    knobs = system.knobs.items()
    rows = tuple((name, value_text(each.default), ", ".join(each.values[1:]), each.meaning) for name, each in knobs)
    return Section("Conventions", (), ("knob", "the contract's", "others", "what it decides"), rows)


def _hints(system: System) -> Section:
    rows = tuple((f"{name}={value}", knob.hint(value)) for name, knob in system.knobs.items() for value in knob.hints)
    return Section("Signs in code", (), ("where a side has", "look for"), rows)


def contract_template(system: System) -> bytes:
    """A contract file to start from, with the published constants. UnusableInput where the layouts depend on the character."""
    if set(system.vectors) != set(system.graph.names):
        found = f"{system.name}, whose vectors are as wide as each character makes them"
        hint = "docs/systems.md says which files its contract is"
        raise UnusableInput("--write-contract", found, "a system with vectors of its own", hint)
    return contract_to_bytes(contract_to_json(system, system.template()))
