"""Files as the projects write them that the hosted systems come from, made without rigpact's own writers."""

from pathlib import Path
from typing import Any

import numpy as np


def training_data(path: Path, context: np.ndarray, rotations: np.ndarray) -> None:
    """The add-on's data set: positions are the root's axes times the way from the hips, not their transpose."""
    forward, up = context[:, 30:33], context[:, 33:36]
    axes = np.stack([np.cross(forward, up), forward, up], axis=-1).astype(float)
    told = context.copy()
    for place in range(0, 30, 6):
        way = np.einsum("tab,tb->ta", axes, context[:, place : place + 3])
        told[:, place : place + 3] = np.einsum("tab,tb->ta", axes, way)
    path.parent.mkdir(parents=True)
    np.savez(
        path, train_inputs=told, train_outputs=rotations, test_inputs=told[:9], train_ground_heights=np.zeros((9, 2))
    )


def toy_dataset(folder: Path, parameters: np.ndarray, meshes: np.ndarray, anim: np.ndarray) -> None:
    """`generate_toy_dataset.py`: float64, arrays without names."""
    folder.mkdir(parents=True)
    np.savez(folder / "dataset.npz", parameters.astype(float), meshes.reshape(-1, 8, 3).astype(float))
    np.save(folder / "anim_4D.npy", anim.reshape(-1, 8, 3).astype(float))


def window(path: Path, stages: dict[str, np.ndarray]) -> None:
    """The dictionary that the network answers, a batch of one window, beside its input."""
    rows = len(stages["imu"])
    np.savez(
        path,
        imu_data=stages["imu"][None],
        pose_mean=stages["pose"].reshape(1, rows, 17, 3),
        pose_log_var=stages["log_variance"].reshape(1, rows, 17, 3),
        cnn_features=np.zeros((1, rows, 256)),
        **{name: stages[name][:1] for name in ("exercise_logits", "form_logits", "uncertainty")},
    )


def console(page: Path, heading: str) -> list[str]:
    """The first block of commands below a heading of a page, without `rigpact`."""
    below = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    block: Any = below.split("```console\n")[1].split("```")[0]
    return [line.removeprefix("$ rigpact ") for line in block.strip().splitlines()]
