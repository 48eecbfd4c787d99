"""The repository itself: one namespace, four roots in the wheel and one beside it, one import direction."""

import ast
import configparser
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ..sources import nodes

SHIPPED = ("contract", "reference_runtime", "fixtures", "reports")
UNSHIPPED = ("fixtures/training",)
ROOTS = ("contract", "reference_runtime", "fixtures", "fixtures/training", "reports")
MAY_IMPORT = {
    "contract": {"contract"},
    "reference_runtime": {"contract", "reference_runtime"},
    "fixtures": {"contract", "reference_runtime", "fixtures"},
    "training": {"contract", "reference_runtime", "fixtures", "training"},
    "reports": {"contract", "reference_runtime", "fixtures", "reports"},
    "testing": {"contract", "reference_runtime", "fixtures", "reports", "testing"},
}
PACKAGES = {root: [Path(root).name] for root in ROOTS} | {"reports": ["reports", "testing"]}
"""What each root holds: `rigpact.testing` imports from everywhere to its left, as a report does, and shares its root."""
HEAVY_HOMES = {
    "pandas": ("reports/rigpact/reports/comparing/error_table.py",),
    "pyarrow": ("reports/rigpact/reports/sweep/results.py",),
    "distributed": ("reports/rigpact/reports/sweep/cluster.py",),
    "torch": (
        "fixtures/training/rigpact/training", "reports/rigpact/reports/geometry_parity/calling/torch_backend.py",
    ),
    "pytest": ("reports/rigpact/testing/plugin.py", "reports/rigpact/testing/items.py", "reports/rigpact/testing/fixtures.py"),
    "hypothesis": ("reports/rigpact/testing/strategies.py", "reports/rigpact/testing/properties.py"),
    "onnx": (
        "fixtures/training/rigpact/training", "fixtures/rigpact/fixtures/mutants", "contract/rigpact/contract",
        "reports/rigpact/reports/nonfinite",
    ),
    "onnxruntime": (
        "contract/rigpact/contract/model/signature.py", "fixtures/training/rigpact/training",
    ),
}  # fmt: skip


def _configuration(checkout: Path) -> dict[str, object]:
    loaded: dict[str, object] = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return loaded


def _python_files(checkout: Path) -> Iterator[tuple[str, Path]]:
    for root in ROOTS:
        for path in sorted((checkout / root / "rigpact").rglob("*.py")):
            yield path.relative_to(checkout / root / "rigpact").parts[0], path


def _imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def test_the_root_lists_agree(checkout: Path) -> None:
    """A root that one tool does not know makes an import work in tests and fail for users."""
    tool = _configuration(checkout)
    hatch = tool["hatch"]["build"]  # type: ignore[index]
    roots = list(ROOTS)
    assert hatch["dev-mode-dirs"] == roots
    assert hatch["targets"]["wheel"]["packages"] == [f"{root}/rigpact" for root in SHIPPED]
    assert tool["mypy"]["mypy_path"] == roots  # type: ignore[index]
    assert tool["pyright"]["extraPaths"] == roots  # type: ignore[index]
    assert tool["pytest"]["ini_options"]["pythonpath"] == roots  # type: ignore[index]
    packages = [f"rigpact.{name}" for names in PACKAGES.values() for name in names]
    assert tool["coverage"]["run"]["source_pkgs"] == packages  # type: ignore[index]


def test_the_namespace_folders_hold_packages_only(checkout: Path) -> None:
    """An `__init__.py` in a namespace folder hides the other three rooms."""
    for room, packages in PACKAGES.items():
        folder = checkout / room / "rigpact"
        assert sorted(child.name for child in folder.iterdir() if child.name != "__pycache__") == packages
        for package in packages:
            assert (folder / package / "__init__.py").is_file()
            assert (folder / package / "py.typed").is_file()


def test_imports_point_one_way(checkout: Path) -> None:
    """A rule that needs the runtime, or a runtime that needs a report, cannot be reused in an engine team's tool."""
    wrong = [
        f"{path.relative_to(checkout)} imports {name}"
        for room, path in _python_files(checkout)
        for name in _imports(path)
        if name.startswith("rigpact.") and name.split(".")[1] not in MAY_IMPORT[room]
    ]
    assert wrong == []


def _import_graph(checkout: Path) -> dict[str, set[str]]:
    """Which module imports which, wherever the import stands: in a function, or for the type checker only."""
    paths = {_module_name(checkout, path): path for _, path in _python_files(checkout)}
    return {name: {each for each in _imported(path) if each in paths} - {name} for name, path in paths.items()}


