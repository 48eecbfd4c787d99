"""A teacher file of 3.3 MB to float32 arrays, beside the least that anybody could do: `orjson.loads` and `np.array`."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.reference_runtime import TeacherFile, read_clip

from .performance_table import in_turns, told

TARGET = 1.3
STEPS, WIDTHS = 87, {"state_norm": 420, "cond": 7, "contacts": 2, "angvel_norm": 138, "pose_hist_norm": 828, "y": 276}
"""As a deployed character of 46 bones has them."""


def write_teacher_file(path: Path) -> None:
    """A prediction of 87 steps as the rollout tool writes it: float32 numbers as Python prints their float64."""
    chance = np.random.default_rng(0)
    rows = {name: chance.normal(0.0, 1.0, (STEPS, width)).astype(np.float32).tolist() for name, width in WIDTHS.items()}
    document = {
        "clip": "Walk", "fps": 60, "num_pairs": STEPS,
        "teacher": {"state_norm": rows["state_norm"], "cond": rows["cond"]},
        "aux_inputs": {name: rows[name] for name in ("contacts", "angvel_norm", "pose_hist_norm")},
        "prediction": {"y_norm": rows["y"], "y_raw": rows["y"]},
    }  # fmt: skip
    path.write_bytes(orjson.dumps(document))


def plain(path: Path) -> dict[str, Any]:
    """The same seven arrays without a single check."""
    root = orjson.loads(path.read_bytes())
    return {
        name: np.array(rows, dtype=np.float32)
        for part in ("teacher", "aux_inputs", "prediction")
        for name, rows in root[part].items()
    }


def test_a_teacher_file_is_read_as_fast_as_its_bytes_allow(benchmark: Any, tmp_path: Path) -> None:
    """Ten thousand clips a night are read once for each character."""
    path = tmp_path / "Walk_prediction.json"
    write_teacher_file(path)
    size = path.stat().st_size / 1e6
    assert 3.0 < size < 3.6
    read, expected = read_clip(path), plain(path)
    assert isinstance(read, TeacherFile)
    for name, rows in expected.items():
        np.testing.assert_array_equal(getattr(read, name), rows)

    actions = {"ours": lambda: read_clip(path), "orjson.loads and np.array": lambda: plain(path)}
    costs = benchmark.pedantic(in_turns, (actions, 25), rounds=1)
    assert told("Files", f"teacher file of {size:.1f} MB to float32 arrays", costs, TARGET, "ms") <= TARGET
