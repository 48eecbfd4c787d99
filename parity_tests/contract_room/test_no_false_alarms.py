"""Sound files of many kinds: motion of a body that was exported correctly has no error and no warning."""

from pathlib import Path

import pytest

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.files import JsonFile
from rigpact.contract.findings import Severity
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts
from rigpact.fixtures.clip_format import generate_clip, plain_document
from rigpact.fixtures.course import STYLES
from rigpact.fixtures.skeleton import demo_skeleton


def document(kind, name, content):
    return Document(kind, JsonFile(Path(f"{name}.json"), b"", content, standard=True))


def alarms(*subject):
    found = [each for each in check(Artefacts(*subject)).findings if each.rule.severity is not Severity.INFO]
    return [f"{each.rule.code} {each.file}{each.pointer}: {each.message}" for each in found]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("style", STYLES)
def test_generated_motion_of_every_style_is_sound(demo_bundle, style):
    """A jump or a spin is no defect; nor is the shortest clip that has a velocity, a short step, or a second."""
    files = [read_document(demo_bundle / f"{name}_template.json") for name in ("norm", "pretrain")]
    seed = 40 + list(STYLES).index(style)
    clips = [document(Kind.RAW_CLIP, f"{style}_{n}", generate_clip(style, seed, n)) for n in (3, 8, 60)]
    two = generate_clip(style, seed, 3)
    clips.append(document(Kind.RAW_CLIP, "two", {**two, "Frames": two["Frames"][:2], "NumFrames": 2}))
    assert alarms(*files, tuple(clips)) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "fps"), [(11, 30.0), (12, 60.0), (11, 60.0), (12, 120.0), (11, 120.0), (12, 30.0)])
def test_a_freshly_fitted_character_is_sound(seed, fps):
    """Statistics of a handful of clips are rough; rough is not a defect, at any rate."""
    from rigpact.training.enemy_statistics import (
        clip_arrays,
        fit_statistics,
        norm_template,
        pretrain_template,
        teacher_batch,
    )

    motions = {f"{style}_{seed}": generate_clip(style, seed, 120, fps) for style in list(STYLES)[seed % 3 :: 3]}
    arrays = {name: clip_arrays(motion) for name, motion in motions.items()}
    statistics = fit_statistics(list(arrays.values()))
    files = [document(Kind.RAW_CLIP, name, motion) for name, motion in motions.items()]
    for name, clip in arrays.items():
        batch = plain_document(teacher_batch(name, clip, statistics))
        files.append(document(Kind.TEACHER_BATCH, f"{name}_teacher", batch))
    bundle = document(Kind.BUNDLE, "bundle", plain_document(norm_template(statistics, demo_skeleton(), fps)))
    companion = document(Kind.COMPANION, "companion", plain_document(pretrain_template(statistics)))
    assert alarms(bundle, companion, tuple(files)) == []
