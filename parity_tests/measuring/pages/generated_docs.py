"""Writes what tables in the code make under docs/: `python -m parity_tests.measuring.pages.generated_docs [FOLDER]`.

Run it in the root of a checkout; the default folder is docs. A page's own words stand in the page; what is made stands between
two marks, `<!-- NAME -->` and `<!-- end of NAME -->`. A test makes every part again and compares it with the committed file.
To add a part: marks in a page, a function that returns the text, and a row in `PARTS`.
"""

import importlib
import itertools
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from rigpact.contract.compatibility.kinds import ADVICE, KINDS, MAJOR, MEANING, MINOR, PATCH, Consumer
from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.vocabulary import known_operations, package_of
from rigpact.contract.files import write_bytes
from rigpact.contract.pages.registry import ENEMY_ANIMATION, every_system, find_system, known_systems
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.configuration import KEYS as SETTINGS
from rigpact.contract.settings.table import tables_of
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reports.describing.shown import rule_section

from ..frame import replaced

_QUATERNION = '{ name = "tilt", kind = "quaternion_wxyz" }'
_VECTOR = '{ name = "v", size = 3 }'
_TURNS = '{ name = "q", names = ["thigh_l", "thigh_r"], size = 4 }'
_JOINTS = '{ name = "q", names = ["left_hip", "right_hip", "left_knee", "right_knee"] }'
# fmt: off
SAMPLES: Mapping[str, tuple[str, str]] = {
    "affine": (_VECTOR, 'of = "v", subtract = [0.1, -0.4, 0], scale = 0.5'),
    "blend": ('{ name = "last", size = 3 }, { name = "new", size = 3 }', 'of = ["last", "new"], weights = [0.2, 0.8]'),
    "clip": (_VECTOR, 'of = "v", lowest = -0.5, highest = 2'),
    "compose": (f'{_QUATERNION}, {{ name = "turn", kind = "quaternion_wxyz" }}',
        'of = ["tilt", "turn"], product = "first_second"'),
    "concatenate": (f"{_VECTOR}, {_QUATERNION}", 'of = ["v", "tilt"]'),
    "copied": (_VECTOR, 'of = "v", bytes = "whole"'),
    "constant": (_JOINTS, 'of = "q", value = [100, 150, 40, 60]'),
    "convert": ('{ name = "pose", kind = "rot6d" }', 'of = "pose", to = "quaternion_xyzw", reads = "columns"'),
    "denormalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4]'),
    "difference": (_VECTOR, 'of = "v", span = "backward", rate = "per_second"'),
    "history": (f"{_VECTOR}, {_QUATERNION}",
        'of = ["v", "tilt"], length = 3, layout = "term_major", order = "oldest_first", start = "first"'),
    "either": (f'{_VECTOR}, {{ name = "w", size = 3 }}', 'of = ["v", "w"]'),
    "gather": ('{ name = "head", size = 12 }', 'of = "head", places = { shape = [6, 2], order = [1, 0], part = [0, 2] }'),
    "integrate": ('{ name = "place", size = 3 }, { name = "velocity", size = 3 }', 'of = ["place", "velocity"]'),
    "integrate_rotation": (f'{_QUATERNION}, {{ name = "rate", kind = "angular_rate" }}', 'of = ["tilt", "rate"], side = "left"'),
    "linear_map": (_VECTOR, 'of = "v", matrix = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]'),
    "network": (_VECTOR, "size = 2"),
    "norm": (_VECTOR, 'of = "v", measure = "euclidean"'),
    "normalise": (_VECTOR, 'of = "v", mean = [0.1, 0.2, 0.3], std = [2, 3, 4], epsilon = 0.01'),
    "relative": (f'{{ name = "hand", kind = "position" }}, {{ name = "root", kind = "position" }}, {_QUATERNION}',
        'of = ["hand", "root", "tilt"], direction = "into_frame"'),
    "replaced": (f'{_JOINTS}, {{ name = "knees", size = 2 }}', 'of = ["q", "knees"], taken = ["left_knee", "right_knee"]'),
    "rotate": (_QUATERNION, 'of = "tilt", vector = [0, 0, -1], direction = "inverse"'),
    "select": (_JOINTS, 'of = "q", take = ["right_knee", "left_hip", "left_knee", "right_hip"]'),
    "shift": (_VECTOR, 'of = "v", frames = -1'),
    "range_normalise": (_VECTOR, 'of = "v", mode = "min_max", min = -1, max = [1, 2, 3], mean = 0.1, std = 2'),
    "range_denormalise": (_VECTOR, 'of = "v", mode = "quantiles", q01 = -1, q99 = [1, 2, 3], mean = 0.1, std = 2'),
    "calibrate": (_JOINTS,
        'of = "q", reversed = ["right_hip", "right_knee"], zeros = [0.1, 0, -0.3, 0], direction = "from_robot"'),
    "joint_positions": ('{ name = "turns", names = ["hips", "spine", "head", "hand"], kind = "rot6d" }, { name = "root", '
        'kind = "position" }',
        'of = ["turns", "root"], parents = [-1, 0, 1, 1], offsets = [0, 0, 0, 0, 0, 0.3, 0, 0.1, 0.4, 0.5, 0, 0.2], '
        'reads = "columns", rotations_in = "parent"'),
    "held": (_VECTOR, 'of = "v", every = 2, length = 4'),
    "played": ('{ name = "chunk", size = 8 }', 'of = "chunk", length = 4, every = 2, size = 2'),
    "phase_clock": (_VECTOR, "period = 0.8, first = 1"),
    "switch": (f'{_VECTOR}, {{ name = "w", size = 3 }}, {{ name = "is_w", kind = "flag" }}', 'of = ["v", "w", "is_w"]'),
    "standardise": (_VECTOR, 'of = "v", divisor = "count"'),
    "squash": (_VECTOR, 'of = "v", function = "tanh", scale = 2'),
    "threshold": (_VECTOR, 'of = "v", limit = 0.2, side = "above"'),
    "unit_quaternions": (_TURNS, 'of = "q", normalisation = "unit", sign = "w_not_negative"'),
    "wrap": ('{ name = "angle", size = 1 }', 'of = "angle", unit_of_angle = "rad", range = "symmetric"'),
}
# fmt: on
"""Of each operation: the tables of `given`, and the parameters of the stage."""


