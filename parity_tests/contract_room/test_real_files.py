"""The findings on the exported files of a deployed character; skips where the files are absent."""

import time
from pathlib import Path

import pytest

from rigpact.contract.documents import read_document
from rigpact.contract.findings import FindingsReport
from rigpact.contract.rules import Subject, check


def report_on(folder: Path, *names: str, companion: bool = False) -> FindingsReport:
    """Check the deployed bundle, with its companion and some of its files."""
    others = tuple(read_document(folder / name) for name in names)
    extra = read_document(folder / "pretrain_template.json") if companion else None
    return check(Subject(read_document(folder / "norm_template.json"), extra, others))


def test_the_residual_misses_by_what_the_exporter_itself_reported(real_data: Path) -> None:
    """The exporter's own diagnostics hold the mean error of the file read as poses: 6.3499 degrees."""
    document = read_document(real_data / "Walk_F_network_output.json")
    found = report_on(real_data, "Walk_F_network_output.json").findings
    finding = next(finding for finding in found if finding.rule.code == "RP631")

    # the exporter averages 87 frames and clamps its cosine, the rule leaves out the last frame: a percent apart
    assert finding.values["pose_deg"] == pytest.approx(document.data["diagnostics"]["GeoDeg"], rel=0.01)
    assert finding.values["residual_deg"] < 1


def test_the_check_is_quick(real_data: Path) -> None:
    """A slow check is moved to the nightly build, where people do not read its report."""
    start = time.perf_counter()
    report_on(real_data, companion=True)
    bundle_s = time.perf_counter() - start
    report_on(real_data, "Walk_F_prediction.json")

    assert bundle_s < 1.0
    assert time.perf_counter() - start - bundle_s < 1.5
