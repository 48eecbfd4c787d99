"""What a user installs: the wheel's content, the editable install, the quick start of the command."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository
SUBPACKAGES = ("contract", "reference_runtime", "fixtures", "reports")


def _build(checkout: Path, target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel_names(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """File names in the built wheel."""
    pytest.importorskip("hatchling")
    wheel = _build(checkout, "wheel", tmp_path_factory.mktemp("wheel"))
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_nothing_but_rigpact(wheel_names: list[str]) -> None:
    """A top-level `contract` or `fixtures` would shadow the user's own and break their tests."""
    top = {name.split("/")[0] for name in wheel_names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"rigpact"}


def test_the_wheel_holds_the_data_it_needs(wheel_names: list[str]) -> None:
    """Without schemas or the demo bundle, commands work in a checkout and fail for users."""
    assert not any(name == "rigpact/__init__.py" for name in wheel_names)
    data = ("contract/schemas/bundle.schema.json", "fixtures/bundles/demo/norm_template.json")
    headers = ("reports/engine/templates/contract.hpp.j2", "reference_runtime/cpp/include/rigpact/runtime.hpp")
    for name in (*data, *headers):
        assert f"rigpact/{name}" in wheel_names
    for room in SUBPACKAGES:
        assert f"rigpact/{room}/py.typed" in wheel_names


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
    """`rigpact --help` that takes seconds is a command that nobody explores."""
    code = (
        "import sys; from rigpact.reports.command_line import run_command_line; "
        "assert run_command_line(['--help']) == 0; "
        "print('HEAVY', sorted({'numpy', 'onnxruntime', 'pandas', 'torch', 'onnx', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60, env=os.environ | {"COLUMNS": "100"}
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "HEAVY []"
