"""Recordings as named columns: which column is which number of a vector, and when each row was. Numbers are written by hand."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.recordings.named_columns import NoVector, read_named_columns
from rigpact.reference_runtime.recordings.opened import labelled_vectors, open_file

from ..every_case import every_case
from .trace_files import refused

A, B, C = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
SCALAR, VECTOR, RAW, POSITION = FieldKind.SCALAR, FieldKind.VECTOR, FieldKind.RAW, FieldKind.POSITION
KNEE_HIP = FieldLayout((Field("knee", 0, 1, SCALAR), Field("hip", 1, 1, SCALAR)))
HAND = FieldLayout((Field("pos", 0, 3, POSITION, bone="hand"), Field("vel", 3, 3, FieldKind.VECTOR, bone="hand")))
TURN = FieldLayout((Field("r", 0, 4, FieldKind.QUATERNION_WXYZ),))
BENT = FieldLayout((Field("bend", 0, 1, SCALAR, bone="knee"), Field("turn", 1, 1, SCALAR, bone="hip")))
TWO_FEET = FieldLayout((Field("left", 0, 3, POSITION), Field("right", 3, 3, POSITION)))


class Graph(tuple):
    """The names of a system's vectors."""

    feeds_itself = False

    @property
    def names(self):
        """The names in their order."""
        return tuple(self)


def contract(fps=50.0, *, recordings=None, published=None, windowed=False, feeds_itself=False, **vectors):
    """What a reader asks of a contract. vectors: name -> layout, or width of one field; without any a `q` of two joints."""
    of = lambda each: FieldLayout((Field("x", 0, each, RAW),) if each else ())  # noqa: E731
    layouts = {
        k: each if isinstance(each, FieldLayout) else of(each) for k, each in (vectors or {"q": KNEE_HIP}).items()
    }
    graph = Graph(layouts)
    graph.feeds_itself = feeds_itself
    said = {"recordings": recordings or {}, "published": published or {}, "windowed": windowed}
    return SimpleNamespace(fps=fps, system=SimpleNamespace(name="rig", graph=graph, **said), fields=layouts.__getitem__)


def named(source, **more):
    """A contract whose `q` of two joints is recorded by other names."""
    return contract(recordings={"q": source}, **more)


def npz(folder, columns, name="run.npz"):
    path = folder / name
    np.savez(path, **{name: np.asarray(values) for name, values in columns.items()})
    return path


def stages(path, of, **more):
    return {name: rows.tolist() for name, rows in read_named_columns(path, of, **more).stages.items()}


def beside(*columns):
    return [list(row) for row in zip(*columns, strict=True)]


