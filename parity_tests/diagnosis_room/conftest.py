"""A generated clip on the demo character, a correct run of it, and the diagnosis of wrong runs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rigpact.reference_runtime import Trace
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..scene import Scene, generated_scene

Changes = dict[str, Any]


@pytest.fixture(scope="session")
def scene() -> Scene:
    """Sixteen frames of a sneak; short, and not adequate for everything."""
    return generated_scene("sneak_turn", frames=16)


@pytest.fixture(scope="session")
def honest(scene: Scene) -> Trace:
    """The scene run under the contract."""
    return scene.record()


@dataclass(frozen=True)
class Doctor:
    """Diagnoses recordings of one scene."""

    scene: Scene

    def evidence(self, stages: Any, only: tuple[str, ...] | None = None, **changes: Any) -> Evidence:
        """Evidence with all stages or some, with the scene's clip and network unless `changes` say otherwise."""
        kept = {name: rows for name, rows in stages.items() if only is None or name in only}
        frame = self.scene.record().frame[: len(next(iter(kept.values())))]
        whole = Evidence(
            frame, self.scene.clip.fps, self.scene.mode, kept, drive_of(self.scene.clip), self.scene.network
        )
        return replace(whole, **changes)

    def __call__(self, stages: Any, only: tuple[str, ...] | None = None, **changes: Any) -> Diagnosis:
        """The diagnosis of such evidence."""
        return diagnose(self.evidence(stages, only, **changes), self.scene.contract)

    def judged(self, stages: Any, only: tuple[str, ...] | None = None, **changes: Any) -> Diagnosis:
        """The stages of such evidence judged, without a search for what explains them."""
        return diagnose(self.evidence(stages, only, **changes), self.scene.contract, budget=Budget.spent())


@pytest.fixture(scope="session")
def doctor(scene: Scene) -> Doctor:
    """Diagnoses recordings of the scene."""
    return Doctor(scene)


def allowing(*stages: str) -> tuple[str, ...]:
    """The words of the command that let these stages stay unjudged: neither clip nor model is given."""
    return tuple(word for stage in stages for word in ("--allow-unjudged", stage))


def names(diagnosis: Diagnosis) -> list[Changes]:
    """Everything that the first cause offers."""
    return [cause for first in diagnosis.causes[:1] for cause in (first.changes, *first.equivalents)]


@pytest.fixture(scope="session")
def demo_files(demo_bundle: Path) -> dict[str, Path]:
    """The demo's files by name, as the command takes them."""
    return {
        "bundle": demo_bundle / "norm_template.json",
        "companion": demo_bundle / "pretrain_template.json",
        "model": demo_bundle / "model.onnx",
        "clip": demo_bundle / "clips" / "Sneak_Turn.json",
        "prediction": demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json",
    }
