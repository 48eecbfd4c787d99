"""Writes what tables in the code make under docs/, as pages: `python -m parity_tests.measuring.pages.generated_docs
[FOLDER]`.

Run it in the root of a checkout; the default folder is docs. A test makes every page again and compares it with the committed
file.
To add a page: a module with a function that returns the page, and a row in `PAGES`.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rigpact.contract.files import write_bytes

from .breaking_page import breaking_page
from .configuration_page import configuration_page
from .contracts_page import contracts_page
from .conventions_page import conventions_page
from .index_page import index_page
from .install_page import install_page
from .operations_page import operations_page
from .rules_page import rules_page
from .trust_page import trust_page

PAGES: Mapping[str, Callable[[], str]] = {
    "index.md": index_page,
    "install.md": install_page,
    "conventions.md": conventions_page,
    "breaking.md": breaking_page,
    "configuration.md": configuration_page,
    "operations.md": operations_page,
    "rules.md": rules_page,
    "trust.md": trust_page,
    "contracts.md": contracts_page,
}


def write_pages(folder: Path) -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_bytes(folder / name, page().encode("utf-8"))


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
