"""The error of every bone in every frame as a table, for other tools."""

from pathlib import Path

import numpy as np
import pandas as pd

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.reports.comparing.checkpoints.ranking import bone_name
from rigpact.reports.comparing.compare import Comparison


def error_table(comparison: Comparison) -> pd.DataFrame:
    """One row for each frame and bone: frame, time_s, bone, deg, cm (cm only with a skeleton).

    Raises UnusableInput when no poses were compared.
    """
    pose = comparison.pose
    if pose is None:
        raise UnusableInput("--table", "no pose on both sides", "recordings with y_out")
    frames, bones = pose.deg.shape
    names = [bone_name(comparison.bones, bone) for bone in range(bones)]
    time_s = comparison.frames / comparison.a.trace.header.fps
    columns = {"frame": np.repeat(comparison.frames, bones), "time_s": np.repeat(time_s, bones)}
    columns |= {"bone": np.tile(names, frames), "deg": pose.deg.reshape(-1)}
    return pd.DataFrame(columns if pose.cm is None else {**columns, "cm": pose.cm.reshape(-1)})


def write_error_table(comparison: Comparison, path: Path) -> None:
    """Write the table as CSV: first under a temporary name, then renamed."""
    if path.suffix.lower() != ".csv":
        raise UnusableInput(path, f"the name {path.name}", "a name ending in .csv")
    write_bytes(path, error_table(comparison).to_csv(index=False, lineterminator="\n").encode("utf-8"))
