"""The columns of one vector: which column of a file is which of its numbers. Expected numbers are written by hand."""

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.recordings.labelled_vectors import labelled_vectors
from rigpact.reference_runtime.recordings.named_columns import (
    NoVector,
    _channels,
    _field_names,
    _in_rows,
    _own,
    read_named_columns,
)
from rigpact.reference_runtime.recordings.number_rows import Table, left_out
from rigpact.reference_runtime.recordings.opened import open_file

from ..every_case import every_case
from .column_files import KNEE_HIP, TWO_FEET, A, B, C, contract, npz, refused, side_by_side, stages


@every_case(
    ("shape", "width", "expected"),
    [
        ((5, 3), 3, (5, 3)), ((1, 3), 3, (1, 3)), ((1, 5, 3), 3, (5, 3)), ((1, 5, 3), 15, (1, 15)), ((2, 5, 3), 3, (2, 15)),
        ((1, 2, 2, 3), 6, (2, 6)), ((2, 2, 3), 6, (2, 6)), ((5,), 1, (5, 1)), ((1, 5), 1, (1, 5)), ((1, 5), 5, (1, 5)),
    ],
)  # fmt: skip
def test_a_batch_of_one_window_is_its_frames(shape, width, expected):
    """Training code saves (1, T, width): read as one frame of T · width numbers it would be refused, or worse, fit."""
    rows = _in_rows(np.zeros(shape), FieldLayout((Field("x", 0, width, FieldKind.RAW),)))
    assert rows.shape == expected


@pytest.mark.parametrize(
    ("shape", "is_refused"), [((2, 3), False), ((1, 3), False), ((2, 3, 1), False), ((1, 2, 3), True)]
)
def test_one_place_of_a_batch_is_not_known(tmp_path, shape, is_refused):
    """Numbers 1 and 2 of (1, T, width) would be those of the first frame, and every other frame would be dropped."""
    path, of = (
        npz(tmp_path, state=np.arange(np.prod(shape)).reshape(shape)),
        contract(recordings={"q": ["state[1]", "state[2]"]}),
    )
    if is_refused:
        assert refused(path, of) == ("#state[1]", "one place of an array (1, 2, 3)", "an array of frames and numbers")
    else:
        assert stages(path, of) == {"q": [[1.0, 2.0], [4.0, 5.0]][: shape[0]]}


def test_a_name_that_two_numbers_could_have_is_none():
    """`hand.x` of a position and of a velocity: guessing is worse than asking."""
    fields = FieldLayout(
        (Field("pos", 0, 3, FieldKind.POSITION, bone="hand"), Field("vel", 3, 3, FieldKind.VECTOR, bone="hand"))
    )
    names = ["s.hand.x", "s.pos.y", "s.vel[2]", "s.pos.hand.z", "s/pos/x", "s.hand"]
    assert _channels("s", names, fields) == _channels("s", [*names, "s.other"], fields)
    found = {name: _channels("s", names, fields).get(name.replace("/", ".")) for name in names}
    assert found == {
        "s.hand.x": None, "s.pos.y": 1, "s.vel[2]": 5, "s.pos.hand.z": 2, "s/pos/x": 0, "s.hand": None,
    }  # fmt: skip
    assert _channels("s", ["s[0]", "s.5", "s[6]"], fields) == {**_channels("s", ["x"], fields), "s[0]": 0, "s.5": 5}


@pytest.mark.parametrize(
    ("held", "found"),
    [((1, 2), "no column q[0]"), ((2,), "no column for q[0] and 1 more"), ((0,), "no column for q[1] and 1 more")],
)
def test_columns_that_are_missing_are_counted(tmp_path, held, found):
    """One lost joint of thirty is easily overlooked."""
    fields = FieldLayout((Field("x", 0, 3, FieldKind.RAW),))
    with pytest.raises(UnusableInput) as refused_by:
        _own({f"q[{place}]": np.zeros(4) for place in held}, "q", fields, tmp_path)
    assert refused_by.value.found == found
    first = next(place for place in range(3) if place not in held)
    assert refused_by.value.expected == f"q[0] to q[2], or the names of its fields (x[{first}], channel {first})"


