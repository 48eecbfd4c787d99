"""docs/conventions.md: every knob of every system with its values, from the stages that the runtime itself runs."""

from collections.abc import Iterator

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.vocabulary import package_of
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system, known_systems
from rigpact.contract.systems.system import System

_HEAD = """# Conventions

Every place where two correct-looking implementations differ is a knob of the stages that look at it. The first value is the
system's own; a contract file may declare another under `conventions`, and a schema bundle declares `rot6d_columns`
(`meta.rot6d_spec.columns`) and `output_mode` (`meta.rot6d_spec.output_mode`). On every command `--set KNOB=VALUE` declares
what the file does not, and `--conventions FILE` reads a TOML file of `KNOB = "VALUE"` lines. The reference runtime runs under
every value. `rigpact show NAME` also says what to look for in code where a side has a value.

Where the files of the training side have another value by design, the meaning says which. That value judges these files, unless
the project declares one, which is then meant for both sides.

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it.
"""
_AXES = """
### Axes, units, order
- Metres, seconds, radians; the state's velocities are m/s and rad/s. Engine distances (contacts) are centimetres where named so.
- A rotation matrix holds the bone's axes as columns and acts on column vectors: R_next = ΔR · R_prev turns the bone in its
  parent's frame. An engine matrix that holds axes as rows multiplies the other way round for the same result.
- Rotations are local, child in parent. Quaternions are xyzw.
- Vectors are float32 between stages. Inside a stage the maths runs in float64 (UE 5) or, with `math=f32`, in float32 (UE 4).
"""


def conventions_page() -> str:
    """docs/conventions.md."""
    others = [
        name for name, entry in known_systems().items() if package_of(entry) == "rigpact" and name != ENEMY_ANIMATION
    ]
    sections = (line for name in (ENEMY_ANIMATION, *others) for line in _section(find_system(name)))
    return _HEAD + "\n".join(sections) + "\n"


def _section(system: System) -> Iterator[str]:
    yield f"\n## {system.title}"
    yield f"`{system.name}`, [systems.md](systems.md#{system.name})."
    if system.name == ENEMY_ANIMATION:
        yield _AXES.rstrip("\n")
    yield f"\nStages in loop order: {', '.join(f'`{stage}`' for stage in system.graph.names)}."
    yield "\n| knob | values | changes | meaning |\n|---|---|---|---|"
    yield from (_knob_row(knob, system) for knob in system.knobs.values())


def _knob_row(knob: Knob, system: System) -> str:
    default, *others = (f"`{value}`" for value in knob.values)
    values = f"**{default}** {' '.join(others)}".strip()
    stages = system.graph.stages_of(knob.name)
    changed = ", ".join(name for name in system.graph.names if name in stages)
    training = f"; `{knob.in_training}` in files of the training side" if knob.in_training else ""
    return f"| `{knob.name}` | {values} | {changed or 'no stage beyond rounding'} | {knob.meaning}{training} |"
