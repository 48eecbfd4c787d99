"""A format of recordings is one row: every command that looks at names knows it from there."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.inputs import inputs_remembered
from rigpact.reference_runtime.recordings import opened
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reports.gate.setup.found_files import find_files
from rigpact.reports.importing.drafting import draft_of_folder, look_into

from ..every_case import every_case
from ..readers_room.animations import BVH

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
    row = opened.Format(columns=lambda file: Table({"q": np.array([*map(float, file.content.decode().split("|"))])}))
    monkeypatch.setitem(opened.FORMATS, ".barred", row)
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

    assert open_file(path).is_recording
    assert opened_recording(path, contract).stages["q"].ravel().tolist() == [1.0, 2.0, 4.0]
    assert find_files(project).columns == [Path("run.barred")]
    assert "run.barred" in draft_of_folder(look_into(_with_a_model(project))).header[0]
    path.write_text("[DeltaCompose]|", encoding="utf-8")
    assert open_file(path).kind is Kind.COLUMNS


def test_columns_without_a_contract_are_refused(project: Path) -> None:
    """Columns that are read without the contract are numbers without a meaning."""
    with pytest.raises(UnusableInput, match="the contract gives their meaning"):
        opened_recording(project / "run.barred", None)


def test_every_format_that_is_written_is_read_again() -> None:
    """A file that rigpact converts to and cannot open is lost work."""
    assert all(each.columns or each.trace for each in opened.FORMATS.values() if each.write)
    with pytest.raises(UnusableInput, match=r"\.npz, \.csv, \.json"):
        opened.write_recording(None, Path("run.npy"))  # type: ignore[arg-type]


DEMO = Path("fixtures/bundles/demo")
KINDS = {
    DEMO / "norm_template.json": Kind.BUNDLE, DEMO / "pretrain_template.json": Kind.COMPANION, DEMO / "model.onnx": Kind.MODEL,
    DEMO / "clips" / "Run_F.json": Kind.RAW_CLIP, Path("fixtures/bundles/robot/contract.toml"): Kind.DECLARATION,
    Path("fixtures/bundles/robot/run.csv"): Kind.COLUMNS, Path("pyproject.toml"): Kind.SETTINGS, Path("README.md"): None,
    Path("fixtures/bundles/imu_pose/imu_pose.json"): Kind.SYSTEM_CONTRACT, Path(__file__): Kind.SCRIPT,
    Path("none.trace.bin"): Kind.TRACE,
}  # fmt: skip


@every_case("path", KINDS)
def test_a_kind_is_told_by_what_a_file_holds(path: Path) -> None:
    """Six modules asked, each in its own way: a file that one took for a table was a document for the next."""
    assert open_file(path).kind is KINDS[path]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("walk.txt", BVH.encode(), Kind.COLUMNS), ("engine.out", b"LogTemp: [DeltaCompose] frame=1 \n", Kind.ENGINE_LOG),
        ("engine.csv", "[Schema OK] X=1".encode("utf-16"), Kind.ENGINE_LOG),
        ("template.bak", b'{"MuX": [1], "MuY": [2]}', Kind.BUNDLE),
        ("table.json", b'{"q": [1.0, 2.0]}', Kind.COLUMNS), ("cut.json", b'{"MuX": [1', None),
        ("other.json", b'{"name": "q"}', None),
    ],
)  # fmt: skip
def test_the_name_counts_only_where_files_look_alike(
    tmp_path: Path, name: str, content: bytes, kind: Kind | None
) -> None:
    """What a browser or a recorder calls a file says little."""
    (tmp_path / name).write_bytes(content)
    assert open_file(tmp_path / name).kind is kind
    assert name != "walk.txt" or set(open_file(tmp_path / name).table.columns) > {"position.Hips"}


def test_a_command_reads_a_file_once_as_long_as_nobody_writes_it(tmp_path: Path) -> None:
    """Parsed at every look, a clip of a minute is read six times by one check."""
    path = tmp_path / "run.csv"
    path.write_text("q\n1\n", encoding="utf-8")
    assert open_file(path) is not open_file(path)
    with inputs_remembered():
        first = open_file(path)
        assert open_file(path) is first
        path.write_text("q\n1\n2\n", encoding="utf-8")
        assert open_file(path) is not first