def test_vectors_of_a_file_are_its_columns_in_their_order(tmp_path):
    """Ten columns sorted by name would put q[10] before q[2]."""
    path = tmp_path / "a.npz"
    np.savez(path, **{f"q[{place}]": np.full(2, float(place)) for place in (10, 2, 0, 1)}, rate=np.float64(50.0), **{
        "a.b": np.ones((2, 3)), "knee.left": np.zeros(2), "knee/right": np.ones(2), "torn.x": np.zeros(2), "torn.y": np.zeros(3),
    })  # fmt: skip
    found = {name: rows.tolist() for name, (rows, _) in labelled_vectors(open_file(path)).items()}
    assert found == {
        "q": [[0.0, 1.0, 2.0, 10.0]] * 2, "rate": [[50.0]], "a.b": [[1.0] * 3] * 2, "knee": [[0.0, 1.0]] * 2,
        "torn.x": [[0.0]] * 2, "torn.y": [[0.0]] * 3,
    }  # fmt: skip


def test_a_torn_vector_is_refused(tmp_path):
    """Left out without a word, it is no difference between two files."""
    path = tmp_path / "a.npz"
    np.savez(path, **{"q[0]": np.zeros(2), "q[1]": np.zeros(3)})
    with pytest.raises(UnusableInput, match=r"a.npz#q: found columns of 2 and 3 rows"):
        labelled_vectors(open_file(path))


@every_case(
    ("source", "columns", "expected"),
    [
        ("j", {"j": side_by_side(A, B)}, (A, B)),
        ("j", {"j[1]": B, "j[0]": A, "k[0]": C, "k[1]": C, "other": C}, (A, B)),
        ("j", {"j.hip": B, "j.knee": A, "j.x": C}, (A, B)),
        ("j", {"j/hip": B, "j/knee": A, "j.knee": C}, (A, B)),
        (["j[0]", "j[2]"], {"j": side_by_side(A, B, C)}, (A, C)),
        (["j[1]", "j[1]"], {"j": side_by_side(A, B, C)}, (B, B)),
        (["j[3]", "k"], {"j": [side_by_side(A, B), side_by_side(B, C), side_by_side(C, A)], "k": C}, ([5.0, 8.0, 2.0], C)),
        (["j[4]", "k"], {"j": side_by_side(A, B), "j[4]": B, "k": C}, (B, C)),
        (["k[0]", "j[0]"], {"j": A, "k": B}, (B, A)),
    ],
)  # fmt: skip
def test_the_columns_that_a_contract_names_are_put_together_in_its_order(tmp_path, source, columns, expected):
    """Somebody's file has the vector in pieces, or within a longer one."""
    of = contract(recordings={"q": source})
    assert stages(npz(tmp_path, **columns), of) == {"q": side_by_side(*expected)}


@pytest.mark.parametrize("separator", [".", "/"])
def test_arrays_of_the_fields_of_a_vector_are_put_side_by_side(tmp_path, separator):
    """left x, y, z and then right x, y, z: taken in turns, each foot would get numbers of the other."""
    left, right = side_by_side(A, B, C), [[10.0, 20.0, 30.0]] * 3
    of = contract(feet=TWO_FEET, recordings={"feet": "f"})
    path = npz(tmp_path, **{f"f{separator}right": right, f"f{separator}left": left})
    assert stages(path, of) == {"feet": [[a, b, c, 10.0, 20.0, 30.0] for a, b, c in left]}
    path = npz(tmp_path, **{f"f{separator}right": side_by_side(A, B, C, A), f"f{separator}left": side_by_side(A, B)})
    assert refused(path, of) == (f"#f{separator}left", "2 numbers a frame", "3")


@every_case(
    ("source", "columns", "found"),
    [
        (["a", "b", "c"], {"b": A}, ("", "no a, c", "every column that [recordings] names")),
        (["a[0]", "a[2]"], {"a": side_by_side(A, B)}, ("", "no a[2]", "every column that [recordings] names")),
        (["a", "b"], {"a": A, "b": [1.0]}, ("", "{'a': 3, 'b': 1} rows", "as many rows of each vector")),
        ("a", {"a": side_by_side(A, B, C)}, ("#a", "3 numbers a frame", "2, as the contract has them")),
        (["a", "b"], {"a": A, "b": side_by_side(A, B)}, ("#a, b", "3 numbers a frame", "2, as the contract has them")),
        ("a", {"a[0]": A}, ("#a", "1 numbers a frame", "2, as the contract has them")),
        ("a", {"a[0]": A, "a[1]": [1.0, 2.0]}, ("", "{'a[0]': 3, 'a[1]': 2} rows", "as many rows of each vector")),
        ("a", {"a[0]": [[1.0, 2.0]], "a[1]": [[1.0, 2.0]]}, ("#a[0]", "2 numbers a frame", "1")),
    ],
)
def test_columns_that_make_no_vector_are_refused(tmp_path, source, columns, found):
    """Nothing is padded and nothing is cut: a joint that is missing is not a joint at rest."""
    assert refused(npz(tmp_path, **columns), contract(recordings={"q": source})) == found


