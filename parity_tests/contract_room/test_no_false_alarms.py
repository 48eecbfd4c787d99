"""Sound files of many kinds: motion of a body that was exported correctly has no error and no warning."""

from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.files import JsonFile
from rigpact.contract.findings import Severity
from rigpact.contract.rules import Subject, check
from rigpact.fixtures.clip_format import generate_clip
from rigpact.fixtures.json_files import plain_document
from rigpact.fixtures.motion.skeleton import demo_skeleton
from rigpact.fixtures.motion.styles import STYLES

FRAMES = (3, 8, 90)
"""The shortest that has a velocity, a short step, a second and a half."""


def document(kind: Kind, name: str, content: Any) -> Document:
    return Document(kind, JsonFile(Path(f"{name}.json"), b"", content, standard=True))


def alarms(subject: Subject) -> list[str]:
    return [f"{f.rule.code} {f.file}{f.pointer}: {f.message}" for f in check(subject).findings if is_alarm(f)]


def is_alarm(finding: Any) -> bool:
    return finding.rule.severity is not Severity.INFO


@pytest.mark.parametrize("style", STYLES)
def test_generated_motion_of_every_style_is_sound(demo_bundle: Path, style: str) -> None:
    """Animators switch off a validator that reports a jump or a spin as a defect."""
    bundle = read_document(demo_bundle / "norm_template.json")
    companion = read_document(demo_bundle / "pretrain_template.json")
    seed = 40 + list(STYLES).index(style)
    clips = [document(Kind.RAW_CLIP, f"{style}_{count}", generate_clip(style, seed, count)) for count in FRAMES]

    assert alarms(Subject(bundle, companion, tuple(clips))) == []


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("seed", [11, 12])
def test_a_freshly_fitted_character_is_sound(seed: int, fps: float) -> None:
    """Statistics of a handful of clips are rough; rough is not a defect, at any rate."""
    from rigpact.training.enemy_animation.arrays import clip_arrays
    from rigpact.training.enemy_animation.converter import norm_template, pretrain_template, teacher_batch
    from rigpact.training.enemy_animation.statistics import fit_statistics

    styles = list(STYLES)[seed % 3 :: 3]
    motions = {f"{style}_{seed}": generate_clip(style, seed, 120, fps) for style in styles}
    arrays = {name: clip_arrays(motion) for name, motion in motions.items()}
    statistics = fit_statistics(list(arrays.values()))
    bundle = plain_document(norm_template(statistics, demo_skeleton(), fps))
    clips = [document(Kind.RAW_CLIP, name, motion) for name, motion in motions.items()]
    batches = [
        document(Kind.TEACHER_BATCH, f"{name}_teacher", plain_document(teacher_batch(name, clip, statistics)))
        for name, clip in arrays.items()
    ]
    companion = document(Kind.COMPANION, "companion", plain_document(pretrain_template(statistics)))

    assert alarms(Subject(document(Kind.BUNDLE, "bundle", bundle), companion, (*clips, *batches))) == []
