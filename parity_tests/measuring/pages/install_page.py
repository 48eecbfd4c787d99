"""docs/install.md: the index is one way to install rigpact once `[project.urls]` names an owner."""

import re
import tomllib
from typing import Any

from ..sections import replaced
from .index_page import CHECKOUT


def install_page(project: dict[str, Any] | None = None) -> str:
    """docs/install.md, from the table `project` of pyproject.toml."""
    if project is None:
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (CHECKOUT / "docs" / "install.md").read_text(encoding="utf-8")
    page = re.sub(r"rigpact-[\d.a-z]+-\*\.whl", f"rigpact-{project['version']}-*.whl", page)
    said = "The package index does not have rigpact yet: install from a clone or a wheel."
    if "/OWNER/" not in project["urls"]["Repository"]:
        said = "From the package index: `python -m pip install rigpact`."
    return replaced(page, "index", said)
