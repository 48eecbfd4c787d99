"""Bags of ROS 2 as recordings: topics become columns, joints are found by name, damage is said at its place."""

import json

import numpy as np
import pytest
from mcap.writer import Writer

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings import bags
from rigpact.reference_runtime.recordings.bags import Message, topics_to_table
from rigpact.reference_runtime.recordings.opened import read_table

from ..every_case import every_case
from .samples import observed, positions, write_json_mcap, write_mcap

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "knees"
title = "knees, twice"
fps = 50
given = [{ name = "q", names = ["left_knee", "right_knee"] }]
stages = [{ name = "obs", operation = "affine", of = "q", scale = 2 }]
[recordings]
q = "joint_states.position"
"""


def test_joints_of_a_bag_are_found_by_their_names(tmp_path):
    """The order of a JointState may change within a run; taken by place, every second frame swaps two knees."""
    table = read_table(write_mcap(tmp_path / "run.mcap"))
    for name in positions(0):
        assert np.array_equal(
            table.columns[f"joint_states.position.{name}"], [positions(frame)[name] for frame in range(20)]
        )
    assert np.array_equal(table.columns["obs"], np.float32([observed(frame) for frame in range(20)]))
    assert np.array_equal(table.columns["time"], np.arange(20) * 20_000_000 * 1e-9)
    assert not [name for name in table.columns if "velocity" in name]  # an empty array is none


def test_a_bag_is_judged_with_the_contract_beside_it(tmp_path, command):
    """Topics to vectors by [recordings]: no script between the robot's bag and the verdict."""
    contract = tmp_path / "contract.toml"
    contract.write_text(CONTRACT, encoding="utf-8")
    bag = write_mcap(tmp_path / "run.mcap")
    answer = command("explain", bag, "--contract", contract)
    assert (answer.status, "/obs: the message of the step, 0.001 ms behind" in answer.out) == (0, True), answer.out
    contract.write_text(CONTRACT.replace("scale = 2", "scale = 3"), encoding="utf-8")
    assert command("explain", bag, "--contract", contract).status == 1


def test_a_topic_gives_the_tick_where_others_lost_a_message(tmp_path, command):
    """Paired by their number, every row behind a lost message belongs to another moment."""
    bag = write_mcap(tmp_path / "run.mcap", lost=7)
    with pytest.raises(UnusableInput) as refused:
        read_table(bag)
    assert "/joint_states 20, /obs 19" in str(refused.value)
    assert "--tick" in str(refused.value)
    out = tmp_path / "run.npz"
    assert command("convert", bag, "-o", out, "--tick", "/obs").status == 0
    kept = [frame for frame in range(20) if frame != 7]
    made = np.load(out)
    assert np.array_equal(made["obs"], np.float32([observed(frame) for frame in kept]))
    assert np.array_equal(made["joint_states.position.left_knee"], [0.1 * frame for frame in kept])
    answer = command("convert", bag, "-o", tmp_path / "b.npz", "--tick", "/nothing")
    assert answer.status == 2
    assert "one of /joint_states, /obs" in answer.err


STEP_MS = 40


def _loop(*behind, steps=30, lost=None, imu=True):
    """A loop of 25 Hz: each topic so many ms behind the moment of the step, holding the number of the step; and an IMU of 100 Hz
    from 90 ms on. lost: a step whose message of the first topic was lost."""
    own = [
        Message(topic, int(1e6 * (STEP_MS * step + late)), {"data": float(step)})
        for place, (topic, late) in enumerate(behind)
        for step in range(steps)
        if place or step != lost
    ]
    times = range(90, STEP_MS * steps, 10) if imu else ()
    return [*own, *(Message("/imu", int(1e6 * at), {"data": float(at)}) for at in times)]


