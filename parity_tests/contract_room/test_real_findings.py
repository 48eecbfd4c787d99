"""The last section of docs/evidence.md against the exported files of a deployed character; skips without them.

A finding that appears or goes, or a number that changes, must be reviewed and written down there.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigpact.contract.documents import read_document
from rigpact.contract.findings import Finding
from rigpact.contract.rules import Subject, check

NAMES = {
    "norm_template.json": "bundle",
    "pretrain_template.json": "companion",
    "Walk_F.json": "straight walk",
    "Walk_L_To_R.json": "turning walk",
    "Walk_F_teacher.json": "teacher batch",
    "Walk_F_prediction.json": "prediction 1",
    "Walk_F_prediction_best.json": "prediction 2",
    "Walk_F_network_output.json": "network output",
}
NUMBERS = {
    "RP060": "no Contacts slice",
    "RP070": "{default:g} assumed",
    "RP080": "{mode}",
    "RP109": "{count} of {total} of {array}",
    "RP114": "{count} of {array} are {value:g}",
    "RP116": "{total:.3f}",
    "RP132": "{what}",
    "RP202": "undeclared",
    "RP204": "{angle_deg:.1f}° a frame",
    "RP243": "{angle_deg:.0f}°",
    "RP300": "{missing}",
    "RP301": "only in the companion",
    "RP302": "{missing}",
    "RP303": "only in the companion",
    "RP306": "{count} of {total}",
    "RP526": "{angle_deg:.1f}°",
    "RP533": "{speed_cm_s:.0f} cm/s",
    "RP536": "{slide_cm_s:.0f} cm/s",
    "RP550": "{slope:.4f}",
    "RP553": "{rest:.2%} left over",
    "RP610": "{names}",
    "RP631": "{residual_deg:.2f}° against {pose_deg:.2f}°",
    "RP633": "{slope:.2f}",
    "RP635": "{model_deg:.3f}° against {copy_deg:.3f}°",
    "RP643": "{angle_deg:.4f}°",
    "RP644": "{angle_deg:.2f}°",
    "RP908": "{near:.0e} against {far:.2f}",
}
Row = tuple[str, str, str]


def row(finding: Finding) -> Row:
    """Code, file by its role, and the number that proves it."""
    code = finding.rule.code
    return code, NAMES[Path(finding.file).name], NUMBERS[code].format_map(finding.values).replace("|", "/")


def findings(folder: Path, *names: str, companion: bool) -> set[Row]:
    others = tuple(read_document(folder / name) for name in names)
    extra = read_document(folder / "pretrain_template.json") if companion else None
    return {row(each) for each in check(Subject(read_document(folder / "norm_template.json"), extra, others)).findings}


def written_down(page: str, heading: str) -> Iterator[Row]:
    """The rows of the table under a heading; one row may name several files."""
    section = page.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    for code, files, number, sentence in re.findall(r"^\| (RP\d{3}) \| (.*?) \| (.*?) \| (.*?) \|$", section, re.M):
        assert len(sentence) > 40, f"{code} needs a sentence that justifies it"
        yield from ((code, file, number) for file in files.split(", "))


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / "docs" / "evidence.md").read_text(encoding="utf-8")


def test_the_bundle_alone(real_data: Path, page: str) -> None:
    """The findings on the engine's own file alone."""
    found = findings(real_data, companion=False)

    assert found == set(written_down(page, "The bundle alone"))


def test_all_files_together(real_data: Path, page: str) -> None:
    """Every finding on a deployed character is reviewed, with the number that proves it."""
    found = findings(real_data, *(name for name in NAMES if name.startswith("Walk")), companion=True)

    assert found == set(written_down(page, "All files together"))


def test_the_leak_is_exact(real_data: Path) -> None:
    """RP633 rests on a slope; here the network's own output proves it: composed with the target it gives the file."""
    import numpy as np

    from rigpact.contract.rotation6d import identity_rot6d, rot6d_to_matrix, rotation_angle_rad

    bundle = read_document(real_data / "norm_template.json").data
    output, prediction = (
        np.array(read_document(real_data / name).data["prediction"]["y_norm"])
        for name in ("Walk_F_network_output.json", "Walk_F_prediction.json")
    )
    frames = read_document(real_data / "Walk_F.json").data["Frames"]
    poses = rot6d_to_matrix(np.array([frame["BoneRotations"] for frame in frames]))
    std, mean = np.array(bundle["StdY"]), np.array(bundle["MuY"])
    bones = poses.shape[1]
    turns = rot6d_to_matrix((output * std).reshape(-1, bones, 6) + identity_rot6d())
    recorded = rot6d_to_matrix((prediction * std + mean).reshape(-1, bones, 6))

    def miss_deg(previous: np.ndarray) -> float:
        composed = turns[1:] @ previous
        return float(np.degrees(rotation_angle_rad(composed @ np.swapaxes(recorded[1:], -1, -2))).max())

    assert miss_deg(poses[2:]) < 1e-3, "composed with the target"
    assert miss_deg(poses[1:-1]) > 1, "composed with the current pose"
