"""The enemy animation as a system: its page, its artefacts."""

from __future__ import annotations

from dataclasses import replace

from rigpact.contract import pages
from rigpact.contract.bundle_description import DESCRIPTION
from rigpact.reference_runtime.systems.enemy_animation.files import EnemyFiles

SYSTEM = replace(pages.enemy_animation.system(), files=EnemyFiles(), description=DESCRIPTION)
