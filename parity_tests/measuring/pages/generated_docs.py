"""Writes what tables in the code make under docs/: `python -m parity_tests.measuring.pages.generated_docs [FOLDER]`.

Run it in the root of a checkout; the default folder is docs. A page's own words stand in the page; what is made stands between
two marks, `<!-- NAME -->` and `<!-- end of NAME -->`. A test makes every part again and compares it with the committed file.
To add a part: marks in a page, a function that returns the text, and a row in `PARTS`.
"""

import importlib
import itertools
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from rigpact.contract.compatibility.kinds import ADVICE, KINDS, MAJOR, MEANING, MINOR, PATCH, Consumer
from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.vocabulary import package_of
from rigpact.contract.files import write_bytes
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system, known_systems
from rigpact.contract.rules import ALL_RULES
from rigpact.contract.settings.configuration import KEYS as SETTINGS
from rigpact.contract.settings.table import tables_of
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reports.describing.shown import rule_section

from ..frame import replaced
from .operations_page import operations

CHECKOUT = Path(__file__).resolve().parents[3]
CONTRACTS = CHECKOUT / "fixtures" / "contracts"
ROOM = CHECKOUT / "parity_tests" / "trust_room"


class Navigation(yaml.SafeLoader):
    """Reads mkdocs.yml without running what its tags name."""


Navigation.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def index() -> str:
    """Every page in the order of the site's navigation."""
    settings = yaml.load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=Navigation)  # noqa: S506
    return "".join(_listed(settings["nav"], ""))


def _listed(entries: list[Any], indent: str) -> Iterator[str]:
    for entry in entries:
        [(title, inside)] = entry.items() if isinstance(entry, dict) else [(None, entry)]
        if isinstance(inside, list):
            yield f"{indent}- {title}\n"
            yield from _listed(inside, f"{indent}    ")
        elif inside != "index.md":
            text = (CHECKOUT / "docs" / inside).read_text(encoding="utf-8")
            yield f"{indent}- [{title or text.partition(chr(10))[0].removeprefix('# ')}]({inside})\n"


def classes_of_change() -> str:
    """For whom a change breaks something, and what to do; and the parts of a version."""
    rows = (f"| `{consumer.value}` | {MEANING[consumer]} | {ADVICE[consumer]} |\n" for consumer in Consumer)
    return "| class | means | to do |\n|---|---|---|\n" + "".join(rows)


def versions() -> str:
    """When which number of a version grows."""
    return (
        f"`{MAJOR}` when the engine must be rebuilt or the network trained again, `{MINOR}` when code and network stay and "
        "every\n"
        f"reader needs the new file, `{PATCH}` when nobody computes anything else.\n"
    )


def kinds_of_change() -> str:
    """Every kind of change between two contracts, and for whom it is breaking."""
    rows = [
        f"| `{kind.name}` | {f'`{kind.mirror}`' if kind.mirror else 'the same'} "
        f"| {', '.join(consumer.value for consumer in kind.classes)} | {kind.why} |\n"
        for kind in KINDS.values()
    ]
    return "| kind | seen from the other side | classes | why |\n|---|---|---|---|\n" + "".join(rows)


def keys(table: str) -> str:
    """The keys of a table of rigpact.toml and of those inside it, from the tables that the reader uses."""
    lists = ("lower", "gate.teacher", "gate.trace", "gate.waive", "geometry.function")
    parts = []
    for name, held in tables_of(table, SETTINGS[table].inner):
        rows = "".join(f"| `{key}` | {said.words} |\n" for key, said in held.items())
        parts.append(f"### `{f'[[{name}]]' if name in lists else f'[{name}]'}`\n| key | meaning |\n|---|---|\n{rows}")
    return "\n".join(parts)


def contracts() -> str:
    """A section for each contract that ships, from the contract itself and its recording."""
    return "\n".join(map(_contract, sorted(CONTRACTS.glob("*.toml"))))


def _contract(path: Path) -> str:
    contract: Any = open_contract(path)
    text, place, recording = (
        path.read_text(encoding="utf-8"),
        f"fixtures/contracts/{path.name}",
        f"recordings/{path.stem}",
    )
    head = itertools.takewhile(lambda line: not line.startswith("given"), text.splitlines())
    knob = [knob for stage in contract.system.stages for knob in stage.knobs][-1]
    recording = f"fixtures/contracts/recordings/{path.stem}.safetensors"
    recorded = list(files_of(contract).recording(CHECKOUT / recording, contract).trace.stages)
    unjudged = "".join(f" --allow-unjudged {name}" for name in recorded if name in contract.system.graph.answers)
    why = ["The models of its networks are not there, so nothing judges what they answered: `--allow-unjudged` says that you "
           "know it.", "Without it the answer is `UNDETERMINED`.", ""]  # fmt: skip
    parts = [
        f"## {path.stem}", f"**{contract.system.title}.**",
        *(line.removeprefix("# ") for line in head if line.startswith("# ")), "",
        f"[{path.name}](../{place}), {text.count(chr(10))} lines; [a recording](../{recording}) of 24 frames of",
        f"{', '.join(f'`{name}`' for name in recorded)}.", "", "```console", f"$ rigpact show {place}",
        f"$ rigpact check {place} {recording}", f"$ rigpact explain {recording} --contract {place}{unjudged}",
        f"$ rigpact explain {recording} --contract {place} --set {knob.name}={knob.values[1]}", "```", "",
        *(why if unjudged else ()),
        f"With `--set` the contract reads `{knob.name}` as `{knob.values[1]}`; the recorded runtime does not. "
        "The answer says so.",
    ]  # fmt: skip
    return "\n".join((*parts, ""))