@every_case(
    "columns",
    [{"a[0]": A, "a[2]": B}, {"a[1]": A, "a[2]": B}, {"a.knee": A}, {"a.knee": A, "a/hip": B}, {"a[0].x": A},
     {"b[0]": A, "b[1]": B}, {"a": np.zeros((0, 2))}, {"a": 3.0}],
)  # fmt: skip
def test_columns_of_half_a_vector_are_none(tmp_path, columns):
    """A number that is missing in the middle is not made up for by the one after it."""
    with pytest.raises(NoVector):
        read_named_columns(npz(tmp_path, **columns), contract(recordings={"q": "a"}))


def test_a_vector_of_any_width_has_no_fields_to_look_for(tmp_path):
    """A latent code is as long as the network made it."""
    of = contract(z=0, q=2, recordings={"z": "latent"})
    assert stages(npz(tmp_path, q=side_by_side(A, B)), of) == {"q": side_by_side(A, B)}
    path = npz(tmp_path, latent=side_by_side(A, B, C))
    assert stages(path, of) == {"z": side_by_side(A, B, C)}
    path = npz(tmp_path, **{"z[2]": C, "z.0": A, "z/1": B})
    assert stages(path, contract(z=0)) == {"z": side_by_side(A, B, C)}
    assert refused(npz(tmp_path, **{"z[0]": A, "z[2]": C}), contract(z=0)) == ("", "no column z[1]", "z[i] (channel 1)")
    found = refused(npz(tmp_path, **{"z[5]": A, "z[6]": C, "z[2]": B}), contract(z=0))
    assert found == ("", "no column for z[0] and 1 more", "z[i] (channel 0)")
    found = refused(npz(tmp_path, **{"z[0]": A, "z.colour.x": B}), contract(z=0))
    assert found == ("#z.colour.x", "a column that z does not have", "z[i]")


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"q": [[1, 2]], "q.knee": [1], "q[1]": [1], "q[0]": [2], "q.2": [1]}, ("#q[1]", "q a second time", "each number once")),
        ({"q.note": [1], "q[1]": [1], "q.hip": [2], "q[0]": [2]}, ("#q.hip", "the same number as q[1]", "each number once")),
        ({"q[0]": [1], "q[1]": [1], "q[3]": [1], "q[2]": [1], "q[4]": [1]}, ("#q[3]", "a column that q does not have", "")),
        ({"q.note": [1], "q[9]": [1], "q.more": [1]}, ("#q.note", "a column that q does not have", "")),
        ({"q[2]": [1]}, ("#q[2]", "a column that q does not have", "")),
        ({"q.knee": [1]}, ("", "no column q[1]", " (hip, channel 1)")),
        ({"q": [[1, 2, 3]]}, ("#q", "3 numbers a frame", "2, as the contract has them")),
    ],
)  # fmt: skip
def test_a_column_that_a_vector_does_not_have_or_has_twice_is_refused(tmp_path, columns, found):
    """Somebody looks for this column, so it is named as the file has it."""
    place, what, expected = found
    if not expected or expected.startswith(" "):
        expected = f"q[0] to q[1], or the names of its fields{expected}"
    assert refused(npz(tmp_path, **columns), contract()) == (place, what, expected)


def test_columns_of_something_else_are_passed_over(tmp_path):
    """`q.temperature` is a joint's, and no number of the vector; `q.note` before the first number ends nothing."""
    found = stages(npz(tmp_path, **{"q.note": C, "q.knee": A, "q.temperature": C, "q.hip": B}), contract())
    assert found == {"q": side_by_side(A, B)}
    assert stages(npz(tmp_path, **{"q": side_by_side(A, B), "q.note": C}), contract()) == {"q": side_by_side(A, B)}
    with pytest.raises(NoVector):
        read_named_columns(npz(tmp_path, **{"q.note": C, "q.temperature": C}), contract())