AB, ABC, FEET = beside(A, B), beside(A, B, C), beside(A, B, C, A, A, A)
OLD_NEW = {"published": {"q": ("old", "new", "newest")}, "q": 3}
SPACE, TWO, Z = {"gyro": 3}, {"foot": 3, "foot_1": 1}, {"z": 0}
NEAR = contract(q=2, velocitys=1)
WINDOW = {"command": 2, "q": 2, "windowed": True}
READ = [
    ({"q": AB}, contract(), {"q": AB}), ({"q.hip": B, "q.note": C, "q.knee": A, "q.temperature": C}, contract(), {"q": AB}),
    ({"q": AB, "q.note": C}, contract(), {"q": AB}), ({"q[0]": [[1.0]], "q[1]": [2.0]}, contract(), {"q": [[1.0, 2.0]]}),
    ({"q": AB, "rate": 50.0, "events": [], "torn": np.zeros((2, 0))}, contract(), {"q": AB}),
    # the columns that a contract names are put together in its order
    ({"j": AB}, named("j"), {"q": AB}), ({"j[1]": B, "j[0]": A, "k[0]": C, "k[1]": C, "other": C}, named("j"), {"q": AB}),
    ({"j.hip": B, "j.knee": A, "j.x": C}, named("j"), {"q": AB}),
    ({"j/hip": B, "j/knee": A, "j.knee": C}, named("j"), {"q": AB}),
    ({"j": ABC}, named(["j[0]", "j[2]"]), {"q": beside(A, C)}), ({"j": ABC}, named(["j[1]", "j[1]"]), {"q": beside(B, B)}),
    ({"j": [AB, beside(B, C), beside(C, A)], "k": C}, named(["j[3]", "k"]), {"q": beside([5.0, 8.0, 2.0], C)}),
    ({"j": AB, "j[4]": B, "k": C}, named(["j[4]", "k"]), {"q": beside(B, C)}),
    ({"j": A, "k": B}, named(["k[0]", "j[0]"]), {"q": beside(B, A)}),
    *(({f"f{mark}right": beside(A, A, A), f"f{mark}left": ABC}, contract(feet=TWO_FEET, recordings={"feet": "f"}),
    {"feet": FEET}) for mark in "./"),
    *(({"state": np.arange(math.prod(shape)).reshape(shape)}, named(["state[1]", "state[2]"]), {"q": [[1, 2],
    [4, 5]][: shape[0]]})
       for shape in ((2, 3), (1, 3), (2, 3, 1))),
    # a batch of one window is its frames, an array of frames is one row each
    *((({"q": np.zeros(shape)}, contract(q=width), {"q": np.zeros(rows).tolist()}) for shape, width, rows in (
        ((5, 3), 3, (5, 3)), ((1, 3), 3, (1, 3)), ((1, 5, 3), 3, (5, 3)), ((1, 5, 3), 15, (1, 15)), ((2, 5, 3), 15, (2, 15)),
        ((1, 2, 2, 3), 6, (2, 6)), ((2, 2, 3), 6, (2, 6)), ((5,), 1, (5, 1)), ((1, 5), 5, (1, 5))))),
    # a vector of any width
    ({"q": AB}, contract(z=0, q=2, recordings={"z": "latent"}), {"q": AB}),
    ({"latent": ABC}, contract(z=0, recordings={"z": "latent"}), {"z": ABC}),
    ({"z[2]": C, "z.0": A, "z/1": B}, contract(**Z), {"z": ABC}),
    # of the names that a project published the last one held is read
    ({"old": [A], "new": [B], "newest": [C]}, contract(**OLD_NEW), {"q": [C]}),
    ({"old": [A], "new": [B]}, contract(**OLD_NEW), {"q": [B]}),
    ({"old": [A]}, contract(**OLD_NEW), {"q": [A]}),
    ({"new": [B], "own": [C]}, contract(**OLD_NEW, recordings={"q": "own"}), {"q": [C]}),
    ({"old": [A], "q": [C]}, contract(**OLD_NEW), {"q": [C]}),
    # letters of space, numbers behind an underscore, vectors whose own name ends in one
    ({"gyro_x": A, "gyro_y": B, "gyro_z": C}, contract(**SPACE), {"gyro": ABC}),
    ({"gyro.z": C, "gyro.x": A, "gyro.y": B}, contract(**SPACE), {"gyro": ABC}),
    ({"q_1": B, "q_0": A}, contract(), {"q": AB}),
    ({"r.w": A, "r.x": B, "r.z": B, "r.y": C}, contract(r=TURN), {"r": beside(A, B, C, B)}),
    ({"s/pos/x": A, "s.pos.1": B, "s.pos.hand.z": C, "s.vel[0]": A, "s.4": B,
    "s[5]": C}, contract(s=HAND), {"s": beside(A, B, C, A, B, C)}),
    ({"b.knee.x": A, "b[1]": B}, contract(b=BENT), {"b": AB}), ({"b.bend": A, "b.hip.0": B}, contract(b=BENT), {"b": AB}),
    ({"foot": ABC, "foot_1": beside(B)}, contract(**TWO), {"foot": ABC, "foot_1": beside(B)}),
    ({"q": AB, "q_2": C}, contract(), {"q": AB}),
    # what is said once of a window stands in every row
    ({"command": [[1.0, 2.0]], "q": AB}, contract(**WINDOW), {"command": [[1.0, 2.0]] * 3, "q": AB}),
    ({"command": [[1.0, 2.0]]}, contract(**WINDOW), {"command": [[1.0, 2.0]]}),
    # nearly spelt like a vector that is there, or like none
    *(({"q": AB, column: A}, NEAR, {"q": AB}) for column in ("velocity_rate[0]", "speed[0]", "velocitie")),
    *(({"q": AB, "velocities[0]": C, own: A},
    NEAR, {"q": AB, "velocitys": beside(A)}) for own in ("velocitys", "velocitys[0]")),
    ({"velocity_a": A, "velocity_aa[0]": C}, contract(velocity_a=1, velocity_b=1), {"velocity_a": beside(A)}),
]  # fmt: skip


