"""Recordings of your own contract: which columns of a file are which vector, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.named_columns import read_named_columns

from ..every_case import every_case

Q = [[0.1, -0.2], [0.3, 0.4], [0.5, 0.6]]
TIMES = [0.0, 0.02, 0.04]


def contract(folder, recordings="", fps="fps = 50\n"):
    """Two joints that are given, and one stage; the file's own names stand under [recordings]."""
    path = folder / "contract.toml"
    path.write_text(
        f"""format = "rigpact-contract"
version = 1
name = "joints"
{fps}stages = [{{ name = "half", operation = "affine", of = "q", scale = 0.5 }}]
[names]
joints = ["knee", "hip"]
[[given]]
name = "q"
names = "joints"
[recordings]
{recordings}
""",
        encoding="utf-8",
    )
    return open_contract(path)


def table(folder, **columns: Any):
    path = folder / "run.json"
    path.write_text(json.dumps(columns), encoding="utf-8")
    return path


FIRST, SECOND = ([row[place] for row in Q] for place in (0, 1))
STATE = [[9.0, *row, 7.0] for row in Q]


@every_case(
    ("recordings", "columns"),
    [
        ("", {"q": Q}),
        ("", {"q.knee": FIRST, "q.hip": SECOND}),
        ('q = "joint_q"', {"joint_q": Q}),
        ('q = "joint_q"', {"joint_q[1]": SECOND, "joint_q[0]": FIRST}),
        ('q = "joint_q"', {"joint_q.hip": SECOND, "joint_q.knee": FIRST}),
        ('q = "joint_q"', {"joint_q/knee": FIRST, "joint_q/hip": SECOND}),
        ('q = ["a", "b"]', {"b": SECOND, "a": FIRST}),
        ('q = ["state[1]", "state[2]"]', {"state": STATE}),
        ("", {"frames": [{"q": row, "feet": [{"height": 0.1}, {"height": 0.2}], "note": "taped"} for row in Q]}),
    ],
)
def test_a_vector_is_found_under_each_of_its_names(recordings, columns, tmp_path):
    """A joint that is read from its neighbour's column bends the wrong knee in every figure."""
    trace = read_named_columns(table(tmp_path, **columns), contract(tmp_path, recordings))
    np.testing.assert_array_equal(trace.stages["q"], np.array(Q, np.float32))


@pytest.mark.parametrize(
    ("recordings", "columns", "words"),
    [
        ('q = ["a", "b"]', {"a": FIRST}, "found no b, expected every column"),
        ('q = ["state[1]", "state[4]"]', {"state": STATE}, r"found no state\[4\]"),
        ("", {"q": []}, "found no frames"),
        ("", {"q": 1.0}, "found nothing"),
        ("", {"p": Q}, "found 1 columns of other names, expected a vector of the contract"),
    ],
)
def test_a_vector_that_is_not_whole_is_refused(recordings, columns, words, tmp_path):
    """A missing joint that is read as zero is a leg that stands still."""
    with pytest.raises(UnusableInput, match=words):
        read_named_columns(table(tmp_path, **columns), contract(tmp_path, recordings))


def test_the_rate_of_a_recording_is_that_of_its_times(tmp_path):
    """A contract for any rate takes it from the file; a stage that depends on the rate asks for it in the contract."""
    of_any_rate = contract(tmp_path, fps="")
    assert read_named_columns(table(tmp_path, q=Q, time=TIMES), of_any_rate).header.fps == pytest.approx(50.0)
    assert read_named_columns(table(tmp_path, q=Q, fps=30), of_any_rate).header.fps == 30.0
    without = read_named_columns(table(tmp_path, q=Q), of_any_rate)
    assert (without.header.fps, without.notes[0][:15]) == (1.0, "no rate is said")
