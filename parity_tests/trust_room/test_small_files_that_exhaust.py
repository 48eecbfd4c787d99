"""Small files that would fill the memory, or never end

A pull request may hold any file. A few kilobytes must not take a build machine down: a limit comes before the allocation.
"""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from onnx import TensorProto, helper, save

from .tiny_project import write_project
from .tried import passes, refused

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory, named pipes, devices")
MEMORY_BYTES = 3 << 30
"""Numpy, onnxruntime and their threads reserve about one gigabyte of addresses."""
SECONDS = 60
HEAD = (
    json.dumps({"format": "rigpact-trace", "version": 1, "fps": 60, "mode": "teacher", "stages": {"x_raw": 4}}) + "\n"
)


@pytest.fixture
def here(demo_bundle: Path, tmp_path: Path) -> Path:
    """A folder with the demo's files and a short recording."""
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx"):
        shutil.copy(demo_bundle / name, tmp_path / name)
    shutil.copy(demo_bundle / "clips" / "Sneak_Turn.json", tmp_path / "clip.json")
    return tmp_path


def answer_to(folder: Path, *words: str) -> str:
    """The error line of a command that ends with status 2 within a minute and three gigabytes."""
    limited = f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES})); "
    code = limited + "from rigpact.reports.command_line import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line


def _zst(path: Path, text: bytes, times: int) -> None:
    with path.open("wb") as stream, zstandard.ZstdCompressor().stream_writer(stream) as packed:
        packed.write(HEAD.encode())
        for _ in range(times):
            packed.write(text)


def _gz(path: Path, text: bytes, times: int) -> None:
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for _ in range(times):
            packed.write(text)


def _npz(path: Path, times: int) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (times << 20,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x_raw.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(times):
            member.write(bytes(1 << 20))


def _frames_of_nothing(path: Path) -> None:
    path.write_text('{"NumFrames": 1, "FPS": 60, "Frames": [' + ",".join(["{}"] * 600_000) + "]}", encoding="utf-8")


def _nan_without_end(path: Path) -> None:
    path.write_text(f'{HEAD}{{"frame":0,"time":0,"stages":{{"x_raw":[1{",nan(" * 40_000}\n{HEAD}', encoding="utf-8")


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "clip.json": (_frames_of_nothing, "more than 100000 places of another shape"),
    "space.trace.jsonl.zst": (lambda path: _zst(path, b" " * (1 << 20), 4096), "a line of more than 67108864 bytes"),
    "empty.trace.jsonl.zst": (lambda path: _zst(path, b"\n" * (1 << 20), 2048), "empty lines in succession"),
    "space.trace.jsonl.gz": (lambda path: _gz(path, b" " * (1 << 20), 400), "a line of more than 67108864 bytes"),
    "nan.trace.jsonl": (_nan_without_end, "a JSON object on one line"),
    "zeros.npz": (lambda path: _npz(path, 1024), "unpack to 1073741"),
}  # fmt: skip


@pytest.mark.sampled(3)
@refused(
    "two megabytes that become gigabytes: empty frames, `.zst` and `.gz` of blanks, an array of zeros, `,nan(` in one line",
    "exit 2, and says the limit, before the memory is full",
)
@pytest.mark.parametrize("name", FILES)
def test_a_small_file_does_not_fill_the_memory(name: str, here: Path) -> None:
    """The build machine of a studio swaps for an hour, and every other build with it."""
    make, found = FILES[name]
    make(here / name)
    reads = ["check", "norm_template.json", name] if name == "clip.json" else ["convert", name, "-o", "out.trace.bin"]
    reads += ["--contract", "norm_template.json"] if name == "zeros.npz" else []

    assert found in answer_to(here, *reads)


@refused(
    "a frame with the number 1 000 000 000 in a recording of a few frames", "exit 2: frames count from the run's start"
)
def test_a_frame_number_is_no_size(here: Path, command: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter that an engine forgot to reset asked for 1.5 terabytes."""
    monkeypatch.chdir(here)
    command(
        "run",
        "--contract",
        "norm_template.json",
        "--onnx",
        "model.onnx",
        "clip.json",
        "--frames",
        "9",
        "-o",
        "a.trace.jsonl",
    )
    *lines, last = (here / "a.trace.jsonl").read_text(encoding="utf-8").splitlines()
    moved = json.dumps({**json.loads(last), "frame": 10**9})
    (here / "a.trace.jsonl").write_text("\n".join([*lines, moved, ""]), encoding="utf-8")
    words = ["--contract", "norm_template.json", "--clip", "clip.json", "--onnx", "model.onnx"]

    assert "the frame number 1000000000" in answer_to(here, "explain", "a.trace.jsonl", *words)


@refused("a device or a named pipe in place of a file: `/dev/zero`, a pipe that nobody writes to", "exit 2, at once")
@pytest.mark.parametrize("place", ["/dev/zero", "pipe.json", "pipe.onnx", "pipe.trace.jsonl"])
def test_what_never_ends_is_no_file(place: str, here: Path) -> None:
    """A checkout of a branch with a pipe in it, and the job hangs until its time is over."""
    if not place.startswith("/"):
        os.mkfifo(here / place)
    words = ["check", "norm_template.json", *(["--onnx"] if place.endswith("onnx") else []), place]
    words = ["convert", place, "-o", "out.trace.bin"] if place.endswith("trace.jsonl") else words

    assert f"{place}: found " in answer_to(here, *words)


@passes("a recording of one pose held for minutes, which packs hundreds of times")
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_pose_that_is_held_is_no_bomb(ending: str, tmp_path: Path) -> None:
    """A character that stands still is the first thing that everybody records."""
    from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, read_trace, write_trace

    frame = np.arange(4000)
    pose = np.full((4000, 400), 0.123456, np.float32)
    path = tmp_path / f"held.trace.jsonl.{ending}"
    write_trace(Trace(TraceHeader(60.0, "teacher"), frame, frame / 60.0, {"x_raw": pose}), path)

    assert path.stat().st_size < pose.nbytes / 50
    assert read_trace(path).stages["x_raw"].shape == pose.shape


@refused("a model in which a name is computed from itself", "exit 2 at once")
@pytest.mark.parametrize("nodes", [("action action",), ("obs a", "b action", "action b"), ("action b", "b action")])
def test_a_graph_with_a_circle_ends(tmp_path: Path, nodes: tuple[str, ...]) -> None:
    """`check` went round for ever in six kilobytes."""
    write_project(tmp_path)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2]) for name in ("obs", "action")]
    made = [helper.make_node("Identity", [each.split()[0]], [each.split()[1]]) for each in nodes]
    graph = helper.make_graph(made, "g", ends[:1], ends[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "policy.onnx")
    assert "is computed from itself" in answer_to(tmp_path, "check", "contract.toml")