def operations() -> str:
    """A section for each operation."""
    own = [each for name, each in known_operations().items() if name in SAMPLES or each.only_on_pages]
    return "\n".join(line for operation in own for line in _section(operation)) + "\n"


def stage_on_a_page(name: str) -> tuple[str, System]:
    """The stage of a hosted system that uses an operation in the fewest words, and the system."""
    found = [
        (table["name"], system)
        for system in every_system()
        for table in tomllib.loads(system.own_page or "stages = []")["stages"]
        if table["operation"] == name
    ]
    if not found:
        raise LookupError(f"no page has the operation {name}")
    return min(found, key=lambda each: len(_said_on_page(*each)))


def _said_on_page(stage: str, system: System) -> str:
    """What a page says of a stage: its line, and its formulas."""
    text = str(system.own_page)
    [line] = re.findall(rf"\n    (\{{ name = \"{stage}\",(?:.|\n    )*?\}}),?\n(?=    [{{#]|\])", text)
    blocks = [each for each in text.split("\n\n") if re.search(rf"(?m)^\[formulas\.{stage}[.\]]", each)]
    return "\n\n".join([line, *blocks])


def sample_contract(name: str) -> Any:
    """The contract that uses an operation once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.toml"
        path.write_text(sample_text(name), encoding="utf-8")
        return open_contract(path)


def sample_text(name: str) -> str:
    """The text of that contract."""
    given, parameters = SAMPLES[name]
    network = '[networks.policy]\ninputs = ["v"]\noutputs = ["result"]\n' if name == "network" else ""
    head = 'format = "rigpact-contract"\nversion = 1\nname = "sample"\nfps = 50\n'
    return f"{head}given = [{given}]\nstages = [{_stage(name, parameters)}]\n{network}"


def _stage(name: str, parameters: str) -> str:
    return f'{{ name = "result", operation = "{name}", {parameters} }}'


def _section(operation: Operation) -> Iterator[str]:
    yield f"\n## {operation.name}\n\nGives {operation.summary}. Takes {_takes(operation)}.\n"
    if operation.parameters:
        yield "| parameter | meaning |\n|---|---|"
        open_ = dict.fromkeys(operation.choices, "; a convention: left open where it is not said")
        yield from (f"| `{key}` | {meaning}{open_.get(key, '')} |" for key, meaning in operation.parameters.items())
        yield ""
    sample, knobs = _sample(operation)
    yield f"```toml\n{sample}\n```"
    if knobs:
        yield "\n| knob | readings | meaning |\n|---|---|---|"
        for each in knobs:
            declared, *others = (f"`{value}`" for value in each.values)
            yield f"| `{each.name}` | {' '.join([f'**{declared}**', *others])} | {each.meaning} |"


def _sample(operation: Operation) -> tuple[str, Sequence[Knob]]:
    """A use of the operation, and the knobs of this use."""
    if operation.only_on_pages:
        stage, system = stage_on_a_page(operation.name)
        return _said_on_page(stage, system), system.graph[stage].knobs
    given, parameters = SAMPLES[operation.name]
    knobs = tuple(sample_contract(operation.name).system.knobs.values())
    return f"given = [{given}]\nstages = [{_stage(operation.name, parameters)}]", knobs


def _takes(operation: Operation) -> str:
    fewest, most = operation.inputs
    if most == 0 and operation.only_on_pages:
        return "what comes with the clip, or the system's network"
    if most == 0:
        return "what its network takes: `[networks.NAME]` says it"
    if fewest == most:
        return f"{fewest} vector{'s' if fewest > 1 else ''}"
    return f"{fewest} to {most} vectors" if most < 10 else f"{fewest} or more vectors"


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
