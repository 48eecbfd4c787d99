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
from collections.abc import Callable, Mapping
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import zstandard

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace

from ..every_case import every_case
from ..models import saved
from .recorded_demo import edited, project
from .tiny_project import write_project
from .tried import passes, tries

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory, named pipes, devices")
MEMORY_BYTES, SECONDS, EACH_S = 3 << 30, 240, 20
"""Numpy, onnxruntime and their threads reserve about one gigabyte of addresses."""
HEAD = (
    json.dumps({"format": "rigpact-trace", "version": 1, "fps": 60, "mode": "teacher", "stages": {"x_raw": 4}}) + "\n"
)
LIMITED = f"""import contextlib, io, json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
from rigpact.reports.command_line import run_command_line
for words in json.load(sys.stdin):
    began, said = time.process_time(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = run_command_line(words)
    print(json.dumps([status, said.getvalue(), time.process_time() - began]), flush=True)
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
    return lambda path: (path.write_text(content, encoding="utf-8"), None)[1]


def circle(nodes: str) -> Callable[[Path], None]:
    """A project whose model computes a name from itself."""

    def make(path: Path) -> None:
        write_project(path.parent)
        saved(path.parent / "policy.onnx", f"(float[N, 2] obs) => (float[N, 2] action) {{ {nodes} }}")

    return make


def moved(path: Path) -> None:
    edited(path.with_name("engine.trace.jsonl"), lambda lines: lines[-1].update(frame=10**9), path.name)


TOML = """format = "rigpact-contract"
version = 1
name = "x"
title = "x"
fps = 50
given = [{name = "q", size = 10}]
"""
DOUBLED = ",".join(
    f'{{name="a{number}",operation="concatenate",of=["{before}","{before}"]}}'
    for number, before in enumerate(["q", *(f"a{number}" for number in range(23))])
)
READS_MANY = ",".join(f'"s{number}"' for number in range(300))
SMALL = ",".join(f'{{name="s{number}",size=1}}' for number in range(300))
WORDS = ",".join(f'"w{number}"' for number in range(200_000))


def _history(length: int) -> str:
    stage = f'name="a",operation="history",of=["q"],length={length}'
    return f'{TOML}stages=[{{{stage},layout="term_major",order="oldest_first",start="first"}}]'


CHAIN = ",".join(f'{{name="s{n}",operation="clip",of="q",lowest=-1,highest=1}}' for n in range(3000))
ONE_BY_ONE = ",".join(
    f'{{name="{name}",operation="clip",of="{before}",lowest=-1,highest=1}}'
    for before, name in pairwise(["q", *(f"s{number}" for number in range(1000))])
)
FEWER = ",".join(f'"w{number}"' for number in range(60_000))
DECLARED: Mapping[str, tuple[str, str]] = {
    "stages.toml": (f"{TOML}stages=[{CHAIN}]", "3001 vectors and stages, expected at most 1024"),
    "dots-40.toml": (TOML + "a." * 20_000 + "b = 1\n", "more than 64 nested levels"),
    "dots-200.toml": (TOML + "a." * 100_000 + "b = 1\n", "more than 64 nested levels"),
    "quoted-dots.toml": (TOML + "'a b' . " * 20_000 + "b = 1\n", "more than 64 nested levels"),
    "dots-in-a-header.toml": (TOML + "[[" + "a." * 20_000 + "b]]\n", "more than 64 nested levels"),
    "history-6.toml": (_history(10**6), "10000000 numbers in a frame, expected at most 65536"),
    "history-9.toml": (_history(10**9), "10000000000 numbers in a frame, expected at most 65536"),
    "doubling.toml": (f"{TOML}stages=[{DOUBLED}]", "81920 numbers in a frame, expected at most 65536"),
    "reads-many.toml": (
        f'{TOML.replace("given = [", "given = [" + SMALL + ",")}stages=[{{name="a",operation="concatenate",of=[{READS_MANY}]}}]',
        "90000 orders, expected at most 65536",
    ),
    "wrong.toml": (
        f'{TOML.replace("size = 10", f"size = 10, carried = {chr(34)}a{chr(34)}, wrong = [{WORDS}]")}'
        'stages=[{name="a",operation="concatenate",of=["q"]}]',
        "200000 numbers where 65536 are expected",
    ),
    "fewer-wrong.toml": (
        f'{TOML.replace("size = 10", f"size = 10, carried = {chr(34)}a{chr(34)}, wrong = [{FEWER}]")}'
        'stages=[{name="a",operation="concatenate",of=["q"]}]',
        "60000 readings, expected at most 64",
    ),
    "chain.toml": (f"{TOML}stages=[{ONE_BY_ONE}]", ""),
    "dots-in-words.toml": (
        TOML.replace('title = "x"', f'title = "{"..." * 50}" # {". . " * 90}')
        + 'stages=[{name="a",operation="clip",of="q",lowest=-1,highest=1}]', "",
    ),
}  # fmt: skip
"""Names were once looked up in lists that were made anew for every stage; dots in words nest nothing."""
YAML: Mapping[str, str] = {
    "[" + "1," * 500_000 + "1]": "more than 32768 values",
    "[" + "1," * 1_000_000 + "1]": "2000003 bytes of YAML",
    "- 1\n" * 250_000: "more than 32768 values",
    "".join(f"k{number}: 1\n" for number in range(90_000)): "more than 32768 values",
    "[" * 1_000_000: "nest", "- " * 100: "more than 64 nested levels",
    "a: 1" + ":1" * 500_000: "a number of 1000001 characters",
    "a: " + "b" * 1_000_000: "YAML with a", 'a: "' + "\n" * 1_000_000 + '"': "YAML with a",
}  # fmt: skip
"""Values are counted before one is built: a list of two megabytes took a minute and 800 MB."""
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
    "one/contract.toml": (circle("action = Identity(action)"), "check {}", CIRCLE),
    "two/contract.toml": (circle("a = Identity(obs) action = Identity(b) b = Identity(action)"), "check {}", CIRCLE),
    "three/contract.toml": (circle("b = Identity(action) action = Identity(b)"), "check {}", CIRCLE),
    **{name: (text(content), "check {}", said) for name, (content, said) in DECLARED.items()},
    **{f"{place}.yaml": (text(content), "init --from {} -o out.toml", YAML[content]) for place, content in enumerate(YAML)},
}  # fmt: skip


TRIED = (
    ("two megabytes that become gigabytes: empty frames, `.zst` and `.gz` of blanks, an array of zeros, `,nan(` in one line",
     "exit 2, and says the limit, before the memory is full"),
    ("a frame with the number 1 000 000 000 in a recording of a few frames", "exit 2"),
    ("a device or a named pipe in place of a file: `/dev/zero`, a pipe that nobody writes to", "exit 2, at once"),
    ("a model in which a name is computed from itself", "exit 2 at once"),
    ("a declaration of some kilobytes with a history of 10⁹ frames, stages that double, names without end, 60,000 readings",
     "exit 1 or 2, and says the limit, before it is built"),
    ("YAML of a megabyte: lists, keys, brackets and numbers without end", "exit 2, before a value is built"),
)  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, float]]:
    """Exit status, words and processor time of each command, in one process of three gigabytes and four minutes."""
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


@tries(("refused", *row) for row in TRIED)
@every_case("name", FILES)
def test_a_small_file_does_not_fill_the_memory(name, answers):
    """The build machine of a studio swaps for an hour, and every other build with it."""
    status, said, seconds = answers[name]
    expected = FILES[name][2]
    assert (status in (1, 2) if expected else status == 0, expected in said) == (True, True), said
    assert "Traceback" not in said
    assert said.partition("rigpact: error: ")[2].count("\n") in (0, 1)
    assert seconds < EACH_S


@passes("a recording of one pose held for minutes, which packs hundreds of times")
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_pose_that_is_held_is_no_bomb(ending, tmp_path):
    """A character that stands still is the first thing that everybody records."""
    frame, pose = np.arange(1000), np.full((1000, 400), 0.123456, np.float32)
    path = tmp_path / f"held.trace.jsonl.{ending}"
    write_trace(Trace(TraceHeader(60.0, "teacher"), frame, frame / 60.0, {"x_raw": pose}), path)
    assert path.stat().st_size < pose.nbytes / 50
    assert read_trace(path).stages["x_raw"].shape == pose.shape


@every_case(
    ("text", "value"),
    [
        ("[" + "1.5," * 30_000 + "2]", [1.5] * 30_000 + [2]),
        ("a: 1:30\nb: -1:0:1\nc: 0x1F\nd: 1_000\n", {"a": 90, "b": -3601, "c": 31, "d": 1000}),
        (f"a: {10**4200}", {"a": 10**4200}),
        ("a: !robot {b: !!int '7'}\nc: 2020-01-01\n", {"a": {"b": 7}, "c": date(2020, 1, 1)}),
    ],
    ids="lnot",
)
def test_yaml_within_the_limits_is_read(text, value):
    """A limit that ordinary files meet would be switched off."""
    assert parse_yaml(text.encode(), "deploy.yaml") == value
