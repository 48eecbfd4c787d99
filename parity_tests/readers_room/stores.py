"""Stores of arrays, each written by its format's own library."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = np.arange(30, dtype=np.float32).reshape(10, 3)
ENDS = [4, 10]


def write_hdf5(path: Path) -> Path:
    """As ALOHA's episodes: state, image, action; a link out of the file, a virtual data set, words."""
    with h5py.File(path, "w") as root:
        root.attrs["sim"] = True
        root["observations/qpos"] = ROWS
        root.create_dataset("action", data=ROWS * 2, compression="gzip", chunks=(5, 3))
        root["observations/images/top"] = np.zeros((10, 4, 4, 3), np.uint8)
        root["words"] = ["a", "b"]
        root["out"] = h5py.ExternalLink("/etc/passwd", "/")
        layout = h5py.VirtualLayout((10, 3), "f4")
        layout[:] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", (10, 3))
        root.create_virtual_dataset("virtual", layout)
    return path


def write_data_set(folder: Path, *, version: str = "v3.0") -> Path:
    """As LeRobot's: many episodes a file, named by a table of episodes; v2 has a file an episode."""
    is_v3 = version.startswith("v3")
    template = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    template = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet" if is_v3 else template
    info = {"codebase_version": version, "fps": 30, "total_episodes": 2, "chunks_size": 1000, "data_path": template,
            "features": {"observation.state": {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"]}}}  # fmt: skip
    starts = [0, *ENDS]
    tables = []
    for episode in range(2):
        rows = ROWS[starts[episode] : starts[episode + 1]]
        frames = np.arange(len(rows))
        tables.append(pa.table({
            "observation.state": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3),
            "timestamp": (frames / 30).astype(np.float32), "frame_index": frames, "episode_index": np.full(len(rows), episode),
            "task": ["walk"] * len(rows),
        }))  # fmt: skip
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    if is_v3:
        places = {"episode_index": [0, 1], "data/chunk_index": [0, 0], "data/file_index": [0, 0]}
        pq.write_table(pa.table(places), folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
        pq.write_table(pa.concat_tables(tables), folder / "data" / "chunk-000" / "file-000.parquet")
    else:
        for episode, table in enumerate(tables):
            pq.write_table(table, folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet")
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return folder / "meta" / "info.json"
