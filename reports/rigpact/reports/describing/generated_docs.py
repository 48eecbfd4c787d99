"""Pages under docs/ that are made from the code. `python -m rigpact.reports.describing.generated_docs FOLDER` writes them.

A test regenerates every page and compares. To add a page: a function here and a row in `PAGES`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rigpact.contract.conventions import Knob
from rigpact.contract.files import write_bytes
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES
from rigpact.reports.describing.breaking_page import breaking_page
from rigpact.reports.describing.configuration_page import configuration_page
from rigpact.reports.describing.rules_page import rules_page

_CONVENTIONS_HEAD = """# Conventions

Every place where two correct-looking implementations of the loop differ is a knob. The first value is the contract's default;
a bundle may declare `rot6d_columns` (`meta.rot6d_spec.columns`) and `output_mode` (`meta.rot6d_spec.output_mode`) itself.
On every command `--set KNOB=VALUE` declares what the bundle does not, and `--conventions FILE` reads a TOML file of
`KNOB = "VALUE"` lines. The reference runtime runs under every value.

This page is generated; see `rigpact.reports.describing.generated_docs`.

## Axes, units, order
- Metres, seconds, radians; the state's velocities are m/s and rad/s. Engine distances (contacts) are centimetres where named so.
- A rotation matrix holds the bone's axes as columns and acts on column vectors: R_next = ΔR · R_prev turns the bone in its
  parent's frame. An engine matrix that holds axes as rows multiplies the other way round for the same result.
- Rotations are local, child in parent. Quaternions are xyzw.
- Vectors are float32 between stages. Inside a stage the maths runs in float64 (UE 5) or, with `math=f32`, in float32 (UE 4).

## Stages
In loop order: """


def conventions_page() -> str:
    """docs/conventions.md."""
    stages = ", ".join(f"`{stage}`" for stage in STAGE_NAMES)
    rows = "\n".join(_knob_row(knob) for knob in KNOBS.values())
    return (
        f"{_CONVENTIONS_HEAD}{stages}.\n\n## Knobs\n| knob | values | changes | meaning |\n|---|---|---|---|\n{rows}\n"
    )


def _knob_row(knob: Knob) -> str:
    default, *others = (f"`{value}`" for value in knob.values)
    values = f"**{default}** {' '.join(others)}".strip()
    return f"| `{knob.name}` | {values} | {', '.join(knob.stages) or 'no stage beyond rounding'} | {knob.meaning} |"


PAGES: Mapping[str, Callable[[], str]] = {
    "conventions.md": conventions_page,
    "breaking.md": breaking_page,
    "configuration.md": configuration_page,
    "rules.md": rules_page,
}


def write_pages(folder: Path) -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        write_bytes(folder / name, page().encode("utf-8"))


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
