"""The processed clips of a training that `rigpact check` reads"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .tried import passes, refused

OF_PROCESSED = {"X_norm": "state_norm", "cond_in": "cond", "Y_norm": "target_norm"}


@pytest.fixture
def processed(demo_bundle: Path, tmp_path: Path) -> Callable[..., Path]:
    """The rows of the demo's teacher batch as the training's own .npz; edits replace arrays, None leaves one out."""
    batch = json.loads((demo_bundle / "teacher_batches/Sneak_Turn_teacher.json").read_text(encoding="utf-8"))["teacher"]

    def write(**edits: Any) -> Path:
        arrays = {name: np.array(batch[key], np.float32) for name, key in OF_PROCESSED.items()}
        arrays |= {"x_in_features": arrays["X_norm"], "bone_names": np.array([{"a": 1}], object)}
        changed = {name: edit(arrays[name]) if callable(edit) else edit for name, edit in edits.items()}
        np.savez(tmp_path / "clip.npz", **{name: rows for name, rows in (arrays | changed).items() if rows is not None})
        return tmp_path / "clip.npz"

    return write


@pytest.fixture
def judged(command: Any, demo_bundle: Path) -> Callable[[Path], Any]:
    """`check` of the demo's bundle, its companion and another file."""
    return lambda path: command(
        "check", demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", path
    )


@passes("the training's processed clip, a .npz, beside its bundle; objects beside its rows are never unpacked")
def test_a_processed_clip_is_judged(judged: Any, processed: Callable[..., Path]) -> None:
    """It was refused as a trace, so the file that training reads was the only one that nobody judged."""
    answer = judged(processed())
    assert (answer.status, "0 errors" in answer.out) == (0, True), answer.out + answer.err


@refused(
    "a processed clip with its state the other way round, a NaN in a condition, fewer targets, or without conditions",
    "the rule of a teacher batch: RP612, RP605, RP600, RP021; exit 1",
)
@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ({"X_norm": lambda rows: rows[:, ::-1]}, "RP612"),
        ({"cond_in": lambda rows: np.where(rows == rows[3], np.nan, rows)}, "RP605"),
        ({"Y_norm": lambda rows: rows[:-2]}, "RP600"),
        ({"cond_in": None}, "RP021"),
    ],
)
def test_a_damaged_processed_clip_is_a_finding(
    judged: Any, processed: Callable[..., Path], edits: dict[str, Any], code: str
) -> None:
    """A network is trained on these rows, whatever the JSON beside them says."""
    answer = judged(processed(**edits))
    assert (answer.status, code in answer.out) == (1, True), answer.out


@refused("a processed clip whose rows are windows, words or objects", "one line with the array's name, exit 2")
@pytest.mark.parametrize(
    "rows", [lambda rows: rows[None], lambda _: np.array([["a"]]), lambda _: np.array([{}], object)]
)
def test_a_processed_clip_of_something_else_is_refused(
    judged: Any, processed: Callable[..., Path], rows: Callable[[Any], Any]
) -> None:
    """Never unpickled, and never reshaped until it fits."""
    answer = judged(processed(X_norm=rows))
    assert (answer.status, answer.err.count("\n"), "clip.npz" in answer.err) == (2, 1, True)
