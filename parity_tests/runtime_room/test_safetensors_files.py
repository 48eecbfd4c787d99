"""Traces as safetensors: a file of other tensors, a header that was tampered with, the longest header."""

import json
import struct

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import read_trace

from ..every_case import every_case
from .safetensors_by_hand import HEADER, saved, with_metadata

MIB = 1 << 20


@every_case(
    "entry",
    [
        {"dtype": "F16", "shape": [2, 4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 1 << 40]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [16, 0]},
        {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2, 2]},
        [1],
    ],
)
def test_tensor_that_does_not_fit_is_refused(tmp_path, entry):
    """Offsets outside the file must not become an allocation."""
    with pytest.raises(UnusableInput):
        read_trace(with_metadata(tmp_path, None, cond=entry))


WRONG_TENSORS = {
    "a stage that the header names is not there": ({"quat": None}, r"#quat: found no tensor"),
    "no frame numbers": ({"frame": None}, r"#frame: found no tensor"),
    "halves": ({"cond": np.ones((2, 2), np.float16)}, r"#cond: found F16 of rank 2, expected float32 of rank 2"),
    "doubles": ({"cond": np.ones((2, 2))}, r"#cond: found float64 of rank 2"),
    "numbers in one row": ({"cond": np.ones(4, np.float32)}, r"#cond: found float32 of rank 1"),
    "times of float32": ({"time": np.zeros(2, np.float32)}, r"#time: found float32"),
    "an endless time": ({"time": np.array([0.0, np.inf])}, r"#time: found a time that is not finite"),
    "a time too many": ({"time": np.zeros(3)}, r"#frame: found 2 frames"),
    "frames that do not rise": ({"frame": np.array([1, 1])}, r"#frame: found 2 frames"),
    "one frame twice": ({"frame": np.array([0, 1, 1]), "time": np.zeros(3)}, r"#frame: found 3 frames"),
    "no frames": (
        {"frame": np.arange(0), "time": np.zeros(0), "cond": np.ones((0, 2), "f4"), "quat": np.ones((0, 4), "f4")},
        r"#frame: found 0 frames",
    ),
    "another width": ({"quat": np.ones((2, 3), np.float32)}, r"#quat: found shape \(2, 3\), expected \(2, 4\)"),
    "a row too many": ({"quat": np.ones((3, 4), np.float32)}, r"#quat: found shape \(3, 4\)"),
    "no header": ({"metadata": {"made by": "torch"}}, "safetensors without a rigpact header"),
}


@every_case("case", WRONG_TENSORS)
def test_a_sound_file_of_other_tensors_is_refused_by_name(tmp_path, case):
    """Tensors of a training script have the same ending: their numbers must not become frames."""
    changes, words = WRONG_TENSORS[case]
    assert len(read_trace(saved(tmp_path)).frame) == 2
    with pytest.raises(UnusableInput, match=words):
        read_trace(saved(tmp_path, **changes))


@pytest.mark.parametrize(
    ("metadata", "entries"),
    [
        (5, {}),
        ({"rigpact": 3}, {}),
        ({}, {"cond": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}}),
    ],
    ids=["metadata is a number", "header is a number", "negative shape"],
)
def test_hostile_safetensors_headers_are_refused_in_words(tmp_path, metadata, entries):
    """The header is data from outside as much as the tensors are."""
    if entries:
        header = json.dumps(HEADER)
        metadata = {"rigpact": header}
    with pytest.raises(UnusableInput):
        read_trace(with_metadata(tmp_path, metadata, **entries))


@pytest.mark.parametrize("size", [MIB, MIB + 1])
def test_a_header_of_one_mebibyte_is_read_and_a_longer_one_is_not(tmp_path, size):
    """The header says how long it is: nothing is allocated for one that no recorder writes."""
    path = saved(tmp_path)
    content = path.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    path.write_bytes(struct.pack("<Q", size) + content[8:begin].ljust(size) + content[begin:])
    if size > MIB:
        with pytest.raises(UnusableInput, match=f"a header of {size} bytes"):
            read_trace(path)
    else:
        trace = read_trace(path)
        assert (trace.frame.tolist(), trace.time_s.tolist()) == ([0, 1], [0.0, 1.0 / 60.0])
        assert {name: rows.tolist() for name, rows in trace.stages.items()} == {
            "cond": [[1.0, 1.0]] * 2, "quat": [[1.0, 1.0, 1.0, 1.0]] * 2,
        }  # fmt: skip