@every_case("tick", ["/obs", "/act", "/target"])
def test_whichever_topic_gives_the_tick_a_row_holds_one_step(tmp_path, tick):
    """A message that is published a millisecond behind the tick is of its step: with the one before, a right robot is accused."""
    messages = _loop(("/obs", 0), ("/act", 1), ("/target", 2))
    table = topics_to_table(messages, tmp_path, tick)
    steps = np.arange(3, 30)  # 90 ms pass before the IMU speaks
    for name in ("obs", "act", "target"):
        assert np.array_equal(table.columns[name], steps)
    assert np.array_equal(table.columns["imu"], STEP_MS * steps)
    said = "\n".join(table.notes)
    assert f"27 messages of {tick}, 40 ms apart; 3 left out" in said
    assert (
        f"/imu: held, the last message up to the tick, {('/obs', '/act', '/target').index(tick)} ms old; 84 of 111"
        in said
    )
    assert all(f"{name}: the message of the step, " in said for name in {"/obs", "/act", "/target"} - {tick})


AT_ONCE = [Message(topic, 5, {"data": float(step)}) for topic in ("/obs", "/act") for step in range(4)]


@every_case(
    ("messages", "tick", "says"),
    [
        (_loop(("/act", 1), ("/obs", 0), lost=0, imu=False), None, "do not come together: /act 29, /obs 30"),
        (_loop(("/act", 1), ("/obs", 0), lost=29, imu=False), None, "do not come together: /act 29, /obs 30"),
        (AT_ONCE, None, "#/obs: found 4 messages, most of them at the time of the one before"),
        (AT_ONCE, "/obs", "#/obs: found 4 messages, most of them at the time of the one before"),
        (_loop(("/obs", 0), ("/act", 15)), "/obs", "/act comes 15 ms behind /obs, in steps of 40 ms: of which step it is"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_topics_whose_steps_nobody_can_tell_are_refused(tmp_path, messages, tick, says):
    """Without a tick nothing is left out, at the ends neither; 15 of 40 ms may be late or early. As the tick itself it tells."""
    with pytest.raises(UnusableInput) as refused:
        topics_to_table(messages, tmp_path, tick)
    assert says in str(refused.value)
    late = topics_to_table(_loop(("/obs", 0), ("/act", 15)), tmp_path, "/act")
    assert np.array_equal(late.columns["obs"], late.columns["act"])


def test_a_lost_message_is_said(tmp_path):
    """Its row holds the message of the step before: a stage that seems to stand still there does not."""
    table = topics_to_table(_loop(("/act", 1), ("/obs", 0), lost=12), tmp_path, "/obs")
    assert np.array_equal(table.columns["act"], [11 if step == 12 else step for step in range(3, 30)])
    assert "its own is lost in 1 of the rows, which hold the one before" in "\n".join(table.notes)


def test_messages_in_json_are_columns(tmp_path):
    """Foxglove and many runtimes log JSON; words in it are not numbers."""
    table = read_table(write_json_mcap(tmp_path / "run.mcap"))
    assert np.array_equal(table.columns["state.imu.gyro"], [[frame, 0, 1] for frame in range(5)])
    assert np.array_equal(table.columns["state.height"], [0, 0.5, 1, 1.5, 2])
    assert set(table.columns) == {"state.imu.gyro", "state.height", "time"}
    own = _json_bag(tmp_path / "a.mcap", [{"name": ["knee"], "position": 5}] * 2)  # called as a JointState's fields are
    assert np.array_equal(read_table(own).columns["state.position"], [5, 5])


def test_what_a_bag_says_of_its_policy_becomes_a_contract(tmp_path, command):
    """Names, scales and the default pose that the runtime wrote beside its topics are the contract; nobody types them again."""
    said = {
        "joint_names": ["left_knee", "right_knee"], "observation_names": ["joint_pos", "joint_vel", "actions"],
        "observation_terms_scale": [1.0, 0.05, 1.0], "default_joint_pos": [0.3, 0.4], "action_scale": [0.25, 0.5],
    }  # fmt: skip
    out = tmp_path / "contract.toml"
    made = command("init", "--from", write_mcap(tmp_path / "run.mcap", metadata=said), "--fps", "50", "-o", out)
    assert made.status == 0, made.err
    assert command("check", out).status == 0
    text = out.read_text(encoding="utf-8")
    assert "[0.3, 0.4]" in text
    assert "scale = 0.05" in text
    answer = command("init", "--from", write_mcap(tmp_path / "bare.mcap"), "-o", tmp_path / "other.toml")
    assert answer.status == 2
    assert "metadata: none" in answer.err


def _flipped(content, place):
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda content: b"no bag at all, only words", "not MCAP"),
        (lambda content: content[:6], "no whole record"),
        (lambda content: _flipped(content, len(content) // 3), "not MCAP"),
        (lambda content: _flipped(content, 12), "not MCAP"),
    ],
)
def test_a_damaged_bag_is_refused(tmp_path, damage, says):
    """A flipped byte in a chunk is another number in the recording."""
    bag = write_mcap(tmp_path / "run.mcap")
    bag.write_bytes(damage(bag.read_bytes()))
    with pytest.raises(UnusableInput) as refused:
        read_table(bag)
    assert says in str(refused.value)
    assert str(bag) in str(refused.value)


def test_a_bag_that_was_cut_off_is_read_to_its_last_whole_record(tmp_path):
    """A robot that fell took the recorder with it: what was written before is the interesting part."""
    whole = write_json_mcap(tmp_path / "run.mcap", 22_000)
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 3 // 4])
    table = read_table(cut)
    assert table.truncation is not None
    heights = table.columns["state.height"]
    assert 1000 < len(heights) < 22_000
    assert np.array_equal(heights, np.arange(len(heights)) / 2)


def _json_bag(path, contents, time_ns=1, **options):
    with path.open("wb") as stream:
        writer = Writer(stream, **options)
        writer.start()
        channel = writer.register_channel("/state", "json", 0)
        for later, content in enumerate(contents):
            writer.add_message(channel, time_ns + later, json.dumps(content).encode(), time_ns)
        writer.finish()
    return path


@pytest.mark.parametrize("use_chunking", [True, False])
def test_the_limit_of_messages_is_asked_before_they_are_read(tmp_path, monkeypatch, use_chunking):
    """A hundred kilobytes hold six million messages of nothing: made into objects first, they take three gigabytes."""
    path = _json_bag(tmp_path / "a.mcap", [0] * 50, use_chunking=use_chunking, chunk_size=1 << 30)
    read_table(path)
    monkeypatch.setattr(bags, "MAX_RECORDS", 40)
    made: list[object] = []
    monkeypatch.setattr(bags, "_json", lambda content, where: made.append(content))
    with pytest.raises(UnusableInput, match="more than 40 messages"):
        read_table(path)
    assert len(made) <= (0 if use_chunking else 40)


@pytest.mark.parametrize("time_ns", [1 << 63, (1 << 64) - 2])
def test_a_time_beyond_63_bits_is_refused(tmp_path, time_ns):
    """Its place in a column of times would be negative."""
    with pytest.raises(UnusableInput, match=rf"message 0: found a time of {time_ns} ns"):
        read_table(_json_bag(tmp_path / "a.mcap", [1, 2], time_ns))


def test_a_definition_in_a_bag_prints_nothing(tmp_path, capfd):
    """What a stranger writes into a file must not reach the terminal: it may hold the terminal's own commands."""
    path = tmp_path / "a.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("a/msg/B", "ros2msg", b"uint8[0] \x1b[2Jy\n")
        writer.add_message(writer.register_channel("/b", "cdr", schema), 1, b"\0\1\0\0", 1)
        writer.finish()
    with pytest.raises(UnusableInput, match="a definition of"):
        read_table(path)
    assert capfd.readouterr() == ("", "")


def test_a_missing_library_names_its_extra(tmp_path, monkeypatch):
    """An install without the extra must say what to type, not which module is missing."""
    bag = write_mcap(tmp_path / "run.mcap")
    monkeypatch.setitem(__import__("sys").modules, "mcap.stream_reader", None)
    with pytest.raises(UnusableInput) as refused:
        read_table(bag)
    assert "rigpact[readers]" in str(refused.value)
