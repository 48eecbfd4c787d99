"""Rotations of long arrays in C++: numpy's bits under every convention, scipy's rotations, and stepping aside."""

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.native import library as native
from rigpact.reference_runtime.operations.six_numbers import Rot6d

from ..every_case import every_case
from .libraries import LANES, library_of_lanes, spoilt_library

KNOBS = find_system("enemy_animation").knobs
enemy_conventions = find_system("enemy_animation").conventions

pytestmark = pytest.mark.usefixtures("installed_library")
BONES = native.LEAST_BONES + 5  # no whole number of groups of any width
VALUES = [
    {"rot6d_packing": packing, "rot6d_columns": columns, "derived_axis": derived}
    for packing in KNOBS["rot6d_packing"].values
    for columns in KNOBS["rot6d_columns"].values
    for derived in KNOBS["derived_axis"].values
]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])


@pytest.fixture(autouse=True)
def asked_anew():
    """What is known of the library, inside and after a test of its own."""
    native._agreed.clear()
    yield
    native._agreed.clear()


def drawn_bones(dtype, count=BONES, seed=0):
    """Six numbers of each; some axes are zero, short, parallel, far from a unit, infinite or NaN."""
    six = np.random.default_rng(seed).normal(size=(count, 6))
    six[5], six[17, :3], six[40, 3:], six[77] = 0.0, 1e-5, six[40, :3], 1e6 * six[77]
    six[90, 1], six[91, 4], six[count - 1, :3] = np.nan, np.inf, 0.0
    return six.astype(dtype).reshape(1, -1)


def codec_of(changes):
    return Rot6d(enemy_conventions().replaced(changes))


def both(monkeypatch, work):
    """What C++ makes of something, and numpy alone; C++ must have been asked."""
    asked = []
    true = native.computed

    def by_cpp(*arguments):
        asked.append(true(*arguments))
        return asked[-1]

    monkeypatch.setattr(native, "computed", by_cpp)
    found = work()
    monkeypatch.setattr(native, "computed", lambda *_: False)
    expected = work()
    monkeypatch.setattr(native, "computed", true)
    assert asked == [True]
    return found, expected


@DTYPES
@every_case("changes", VALUES, ids=lambda each: "-".join(each.values()))
def test_every_form_of_six_numbers_has_numpys_bits(monkeypatch, dtype, changes):
    """A long clip and its single frames must be the same character: one goes through C++, the other does not."""
    codec, delta, previous = codec_of(changes), drawn_bones(dtype), drawn_bones(dtype, seed=1)
    for work in (lambda: codec.compose(delta, previous), lambda: codec.decode(delta)):
        found, expected = both(monkeypatch, work)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


@every_case("degenerate", KNOBS["degenerate_axis"].values)
def test_a_lost_axis_is_replaced_as_the_convention_says(monkeypatch, degenerate):
    """Every bone has lost one: nothing of it may be C++'s own idea."""
    codec = codec_of({"degenerate_axis": degenerate})
    delta, previous = drawn_bones(np.float64), drawn_bones(np.float64, seed=2)
    delta.reshape(-1, 6)[::2, :3] = 0.0
    previous.reshape(-1, 6)[1::2, 3:] *= 1e-6
    np.testing.assert_array_equal(*both(monkeypatch, lambda: codec.compose(delta, previous)))


@every_case("cut", [lambda rows: rows[:, : 6 * 100], lambda rows: rows[:, ::-1]])
def test_what_it_does_not_take_is_numpys(cut):
    """A short array costs more to hand over than to compute; a view of another order has no bones in a row."""
    codec, rows = codec_of({}), drawn_bones(np.float64)
    codec.compose(cut(rows), cut(rows))
    assert not native._agreed


def none():
    raise UnusableInput("--engine native", "no compiled loop", "one beside the package")


@every_case("library", [spoilt_library, none])
def test_a_library_with_a_wrong_sign_or_none_is_not_used(monkeypatch, library):
    """The numbers are numpy's then, and right; on a machine without a compiler the install has no library."""
    monkeypatch.setattr(native, "library", library)
    codec, delta, previous = codec_of({}), drawn_bones(np.float64), drawn_bones(np.float64, seed=1)
    found = codec.compose(delta, previous), codec.decode(delta)
    assert list(native._agreed.values()) == [False, False]
    monkeypatch.setattr(native, "computed", lambda *_: False)
    for one, other in zip(found, (codec.compose(delta, previous), codec.decode(delta)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", LANES)
def test_lanes_of_every_kind_agree(monkeypatch, kind):
    """A machine without wide registers gives the same character."""
    library = library_of_lanes(kind)
    monkeypatch.setattr(native, "library", lambda: library)
    for dtype in (np.float32, np.float64):
        codec, delta, previous = codec_of({}), drawn_bones(dtype), drawn_bones(dtype, seed=1)
        for work in (lambda: codec.compose(delta, previous), lambda: codec.decode(delta)):  # noqa: B023 - used at once
            np.testing.assert_array_equal(*both(monkeypatch, work))
