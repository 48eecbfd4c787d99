"""Bundles, clips, teacher files and models that `rigpact check` reads"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..contract_room.conftest import Sample
from ..contract_room.small_character import STD, pose, whitened
from .tried import passes, refused


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """The small sound character of the rules' own tests, as files."""
    return Sample(tmp_path)


def alarms(sample: Sample) -> dict[str, str]:
    """What `check` says, errors and warnings, by code."""
    return {found.rule.code: found.message for found in sample.check().findings if found.rule.severity != "info"}


# --- the condition's frame ----------------------------------------------------------------------------------------------


@refused("condition rows of the next frame, where the bundle declares the state's own", "RP908 and RP616")
def test_rows_of_another_frame_than_the_declared_are_found(sample: Sample) -> None:
    """The character steers a frame early."""
    sample.bundle["meta"]["alignment"]["cond_to_y"] = {"mode": "match_x", "offset": 0}
    for rows in (sample.batch["teacher"], sample.prediction["teacher"]):
        rows["cond"] = [*rows["cond"][1:], rows["cond"][-1]]
    assert {"RP616", "RP908"} <= set(alarms(sample))


# --- what a bundle declares ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["demo", "real"])
def bundle(request: pytest.FixtureRequest, demo_bundle: Path) -> dict[str, Any]:
    """The demo's bundle and the deployed character's."""
    folder: Path = demo_bundle if request.param == "demo" else request.getfixturevalue("real_data")
    value: dict[str, Any] = json.loads((folder / "norm_template.json").read_text(encoding="utf-8"))
    return value


@pytest.fixture
def checked(command: Any, tmp_path: Path) -> Callable[[dict[str, Any]], set[str]]:
    """The codes that `check` reports on a bundle alone."""

    def codes(value: dict[str, Any]) -> set[str]:
        path = tmp_path / "bundle.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return {found["code"] for found in json.loads(command("check", path, "--format", "json").out)["findings"]}

    return codes


@refused("a bundle whose MuY is negated", "RP117: its mean pose is half a turn from that of MuX")
def test_a_negated_mean_is_found(bundle: dict[str, Any], checked: Any) -> None:
    """Every recorded pose is measured from the wrong side of the ball."""
    bundle["MuY"] = [-value for value in bundle["MuY"]]
    assert "RP117" in checked(bundle)


@refused("a bundle in which two numbers of MuY changed places", "RP117 or RP118: they are not those of MuX")
def test_two_numbers_that_changed_places_are_found(bundle: dict[str, Any], checked: Any) -> None:
    """One bone is drawn to a pose that no clip has. Oracle: of the pairs that are two deviations apart, none is missed."""
    mean, std = (np.array(bundle[key]) for key in ("MuY", "StdY"))
    chance = np.random.default_rng(7)
    pairs = [tuple(chance.choice(len(mean), 2, replace=False).tolist()) for _ in range(60)]
    far = [(i, j) for i, j in pairs if abs(mean[i] - mean[j]) > 2 * max(std[i], std[j]) + 0.01]
    assert len(far) > 20
    for i, j in far[:8]:
        swapped = json.loads(json.dumps(bundle))
        swapped["MuY"][i], swapped["MuY"][j] = bundle["MuY"][j], bundle["MuY"][i]
        assert {"RP117", "RP118"} & checked(swapped), (i, j)


