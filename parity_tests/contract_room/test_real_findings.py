"""The last section of docs/evidence.md against the exported files of a deployed character; skips without them.

A finding that appears or goes, or a number that changes, must be reviewed and written down there.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.documents import read_document
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.skeleton import identity_rot6d, rot6d_to_matrix, rotation_angle_rad

NAMES = {
    "norm_template.json": "bundle", "pretrain_template.json": "companion", "Walk_F.json": "straight walk",
    "Walk_L_To_R.json": "turning walk", "Walk_F_teacher.json": "teacher batch", "Walk_F_prediction.json": "prediction 1",
    "Walk_F_prediction_best.json": "prediction 2", "Walk_F_network_output.json": "network output",
}  # fmt: skip
WALKS = tuple(name for name in NAMES if name.startswith("Walk"))
NUMBERS = {
    "RP060": "no Contacts slice", "RP070": "{default:g} assumed", "RP080": "{mode}", "RP109": "{count} of {total} of {array}",
    "RP114": "{count} of {array} are {value:g}", "RP116": "{total:.3f}", "RP132": "{what}", "RP202": "undeclared",
    "RP204": "{angle_deg:.1f}° a frame", "RP243": "{angle_deg:.0f}°", "RP300": "{missing}", "RP301": "only in the companion",
    "RP302": "{missing}", "RP303": "only in the companion", "RP306": "{count} of {total}", "RP526": "{angle_deg:.1f}°",
    "RP533": "{speed_cm_s:.0f} cm/s", "RP536": "{slide_cm_s:.0f} cm/s", "RP550": "{slope:.4f}", "RP553": "{rest:.2%} left over",
    "RP610": "{names}", "RP631": "{residual_deg:.2f}° against {pose_deg:.2f}°", "RP633": "{slope:.2f}",
    "RP635": "{model_deg:.3f}° against {copy_deg:.3f}°", "RP643": "{angle_deg:.4f}°", "RP644": "{angle_deg:.2f}°",
    "RP908": "{near:.0e} against {far:.2f}",
}  # fmt: skip
"""The number that proves each finding."""
Row = tuple[str, str, str]


def findings(folder, *names):
    companion = read_document(folder / "pretrain_template.json") if names else None
    return check(
        Artefacts(
            read_document(folder / "norm_template.json"), companion, tuple(read_document(folder / n) for n in names)
        )
    ).findings


def row(finding):
    """Code, file by its role, and the number that proves it."""
    code = finding.rule.code
    return code, NAMES[Path(finding.file).name], NUMBERS[code].format_map(finding.values).replace("|", "/")


def written_down(page, heading):
    """The rows of the table under a heading; one row may name several files."""
    section = page.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    for code, files, number, sentence in re.findall(r"^\| (RP\d{3}) \| (.*?) \| (.*?) \| (.*?) \|$", section, re.M):
        assert len(sentence) > 40, f"{code} needs a sentence that justifies it"
        yield from ((code, file, number) for file in files.split(", "))


@pytest.mark.parametrize(("heading", "names"), [("The bundle alone", ()), ("All files together", WALKS)])
def test_every_finding_on_a_deployed_character_is_reviewed(real_data, checkout, heading, names):
    """Each with the number that proves it. Without the files nothing guards the list of docs/evidence.md."""
    page = (checkout / "docs" / "evidence.md").read_text(encoding="utf-8")
    rows = set(written_down(page, heading))
    assert {row(each) for each in findings(real_data, *names)} == rows != set()


def test_the_leak_and_the_residual_are_what_the_files_say(real_data):
    """RP633 rests on a slope: the network's own output, composed with the target, gives the file. RP631: its own GeoDeg."""
    read = {name: read_document(real_data / name).data for name in NAMES}
    bundle, output = read["norm_template.json"], read["Walk_F_network_output.json"]
    poses = rot6d_to_matrix(np.array([frame["BoneRotations"] for frame in read["Walk_F.json"]["Frames"]]))
    std, mean = np.array(bundle["StdY"]), np.array(bundle["MuY"])
    normed = [np.array(each["prediction"]["y_norm"]) for each in (output, read["Walk_F_prediction.json"])]
    turns = rot6d_to_matrix((normed[0] * std).reshape(-1, poses.shape[1], 6) + identity_rot6d())
    recorded = rot6d_to_matrix((normed[1] * std + mean).reshape(-1, poses.shape[1], 6))

    def miss_deg(previous):
        off = turns[1:] @ previous @ np.swapaxes(recorded[1:], -1, -2)
        return float(np.degrees(rotation_angle_rad(off)).max())

    assert miss_deg(poses[2:]) < 1e-3, "composed with the target"
    assert miss_deg(poses[1:-1]) > 1, "composed with the current pose"
    (found,) = [each for each in findings(real_data, "Walk_F_network_output.json") if each.rule.code == "RP631"]
    # the exporter averages 87 frames and clamps its cosine, the rule leaves out the last frame: a percent apart
    assert found.values["pose_deg"] == pytest.approx(output["diagnostics"]["GeoDeg"], rel=0.01)
    assert found.values["residual_deg"] < 1
