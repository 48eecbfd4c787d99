"""The repository itself: one import direction, no circles, small files, each formula once, pages that name what is there."""

import ast
import configparser
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ..conftest import CHECKOUT
from ..every_case import every_case
from ..sources import nodes, parsed

SHIPPED = ("contract", "reference_runtime", "fixtures", "reports")
ROOTS = ("contract", "reference_runtime", "fixtures", "fixtures/training", "reports")
LEFT = {"contract": (), "reference_runtime": ("contract",), "fixtures": ("contract", "reference_runtime")}
LEFT |= {"training": (*LEFT["fixtures"], "fixtures"), "reports": (*LEFT["fixtures"], "fixtures")}
LEFT |= {"testing": (*LEFT["reports"], "reports")}
"""What each package may import from, beside itself; `rigpact.testing` shares its root with the reports."""
MOST_LINES = {
    "contract": 16_070,
    "reference_runtime": 14_710,
    "fixtures": 4_490,
    "reports": 33_520,
    "parity_tests": 50_670,
}
"""How many lines of Python each root may have: the number is lowered where lines went, and never raised."""
OPTIONAL = {
    "pandas": r"comparing/diff|sweep/", "pyarrow": r"sweep/sweep",
    "torch": r"rigpact/training|torch_backend", "pytest": r"rigpact/testing/", "hypothesis": r"rigpact/testing/",
}  # fmt: skip
"""Packages of extras, and where they may be imported: a gate in CI must not need torch."""


