"""Describe a system without a contract: the tables that `rigpact show` prints."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint

from rigpact.contract.contract_files import contract_to_bytes, contract_to_json
from rigpact.contract.declared.vocabulary import package_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.description import Section
from rigpact.contract.systems.system import System
from rigpact.reports.describing.description import feedback_section, fields_section, stages_section, value_text


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
    return [
        _identity(system, entry),
        stages_section(system, system.vectors),
        *((fields_section(system.vectors),) if system.vectors else ()),
        feedback_section(system),
        _knobs(system),
        _hints(system),
    ]


def _identity(system: System, entry: EntryPoint) -> Section:
    rows = (
        ("name", system.name), ("title", system.title), ("package", package_of(entry)), ("module", entry.module),
        ("frames per second", _rate(system) or "the contract's"), ("network takes", ", ".join(system.inputs)),
        ("network gives", ", ".join(system.outputs)),
    )  # fmt: skip
    return Section("System", (), ("", "value"), rows)


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
