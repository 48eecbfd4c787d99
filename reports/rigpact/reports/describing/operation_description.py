"""Describe operations and profiles of declared contracts: the tables that `rigpact show` and docs/operations.md have."""

from collections.abc import Sequence

from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.profiles import Profile
from rigpact.contract.declared.vocabulary import RIGPACT, origin_of
from rigpact.contract.systems.description import Section

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
    rows = tuple((knob.name, ", ".join(knob.values), knob.meaning) for knob in operation.shared)
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
