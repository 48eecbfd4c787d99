"""The machine-readable report follows its published schema, whatever is checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.reports.command_line import run_command_line

from ..every_case import every_case
from .rule_cases import Case
from .test_every_rule import CASES


def complaints(document: Any) -> list[tuple[str, str]]:
    return list(check_against_schema(document, "findings_report"))


@every_case("case", CASES[::7], ids=lambda case: case.code)
def test_reports_of_defective_files_follow_the_schema(sample: Any, case: Case) -> None:
    """A build server parses this; a field that changes its type breaks every project's gate."""
    case.edit(sample)

    assert complaints(sample.check().to_json()) == []


def test_what_the_command_prints_follows_the_schema(
    demo_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schema is about the output, not about an object in memory."""
    monkeypatch.chdir(tmp_path)
    files = sorted(demo_bundle.rglob("*.json"))
    run_command_line(["check", *map(str, files), "--onnx", str(demo_bundle / "model.onnx"), "--format", "json"])

    assert complaints(json.loads(capsys.readouterr().out)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.pop("ledger"),
        lambda report: report.update(verdict="ok"),
        lambda report: report["findings"][0].update(severity="fatal"),
        lambda report: report["findings"][0].update(pointer="StdX/12"),
        lambda report: report["findings"][0].update(fingerprint="abc"),
        lambda report: report["findings"][0].pop("message"),
    ],
)
def test_another_shape_is_refused(sample: Any, change: Any) -> None:
    """A schema that accepts anything promises nothing."""
    sample.bundle["StdX"][12] = 0.0
    report = sample.check().to_json()
    change(report)

    assert complaints(report)