def test_columns_of_a_vector_have_one_number_a_frame_and_as_many_frames(tmp_path):
    """A column that is longer was recorded at another rate."""
    found = refused(npz(tmp_path, **{"q[0]": A, "q[1]": A[:2]}), contract())
    assert found == ("", "{'q[0]': 3, 'q[1]': 2} rows", "as many rows of each vector")
    found = refused(npz(tmp_path, **{"q[0]": [A], "q[1]": [1.0]}), contract())
    assert found == ("#q[0]", "3 numbers a frame", "1")
    assert stages(npz(tmp_path, **{"q[0]": [[1.0]], "q[1]": [2.0]}), contract()) == {"q": [[1.0, 2.0]]}


@pytest.mark.parametrize(
    ("column", "is_refused"),
    [
        ("velocities[0]", True),
        ("velocitis[1]", True),
        ("velocity_rate[0]", False),
        ("speed[0]", False),
        ("velocitie", False),
    ],
)
def test_a_vector_that_is_nearly_spelt_like_one_is_a_mistake(tmp_path, column, is_refused):
    """Read as nobody's column, the vector would be missing from every report."""
    of = contract(q=2, velocitys=1)
    path = npz(tmp_path, **{"q": side_by_side(A, B), column: A})
    if not is_refused:
        assert stages(path, of) == {"q": side_by_side(A, B)}
        return
    name = column.partition("[")[0]
    assert refused(path, of) == (f"#{name}[…]", f"columns of {name}", "velocitys")
    for own in ({"velocitys": A}, {"velocitys[0]": A}):
        found = stages(npz(tmp_path, **{"q": side_by_side(A, B), column: C, **own}), of)
        assert found["velocitys"] == side_by_side(A)


def test_only_the_nearest_vector_is_thought_of(tmp_path):
    """Where that one is there, the column is somebody's own, however much it is like another that is missing."""
    path = npz(tmp_path, **{"velocity_a": A, "velocity_aa[0]": C})
    assert stages(path, contract(velocity_a=1, velocity_b=1)) == {"velocity_a": side_by_side(A)}


@pytest.mark.parametrize(
    ("field", "names"),
    [
        (Field("knee", 4, 1, FieldKind.SCALAR), {"knee": 4, "knee.0": 4, "knee[0]": 4, "knee.x": 4}),
        (Field("v", 1, 2, FieldKind.VECTOR), {"v.0": 1, "v[0]": 1, "v.x": 1, "v.1": 2, "v[1]": 2, "v.y": 2}),
        (Field("v", 0, 3, FieldKind.VECTOR), {"v.x": 0, "v.y": 1, "v.z": 2} | {f"v.{k}": k for k in range(3)}
         | {f"v[{k}]": k for k in range(3)}),
        (Field("m", 0, 4, FieldKind.RAW), {f"m.{k}": k for k in range(4)} | {f"m[{k}]": k for k in range(4)}),
        (Field("r", 0, 4, FieldKind.QUATERNION_WXYZ), {"r.w": 0, "r.x": 1, "r.y": 2, "r.z": 3}
         | {f"r.{k}": k for k in range(4)} | {f"r[{k}]": k for k in range(4)}),
        (Field("r", 0, 4, FieldKind.QUATERNION_XYZW), {"r.x": 0, "r.y": 1, "r.z": 2, "r.w": 3}
         | {f"r.{k}": k for k in range(4)} | {f"r[{k}]": k for k in range(4)}),
        (Field("bend", 3, 1, FieldKind.SCALAR, bone="knee"), {
            f"{holder}{end}": 3 for holder in ("bend", "knee", "bend.knee") for end in ("", ".0", "[0]", ".x")}),
    ],
)  # fmt: skip
def test_the_ways_to_write_a_number_of_a_field(field, names):
    """By field, by bone, or both; the part of a quaternion that w is depends on its kind."""
    assert dict(_field_names(field)) == names


def test_fields_are_only_looked_through_for_columns_without_a_place():
    """Of a table of ten thousand numbered columns, no name of a field needs to be made."""
    assert _channels("q", ["q[0]", "q/1"], KNEE_HIP) == {"q[0]": 0, "q.1": 1}
    assert _channels("q", ["q[1]", "q[2]"], KNEE_HIP).keys() >= {"q[1]", "q.knee", "q.hip"}
    assert "q[2]" not in _channels("q", ["q[1]", "q[2]"], KNEE_HIP)