@every_case(("columns", "of", "expected"), READ, ids=lambda each: str(each)[:50])
def test_columns_are_the_numbers_of_their_vectors(tmp_path, columns, of, expected):
    """Read as nobody's column, or as another number of it, a joint is missing from every report, or somebody else's."""
    assert stages(npz(tmp_path, columns), of) == expected


EACH, THEIRS = "as many rows of each vector", "2, as the contract has them"
NAMED, FIELDS = "every column that [recordings] names", "q[0] to q[1], or the names of its fields"
HIP, THREE = f"{FIELDS} (hip, channel 1)", contract(q=3)
REFUSED = [
    ({"b": A}, named(["a", "b", "c"]), "", "no a, c", NAMED), ({"a": AB}, named(["a[0]", "a[2]"]), "", "no a[2]", NAMED),
    ({"a": A, "b": [1.0]}, named(["a", "b"]), "", "{'a': 3, 'b': 1} rows", EACH),
    ({"a": ABC}, named("a"), "#a", "3 numbers a frame", THEIRS),
    ({"a": A, "b": AB}, named(["a", "b"]), "#a, b", "3 numbers a frame", THEIRS),
    ({"a[0]": A}, named("a"), "#a", "1 numbers a frame", THEIRS),
    ({"a[0]": A, "a[1]": A[:2]}, named("a"), "", "{'a[0]': 3, 'a[1]': 2} rows", EACH),
    ({"a[0]": [[1.0, 2.0]], "a[1]": [[1.0, 2.0]]}, named("a"), "#a[0]", "2 numbers a frame", "1"),
    ({"state": np.zeros((1, 2, 3))}, named(["state[1]", "state[2]"]), "#state[1]", "one place of an array (1, 2, 3)", None),
    ({"f.right": np.zeros((3, 4)), "f.left": AB}, contract(feet=TWO_FEET, recordings={"feet": "f"}),
    "#f.left", "2 numbers a frame", "3"),
    ({"q": [[1, 2]], "q.knee": [1], "q[1]": [1], "q[0]": [2], "q.2": [1]}, contract(),
    "#q[1]", "q a second time", "each number once"),
    ({"q.note": [1], "q[1]": [1], "q.hip": [2], "q[0]": [2]}, contract(),
    "#q.hip", "the same number as q[1]", "each number once"),
    ({"q[0]": [1], "q[1]": [1], "q[3]": [1], "q[2]": [1]}, contract(), "#q[3]", "a column that q does not have", FIELDS),
    ({"q.note": [1], "q[9]": [1], "q.more": [1]}, contract(), "#q.note", "a column that q does not have", FIELDS),
    ({"q[2]": [1]}, contract(), "#q[2]", "a column that q does not have", FIELDS),
    ({"s.hand.x": A}, contract(s=HAND), "#s.hand.x", "a column that s does not have", None),
    ({"s[6]": A}, contract(s=HAND), "#s[6]", "a column that s does not have", None),
    ({"q.knee": [1]}, contract(), "", "no column q[1]", HIP),
    ({"q": [[1, 2, 3]]}, contract(), "#q", "3 numbers a frame", THEIRS),
    ({"q[0]": A, "q[1]": A[:2]}, contract(), "", "{'q[0]': 3, 'q[1]': 2} rows", EACH),
    ({"q[0]": [A], "q[1]": [1.0]}, contract(), "#q[0]", "3 numbers a frame", "1"),
    ({"q[1]": A, "q[2]": A}, THREE, "", "no column q[0]", "q[0] to q[2], or the names of its fields (x[0], channel 0)"),
    ({"q[2]": A}, THREE, "", "no column for q[0] and 1 more", None),
    ({"q[0]": A}, THREE, "", "no column for q[1] and 1 more", None),
    ({"z[0]": A, "z[2]": C}, contract(**Z), "", "no column z[1]", "z[i] (channel 1)"),
    ({"z[5]": A, "z[6]": C, "z[2]": B}, contract(**Z), "", "no column for z[0] and 1 more", "z[i] (channel 0)"),
    ({"z[0]": A, "z.colour.x": B}, contract(**Z), "#z.colour.x", "a column that z does not have", "z[i]"),
    *((dict.fromkeys(names, A), contract(), *said, None) for names, *said in (
        (("q_0", "q[0]", "q_1"), "#q_0", "q[0] a second time"), (("q_0", "q_00", "q_1"), "#q_00", "q[0] a second time"),
        (("q_0", "q_1", "q_2"), "#q[2]", "a column that q does not have"), (("q_1",), "", "no column q[0]"))),
    *((dict.fromkeys(names, A), contract(**SPACE), None, None, None) for names in (
        ("gyro/0", "gyro/x", "gyro/2"), ("gyro_x", "gyro_y"), ("gyro_x", "gyro_y", "gyro_w"))),
    *(({"q": AB, f"{name}[0]": A},
    NEAR, f"#{name}[…]", f"columns of {name}", "velocitys") for name in ("velocities", "velocitis")),
    ({"command": [[1.0, 2.0]], "q": AB}, contract(command=2, q=2), "", "{'command': 1, 'q': 3} rows", EACH),
    ({"command": AB[:2], "q": AB}, contract(**WINDOW), "", "{'command': 2, 'q': 3} rows", EACH),
    ({"q": AB, "time": [0.0, math.nan, 2.0]}, contract(), "#time", "a time that is not finite", "seconds"),
    ({"q": AB, "time": [0.0, math.inf, 2.0]}, contract(), "#time", "a time that is not finite", "seconds"),
    *(({"q": AB, "frame": frames}, contract(), "#frame", "frame numbers that do not rise", None) for frames in (
        [-1, 0, 1], [0, 1, 1], [0, 2, 1], [2, 1, 0], [0, 1, 1.5], [0, 1, 2.5], [0.5, 1.5, 2.5], [0, 1, math.nan],
        [0, 1, math.inf],
        [0.0, 1.0, 2.0**62], np.array([5, 3, 1], np.uint8), [math.nan] * 3)),
    *(({"q": AB[: len(time)], "time": time}, contract(None), "", "no frames per second", None) for time in (
        [0.0, 0.0, 0.0], [3.0, 2.0, 1.0], [0.0, 1e-320, 2e-320], np.array([3, 2, 1], np.uint8), [0.5])),
    *(({f"c{place:02}": A for place in range(held)}, contract(),
    None, f"{held} columns of other names", None) for held in (1, 13)),
]  # fmt: skip


