"""docs/commands.md: what every command answers for every system, run here and compared."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from .commands import FOLDERS, PROJECTS, answers, page
from .outside_project import Rigpact

pytestmark = [pytest.mark.repository, pytest.mark.nightly]


def _columns(checkout: Path, outside: Rigpact, folder: Path) -> Mapping[str, Mapping[str, str]]:
    found = {}
    for project in PROJECTS:
        committed = checkout / "fixtures" / "bundles" / FOLDERS.get(project.name, project.name)
        files = (project.contract, project.model, project.clip)
        shutil.copytree(committed, folder / project.name) if committed.is_dir() else (folder / project.name).mkdir()
        for name in () if committed.is_dir() else files:
            shutil.copyfile(outside.folder / name, folder / project.name / name)
        found[project.name] = answers(project, folder / project.name)
    return found


@pytest.mark.usefixtures("outside_here")
def test_every_command_answers_for_every_system(checkout: Path, outside: Rigpact, tmp_path: Path) -> None:
    """Every command must work for every system. RIGPACT_REGENERATE=1 writes the page."""
    columns = _columns(checkout, outside, tmp_path)
    path, found = checkout / "docs" / "commands.md", page(columns)
    if os.environ.get("RIGPACT_REGENERATE"):
        path.write_text(found, encoding="utf-8")

    assert "status 3" not in found, "an internal error of rigpact"
    assert {column["run"] for column in columns.values()} == {"PASS"}
    assert path.read_text(encoding="utf-8") == found
