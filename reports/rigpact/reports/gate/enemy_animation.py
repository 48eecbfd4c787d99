"""The enemy animation under the gate: its case and its parts, in the order in which people want to read them."""

from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.parts import adequacy, breaking, budget, files, free_run, model, recordings
from rigpact.reports.gate.system import ENEMY_ANIMATION, GateSystem, PartKind

SYSTEM = GateSystem(
    ENEMY_ANIMATION,
    EnemyCase,
    (
        PartKind("files", files.ask),
        PartKind("model", model.ask),
        PartKind("teacher", recordings.ask_teacher, recordings.judge),
        PartKind("engine-trace", recordings.ask_traces, recordings.judge),
        PartKind("free-run", free_run.ask),
        PartKind("breaking", breaking.ask, breaking.judge),
        PartKind("adequacy", adequacy.ask, adequacy.judge),
        PartKind("budget", budget.ask, budget.judge),
    ),
)
