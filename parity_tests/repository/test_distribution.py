"""The installed package: the wheel's content, the editable install, a quick start of the command."""

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rigpact.reports.renderers import FORMATS

pytestmark = pytest.mark.repository
SUBPACKAGES = ("contract", "reference_runtime", "fixtures", "reports")
ENTRIES = (
    *("rigpact.reports.command_line", "rigpact.reports.__main__", "rigpact.testing.plugin", "rigpact.testing"),
    *(f"rigpact.reports.renderers.{each.module}" for each in FORMATS.values()),
)
"""Where a user comes in: the commands, `python -m rigpact.reports`, a format by its name, the pytest plug-in, the strategies."""
LIBRARY = {
    "rigpact.reference_runtime.clock": "an engine's fixed step",
    "rigpact.reference_runtime.mailbox": "how an engine hands poses from one thread to another",
    "rigpact.reference_runtime.graph.window": "the sensor's buffer; docs/systems.md",
}
"""Modules that no command needs. Users import them by name, for the reason that stands here."""
NEEDS_TORCH = {
    "rigpact.reports.geometry_parity.calling.torch_backend": "`rigpact check --module` on torch functions",
}
"""Shipped modules that import torch at module level, and the command that imports each where torch is installed."""


def _build(checkout: Path, target: str, folder: Path, *, native: str = "0") -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    env = os.environ | {"RIGPACT_NATIVE": native}
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, timeout=120, env=env)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel: the one that tox built and tests, or one that is built here."""
    if os.environ.get("TOX_PACKAGE", "").endswith(".whl"):
        return zipfile.ZipFile(os.environ["TOX_PACKAGE"])
    pytest.importorskip("hatchling")
    return zipfile.ZipFile(_build(checkout, "wheel", tmp_path_factory.mktemp("wheel"), native="1"))


@pytest.fixture(scope="module")
def wheel_names(wheel: zipfile.ZipFile) -> list[str]:
    """File names in the built wheel."""
    return wheel.namelist()


@pytest.fixture(scope="module")
def modules(wheel: zipfile.ZipFile) -> dict[str, ast.Module]:
    """Every module in the wheel by its name."""
    names = [name for name in wheel.namelist() if name.endswith(".py") and not name.endswith("pytest__init__.py")]
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): ast.parse(wheel.read(name))
        for name in names
    }


def _imported(nodes: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[str]:
    """Everything that may be a module; `from a import b` gives both a and a.b."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # a name that import_module is given
            yield node.value.partition(":")[0]


def test_the_wheel_holds_nothing_but_rigpact(wheel_names: list[str]) -> None:
    """A top-level `contract` or `fixtures` would shadow the user's own and break their tests."""
    top = {name.split("/")[0] for name in wheel_names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"rigpact"}


def test_the_wheel_holds_the_data_it_needs(wheel_names: list[str]) -> None:
    """Without schemas or the demo bundle, commands work in a checkout and fail for users."""
    assert not any(name == "rigpact/__init__.py" for name in wheel_names)
    data = ("contract/schemas/bundle.schema.json", "fixtures/bundles/demo/norm_template.json",
            "fixtures/bundles/demo/engine/Sneak_Turn.trace.bin", "fixtures/bundles/robot/run.csv")  # fmt: skip
    headers = ("reports/engine/templates/contract.hpp.j2", "reference_runtime/cpp/include/rigpact/plan.hpp")
    plugin = ("reference_runtime/cpp/unreal/RigpactTrace/RigpactTrace.uplugin",)
    for name in (*data, *headers, *plugin):
        assert f"rigpact/{name}" in wheel_names
    for room in SUBPACKAGES:
        assert f"rigpact/{room}/py.typed" in wheel_names


