"""Teacher prediction files: the place of each array, and the diagnostics."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import ReplayNetwork, TeacherFile, open_run, read_clip, run_frames
from rigpact.reference_runtime.recordings.prediction import write_prediction

from . import scalar_oracle as oracle
from . import tiny_character as tiny

STORE = 2.0**-24
OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(6)], np.float32)
STEPS = 6


def traced(folder, mode="teacher", frames=STEPS):
    contract, clip = tiny.contract(folder), tiny.clip(folder)
    return (
        run_frames(open_run(contract, ReplayNetwork(OUTPUTS), clip, mode, engine="numpy"), range(frames), "Walk", mode),
        contract,
        clip,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prediction")
    trace, contract, clip = traced(folder)
    path = folder / "Walk_prediction.json"
    write_prediction(trace, contract, path, model="m.onnx", source="Walk.json", last_target=clip.rotations6d[-1])
    return json.loads(path.read_text()), trace.stages, path


def test_auxiliary_inputs_stand_where_both_sides_look(written):
    """The rollout tool writes them at the root and the engine looks under `teacher`: it then runs on its own slices."""
    document, stages, _ = written
    assert document["aux_inputs"] == document["teacher"]["aux_inputs"]
    for name, stage in (("contacts", "contacts"), ("angvel_norm", "angvel"), ("pose_hist_norm", "pose_hist")):
        np.testing.assert_array_equal(np.array(document["aux_inputs"][name], np.float32), stages[stage])


def test_rows_counts_and_layouts_describe_the_run(written):
    """The training side's loader trusts them before it looks at a row."""
    document, stages, _ = written
    assert document["num_pairs"] == STEPS == len(document["teacher"]["state_norm"])
    assert document["dims"] == {"Dx": 33, "Dy": 18, "Dc": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}
    assert document["layouts"] == {"state": tiny.layout(tiny.WIDTHS), "output": tiny.layout({"BoneRotations6D": 18})}
    assert (document["fps"], document["clip"], document["model"]) == (tiny.FPS, "Walk", "m.onnx")
    assert document["source_json"] == "Walk.json"
    np.testing.assert_array_equal(np.array(document["teacher"]["state_norm"], np.float32), stages["state"])
    np.testing.assert_array_equal(np.array(document["teacher"]["cond"], np.float32), stages["cond"])


def test_y_norm_is_the_pose_not_the_networks_output(written):
    """An early recording stored the residual there: its y_raw means nothing."""
    document, stages, _ = written
    y_norm, y_raw = (np.array(document["prediction"][name]) for name in ("y_norm", "y_raw"))
    np.testing.assert_array_equal(y_raw.astype(np.float32), stages["y_out"])
    std, mean = (np.array(tiny.bundle()[name], np.float32).astype(np.float64) for name in ("StdY", "MuY"))
    # y_norm is stored once, so the product is off by u |y_norm| std
    limit = 2 * STORE * (np.abs(y_norm * std) + np.abs(mean))
    assert (np.abs(y_norm * std + mean - y_raw) <= limit).all()
    assert np.abs(y_norm - OUTPUTS).max() > 1.0


def test_diagnostics_are_rederived_from_the_clip(written):
    """The score on the pull request: against the next frame, in degrees, beside holding the pose."""
    document, stages, _ = written
    std = np.array(tiny.bundle()["StdY"], np.float32).tolist()
    totals = {name: [] for name in ("MSEnormY", "GeoDeg", "CopyLastMSEnormY", "CopyLastGeoDeg")}
    for row in range(STEPS):
        target = [six for rotation in tiny.pose(row + 1) for six in oracle.encode_xz(rotation)]
        held = [six for rotation in tiny.pose(row) for six in oracle.encode_xz(rotation)]
        for prefix, guess in (("", stages["y_out"][row].tolist()), ("CopyLast", held)):
            totals[f"{prefix}MSEnormY"] += [((g - t) / s) ** 2 for g, t, s in zip(guess, target, std, strict=True)]
            for start in range(0, 18, 6):
                a, b = (oracle.decode_xz(flat[start : start + 6]) for flat in (guess, target))
                totals[f"{prefix}GeoDeg"].append(math.degrees(oracle.angle_between(a, b)))
    for name, values in totals.items():
        # differences of stored entries, u each, over a mean of angles and of squares near 1
        assert document["diagnostics"][name] == pytest.approx(math.fsum(values) / len(values), rel=1e-5), name


def test_copy_last_is_the_turn_of_the_clip_itself(written):
    """The turn of each bone is known: the mean angle is the baseline, independent of the network's output."""
    mean = math.degrees(sum(abs(angle) for _, angle in tiny.TURNS) / 3)
    assert written[0]["diagnostics"]["CopyLastGeoDeg"] == pytest.approx(mean, rel=1e-6)


def test_both_readers_take_the_file_back(written):
    """A prediction file must be readable by both the engine's and the training side's reader."""
    _, stages, path = written
    back = read_clip(path)
    assert isinstance(back, TeacherFile)
    for attribute, stage in (("state_norm", "state"), ("cond", "cond"), ("contacts", "contacts"), ("y_raw", "y_out")):
        np.testing.assert_array_equal(getattr(back, attribute), stages[stage])


def test_clip_without_a_last_target_is_scored_on_the_rows_that_have_one(tmp_path):
    """The last prediction of a teacher file has nothing to be compared with: a made-up target would flatter it."""
    trace, contract, clip = traced(tmp_path)
    scores = []
    for frames, last in ((slice(None), None), (slice(0, STEPS - 1), clip.rotations6d[STEPS - 1])):
        cut = type(trace)(
            trace.header,
            trace.frame[frames],
            trace.time_s[frames],
            {name: rows[frames] for name, rows in trace.stages.items()},
        )
        write_prediction(cut, contract, tmp_path / "p.json", model="m", source="s", last_target=last)
        scores.append(json.loads((tmp_path / "p.json").read_text())["diagnostics"])
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_single_row_without_a_target_has_no_score(tmp_path):
    """0 would be the best score there is."""
    trace, contract, _ = traced(tmp_path, frames=1)
    write_prediction(trace, contract, tmp_path / "p.json", model="m", source="s", last_target=None)
    document = json.loads((tmp_path / "p.json").read_text())
    assert set(document["diagnostics"].values()) == {None}


@pytest.mark.parametrize("mode", ["free", "playback"])
def test_run_of_another_mode_is_refused(tmp_path, mode):
    """Its rows would pair states and targets that do not belong together."""
    trace, contract, _ = traced(tmp_path, mode)
    without = replace(trace, header=replace(trace.header, mode="teacher"), stages={"y_out": trace.stages["y_out"]})
    for held, found in (
        (trace, f"a {mode} run"),
        (without, "a teacher run without x_raw, state, cond, contacts, angvel, pose_hist"),
    ):
        with pytest.raises(UnusableInput) as refused:
            write_prediction(held, contract, tmp_path / "p.json", model="m", source="s", last_target=None)
        assert refused.value.found.startswith(found)
        assert ("without" in refused.value.found) is (held is without or mode == "playback")
    assert not (tmp_path / "p.json").exists()
