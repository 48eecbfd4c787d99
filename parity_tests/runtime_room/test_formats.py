"""A format of recordings is one row, from which every command knows it; a kind is told by what a file holds."""

import shutil
from pathlib import Path

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.documents import Kind
from rigpact.reference_runtime.recordings import opened
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reference_runtime.recordings.tables import Table
from rigpact.reports.gate.setup.found_files import find_files
from rigpact.reports.importing.drafting import draft_of_folder, look_into

from ..every_case import every_case
from ..readers_room.animations import BVH
from .trace_files import refused

CONTRACT = """format = "rigpact-contract"
version = 1
name = "one_number"
fps = 30
given = [{ name = "q", size = 1 }]
stages = [{ name = "twice", operation = "affine", of = "q", scale = 2 }]
"""


def test_a_new_format_is_known_to_every_command_from_its_row(tmp_path, monkeypatch):
    """A list that was forgotten leaves recordings unread without a word, and the gate passes without them."""
    row = opened.Format(columns=lambda file: Table({"q": np.array([*map(float, file.content.decode().split("|"))])}))
    monkeypatch.setitem(opened.FORMATS, ".barred", row)
    (tmp_path / "one.toml").write_text(CONTRACT, encoding="utf-8")
    path, contract = tmp_path / "run.barred", open_contract(tmp_path / "one.toml")
    path.write_text("1|2|4", encoding="utf-8")
    assert open_file(path).is_recording
    assert opened_recording(path, contract).stages["q"].ravel().tolist() == [1.0, 2.0, 4.0]
    assert refused(opened_recording, path, None)[0] == "--contract"
    assert find_files(tmp_path).columns == [Path("run.barred")]
    shutil.copy(next(Path("fixtures/bundles").glob("*/*.onnx")), tmp_path / "policy.onnx")
    assert "run.barred" in draft_of_folder(look_into(tmp_path)).header[0]
    path.write_text("[DeltaCompose]|", encoding="utf-8")
    assert open_file(path).kind is Kind.COLUMNS


def test_every_format_that_is_written_is_read_again():
    """A file that rigpact converts to and cannot open is lost work."""
    written = [each for each in opened.FORMATS.values() if each.write]
    assert len(written) >= 3
    assert [each for each in written if not (each.columns or each.trace)] == []


BUNDLES = Path("fixtures/bundles")
KINDS = {
    BUNDLES / "demo/norm_template.json": Kind.BUNDLE, BUNDLES / "demo/pretrain_template.json": Kind.COMPANION,
    BUNDLES / "demo/model.onnx": Kind.MODEL, BUNDLES / "demo/clips/Run_F.json": Kind.RAW_CLIP,
    BUNDLES / "robot/contract.toml": Kind.DECLARATION, BUNDLES / "robot/run.csv": Kind.COLUMNS,
    Path("pyproject.toml"): Kind.SETTINGS,
    Path("README.md"): None, BUNDLES / "imu_pose/imu_pose.json": Kind.SYSTEM_CONTRACT, Path(__file__): Kind.SCRIPT,
    Path("none.trace.bin"): Kind.TRACE,
}  # fmt: skip
CONTENTS = [
    ("walk.txt", BVH.encode(), Kind.COLUMNS), ("engine.out", b"LogTemp: [DeltaCompose] frame=1 \n", Kind.ENGINE_LOG),
    ("engine.csv", "[Schema OK] X=1".encode("utf-16"), Kind.ENGINE_LOG),
    ("template.bak", b'{"MuX": [1], "MuY": [2]}', Kind.BUNDLE),
    ("table.json", b'{"q": [1.0, 2.0]}', Kind.COLUMNS), ("cut.json", b'{"MuX": [1', None),
    ("other.json", b'{"name": "q"}', None),
    ("log.trace.jsonl", b'{"q": [1.0]}\n', Kind.COLUMNS),
    *(("a.trace.jsonl", each.encode(), Kind.COLUMNS) for each in (
        '{"frame": 0, "q": 1.0}', "[1.0, 2.0]", '{"a": 1, "q": [1.0]}')),
    *(("a.trace.jsonl", each.encode(), Kind.TRACE) for each in (
        '{"format": "rigpact-trace", "version": 1}\n', '{"format": "x", "q": [1.0]}', '{"version": 1, "frame": 0}',
        '{"producer": {}, "frame": 0}', '{"q": 1.0}', "3", "", "\n", "{")),
]  # fmt: skip


@every_case(("path", "content", "kind"), [*((path, None, kind) for path, kind in KINDS.items()), *CONTENTS])
def test_a_kind_is_told_by_what_a_file_holds(tmp_path, path, content, kind):
    """A file that one module took for a table was a document for the next; its name counts only where files look alike."""
    if content is not None:
        path = tmp_path / path
        path.write_bytes(content)
    assert open_file(path).kind is kind
    assert path.name != "walk.txt" or set(open_file(path).table.columns) > {"position.Hips"}
