"""The systems that rigpact hosts, each one page: NAME.toml. NAME_rig.json beside it holds the numbers of a rig, if it has one.

To host a system: its page here, a line `NAME = "rigpact.contract.pages:NAME"` under `rigpact.systems` in pyproject.toml; then the
page is installed, and every command works on it. What a page cannot say is an operation that is missing: see
`rigpact.reference_runtime.vocabulary`.
"""

from importlib.resources import files
from pathlib import Path

from rigpact.contract.declared.page import Page


def __getattr__(name: str) -> Page:
    """The page of that name; AttributeError where there is none."""
    page = files(__name__) / f"{name}.toml"
    if name.startswith("_") or not page.is_file():
        raise AttributeError(f"no page {name}.toml in {__name__}")
    return Page(name, page.read_text(encoding="utf-8"), Path(str(files(__name__))), by_rigpact=True)