def test_the_wheel_is_one_of_a_platform_where_a_compiler_is(wheel: zipfile.ZipFile, wheel_names: list[str]) -> None:
    """A wheel for every platform that holds a library of one would not load on the others."""
    libraries = [name for name in wheel_names if name.endswith((".so", ".dll"))]
    folders = {name.rpartition("/")[0] for name in libraries}
    is_pure = str(wheel.filename).endswith("py3-none-any.whl")
    assert (bool(libraries), is_pure) == ((True, False) if shutil.which("c++") else (False, True))
    assert folders <= {"rigpact/reference_runtime/native"}


def test_without_a_compiler_the_wheel_is_one_for_every_platform(checkout: Path, tmp_path: Path) -> None:
    """numpy computes the same: nobody needs a compiler to install rigpact."""
    pytest.importorskip("hatchling")
    wheel = _build(checkout, "wheel", tmp_path)
    assert wheel.name.endswith("py3-none-any.whl")
    assert not any(name.endswith((".so", ".dll")) for name in zipfile.ZipFile(wheel).namelist())


def test_the_source_distribution_holds_what_is_compiled_and_nothing_compiled(checkout: Path, tmp_path: Path) -> None:
    """A library of the release machine in the sources would be installed on every other machine."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, timeout=120)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as sources:
        names = sources.getnames()
    assert not any(name.endswith((".so", ".dll")) for name in names)
    for name in (
        "hatch_build.py",
        "reference_runtime/cpp/native/plan.cpp",
        "reference_runtime/cpp/native/geometry.cpp",
    ):
        assert any(each.endswith(f"/{name}") for each in names)


def test_a_user_reaches_every_module(modules: dict[str, ast.Module]) -> None:
    """A module that no command, plug-in or public name reaches is for developers; users would download it for nothing."""
    packages = {f"rigpact.{room}" for room in SUBPACKAGES}
    reached: set[str] = set()
    brought = {
        entry.value.partition(":")[0]
        for group in ("rigpact.systems", "rigpact.operations")
        for entry in entry_points(group=group)
        if entry.dist is not None and entry.dist.name == "rigpact"
    }
    waiting = [name for name in modules if name in {*ENTRIES, *packages, *LIBRARY, *brought}]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += [name.rpartition(".")[0], *_imported(ast.walk(modules[name]))]
            package = name if any(other.startswith(f"{name}.") for other in modules) else name.rpartition(".")[0]
            words = (node.value for node in ast.walk(modules[name]) if isinstance(node, ast.Constant))
            waiting += [f"{package}.{word}" for word in words if isinstance(word, str)]  # imported when it is needed
    assert sorted(modules.keys() - reached) == []


def test_torch_is_imported_by_the_commands_that_need_it_only(modules: dict[str, ast.Module]) -> None:
    """A gate in CI installs no torch: one import at the top of a shared module would stop it."""
    found = {
        name
        for name, module in modules.items()
        if any(each.split(".")[0] == "torch" for each in _imported(module.body))
    }
    assert found == NEEDS_TORCH.keys()


def test_an_editable_install_works_from_another_folder(checkout: Path, tmp_path: Path) -> None:
    """Developers of a studio install rigpact editable beside their own game code."""
    pytest.importorskip("hatchling")
    wheel = _build(checkout, "wheel:editable", tmp_path)
    (pth,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".pth")]
    roots = zipfile.ZipFile(wheel).read(pth).decode().split()
    code = f"import sys; sys.path[:0] = {roots!r}\n" + "\n".join(
        f"import rigpact.{room}; assert rigpact.{room}.__file__.startswith({str(checkout)!r})" for room in SUBPACKAGES
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=60)


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """People do not explore a command whose help takes seconds."""
    code = (
        "import sys; from rigpact.reports.command_line import run_command_line; "
        "assert run_command_line(['--help']) == 0; "
        "print('HEAVY', sorted({'numpy', 'onnxruntime', 'pandas', 'torch', 'onnx', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"COLUMNS": "100"},
    )
    assert done.stdout.splitlines()[-1] == "HEAVY []"