@every_case(("columns", "of", "place", "found", "expected"), REFUSED, ids=lambda each: str(each)[:50])
@pytest.mark.filterwarnings("error")
def test_columns_that_make_no_vector_are_refused(tmp_path, columns, of, place, found, expected):
    """Nothing is padded, cut or taken twice: a joint that is missing is not a joint at rest. No name of other columns is said."""
    said = refused(read_named_columns, npz(tmp_path, columns), of)
    assert tuple(each if of is not None else None for each, of in zip(said, (place, found, expected), strict=True)) == (
        place,
        found,
        expected,
    )


@every_case(
    "columns",
    [{"a[0]": A, "a[2]": B}, {"a[1]": A, "a[2]": B}, {"a.knee": A}, {"a.knee": A, "a/hip": B}, {"a[0].x": A},
    {"b[0]": A, "b[1]": B},
     {"a": np.zeros((0, 2))}, {"a": 3.0}, {"q.note": C, "q.temperature": C}],
)  # fmt: skip
def test_columns_of_half_a_vector_are_none(tmp_path, columns):
    """A number that is missing in the middle is not made up for by the one after it."""
    with pytest.raises(NoVector):
        read_named_columns(npz(tmp_path, columns), named("a"))


def test_vectors_of_a_file_are_its_columns_in_their_order(tmp_path):
    """Ten columns sorted by name would put q[10] before q[2]; a torn vector left out silently is no difference of two files."""
    columns = {f"q[{place}]": np.full(2, float(place)) for place in (10, 2, 0, 1)} | {
        "q.late": [8.0] * 2, "rate": 50.0, "a.b": np.ones((2, 3)), "knee.left": np.zeros(2), "knee/right": np.ones(2),
        "none": [],
        "torn.x": np.zeros(2), "torn.y": np.zeros(3), "no.rows": np.zeros((0, 3)),
    }  # fmt: skip
    found = {name: rows.tolist() for name, (rows, _) in labelled_vectors(open_file(npz(tmp_path, columns))).items()}
    assert found == {
        "q": [[8.0, 0.0, 1.0, 2.0, 10.0]] * 2, "rate": [[50.0]], "a.b": [[1.0] * 3] * 2, "knee": [[0.0, 1.0]] * 2,
        "torn.x": [[0.0]] * 2, "torn.y": [[0.0]] * 3,
    }  # fmt: skip
    path = npz(tmp_path, {"q[0]": np.zeros(2), "q[1]": np.zeros(3)})
    assert refused(lambda: labelled_vectors(open_file(path)))[0] == f"{path}#q"


