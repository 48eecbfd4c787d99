"""What somebody asked in a public thread, with files like theirs: each command says what they had to find by hand."""

import shutil

import pytest

EXPLAIN = "explain rec.npz --contract contract.toml"
INTERLEAVED = "crash_interleaved_phase_clocks"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("folder", "asked", "status", "said"),
    [
        ("T34_noise", EXPLAIN, 1, "noise, evenly within ±0.01: no channel and no frame depends on another"),
        ("T43_diffvel", EXPLAIN, 1, "how fast q changes, its backward difference over a frame, a second"),
        ("base_yaml_two_up", "init --from g1/whole_body_tracking/dance_102/config.yaml -o c.toml", 0, "left open: gyro.space"),
        ("carried_filter_unrecorded", "explain right.npz --contract contract.toml", 0, "AGREES"),
        ("carried_filter_unrecorded", EXPLAIN, 1, "a filter that is not applied"),
        ("constant_turn_T5e_quat", EXPLAIN, 1, "anchor_ref turned by 51.57° about z"),
        ("constant_turn_T5g_mount", EXPLAIN, 1, "torso turned, in its own axes, by 6.875° about y"),
        (INTERLEAVED, EXPLAIN, 1, "EXPLAINED: phase.layout = end_to_end"),
        (INTERLEAVED, "explain select.npz --contract select.toml", 1, "UNEXPLAINED"),
        ("csv_underscore", "init -o c.toml", 0, "READY"),
        ("deploy_23dof", "init --from deploy.yaml -o c.toml", 0, "left open: base_ang_vel_turned.quaternion_order"),
        ("deploy_23dof", "init --from env.yaml -o c.toml", 0, "left open: projected_gravity.quaternion_order"),
        ("euler_width", "show contract.toml", 0, "waist             3  given from outside"),
        ("exchanged_wording", EXPLAIN, 1, "with linear and angular exchanged"),
        ("first_reach_diff", "diff python.csv cpp.csv", 1, "First difference: frame 0, stage obs"),
        ("lerobot_radians", EXPLAIN, 0, "in 6 of its 6 numbers over 60 frames: times 57.3 it would fit"),
        ("mcap_tick_false_alarm", "convert right.mcap -o r.npz --tick /policy/obs", 0, "1 ms behind the tick"),
        ("mlagents_outputs", "init -o c.toml", 0, "left out, since no answer needs them: version_number, memory_size"),
        ("recurrent_never_carried", EXPLAIN, 1, "supposing that h_in, c_in are never carried"),
        ("rlsar_lin_vel_frame", "init --from robot_lab/config.yaml -o c.toml", 0, "lin_vel_turned.direction"),
        ("tracking_env", "init --from env.yaml -o c.toml", 0, "c.toml written from env.yaml"),
        ("tracking_terms_silent", "init --from deploy.yaml -o c.toml", 0, "nothing computes robot_anchor_quat"),
    ],
)  # fmt: skip
def test_a_thread_is_answered(real_data, tmp_path, command, monkeypatch, folder, asked, status, said):
    """The first answer is all that somebody with an hour for a new tool reads."""
    if not (real_data / "field").is_dir():
        pytest.skip(f"no threads in {real_data}")
    shutil.copytree(real_data / "field" / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path / folder)
    answer = command(*asked.split())
    assert (answer.status, said in answer.out) == (status, True), answer.out + answer.err
