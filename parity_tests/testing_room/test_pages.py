"""docs/testing.md and docs/geometry.md are complete."""

import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.reports.geometry_parity.roles import ROLES
from rigpact.testing import checks, plugin, strategies

KNOBS = find_system("enemy_animation").knobs


def test_the_testing_page_names_every_option_fixture_and_strategy(checkout, pytestconfig):
    """Users cannot find an option that is not on the page."""
    page = (checkout / "docs" / "testing.md").read_text(encoding="utf-8")
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    names = [name for option in parser.getgroup("rigpact").options for name in option.names()]
    assert len(names) == 12
    assert [name for name in names if name not in page] == []
    assert [name for name in plugin.__all__ if f"`{name}`" not in page] == []
    assert [name for name in strategies.__all__ if f"`{name}(" not in page] == []
    assert f"{checks.FREE_RUN_FRAMES} frames" in page


def test_the_geometry_page_names_every_role_and_alias(checkout):
    """People look for their own function's name."""
    page = (checkout / "docs" / "geometry.md").read_text(encoding="utf-8")
    assert [name for role in ROLES.values() for name in role.names if f"`{name}`" not in page] == []
    knobs = ("rot6d_columns", "rot6d_packing", "compose_order", "quaternion_order", "angvel_frame", "degenerate_axis")
    assert [knob for knob in knobs if knob not in KNOBS or f"`{knob}`" not in page] == []