@every_case("name", ["q", "said", "other", "known"])
def test_the_one_array_of_a_file_has_the_files_name(tmp_path, name):
    """Training code saves one vector to a file: q.npy."""
    np.save(tmp_path / f"{name}.npy", AB)
    said = {"recordings": {"q": "said", "r": ["other"]}} if name in {"said", "other"} else {}
    of = contract(q=2, r=2, **said, published={"q": ("known",)} if name == "known" else {})
    assert stages(tmp_path / f"{name}.npy", of) == {"r" if name == "other" else "q": AB}


def test_a_file_whose_name_says_nothing_needs_to_be_told_what_it_holds(tmp_path):
    """Six numbers a frame may be anything; nothing compared is not a pass."""
    path, of = tmp_path / "run.npy", contract(q=2, r=1)
    np.save(path, ABC)
    assert stages(path, of, unnamed=("q", "r")) == {"q": AB, "r": beside(C)}
    assert stages(path, of, unnamed=("r", "q")) == {"r": beside(A), "q": beside(B, C)}
    assert refused(read_named_columns, path, of)[:2] == ("", "3 numbers a frame without a name")
    assert refused(read_named_columns, path, of, unnamed=("q", "p"))[:2] == ("--as", "'p'")
    for unnamed, widths in ((("q",), "2: q 2"), (("q", "q"), "4: q 2 + q 2")):
        assert refused(read_named_columns, path, of, unnamed=unnamed) == ("", "3 numbers a frame", widths)
    for name, place in (("run", ""), ("q", "#q")):
        for values in (3.0, np.zeros((0, 2)), np.zeros((1, 0, 2))):
            np.save(tmp_path / f"{name}.npy", values)
            said = refused(read_named_columns, tmp_path / f"{name}.npy", contract(), unnamed=("q",))
            assert said[:2] == (place, "no frames")


# --- who, when --------------------------------------------------------------------------------------------------------