@cache
def sources() -> dict[str, Path]:
    """Every module of rigpact by its name."""
    found = {}
    for root in ROOTS:
        for path in sorted((CHECKOUT / root / "rigpact").rglob("*.py")):
            parts = path.relative_to(CHECKOUT / root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    assert len(found) > 300
    return found


@every_case("root", MOST_LINES)
def test_no_root_grows(root: str) -> None:
    """Each round that asked for less brought more."""
    lines = sum(path.read_bytes().count(b"\n") for path in (CHECKOUT / root).rglob("*.py"))
    assert 0 < lines <= MOST_LINES[root], f"{root}: {lines} lines"


def _imports(path: Path) -> Iterator[str]:
    """What a module imports anywhere, also in functions; of `from a import b` both a and a.b."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names))


@cache
def imports() -> dict[str, set[str]]:
    """Which module imports which."""
    return {name: {*_imports(path)} for name, path in sources().items()}


def test_imports_point_one_way_and_heavy_ones_stay_at_home() -> None:
    """A rule that needs the runtime, or a gate that needs torch, cannot be reused in an engine team's tool."""
    wrong = []
    for name, found in imports().items():
        room, place = name.split(".")[1], sources()[name].as_posix()
        for each in found:
            top, *rest = each.split(".")
            is_wrong = top == "rigpact" and rest and rest[0] not in (room, *LEFT[room])
            is_wrong = is_wrong or (top in OPTIONAL and not re.search(OPTIONAL[top], place)) or top == "parity_tests"
            wrong += [f"{name} imports {each}"] * bool(is_wrong)
    assert wrong == []


def _circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one node."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        found, waiting = set[str](), [start]
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting += new
        reached[start] = found
    return {frozenset(each for each in reached[name] if name in reached[each]) for name in graph} - {frozenset()}


def test_nothing_imports_itself_by_a_detour() -> None:
    """Two modules or folders of a circle cannot be read, tested or moved without each other, at any depth."""
    graph = {name: {each for each in found if each in sources()} - {name} for name, found in imports().items()}
    assert _circles(graph) == set()
    folders = {name.rpartition(".")[0] for name in graph}
    for folder in folders:
        depth = folder.count(".") + 2
        children = defaultdict[str, set[str]](set)
        for name in (each for each in graph if each.startswith(f"{folder}.")):
            child = ".".join(name.split(".")[:depth])
            inside = {".".join(each.split(".")[:depth]) for each in graph[name] if each.startswith(f"{folder}.")}
            children[child] |= inside - {child}
        assert _circles(children) == set(), folder


def test_functions_and_files_stay_small_and_public_ones_say_what_they_do() -> None:
    """A function over 60 lines or a file over 400 hides its defects; a public one without a docstring hides its use."""
    wrong = []
    for name, path in sources().items():
        wrong += [name] * (path.read_text(encoding="utf-8").count("\n") > 400)
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 60:
                wrong.append(f"{name}:{node.name} is long")
        for node in parsed(path).body:
            is_public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if is_public and not ast.get_docstring(node):
                wrong.append(f"{name}:{node.name} says nothing")
    assert wrong == []


def test_no_file_holds_a_path_of_a_machine() -> None:
    """A path of the author's machine works there alone."""
    found = [
        name
        for name, path in sources().items()
        if re.search(r"/(home|Users|work|root)/\w", path.read_text(encoding="utf-8"))
    ]
    assert found == []


ONCE = {
    r"class ModelGraph\b": {"contract.model.graph"}, r"\bonnx\.load|ParseFromString|ModelProto": {"contract.model.graph"},
    r"def forward_kinematics\(\n? *(?!self)": {"contract.skeleton", "training.blender_ik_losses"},
    r"def open_file\(": {"reference_runtime.recordings.opened"}, r"def kind_of\(root": {"contract.documents"},
}  # fmt: skip
"""What is written once, by its words; of forward kinematics, training has one whose gradient torch can take."""


def test_one_idea_stands_once() -> None:
    """Two classes of one name, or a second reader, part from each other with the first change."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources().items()}
    classes = [each.name for path in sources().values() for each in nodes(path) if isinstance(each, ast.ClassDef)]
    assert sorted(name for name, count in Counter(classes).items() if count > 1) == []
    found = {
        words: {name.removeprefix("rigpact.") for name, text in texts.items() if re.search(words, text)}
        for words in ONCE
    }
    assert found == ONCE


def test_one_module_writes_files() -> None:
    """Whoever writes beside it leaves half a file where a command is stopped."""
    words = re.compile(r"(?<!\bfiles)(?<!formatter)\.write_(text|bytes)\(")
    assert [name for name, path in sources().items() if words.search(path.read_text(encoding="utf-8"))] == []


# ---- the settings and the pages


def test_the_root_lists_agree() -> None:
    """A root that one tool does not know makes an import work in tests and fail for users."""
    tool: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    roots, build = list(ROOTS), tool["hatch"]["build"]
    assert build["targets"]["wheel"]["packages"] == [f"{root}/rigpact" for root in SHIPPED]
    for found in (build["dev-mode-dirs"], tool["mypy"]["mypy_path"], tool["pyright"]["extraPaths"]):
        assert found == roots
    assert tool["pytest"]["ini_options"]["pythonpath"] == roots
    packages = {f"rigpact.{path.name}" for root in ROOTS for path in (CHECKOUT / root / "rigpact").glob("*/")}
    assert set(tool["coverage"]["run"]["source_pkgs"]) == packages - {"rigpact.__pycache__"}
    assert [
        root for root in ROOTS if (CHECKOUT / root / "rigpact" / "__init__.py").exists()
    ] == []  # it hides the others


def test_tox_tests_the_wheel() -> None:
    """If pytest read a shipped root from the checkout, a file that is missing from the wheel would go unseen."""
    tox = configparser.ConfigParser()
    tox.read(CHECKOUT / "tox.ini", encoding="utf-8")
    assert tox["testenv"]["package"] == "wheel"
    for name in ("testenv", "testenv:quick", "testenv:nightly"):
        assert "-o pythonpath=fixtures/training " in tox[name]["commands"]
    assert {"testenv:type", "testenv:lint"} <= set(tox.sections())


def _tree() -> Iterator[tuple[Path, str]]:
    """Each folder of the tree in ARCHITECTURE.md with one name that stands under it."""
    folder = CHECKOUT
    for line in (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1].strip().splitlines():
        if not line.startswith(" "):
            folder = CHECKOUT / line.split()[0]
            yield folder, ""
        else:
            yield from ((folder, name.strip()) for name in re.split(r"\s{2,}", line.strip())[0].split(","))


def test_the_architecture_page_names_what_is_there_and_every_package() -> None:
    """A page that names missing folders misleads; a package that is not on it is not found. `…` is the rest of a path."""
    tree = list(_tree())
    assert len(tree) > 40
    assert [f"{at}/{name}" for at, name in tree if not (at / name).is_dir() and not (at / f"{name}.py").is_file()] == []
    for room in SHIPPED:
        root = CHECKOUT / room / "rigpact" / room
        named = {name.rstrip("/") for folder, name in tree if folder == root}
        assert {path.parent.name for path in root.glob("*/__init__.py")} - named == set()
    rows = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where to change what")[2]
    words = [word for word in re.findall(r"`([^` ]+/[^` ]*)`", rows) if "NAME" not in word]
    assert len(words) > 10
    paths = [path.relative_to(CHECKOUT).as_posix() for path in CHECKOUT.rglob("*") if "/." not in str(path)]
    for word in words:
        start, _, end = word.rpartition("…/")
        assert any(path.startswith(start) and path.endswith(end.rstrip("/")) for path in paths), word


@pytest.mark.parametrize("package", ["contract", "reference_runtime", "testing"])
def test_the_page_names_exactly_the_public_names_and_each_can_be_imported(package: str) -> None:
    """A name that no page promises may go without notice; a promised one that is gone breaks the tools of a studio."""
    module = import_module(f"rigpact.{package}")
    page = (CHECKOUT / "docs/python.md").read_text(encoding="utf-8")
    section = page.partition(f"## rigpact.{package}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(module.__all__) != []
    for name in module.__all__:
        assert getattr(module, name, None) or import_module(f"rigpact.{package}.{name}")


LOADED = """
import json, sys
from rigpact.reports.command_line import run_command_line
ends = [run_command_line(words) for words in json.loads(sys.argv[1])]
print(ends, [name for name in sys.modules if "enemy_animation" in name], file=sys.stderr)
"""


def test_a_declared_contract_is_read_without_the_enemy_animation() -> None:
    """A robot's policy that loads a game character's loop starts later, and breaks when that loop does."""
    places = "unitree_rl_lab_g1.toml", "recordings/unitree_rl_lab_g1.safetensors"
    contract, recording = (f"fixtures/contracts/{name}" for name in places)
    explained = ["explain", recording, "--contract", contract, "--allow-unjudged", "action"]
    words = (["check", contract], explained, ["diff", recording, recording, "--contract", contract])
    command = [sys.executable, "-c", LOADED, json.dumps(words)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[0, 0, 0] []", done.stderr
