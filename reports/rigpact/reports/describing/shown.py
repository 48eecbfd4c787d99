"""What a word of `rigpact show` names: a rule, a system or its page, an operation, a profile, a schema, the recorder.

A contract's file is what `description` is for. To show another kind: a row in `_KINDS`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

from rigpact.contract.declared.values import known_profiles
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.editor_schemas import CONTRACT, SETTINGS, contract_schema, settings_schema
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import Rule
from rigpact.contract.pages.registry import every_system, find_system, known_systems
from rigpact.contract.rules.catalogue import ALL_RULES, FAMILIES, MEASURED
from rigpact.contract.systems.system import Section
from rigpact.reference_runtime.native.library import headers_folder
from rigpact.reports.describing.description import (
    operation_sections,
    profile_sections,
    profiles_section,
    system_sections,
    systems_section,
)
from rigpact.reports.terminal import json_text, template

FINDINGS = "findings_report"
ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("check", "run", "diff", "demo"), FINDINGS),
    "gate": "gate_report",
    "gate --selftest": "answers/selftest",
    **dict.fromkeys(("init", "codegen", "convert"), "answers/written"),
    **dict.fromkeys(("explain", "demo robot"), "diagnosis"),
    "nan": "answers/nonfinite",
    "run --probe": "answers/written",
    "sweep": "answers/sweep",
    "init --status": "answers/status",
    "diff --base": "answers/breaking",
    "show": "answers/description",
    "neurarig serve": "answers/served",
}
"""The words of a command -> its schema's file, without `.schema.json`."""
_MADE = {"contract.toml": (CONTRACT, contract_schema), "rigpact.toml": (SETTINGS, settings_schema)}
"""Files that people write, whose schemas are made of the operations and rules that are installed."""
SCHEMAS = (*ANSWERS, *_MADE)
"""Everything that has a schema, by the word that `rigpact show schema` takes."""


def schema_text(name: str) -> str:
    """The schema of one of `SCHEMAS`, as it stands in its file."""
    if name in _MADE:
        return json_text(_MADE[name][1]())
    place = files("rigpact.contract") / "schemas" / f"{ANSWERS[name]}.schema.json"
    return place.read_text(encoding="utf-8")


def write_schemas(folder: Path) -> list[Path]:
    """Write the schemas that an editor needs into a folder; the files. UnusableInput where it is none."""
    if not folder.is_dir():
        raise UnusableInput("--write", str(folder), "a folder that is there", "`--write .` for this one")
    written = []
    for name, (file, _) in _MADE.items():
        written.append(folder / file)
        write_bytes(written[-1], schema_text(name).encode())
    return written


# The section of one rule, as docs/rules.md and `rigpact show` have it
def rule_section(rule: Rule) -> str:
    """The section of one rule, under fixed headings."""
    general = {"place": "FILE", "message": re.sub(r"\{[^{}]*\}", "…", rule.message)}
    words = template(Path(__file__).with_name("rule.md.j2"), sentence=_sentence)
    return words.render(rule=rule, family=_family_of(rule), example=examples().get(rule.code, general))


@cache
def examples() -> Mapping[str, Mapping[str, str]]:
    """The first finding of each rule's golden report, by code."""
    text = (files("rigpact.contract") / "rules" / "examples.json").read_text(encoding="utf-8")
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


def _family_of(rule: Rule) -> str:
    return next(family.about for family in (*FAMILIES, *MEASURED) if rule in family.rules)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


Made = tuple[Sequence[Section], str]


@dataclass(frozen=True)
class Shown:
    """What a word names. kind: in words; sections: its tables; text: what is printed as it stands, in place of tables."""

    kind: str
    sections: Sequence[Section]
    text: str = ""


def shown(words: Sequence[str]) -> Shown:
    """What the words name, all names where there are none; UnusableInput, with the nearest names, where they name nothing."""
    word = " ".join(words)
    if not word:
        return Shown("a list", list(_index()))
    for kind, (names, make) in _KINDS.items():
        spelt = {name.lower(): name for name in names()}
        name = spelt.get(word.lower()) or spelt.get(word.lower().replace("-", "_"))
        if name is not None:
            return Shown(kind, *make(name))
    raise _names_nothing(word)


def known_names(incomplete: str) -> list[tuple[str, str]]:
    """Names that begin so, each with its kind: what a shell completes."""
    every = ((name, kind) for kind, (names, _) in _KINDS.items() for name in names())
    return [each for each in every if each[0].lower().startswith(incomplete.lower())]


