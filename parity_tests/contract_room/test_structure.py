"""The schemas, and the short cut past them for long arrays of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rigpact.contract import ContractRefused, UnusableInput, load_contract
from rigpact.contract.documents import Kind, documents_remembered, read_document
from rigpact.contract.rules.structure import check_against_schema, load_schema

from ..every_case import every_case
from .edits import drop, put

SCHEMAS = (*(kind.value for kind in Kind if kind.is_document), "trace_header", "findings_report", "baseline")
SCALARS = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=2), st.integers(2**1024, 2**1025)
)
ROWS = st.lists(st.one_of(SCALARS, st.lists(SCALARS, max_size=8)), max_size=8)


@every_case("name", SCHEMAS)
def test_every_schema_is_a_valid_schema(name):
    """The engine team validates its exports with these files and another library."""
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@given(rows=ROWS, key=st.sampled_from(["BoneRotations", "RootPosition", "TrajectoryDir", "ActionBits"]))
def test_the_short_cut_gives_the_verdict_of_the_long_way(rows, key):
    """If the fast path skipped a check, a ragged pose would pass."""
    clip = {"Frames": [{key: rows}]}
    schema = load_schema("raw_clip")
    slow = {
        "".join(f"/{token}" for token in error.absolute_path)
        for error in Draft202012Validator(schema).iter_errors(clip)
    }
    assert {pointer for pointer, _ in check_against_schema(clip, "raw_clip")} == slow


def test_findings_stand_in_the_order_of_the_file():
    """Two runs on one file gave two reports: jsonschema goes through a set of keys."""
    names = [f"slice_{n}" for n in range(9, 0, -1)]
    found = check_against_schema({"meta": {"state_layout": dict.fromkeys(names, 0)}}, "bundle")
    assert [place.rpartition("/")[2] for place, _ in found if "slice" in place] == names


def test_a_trace_header_of_another_format_is_refused():
    """A log of some other tool must not be compared as a trace."""
    header = {
        "format": "rigpact-trace", "version": 1, "producer": {"name": "engine", "version": "5.4"}, "clip": None,
        "contract": {"bundle_sha256": None}, "fps": 60, "mode": "free", "stages": {"state": 420},
    }  # fmt: skip
    assert list(check_against_schema(header, "trace_header")) == []
    assert [pointer for pointer, _ in check_against_schema({**header, "mode": "fast"}, "trace_header")] == ["/mode"]
    assert list(check_against_schema({**header, "stages": {"states": 420}}, "trace_header"))


@every_case(
    ("path", "value"),
    [
        ("MuX", ["a"] * 35), ("MuX", {"a": 1}), ("meta", 3), ("meta/state_layout", [1, 2]), ("meta/bone_names", 46),
        ("meta/state_layout/RootYaw", {"start": "5", "size": 1}), ("meta/skeleton/parents", ["root", 0, 0]),
        ("meta/skeleton/ref_local_offsets_m", [[0, 0], [0, 0, 0], [0, 0, 0]]), ("meta/rot6d_spec/columns", 5),
        ("fps", "sixty"), ("fps", None), ("pose_hist_len", "3"), ("pose_hist_len", 10**9), ("tanh_scales_pose_hist", "1"),
        ("StdY", [[0.1] * 18]),
    ],
)  # fmt: skip
def test_a_malformed_bundle_is_refused_with_its_place(sample, path, value):
    """A stack trace from the depths of numpy tells an animator nothing."""
    put(value, "bundle", *path.split("/"))(sample)
    with pytest.raises(ContractRefused) as refusal:
        load_contract(sample.write("bundle").path)
    assert any(finding.pointer.startswith(f"/{path}") for finding in refusal.value.findings)


@every_case("edit", [drop("companion", "StdPoseHist", slice(-6, None)), put(8.0, "bundle", "pose_hist_len")], ids=repr)
def test_statistics_of_another_length_are_refused(sample, edit):
    """They would normalise every bone with another bone's numbers; 8.0 is 8 to an engine."""
    edit(sample)
    with pytest.raises(UnusableInput, match="RP305"):
        load_contract(sample.write("bundle").path, sample.write("companion").path)


@pytest.mark.parametrize("parents", [[-1, 2, 1], [-1, 0, 9], [-1, 0]])
def test_a_skeleton_that_is_no_tree_is_left_out_of_the_contract(sample, parents):
    """Forward kinematics on it would not end, or read another bone; the findings say so, in degrees the rest works."""
    sample.bundle["meta"]["skeleton"]["parents"] = parents
    assert load_contract(sample.write("bundle").path).numbers.skeleton is None


def test_a_file_is_remembered_by_what_it_holds(tmp_path):
    """A file that changed between two parts of a gate must be judged again."""
    path, seen = tmp_path / "clip.json", []

    def judged(document):
        seen.append(document)
        return len(document.data["Frames"])

    path.write_text('{"Frames": []}', encoding="utf-8")
    with documents_remembered():
        assert [read_document(path).once(judged) for _ in range(2)] == [0, 0]
        path.write_text('{"Frames": [1]}', encoding="utf-8")
        assert read_document(path).once(judged) == 1
        with pytest.raises(UnusableInput, match="bundle"):
            read_document(path, Kind.BUNDLE)
    assert len(seen) == 2
    assert read_document(path) is not read_document(path)