@pytest.mark.parametrize("of_third", ["hand", "foot"])
def test_a_name_of_three_numbers_is_none_of_them(of_third):
    """Neither the last one nor the first."""
    fields = FieldLayout(
        tuple(
            Field(f"f{place}", place, 1, FieldKind.SCALAR, bone=bone)
            for place, bone in enumerate(("hand", "hand", of_third))
        )
    )
    assert _channels("s", ["s.hand"], fields).get("s.hand") is None
    assert _channels("s", ["s.f1"], fields)["s.f1"] == 1


def test_named_vectors_of_a_file_stay_before_numbered_ones(tmp_path):
    """Only numbers order columns; all others stay as the file has them."""
    path = npz(
        tmp_path,
        **{"q[0]": [3.0], "q.late": [1.0], "p": [[7.0, 8.0]], "q/x.y": [2.0], "none": [], "no.rows": np.zeros((0, 3))},
    )
    assert {name: rows.tolist() for name, (rows, _) in labelled_vectors(open_file(path)).items()} == {
        "q": [[1.0, 2.0, 3.0]],
        "p": [[7.0, 8.0]],
    }


def test_a_place_may_stand_behind_an_underscore(tmp_path):
    """What pandas and most loggers write: `y_norm_0` was somebody else's table."""
    (tmp_path / "run.csv").write_text("frame,y_norm_1,y_norm_0\n0,2,1\n1,4,3\n", encoding="utf-8")
    assert stages(tmp_path / "run.csv", contract(y_norm=2)) == {"y_norm": [[1.0, 2.0], [3.0, 4.0]]}


@every_case(
    ("names", "expected"),
    [
        (("gyro_x", "gyro_y", "gyro_z"), {"gyro": [A, B, C]}), (("gyro.z", "gyro.x", "gyro.y"), {"gyro": [B, C, A]}),
        (("gyro/0", "gyro/x", "gyro/2"), None), (("gyro_x", "gyro_y"), None), (("gyro_x", "gyro_y", "gyro_w"), None),
    ],
)  # fmt: skip
def test_a_vector_of_space_has_letters(tmp_path, names, expected):
    """What every logger of an IMU writes; a letter that is missing, or stands twice, is no vector."""
    path, of = npz(tmp_path, **dict(zip(names, (A, B, C), strict=False))), contract(gyro=3)
    if expected is None:
        refused(path, of)
    else:
        assert stages(path, of) == {"gyro": np.transpose(expected["gyro"]).tolist()}


def test_a_vector_whose_own_name_ends_in_a_number_stays_itself(tmp_path):
    """`foot_1` is a vector here, and no second number of `foot`."""
    path = npz(tmp_path, foot=np.ones((2, 3)), foot_1=np.zeros((2, 1)))
    assert stages(path, contract(foot=3, foot_1=1)) == {"foot": [[1.0] * 3] * 2, "foot_1": [[0.0]] * 2}
    assert stages(npz(tmp_path, q=np.ones((2, 2)), q_2=np.zeros(2)), contract()) == {"q": [[1.0, 1.0]] * 2}


@pytest.mark.parametrize(
    ("columns", "place", "found"),
    [
        (("q_0", "q[0]", "q_1"), "#q_0", "q[0] a second time"),
        (("q_0", "q_00", "q_1"), "#q_00", "q[0] a second time"),
        (("q_0", "q_1", "q_2"), "#q[2]", "a column that q does not have"),
        (("q_1",), "", "no column q[0]"),
    ],
)
def test_underscored_columns_are_as_strict_as_others(tmp_path, columns, place, found):
    """Nothing is padded, and nothing is taken twice."""
    path = npz(tmp_path, **dict.fromkeys(columns, A))
    assert refused(path, contract())[:2] == (place, found)


def test_parts_of_a_known_vector_are_not_told_as_unknown():
    """A note that lists 29 columns of the vector it just read hides the one that nobody read."""
    table = Table({}, partial={"late": "2 of 9 rows"})
    names = ["q.hip", "q/knee", "q[2]", "temp", "temp[1]", "quat"]
    assert list(left_out(table, names, {"q"})) == [
        "late stands in 2 of 9 rows: it is left out",
        "the contract does not know temp, quat: not judged",
    ]
    assert list(left_out(Table({}), ["q.hip"], {"q[0]"})) == []
