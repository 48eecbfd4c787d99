"""docs/conventions.md: every knob with its values, from the table that the runtime itself reads."""

from __future__ import annotations

from rigpact.contract.conventions import Knob
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

_HEAD = """# Conventions

Every place where two correct-looking implementations of the loop differ is a knob. The first value is the contract's default;
a bundle may declare `rot6d_columns` (`meta.rot6d_spec.columns`) and `output_mode` (`meta.rot6d_spec.output_mode`) itself.
On every command `--set KNOB=VALUE` declares what the bundle does not, and `--conventions FILE` reads a TOML file of
`KNOB = "VALUE"` lines. The reference runtime runs under every value.

This page is generated; `python -m parity_tests.pages.generated_docs` writes it.

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
    return f"{_HEAD}{stages}.\n\n## Knobs\n| knob | values | changes | meaning |\n|---|---|---|---|\n{rows}\n"


def _knob_row(knob: Knob) -> str:
    default, *others = (f"`{value}`" for value in knob.values)
    values = f"**{default}** {' '.join(others)}".strip()
    return f"| `{knob.name}` | {values} | {', '.join(knob.stages) or 'no stage beyond rounding'} | {knob.meaning} |"
