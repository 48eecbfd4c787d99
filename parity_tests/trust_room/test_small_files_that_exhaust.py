"""Small files that would fill the memory, or never end

A few kilobytes must not take a build machine down: a limit comes before the allocation. One process answers for all of them.
"""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from onnx import TensorProto, helper, save

from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace

from .recorded_demo import edited, project
from .tiny_project import write_project
from .tried import passes, tries

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory, named pipes, devices")
MEMORY_BYTES, SECONDS = 3 << 30, 120
"""Numpy, onnxruntime and their threads reserve about one gigabyte of addresses."""
HEAD = (
    json.dumps({"format": "rigpact-trace", "version": 1, "fps": 60, "mode": "teacher", "stages": {"x_raw": 4}}) + "\n"
)
LIMITED = f"""import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
from rigpact.reports.command_line import run_command_line
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = run_command_line(words)
    print(json.dumps([status, said.getvalue()]), flush=True)
"""


def zst(text: bytes, times: int) -> Callable[[Path], None]:
    """A packed recording of a text over and over."""

    def make(path: Path) -> None:
        with path.open("wb") as stream, zstandard.ZstdCompressor(level=1).stream_writer(stream) as packed:
            packed.write(HEAD.encode())
            for _ in range(times):
                packed.write(text)

    return make


def gz(path: Path) -> None:
    """Four hundred megabytes of blanks."""
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for _ in range(400):
            packed.write(b" " * (1 << 20))


def npz(path: Path) -> None:
    """An array of a gigabyte of zeros."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (1024 << 20,)})
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x_raw.npy", "w") as member,
    ):
        member.write(header.getvalue())
        for _ in range(1024):
            member.write(bytes(1 << 20))


def text(content: str) -> Callable[[Path], None]:
    """A file of a text."""
    return lambda path: (path.write_text(content, encoding="utf-8"), None)[1]


def circle(*nodes: str) -> Callable[[Path], None]:
    """A project whose model computes a name from itself."""

    def make(path: Path) -> None:
        write_project(path.parent)
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2]) for name in ("obs", "action")]
        made = [helper.make_node("Identity", [each.split()[0]], [each.split()[1]]) for each in nodes]
        graph = helper.make_graph(made, "g", ends[:1], ends[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        save(model, path.parent / "policy.onnx")

    return make


def moved(path: Path) -> None:
    """A recording whose last frame has a counter's number."""
    edited(path.with_name("engine.trace.jsonl"), lambda lines: lines[-1].update(frame=10**9), path.name)


CHECK, CONVERT, TO = "check norm_template.json {}", "convert {} -o out.trace.bin", " --contract norm_template.json"
EXPLAIN = "explain {} --contract norm_template.json --clip clips/Sneak_Turn.json --onnx model.onnx"
NAN = f'{HEAD}{{"frame":0,"time":0,"stages":{{"x_raw":[1{",nan(" * 40_000}\n{HEAD}'
CLIP = '{"NumFrames": 1, "FPS": 60, "Frames": [' + ",".join(["{}"] * 600_000) + "]}"
LINE, PIPE, CIRCLE = "a line of more than 67108864 bytes", "found a named pipe", "is computed from itself"
FILES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "clip.json": (text(CLIP), CHECK, "more than 100000 places of another shape"),
    "space.trace.jsonl.zst": (zst(b" " * (1 << 20), 3300), CONVERT, LINE),
    "empty.trace.jsonl.zst": (zst(b"\n" * (1 << 20), 64), CONVERT, "empty lines in succession"),
    "space.trace.jsonl.gz": (gz, CONVERT, LINE),
    "nan.trace.jsonl": (text(NAN), CONVERT, "a JSON object on one line"),
    "zeros.npz": (npz, CONVERT + TO, "unpack to 1073741"),
    "moved.trace.jsonl": (moved, EXPLAIN, "the frame number 1000000000"),
    "/dev/zero": (lambda path: None, CHECK, "/dev/zero: found "),
    "pipe.json": (os.mkfifo, CHECK, PIPE),
    "pipe.onnx": (os.mkfifo, "check norm_template.json --onnx {}", PIPE),
    "pipe.trace.jsonl": (os.mkfifo, CONVERT, "pipe.trace.jsonl: found "),
    "one/contract.toml": (circle("action action"), "check {}", CIRCLE),
    "two/contract.toml": (circle("obs a", "b action", "action b"), "check {}", CIRCLE),
    "three/contract.toml": (circle("action b", "b action"), "check {}", CIRCLE),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit status and standard error of each command, in one process of three gigabytes and two minutes."""
    folder = project(tmp_path_factory.mktemp("exhausting") / "game")
    for name, (make, _, _) in FILES.items():
        make(folder / name)
    words = [words.format(name).split() for name, (_, words, _) in FILES.items()]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=folder, input=json.dumps(words), capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == len(FILES), done.stderr
    return dict(zip(FILES, said, strict=True))


@pytest.mark.sampled(3)
@tries(
    [
        (
            "refused",
            "two megabytes that become gigabytes: empty frames, `.zst` and `.gz` of blanks, an array of zeros, `,nan(` in one "
            "line",
            "exit 2, and says the limit, before the memory is full",
        ),
        ("refused", "a frame with the number 1 000 000 000 in a recording of a few frames", "exit 2"),
        (
            "refused",
            "a device or a named pipe in place of a file: `/dev/zero`, a pipe that nobody writes to",
            "exit 2, at once",
        ),
        ("refused", "a model in which a name is computed from itself", "exit 2 at once"),
    ]
)
@pytest.mark.parametrize("name", FILES)
def test_a_small_file_does_not_fill_the_memory(name: str, answers: dict[str, tuple[int, str]]) -> None:
    """The build machine of a studio swaps for an hour, and every other build with it."""
    status, err = answers[name]
    assert (status, err.count("\n"), FILES[name][2] in err) == (2, 1, True), err


@passes("a recording of one pose held for minutes, which packs hundreds of times")
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_pose_that_is_held_is_no_bomb(ending: str, tmp_path: Path) -> None:
    """A character that stands still is the first thing that everybody records."""
    frame, pose = np.arange(1000), np.full((1000, 400), 0.123456, np.float32)
    path = tmp_path / f"held.trace.jsonl.{ending}"
    write_trace(Trace(TraceHeader(60.0, "teacher"), frame, frame / 60.0, {"x_raw": pose}), path)
    assert path.stat().st_size < pose.nbytes / 50
    assert read_trace(path).stages["x_raw"].shape == pose.shape