def _names_nothing(word: str) -> UnusableInput:
    place = Path(word)
    files = [(str(each), "a file") for each in place.parent.iterdir()] if place.parent.is_dir() else []
    spelt = {name.lower(): name for name, _ in [*known_names(""), *files]}
    codes = {each.code: each.name for each in ALL_RULES}
    close = [spelt[each] for each in get_close_matches(word.lower(), spelt, n=3)]
    said = ", ".join(f"{each} ({codes[each]})" if each in codes else each for each in close)
    found = f"{word[:60]!r}{', a folder' if place.is_dir() else ''}"
    expected = "a contract's file, a rule, a system, an operation, a profile, `schema NAME`, `page NAME` or `recorder`"
    return UnusableInput("NAME", found, expected, f"did you mean {said}?" if said else "`rigpact show` lists all names")


def _rules() -> Mapping[str, Rule]:
    return {each.code: each for each in ALL_RULES} | {each.name: each for each in ALL_RULES}


def _rule(name: str) -> Made:
    rule = _rules()[name]
    example = examples().get(rule.code)
    rows = (
        ("severity", rule.severity.value), ("family", _family_of(rule)), ("message", rule.message), ("why", rule.why),
        ("hint", rule.hint), *((("engine", "does not load such a file"),) if rule.engine_refuses else ()),
        *((("example", f"{example['place']}: {example['message']}"),) if example else ()),
    )  # fmt: skip
    return [Section(f"{rule.code} {rule.name}", (), ("", "value"), rows)], rule_section(rule)


def _page(name: str) -> Made:
    system = find_system(name.removeprefix(_PAGE))
    if not system.own_page:
        raise UnusableInput("NAME", f"{system.name}, which is written in Python", "a system that is a page")
    return _whole(f"Page of {system.name}", system.own_page, "toml")


def _schema(name: str) -> Made:
    return _whole(f"Schema of {name.removeprefix(_SCHEMA)}", schema_text(name.removeprefix(_SCHEMA)), "json")


def _whole(title: str, text: str, language: str) -> Made:
    return [Section(title, (f"```{language}\n{text}```",))], text


def _recorder() -> str:
    return template(Path(__file__).with_name("recorder.cpp.j2")).render(include=headers_folder())


_PAGE, _SCHEMA = "page ", "schema "
_KINDS: Mapping[str, tuple[Callable[[], Iterable[str]], Callable[[str], Made]]] = {
    "a rule": (_rules, _rule),
    "a system": (known_systems, lambda name: (system_sections(find_system(name), known_systems()[name]), "")),
    "an operation": (known_operations, lambda name: (operation_sections([known_operations()[name]]), "")),
    "a profile": (known_profiles, lambda name: (profile_sections(known_profiles()[name]), "")),
    "a page": (lambda: (f"{_PAGE}{name}" for name in known_systems()), _page),
    "a schema": (lambda: (f"{_SCHEMA}{name}" for name in SCHEMAS), _schema),
    "the schemas": (lambda: ("schema",), lambda _: ([_schemas()], "")),
    "a recorder": (lambda: ("recorder",), lambda _: _whole("Recorder", _recorder(), "cpp")),
}
"""Each kind: all its names, and what one of them shows."""


def _index() -> Iterator[Section]:
    """Everything that has a name, kind by kind; rules by family."""
    kinds = (
        ("contract.toml", "a contract's file: stages, fields, tensors, conventions, numbers"),
        ("RP104", "a rule by its code or name: the problem, the reason, an example, the fix"),
        ("neurarig", "a system: every stage, field and convention; `page neurarig` is its contract as a file"),
        ("affine", "an operation of contracts with its parameters, or a profile"),
        ("schema gate", "the JSON Schema of an answer, of contract.toml or of rigpact.toml"),
        ("recorder", "ten lines of C++ that record what another program computes"),
    )
    yield Section("What can be shown", (), ("rigpact show …", "is"), kinds)
    yield systems_section((system, known_systems()[system.name]) for system in every_system())
    yield from operation_sections(list(known_operations().values()))
    yield profiles_section(list(known_profiles().values()))
    families = [family for family in (*FAMILIES, *MEASURED) if family.rules]
    rows = tuple((", ".join(each.code for each in family.rules), _family_of(family.rules[0])) for family in families)
    yield Section("Rules", (), ("codes", "about"), rows)
    yield _schemas()


def _schemas() -> Section:
    return Section("Schemas", (f"rigpact show schema NAME: {', '.join(SCHEMAS)}",))
