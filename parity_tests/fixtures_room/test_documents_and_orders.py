"""Documents that fixtures write, and the orders that planted defects take."""

import json
from pathlib import Path

import numpy as np
import pytest

from rigpact.fixtures.json_files import write_document
from rigpact.fixtures.mutants.conventions import bone_orders, input_orders


@pytest.mark.parametrize("value", [float("nan"), np.float32("inf"), np.array([0.0, np.nan]), [[1.0, float("-inf")]]])
def test_a_number_that_is_not_finite_is_never_written(value: object, tmp_path: Path) -> None:
    """Written as null it reads back as a missing value: the demo would have a defect that nobody planted."""
    with pytest.raises(ValueError, match="/a/b"):
        write_document(tmp_path / "a.json", {"a": {"b": value}})
    assert not (tmp_path / "a.json").exists()


def test_numbers_of_any_type_are_written_as_they_are(tmp_path: Path) -> None:
    """An exporter hands over numpy's numbers, which JSON does not know."""
    write_document(tmp_path / "a.json", {"b": np.float32(0.5)})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"b": 0.5}


def test_orders_are_only_those_that_can_be() -> None:
    """A planted order that is the right one is noticed by nobody, and would count against the gate."""
    assert list(input_orders(("a", "b"))) == [("b", "a")]
    assert set(input_orders(("a", "b", "c"))) == {
        ("b", "a", "c"), ("c", "b", "a"), ("a", "c", "b"), ("b", "c", "a"),
    }  # fmt: skip
    assert list(bone_orders(3)) == []
    orders = list(bone_orders(8))
    assert len(orders) > 3
    assert all(sorted(order) == list(range(8)) != list(order) for order in orders)