def _module_name(checkout: Path, path: Path) -> str:
    parts = path.relative_to(checkout).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    """Every name that may be a module: of `from a import b` both a and a.b."""
    yield from _imports(path)
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that is imported from `start` on, by any number of steps."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one node."""
    reached = {name: _reached(graph, name) for name in graph}
    return {frozenset(each for each in reached[name] if name in reached[each]) for name in graph} - {frozenset()}


def _inside(graph: Mapping[str, set[str]], folder: str) -> dict[str, set[str]]:
    """Which child of a folder, a module or a folder with all that it holds, imports which other one."""
    depth = folder.count(".") + 2

    def child(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    own = {name: targets for name, targets in graph.items() if name.startswith(f"{folder}.")}
    found: dict[str, set[str]] = {child(name): set() for name in own}
    for name, targets in own.items():
        found[child(name)] |= {child(each) for each in targets if each in own} - {child(name)}
    return found


def test_no_module_imports_itself_by_a_detour(checkout: Path) -> None:
    """Two modules of a circle cannot be read, tested or moved without each other."""
    assert _circles(_import_graph(checkout)) == set()


def test_no_room_imports_itself_by_a_detour(checkout: Path) -> None:
    """Two rooms of a circle are one room: whoever reuses one carries the other along. So it is in every folder, at any depth."""
    graph = _import_graph(checkout)
    folders = {name.rpartition(".")[0] for name in graph}

    assert {folder: found for folder in folders if (found := _circles(_inside(graph, folder)))} == {}


def test_a_declared_contract_is_read_without_the_enemy_animation(checkout: Path) -> None:
    """A robot's policy that loads a game character's loop starts later, and breaks when that loop does."""
    contract, recording = (
        f"fixtures/contracts/{name}" for name in ("unitree_rl_lab_g1.toml", "recordings/unitree_rl_lab_g1.safetensors")
    )
    words = (
        ["check", contract],
        ["explain", recording, "--contract", contract, "--allow-unjudged", "action"],
        ["diff", recording, recording, "--contract", contract],
    )
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, json.dumps(words)], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "[0, 0, 0] []", done.stderr


_LOADED = """
import json, sys
from rigpact.reports.command_line import run_command_line
ends = [run_command_line(words) for words in json.loads(sys.argv[1])]
print(ends, [name for name in sys.modules if "enemy_animation" in name], file=sys.stderr)
"""


def test_nothing_imports_the_tests(checkout: Path) -> None:
    """Tests are not shipped."""
    assert [p for _, p in _python_files(checkout) if any(name.startswith("parity_tests") for name in _imports(p))] == []


def test_heavy_modules_are_imported_at_home_only(checkout: Path) -> None:
    """A gate in CI must not need torch."""
    wrong = [
        f"{path.relative_to(checkout)} imports {name}"
        for _, path in _python_files(checkout)
        for name in _imports(path)
        for heavy, homes in HEAVY_HOMES.items()
        if name.split(".")[0] == heavy and not path.relative_to(checkout).as_posix().startswith(homes)
    ]
    assert wrong == []


def test_tox_tests_the_wheel(checkout: Path) -> None:
    """If pytest read a shipped root from the checkout, a file that is missing from the wheel would go unseen."""
    tox = configparser.ConfigParser()
    tox.read(checkout / "tox.ini", encoding="utf-8")
    assert tox["testenv"]["package"] == "wheel"
    for name in ("testenv", "testenv:quick", "testenv:nightly", "testenv:bench"):
        assert f"-o pythonpath={' '.join(UNSHIPPED)} " in tox[name]["commands"]
    assert {"testenv:type", "testenv:lint", "testenv:bench"} <= set(tox.sections())


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "tox.ini", ".ci/run"])
def test_the_customers_files_are_there(checkout: Path, name: str) -> None:
    """They are part of the delivery."""
    assert (checkout / name).is_file()


def test_functions_and_files_stay_small(checkout: Path) -> None:
    """A function over 60 lines or a file over 400 hides its defects."""
    long_files = [p.name for _, p in _python_files(checkout) if p.read_text(encoding="utf-8").count("\n") > 400]
    long_functions = [
        f"{path.name}:{node.name}"
        for _, path in _python_files(checkout)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 60
    ]
    assert (long_files, long_functions) == ([], [])