def conventions(*, own: bool) -> str:
    """Every knob with its values, from the stages that the runtime runs: of the character, or of every other system."""
    others = [
        name for name, each in known_systems().items() if package_of(each) == "rigpact" and name != ENEMY_ANIMATION
    ]
    return (
        "\n".join(line for name in ([ENEMY_ANIMATION] if own else others) for line in _knobs(find_system(name), own))
        + "\n"
    )


def _knobs(system: System, own: bool) -> Iterator[str]:
    if not own:
        yield f"\n## {system.title}\n`{system.name}`, [systems.md](systems.md#{system.name}).\n"
    yield f"Stages in loop order: {', '.join(f'`{stage}`' for stage in system.graph.names)}."
    yield "\n| knob | values | changes | meaning |\n|---|---|---|---|"
    for knob in system.knobs.values():
        default, *others = (f"`{value}`" for value in knob.values)
        stages = system.graph.stages_of(knob.name)
        changed = ", ".join(name for name in system.graph.names if name in stages) or "no stage beyond rounding"
        training = f"; `{knob.in_training}` in files of the training side" if knob.in_training else ""
        yield f"| `{knob.name}` | {' '.join((f'**{default}**', *others))} | {changed} | {knob.meaning}{training} |"


def rules() -> str:
    """A table of all rules, then one section for each."""
    anchors = {rule.code: f"{rule.code} {rule.name}".lower().replace(" ", "-") for rule in ALL_RULES}
    rows = (f"| [{rule.code}](#{anchors[rule.code]}) | {rule.name} | {rule.severity.value} |\n" for rule in ALL_RULES)
    table = "| code | name | severity |\n|---|---|---|\n" + "".join(rows)
    return f"{table}\n" + "\n".join(map(rule_section, ALL_RULES))


def tried(kind: str) -> str:
    """What was tried and refused, or passed: one section for each module of trust_room that has rows."""
    parts = []
    for path in sorted(ROOM.glob("test_*.py")):
        module = importlib.import_module(f"...trust_room.{path.stem}", __package__)
        rows = [row for thing in vars(module).values() for row in getattr(thing, "tried", []) if row.kind == kind]
        if rows:
            title = (module.__doc__ or path.stem).splitlines()[0].rstrip(".")
            lines = "".join(f"| {row.tried} | {row.answer} |\n" for row in rows)
            parts.append(
                f"### {title}\n\n| {'tried' if kind == 'refused' else 'variation'} | answer |\n|---|---|\n{lines}"
            )
    return "\n".join(parts)


PARTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "index.md": {"pages": index},
    "conventions.md": {"character": partial(conventions, own=True), "systems": partial(conventions, own=False)},
    "breaking.md": {"classes": classes_of_change, "versions": versions, "kinds": kinds_of_change},
    "configuration.md": {
        "lower": partial(keys, "lower"), "gate": partial(keys, "gate"), "geometry": partial(keys, "geometry"),
    },
    "operations.md": {"operations": operations},
    "rules.md": {"rules": rules},
    "trust.md": {"refused": partial(tried, "refused"), "passed": partial(tried, "passes")},
    "contracts.md": {"contracts": contracts},
}  # fmt: skip


def _page(name: str) -> str:
    page = (CHECKOUT / "docs" / name).read_text(encoding="utf-8")
    for mark, part in PARTS[name].items():
        page = replaced(page, mark, part())
    return page


def install_page(project: dict[str, Any] | None = None) -> str:
    """docs/install.md, from the table `project` of pyproject.toml: the index is one way once its urls name an owner."""
    if project is None:
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (CHECKOUT / "docs" / "install.md").read_text(encoding="utf-8")
    page = re.sub(r"rigpact-[\d.a-z]+-\*\.whl", f"rigpact-{project['version']}-*.whl", page)
    said = "The package index does not have rigpact yet: install from a clone or a wheel."
    if "/OWNER/" not in project["urls"]["Repository"]:
        said = "From the package index: `python -m pip install rigpact`."
    return replaced(page, "index", said)


PAGES: Mapping[str, Callable[[], str]] = {**{name: partial(_page, name) for name in PARTS}, "install.md": install_page}
"""Every page with its parts made again."""


def write_pages(folder: Path) -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        write_bytes(folder / name, page().encode("utf-8"))


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
