"""There is one rule engine: everything that is said of a file comes from a family of the catalogue, run in one place."""

import ast
from pathlib import Path

from rigpact.contract.rules import FAMILIES
from rigpact.contract.rules.family import GIVES, Need

from ..sources import nodes

ENGINE = "contract/rigpact/contract/rules/catalogue.py"
RULES = "contract/rigpact/contract/rules/"
ROOTS = ("contract", "reference_runtime", "fixtures", "reports")


def test_every_family_can_be_run_and_every_need_is_met() -> None:
    """A family that nothing runs finds nothing, and every file looks as if it had passed."""
    met = frozenset[Need]().union(*GIVES.values())

    assert [family.name for family in FAMILIES if not callable(family.check) or not family.needs] == []
    assert set(Need) - met == set()
    assert {need for family in FAMILIES for need in family.needs} <= met


def test_one_module_runs_the_checks_of_families(checkout: Path) -> None:
    """A second engine keeps an account of its own: a rule that it forgets is missed by one kind of contract only."""
    callers = {
        path.relative_to(checkout).as_posix()
        for root in ROOTS
        for path in (checkout / root / "rigpact").rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-2:] == ["family", "check"]
    }

    assert callers == {ENGINE}


def test_nobody_takes_a_generator_of_rules_out_of_its_family(checkout: Path) -> None:
    """What is called by hand is left out where somebody does not think of it."""
    checks = {family.check.__name__ for family in FAMILIES} - {"<lambda>", "findings"}
    taken = {
        (path.relative_to(checkout).as_posix(), name.name)
        for root in ROOTS
        for path in (checkout / root / "rigpact").rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rigpact.contract.rules.")
        for name in node.names
        if name.name in checks
    }

    assert taken == set()
