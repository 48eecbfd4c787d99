"""docs/install.md: how rigpact is installed, of which the index is one way once `[project.urls]` names an owner."""

import tomllib
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[3]
_PAGE = """# Install

Python 3.11 or later, on Linux, macOS or Windows; no root needed. Use a virtual environment:
`python3 -m venv .venv && . .venv/bin/activate` (on Windows `py -m venv .venv`, then `.venv\\Scripts\\activate`).

| from | command |
|---|---|
| a clone of the repository, in its folder | `python -m pip install .` |
| a wheel, or the source distribution | `python -m pip install rigpact-{version}-*.whl` |
{index}
{said} `python -m hatchling build` in a clone makes wheel and source distribution in `dist`.

Where a C++ compiler is found, the installation compiles the loop, and a free run is as fast as the engine's. Without a
compiler numpy computes the same. `RIGPACT_NATIVE=0` leaves the compiled loop out. `rigpact init --status` says what is installed.

## Extras
Once rigpact is installed, whatever it was installed from, an extra adds the libraries of a task:

| command | for |
|---|---|
{extras}
pip finds the rigpact that is there and fetches only the libraries.
"""
_EXTRAS = {
    "readers": "recordings in bags, HDF5, Parquet: [trace format](trace-format.md)",
    "testing": "your own tests with pytest and hypothesis: [testing](testing.md)",
    "sweep": "sweeps, whose results are Parquet: [sweep](sweep.md)",
    "cluster": "sweeps on a Dask cluster: [sweep](sweep.md)",
    "training": "torch, for `rigpact check --module` on functions of torch, and for training the committed networks again",
}


def install_page(project: dict[str, Any] | None = None) -> str:
    """docs/install.md, from the table `project` of pyproject.toml."""
    if project is None:
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    is_published = "/OWNER/" not in project["urls"]["Repository"]
    rows = "".join(f"| `python -m pip install 'rigpact[{name}]'` | {what} |\n" for name, what in _EXTRAS.items())
    return _PAGE.format(
        version=project["version"],
        index="| the package index | `python -m pip install rigpact` |\n" if is_published else "",
        said="" if is_published else "The package index does not have rigpact yet.",
        extras=rows,
    ).replace("\n\n ", "\n\n")
