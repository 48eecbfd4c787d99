"""A format of recordings is one row: every command that looks at names knows it from there."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings import tables
from rigpact.reference_runtime.recordings.named_columns import is_recording_path, opened_recording
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reports.diagnosing.logs.engine_log import is_engine_log
from rigpact.reports.gate.setup.found_files import find_files
from rigpact.reports.importing.drafting import draft_of_folder, look_into

CONTRACT = """format = "rigpact-contract"
version = 1
name = "one_number"
fps = 30

[[given]]
name = "q"
size = 1

[[stages]]
name = "twice"
operation = "affine"
of = "q"
scale = 2
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a contract and a recording in a format that rigpact does not have."""
    row = tables.Format(lambda path: Table({"q": np.array([float(each) for each in path.read_text().split("|")])}))
    monkeypatch.setitem(tables.FORMATS, ".barred", row)  # type: ignore[arg-type]
    (tmp_path / "one.toml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "run.barred").write_text("1|2|4", encoding="utf-8")
    return tmp_path


def _with_a_model(folder: Path) -> Path:
    shutil.copy(next(Path("fixtures/bundles").glob("*/*.onnx")), folder / "policy.onnx")
    return folder


def test_a_new_format_is_known_to_every_command_from_its_row(project: Path) -> None:
    """A list that was forgotten leaves recordings unread without a word, and the gate passes without them."""
    path = project / "run.barred"
    contract = open_contract(project / "one.toml")

    assert is_recording_path(path)
    assert opened_recording(path, contract).stages["q"].ravel().tolist() == [1.0, 2.0, 4.0]
    assert find_files(project).columns == [Path("run.barred")]
    assert "run.barred" in draft_of_folder(look_into(_with_a_model(project))).header[0]
    path.write_text("y_reproj ComposeDelta|", encoding="utf-8")
    assert not is_engine_log(path)


def test_columns_without_a_contract_are_refused(project: Path) -> None:
    """Columns that are read without the contract are numbers without a meaning."""
    with pytest.raises(UnusableInput, match="the contract gives their meaning"):
        opened_recording(project / "run.barred", None)


def test_every_format_that_is_written_is_read_again() -> None:
    """A file that rigpact converts to and cannot open is lost work."""
    assert all(any(ending.endswith(each) for each in tables.FORMATS) for ending in tables.written_suffixes())
    with pytest.raises(UnusableInput, match=r"\.npz, \.csv, \.json"):
        tables.write_table(None, Path("run.npy"))  # type: ignore[arg-type]
