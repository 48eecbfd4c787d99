"""Random runs with known numbers, and gates with these runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.family import answers as rules
from rigpact.reports.comparing.stage_comparison import Address
from rigpact.reports.gate.measured import ComparedRun
from rigpact.reports.gate.report import GateReport, Part

from .oracle import Matrix, Vector, turn

HOSTILE = "<img src=x onerror=window.pwned=1>"
WRONG_BONE, WRONG_COLUMN, WRONG_DEG, WRONG_CM = 7, 21, 5.0, 3.25
FIRST_FRAME = 100


@dataclass(frozen=True)
class Drawn:
    """A run, and the numbers that it was made of: rotations are [side][frame][bone]."""

    run: ComparedRun
    parents: list[int]
    offsets: list[Vector]
    rotations: list[list[list[Matrix]]]

    @classmethod
    def with_one_error(cls, *, frames=40, bones=12, seed=1):
        """The engine's `WRONG_BONE` is off at `WRONG_COLUMN` only; frame numbers start at 100 and leave 110 out."""
        chance = np.random.default_rng(seed)
        parents = [-1] + [int(chance.integers(bone)) for bone in range(1, bones)]
        offsets = [_vector(chance, 0.3) for _ in range(bones)]
        reference = [
            [turn(_vector(chance, 1.0), chance.uniform(-3.1, 3.1)) for _ in range(bones)] for _ in range(frames)
        ]
        engine = [list(pose) for pose in reference]
        engine[WRONG_COLUMN][WRONG_BONE] = turn(_vector(chance, 1.0), 1.0)
        deg, cm, ratios = np.zeros((frames, bones)), np.zeros((frames, bones)), np.zeros(frames)
        deg[WRONG_COLUMN, WRONG_BONE], cm[WRONG_COLUMN, WRONG_BONE], ratios[WRONG_COLUMN] = WRONG_DEG, WRONG_CM, 1000.0
        numbers = [FIRST_FRAME + index + (index >= 10) for index in range(frames)]
        run = ComparedRun(
            name="walk", fps=30.0, frames=np.array(numbers), bone_names=[HOSTILE, *(f"bone_{i}" for i in range(1, bones))],
            parents=parents, offsets_m=np.array(offsets, np.float32), reference=np.array(reference),
            engine=np.array(engine), deg=deg, cm=cm, stages=[("state", ""), ("y_out", "")],
            ratios=np.stack([np.zeros(frames), ratios]), diagnosis=None,
        )  # fmt: skip
        return cls(run, parents, offsets, [reference, engine])

    def changed(self, **changes):
        """The same with other fields of the run."""
        return replace(self, run=replace(self.run, **changes))


def _vector(chance, size):
    x, y, z = chance.uniform(-size, size, 3).tolist()
    return x, y, z


def drawn_gate(drawn, *runs, **changes):
    """A gate that fails on the drawn run: one error that the picture can show, one warning, one passing part.

    runs: what is drawn in its place, and beside it in parts of their own.
    """
    shown, *others = runs or (drawn.run,)
    frame = int(drawn.run.frames[WRONG_COLUMN])
    address = Address("y_out", 6 * WRONG_BONE, "BoneRotations6D", "bone_7", "6D[0]")
    differs = rules.STAGE_DIFFERS.at(
        f"{HOSTILE}/engine.trace.jsonl", "/stages/y_out/42", stage="y_out", frame=frame, channels=1, total=2880,
        error=0.1, tolerance=1e-4, worst_frame=frame, address=address,
    )  # fmt: skip
    cut = rules.CUT_OFF.at("engine.trace.jsonl", "", holder="engine.trace.jsonl", truncation="line 42 has no end")
    parts = (
        Part("engine-trace/walk", "Engine trace: walk", FindingsReport((differs,), Ledger(2880, 2880)), run=shown),
        Part("check", "The bundle against the rules", FindingsReport((cut,), Ledger(32, 30, 1))),
        Part("teacher-parity", "Teacher predictions", FindingsReport((), Ledger(8832, 8832))),
        *(Part(f"engine-trace/{run.name}", run.name, FindingsReport((), Ledger(1, 1)), run=run) for run in others),
    )
    provenance = {"rigpact": "0.1.0", "norm_template.json": "ab" * 32}
    gate = GateReport(parts, provenance, {"breaking": "no base revision"}, ("Run `rigpact explain` & look.",))
    return replace(gate, **changes)