def table(folder, **columns):
    (folder / "run.json").write_text(
        json.dumps({k: each for k, each in columns.items() if each is not None}), encoding="utf-8"
    )
    return folder / "run.json"


@every_case(
    ("said", "feeds_itself", "published", "mode"),
    [("playback", True, {}, "playback"), ("game", True, {}, "free"), (None, True, {}, "free"), (None, False, {}, "teacher"),
     (None, True, {"q": ("x",)}, "teacher"), (None, False, {"q": ("x",)}, "teacher")],
)  # fmt: skip
def test_who_drove_a_run_is_what_the_file_says_or_a_guess(tmp_path, said, feeds_itself, published, mode):
    """A guess is marked as one: a project may say otherwise."""
    of = contract(feeds_itself=feeds_itself, published=published)
    header = read_named_columns(table(tmp_path, q=AB, clip="Walk", mode=said), of).header
    assert (header.mode, header.says_mode, header.clip) == (mode, said == "playback", "Walk")
    assert (header.system, header.producer, header.producer_version) == ("rig", "unknown", "unknown")
    assert read_named_columns(table(tmp_path, q=[[1, 2]], clip=3), contract()).header.clip is None


def test_only_printed_numbers_may_have_lost_digits(tmp_path):
    """Two decimals of a table move each number by up to 0.005; the same numbers in an array are as they were."""
    rows = [[round(0.37 * k, 2), round(1.53 - 0.41 * k, 2)] for k in range(40)]
    assert read_named_columns(table(tmp_path, q=rows), contract()).of_text.decimals == 2
    assert read_named_columns(npz(tmp_path, {"q": rows}), contract()).of_text is None


BELOW = float(np.nextafter(2.0**62, 0))


@every_case(
    ("columns", "frames", "times"),
    [({"frame": frames}, frames, None) for frames in (
        [0, 1, 2], [7, 9, 10], [0.0, 1.0, BELOW], np.array([0, 2, 5], np.uint8), np.array([1, 2, 3], np.float16))]
    + [({"frame": 3, "frames": [4, 5, 6], "time": AB, "t": [0.5, 0.75, 1.0]}, [4, 5, 6], [0.5, 0.75, 1.0]),
       ({"frame": [1, 2], "time": [[1.0]] * 3}, [0, 1, 2], None)],
)  # fmt: skip
def test_frames_that_rise_are_read_as_they_are(tmp_path, columns, frames, times):
    """Frames that the game skipped stay a gap; a vector called `t`, or a column of another length, is no clock."""
    trace = read_named_columns(npz(tmp_path, {"q": AB, **columns}), contract(50.0))
    assert (trace.frame.dtype, trace.frame.tolist()) == (np.int64, [int(each) for each in frames])
    np.testing.assert_array_equal(trace.time_s, [int(each) / 50.0 for each in frames] if times is None else times)


@every_case(
    ("said", "declared", "time", "expected"),
    [
        (0.5, 50.0, None, 0.5), (30, 50.0, [0.0, 0.1, 0.2], 30.0), (0, 50.0, None, 50.0), (-30, 50.0, None, 50.0),
        (True, 50.0, None, 50.0),
        ("30", 50.0, None, 50.0), (1e39, 50.0, None, 50.0), (None, 50.0, [0.0, 0.1, 0.2], 50.0),
        (None, None, [0.0, 0.25, 4.0], 1 / 2.0),
        (None, None, [0.0, 0.25, 0.5], 4.0), (0, None, [0.0, 0.25, 0.5], 4.0), (None, None, [0.0, 0.25, 0.5, 9.0], 4.0),
        (None, None, [0.5, 0.625], 8.0),
    ],
)  # fmt: skip
def test_frames_per_second_are_said_declared_or_measured(tmp_path, said, declared, time, expected):
    """What the file says goes first. A pause does not change the middle step between frames; the mean would be off by it."""
    path = table(tmp_path, q=[[1, 2]] * len(time or A), fps=said, time=time)
    assert read_named_columns(path, contract(declared)).header.fps == expected
