"""The public packages: what `__all__` names is what docs/python.md names, and it can be imported."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PUBLIC = ("contract", "reference_runtime", "testing")


def _named_in_docs(checkout: Path, package: str) -> list[str]:
    page = (checkout / "docs/python.md").read_text(encoding="utf-8")
    section = page.partition(f"## rigpact.{package}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("package", PUBLIC)
def test_the_page_names_exactly_the_public_names(checkout: Path, package: str) -> None:
    """A name that no page promises may go without notice; a promised one that is gone breaks the tools of a studio."""
    public = import_module(f"rigpact.{package}").__all__

    assert _named_in_docs(checkout, package) == list(public) != []


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_can_be_imported(package: str) -> None:
    """A name of a lazy package that points to no module fails only in the hands of a user."""
    module = import_module(f"rigpact.{package}")

    for name in module.__all__:
        assert getattr(module, name, None) or import_module(f"rigpact.{package}.{name}")
