"""The installed package: the wheel's content, the editable install, a quick start of the command."""

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rigpact.reports.renderers import FORMATS

from .test_release import built

pytestmark = pytest.mark.repository
SUBPACKAGES = ("contract", "reference_runtime", "fixtures", "reports")
ENTRIES = (
    *("rigpact.reports.command_line", "rigpact.reports.__main__", "rigpact.testing.plugin", "rigpact.testing"),
    *(f"rigpact.reports.renderers.{each}" for each in {*FORMATS.values()} - {""}),
)
"""Where a user comes in: the commands, `python -m rigpact.reports`, a format by its name, the pytest plug-in, the strategies."""
LIBRARY = {f"rigpact.reference_runtime.{name}" for name in ("clock", "mailbox")}
"""Modules that no command needs: an engine's fixed step, poses from one thread to another."""


def _build(checkout: Path, target: str, folder: Path, *, native: str = "0") -> Path:
    pytest.importorskip("hatchling")
    return next(
        path for path in built(checkout, folder, target, RIGPACT_NATIVE=native) if path.suffix in {".whl", ".gz"}
    )


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel: the one that tox built and tests, or one that is built here."""
    if os.environ.get("TOX_PACKAGE", "").endswith(".whl"):
        return zipfile.ZipFile(os.environ["TOX_PACKAGE"])
    return zipfile.ZipFile(_build(checkout, "wheel", tmp_path_factory.mktemp("wheel"), native="1"))


@pytest.fixture(scope="module")
def modules(wheel: zipfile.ZipFile) -> dict[str, ast.Module]:
    """Every module in the wheel by its name."""
    names = [name for name in wheel.namelist() if name.endswith(".py") and not name.endswith("pytest__init__.py")]
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): ast.parse(wheel.read(name))
        for name in names
    }


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Everything that may be a module; `from a import b` gives both a and a.b."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # a name that import_module is given
            yield node.value.partition(":")[0]


@pytest.mark.nightly
def test_the_wheel_holds_rigpact_with_its_data_and_nothing_else(checkout: Path, wheel: zipfile.ZipFile) -> None:
    """A top-level `contract` would shadow the user's own; without schemas or the demo, commands fail for users only."""
    names = set(wheel.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"rigpact"}
    assert "rigpact/__init__.py" not in names
    for room in SUBPACKAGES:
        assert f"rigpact/{room}/py.typed" in names
        root = checkout / room
        own = {path.relative_to(root).as_posix() for path in (root / "rigpact").rglob("*.py")}
        assert own
        assert own - names <= {"rigpact/testing/wheel_mark.py"}  # it has another name there
    data = (
        "contract/schemas/bundle.schema.json", "fixtures/bundles/demo/norm_template.json", "fixtures/bundles/robot/run.csv",
        "fixtures/bundles/demo/engine/Sneak_Turn.trace.bin", "reports/engine/templates/contract.hpp.j2",
        "reference_runtime/cpp/include/rigpact/plan.hpp", "reference_runtime/cpp/unreal/RigpactTrace/RigpactTrace.uplugin",
    )  # fmt: skip
    assert {f"rigpact/{name}" for name in data} - names == set()


def test_the_wheel_is_one_of_a_platform_where_a_compiler_is(wheel: zipfile.ZipFile) -> None:
    """A wheel for every platform that holds a library of one would not load on the others."""
    libraries = [name for name in wheel.namelist() if name.endswith((".so", ".dll"))]
    is_pure = str(wheel.filename).endswith("py3-none-any.whl")
    assert (bool(libraries), is_pure) == ((True, False) if shutil.which("c++") else (False, True))
    assert {name.rpartition("/")[0] for name in libraries} <= {"rigpact/reference_runtime/native"}


@pytest.mark.nightly
def test_without_a_compiler_the_wheel_is_pure_and_the_sources_hold_nothing_compiled(
    checkout: Path, tmp_path: Path
) -> None:
    """Nobody needs a compiler to install rigpact; a library of the release machine would be installed on every other one."""
    pure = _build(checkout, "wheel", tmp_path / "wheel")
    assert pure.name.endswith("py3-none-any.whl")
    with tarfile.open(_build(checkout, "sdist", tmp_path / "sdist")) as sources:
        names = sources.getnames()
    assert not [name for name in (*zipfile.ZipFile(pure).namelist(), *names) if name.endswith((".so", ".dll"))]
    for name in (
        "hatch_build.py",
        "reference_runtime/cpp/native/plan.cpp",
        "reference_runtime/cpp/native/geometry.cpp",
    ):
        assert any(each.endswith(f"/{name}") for each in names)


@pytest.mark.nightly
def test_a_user_reaches_every_module(modules: dict[str, ast.Module]) -> None:
    """A module that no command, plug-in or public name reaches is for developers; users would download it for nothing."""
    entries = [each for group in ("rigpact.systems", "rigpact.operations") for each in entry_points(group=group)]
    brought = {
        each.value.partition(":")[0] for each in entries if each.dist is not None and each.dist.name == "rigpact"
    }
    known = {*ENTRIES, *(f"rigpact.{room}" for room in SUBPACKAGES), *LIBRARY, *brought}
    reached, waiting = set[str](), [name for name in modules if name in known]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += [name.rpartition(".")[0], *_imported(ast.walk(modules[name]))]
            package = name if any(other.startswith(f"{name}.") for other in modules) else name.rpartition(".")[0]
            words = (node.value for node in ast.walk(modules[name]) if isinstance(node, ast.Constant))
            waiting += [f"{package}.{word}" for word in words if isinstance(word, str)]  # imported when it is needed
    assert sorted(modules.keys() - reached) == []


def test_an_editable_install_works_from_another_folder(checkout: Path, tmp_path: Path) -> None:
    """Developers of a studio install rigpact editable beside their own game code."""
    wheel = zipfile.ZipFile(_build(checkout, "wheel:editable", tmp_path))
    (pth,) = [name for name in wheel.namelist() if name.endswith(".pth")]
    code = f"import sys; sys.path[:0] = {wheel.read(pth).decode().split()!r}\n" + "\n".join(
        f"import rigpact.{room}; assert rigpact.{room}.__file__.startswith({str(checkout)!r})" for room in SUBPACKAGES
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=60)


def test_help_imports_nothing_heavy() -> None:
    """People do not explore a command whose help takes seconds."""
    code = (
        "import sys; from rigpact.reports.command_line import run_command_line; "
        "assert run_command_line(['--help']) == 0; "
        "print('HEAVY', sorted({'numpy', 'onnxruntime', 'pandas', 'torch', 'onnx', 'jsonschema'} & set(sys.modules)))"
    )
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "HEAVY []"
