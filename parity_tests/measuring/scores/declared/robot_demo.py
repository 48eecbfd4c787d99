"""The robot of `rigpact demo robot`: a drawn policy, and a second of a runtime that copies joints by position.

The loop is robot_policy.py, which imports nothing of rigpact. `python -m parity_tests.measuring.scores.declared.robot_demo
fixtures/bundles/robot` writes the policy and the recording anew.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from rigpact.contract.files import write_bytes

from .plain import AS_WRITTEN, Array, DrawnNetwork
from .robot_policy import Robot, drawn_sensors, run

FOLDER = Path(__file__).resolve().parents[4] / "fixtures" / "bundles" / "robot"
FRAMES, SEED = 50, 7
POLICY = DrawnNetwork((45,), 12, seed=9, gain=1.5)
_STAGES = {"motor_q": "motor_targets"}
"""Names of robot_policy.py that the contract calls otherwise."""


def robot() -> Robot:
    """The numbers of the contract."""
    return Robot.of(FOLDER / "contract.toml", 0.25, 0.05)


def recorded(*, by_position: bool) -> Mapping[str, Array]:
    """What a runtime records, by the contract's names. by_position: the network's first joint goes to the first motor."""
    rows = run(robot(), drawn_sensors(12, FRAMES, SEED), partial(POLICY, maths=AS_WRITTEN), by_position=by_position)
    return {_STAGES.get(name, name): values for name, values in rows.items()}


def table(rows: Mapping[str, Array]) -> str:
    """The recording as a table: a row for each frame, a column for each number, named where the contract names it."""
    held = robot()
    fields = dict.fromkeys(("q", "dq", "motor_targets"), held.sdk)
    fields |= {"action": held.policy, "sticks": ("ly", "lx", "rx")}
    names = [
        f"{name}.{fields[name][at]}" if name in fields else f"{name}[{at}]"
        for name, values in rows.items()
        for at in range(values.shape[1])
    ]
    rows_of = (",".join(map(str, row)) for row in np.hstack(list(rows.values())))
    return "\n".join((",".join(names), *rows_of)) + "\n"


def main(folder: Path) -> None:
    """Write the policy and the recording."""
    POLICY.write_onnx(folder / "policy.onnx")
    write_bytes(folder / "run.csv", table(recorded(by_position=True)).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
