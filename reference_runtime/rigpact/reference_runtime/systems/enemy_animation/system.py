"""The enemy animation as a system: its stages, its artefacts."""

from __future__ import annotations

from rigpact.contract.bundle import INPUTS
from rigpact.contract.bundle_description import DESCRIPTION
from rigpact.contract.systems.registry import ENEMY_ANIMATION
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.systems.enemy_animation import knobs
from rigpact.reference_runtime.systems.enemy_animation.files import EnemyFiles
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGES

SYSTEM = System(
    name=ENEMY_ANIMATION,
    title="Enemy animation, a character's free-running motion network",
    page="enemy_animation.md",
    stages=STAGES,
    inputs=INPUTS,
    outputs=("y_norm",),
    fps=60.0,
    files=EnemyFiles(),
    benign_knobs=(knobs.MATH,),
    posed="y_out",
    description=DESCRIPTION,
)