@refused(
    '`output_mode = "absolute"` for a network that gives residuals, the model and a recording beside it',
    "RP451: read as a residual the model meets the recording",
)
def test_a_meaning_that_the_model_contradicts_is_found(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """The character collapses in its first frame. The bundle alone cannot say it: its statistics fit both meanings."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    bundle["meta"]["rot6d_spec"]["output_mode"] = "absolute"
    path = tmp_path / "absolute.json"
    path.write_text(json.dumps(bundle), encoding="utf-8")
    recording = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    words = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx")
    answer = command("check", path, recording, *words, "--format", "json")
    assert answer.status == 1
    assert "RP451" in {found["code"] for found in json.loads(answer.out)["findings"]}


@passes(
    "MuY measured over the frames that follow those of MuX: the means of clips of 16 frames differ by half a deviation"
)
def test_the_means_of_neighbouring_frames_may_differ(sample: Sample) -> None:
    """Statistics of short clips are rough: whoever stands at the end of a clip moves the mean of the output."""
    frames = [np.array(whitened(pose(frame))) * STD for frame in range(17)]
    apart = float(np.abs(np.mean(frames[1:], axis=0) - np.mean(frames[:-1], axis=0)).max())
    shift = np.mean(frames[1:], axis=0) - np.mean(frames[:-1], axis=0)
    sample.bundle["MuY"] = [mean + float(moved) for mean, moved in zip(sample.bundle["MuY"], shift, strict=True)]
    assert 0 < apart < 0.5 * STD
    assert "RP118" not in alarms(sample)


# --- the training's processed clip ---------------------------------------------------------------------------------------

OF_PROCESSED = {"X_norm": "state_norm", "cond_in": "cond", "Y_norm": "target_norm"}


@pytest.fixture
def processed(demo_bundle: Path, tmp_path: Path) -> Callable[..., Path]:
    """The rows of the demo's teacher batch as the training's own .npz; edits replace arrays, None leaves one out."""
    batch = json.loads((demo_bundle / "teacher_batches/Sneak_Turn_teacher.json").read_text(encoding="utf-8"))["teacher"]

    def write(**edits: Any) -> Path:
        arrays = {name: np.array(batch[key], np.float32) for name, key in OF_PROCESSED.items()}
        arrays |= {"x_in_features": arrays["X_norm"], "bone_names": np.array([{"a": 1}], object)}
        changed = {name: edit(arrays[name]) if callable(edit) else edit for name, edit in edits.items()}
        np.savez(tmp_path / "clip.npz", **{name: rows for name, rows in (arrays | changed).items() if rows is not None})
        return tmp_path / "clip.npz"

    return write


@pytest.fixture
def judged(command: Any, demo_bundle: Path) -> Callable[[Path], Any]:
    """`check` of the demo's bundle, its companion and another file."""
    return lambda path: command(
        "check", demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", path
    )


@passes("the training's processed clip, a .npz, beside its bundle; objects beside its rows are never unpacked")
def test_a_processed_clip_is_judged(judged: Any, processed: Callable[..., Path]) -> None:
    """It was refused as a trace, so the file that training reads was the only one that nobody judged."""
    answer = judged(processed())
    assert (answer.status, "0 errors" in answer.out) == (0, True), answer.out + answer.err


@refused(
    "a processed clip with its state the other way round, a NaN in a condition, fewer targets, or without conditions",
    "the rule of a teacher batch: RP612, RP605, RP600, RP021; exit 1",
)
@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ({"X_norm": lambda rows: rows[:, ::-1]}, "RP612"),
        ({"cond_in": lambda rows: np.where(rows == rows[3], np.nan, rows)}, "RP605"),
        ({"Y_norm": lambda rows: rows[:-2]}, "RP600"),
        ({"cond_in": None}, "RP021"),
    ],
)
def test_a_damaged_processed_clip_is_a_finding(
    judged: Any, processed: Callable[..., Path], edits: dict[str, Any], code: str
) -> None:
    """A network is trained on these rows, whatever the JSON beside them says."""
    answer = judged(processed(**edits))
    assert (answer.status, code in answer.out) == (1, True), answer.out


@refused("a processed clip whose rows are windows, words or objects", "one line with the array's name, exit 2")
@pytest.mark.parametrize(
    "rows", [lambda rows: rows[None], lambda _: np.array([["a"]]), lambda _: np.array([{}], object)]
)
def test_a_processed_clip_of_something_else_is_refused(
    judged: Any, processed: Callable[..., Path], rows: Callable[[Any], Any]
) -> None:
    """Never unpickled, and never reshaped until it fits."""
    answer = judged(processed(X_norm=rows))
    assert (answer.status, answer.err.count("\n"), "clip.npz" in answer.err) == (2, 1, True)
