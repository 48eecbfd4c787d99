"""Recordings in other formats

Engines log what is easy to log: arrays, tables, lines. The same numbers get the same answer, whatever file they come in.
"""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import write_trace

from ..every_case import every_case
from .recorded_demo import CLIP, TRACE
from .recorded_demo import recorded as recorded_run
from .tried import passes, refused

FRAMES, BONES_OF_Y_OUT = 8, 46
Stages = Mapping[str, list[list[float]]]
STAGES = ("x_raw", "cond_raw", "contacts", "y_norm", "y_out")
Command = Callable[..., Any]
DEMO = demo_bundle()
BUNDLE = ("--contract", DEMO / "norm_template.json", "--companion", DEMO / "pretrain_template.json")
JUDGED = (*BUNDLE, "--clip", DEMO / CLIP, "--onnx", DEMO / "model.onnx")
"""The contract, and what gave the stages that come from outside: clip and model."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in a trace; every other file of this module is written from its lines, without rigpact."""
    out = tmp_path_factory.mktemp("recorded") / "run.trace.jsonl"
    write_trace(recorded_run("teacher", FRAMES), out)
    return out


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def stages(recorded: Path) -> Stages:
    """Its numbers."""
    return {name: [frame["stages"][name] for frame in lines_of(recorded)] for name in STAGES}


def table(path: Path, stages: Stages, *, delimiter: str = ",", encoding: str = "utf-8", form: str = "") -> Path:
    """A table with a column for each number, written with Python's own csv module."""
    names = [f"{name}[{place}]" for name, rows in stages.items() for place in range(len(rows[0]))]
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["frame", "mode", *names])
        for row in range(FRAMES):
            numbers = [value for rows in stages.values() for value in rows[row]]
            writer.writerow([row, "teacher", *(format(value, form) if form else repr(value) for value in numbers)])
    return path


def npz(path: Path, stages: Stages) -> None:
    arrays = {name: np.array(rows, np.float32) for name, rows in stages.items()}
    np.savez(path, mode=np.str_("teacher"), **arrays)  # type: ignore[arg-type]


def per_bone(path: Path, stages: Stages) -> None:
    """Rotations as (frames, bones, six), as a logger that keeps shapes writes them."""
    npz(path, {**stages, "y_out": np.reshape(stages["y_out"], (FRAMES, BONES_OF_Y_OUT, 6)).tolist()})


def arrays_in_json(path: Path, stages: Stages) -> None:
    path.write_text(json.dumps({"mode": "teacher", "frame": list(range(FRAMES)), **stages}), encoding="utf-8")


def frames_in_json(path: Path, stages: Stages) -> None:
    rows = [{"frame": row, **{name: rows[row] for name, rows in stages.items()}} for row in range(FRAMES)]
    path.write_text(json.dumps({"mode": "teacher", "frames": rows}, indent=1), encoding="utf-8")


def lines(path: Path, stages: Stages, encoding: str = "utf-8") -> None:
    """A trace's frames without the header line."""
    rows = [{name: each[row] for name, each in stages.items()} for row in range(FRAMES)]
    said = ({"frame": row, "time": row / 60, "mode": "teacher", "stages": each} for row, each in enumerate(rows))
    path.write_text("\n".join(map(json.dumps, said)) + "\n", encoding=encoding)


SAME: Mapping[str, Callable[[Path, Stages], object]] = {
    "run.npz": npz, "bones.npz": per_bone, "run.csv": table, "arrays.json": arrays_in_json, "frames.json": frames_in_json,
    "run.jsonl": lines, "bare.trace.jsonl": lines, "windows.log": lambda path, stages: lines(path, stages, "utf-16"),
    "excel.csv": lambda path, stages: table(path, stages, delimiter=";", encoding="utf-16"),
    "run.tsv": lambda path, stages: table(path, stages, delimiter="\t"),
    "marked.jsonl": lambda path, stages: lines(path, stages, "utf-8-sig"),
}  # fmt: skip


@passes(
    "the same numbers as .npz, with a column a number in .csv, as arrays or frames in JSON, as lines without a header"
)
@every_case("name", SAME)
def test_the_same_numbers_agree_in_every_format(command, recorded, stages, tmp_path, name):
    """A team that must first write a converter does not compare at all."""
    file = tmp_path / name
    SAME[name](file, stages)
    compared = command("diff", recorded, file, *BUNDLE, "--stage", "y_out", "--stage", "x_raw")
    assert compared.status == 0, compared.out + compared.err
    if name == "run.npz":
        explained = command("explain", file, *JUDGED)
        assert (explained.status, explained.err) == (0, "")


@passes("a table whose numbers were printed with six decimals")
def test_the_digits_of_a_table_are_known(command, stages, tmp_path):
    """Six decimals look like a defect of every stage where the tolerance is that of float32."""
    answer = command("explain", table(tmp_path / "six.csv", stages, form=".6f"), *JUDGED)
    assert answer.status == 0, answer.out + answer.err


@refused("a table that does not say who drove the run, and that differs only if that is guessed", "exit 2, and --mode")
def test_who_drove_a_table_is_not_guessed(command, recorded, tmp_path):
    """A clip-driven run that is taken for a free one shows a defect that nobody has."""
    frames = [line["stages"] for line in lines_of(recorded)]
    np.savez(tmp_path / "run.npz", **{name: np.array([frame[name] for frame in frames]) for name in frames[0]})
    guessed = command("explain", tmp_path / "run.npz", *BUNDLE)
    assert (guessed.status, "--mode" in guessed.err) == (2, True)
    assert command("explain", tmp_path / "run.npz", *JUDGED, "--mode", "teacher").status == 0


@passes("a recording converted to a trace, a .npz, a table, JSON, and back: the same bits")
@every_case("name", ["out.npz", "out.csv", "out.json", "out.trace.bin", "out.trace.safetensors"])
def test_a_converted_recording_has_the_same_bits(command, recorded, tmp_path, name):
    """A conversion that rounds would hide, or invent, what is compared afterwards."""
    out, back = tmp_path / name, tmp_path / "back.trace.jsonl"
    assert command("convert", recorded, "-o", out).status == 0
    assert command("convert", out, *BUNDLE, "-o", back).status == 0
    assert lines_of(recorded) == lines_of(back)


BARE: list[tuple[tuple[str, ...], int, str]] = [
    ((), 2, "--as"),
    (("--as", "y_out"), 2, "698 numbers a frame, expected 276"),
    (("--as", "y_uot"), 2, "'y_uot', expected some of"),
    (("--as", "x_raw,y_out", "-o", "out.xlsx"), 2, "a name ending in"),
    (("--as", "x_raw,y_out", "--mode", "teacher"), 0, ""),
]


@every_case("words, status, said", BARE)
def test_numbers_without_names_become_the_stages_that_are_said(
    command, recorded, stages, tmp_path, words, status, said
):
    """A log of bare numbers is common; its meaning must be said, never guessed."""
    with (tmp_path / "bare.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*x, *y] for x, y in zip(stages["x_raw"], stages["y_out"], strict=True)])
    out = tmp_path / "named.trace.jsonl"
    answer = command("convert", tmp_path / "bare.csv", *BUNDLE, "-o", out, *words)
    assert (answer.status, said in answer.err) == (status, True), answer.err
    if status == 0:
        assert command("diff", recorded, out, *BUNDLE, "--stage", "y_out").status == 0
    named_already = command("convert", recorded, *BUNDLE, "-o", out, "--as", "y_out")
    assert (named_already.status, "a file whose numbers have no names" in named_already.err) == (2, True)


def test_what_a_conversion_cannot_know_is_said(command, recorded, stages, tmp_path):
    """A converted file looks as sound as any other: that it was cut, or printed with six decimals, is only known here."""
    with (tmp_path / "six.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow([f"y_out[{place}]" for place in range(6 * BONES_OF_Y_OUT)])
        csv.writer(file).writerows([[f"{value:.6f}" for value in row] for row in stages["y_out"]])
    six = command("convert", tmp_path / "six.csv", *BUNDLE, "-o", tmp_path / "six.trace.jsonl")
    said = six.out + six.err
    assert (six.status, "the driver of the run is unknown" in said, "6 decimals" in said) == (0, True, True)
    (tmp_path / "cut.trace.jsonl").write_bytes(recorded.read_bytes()[:-100])
    answer = command("convert", tmp_path / "cut.trace.jsonl", "-o", tmp_path / "whole.trace.bin")
    assert "the recording is incomplete" in answer.out + answer.err


@refused("`--mode` that contradicts the recording", "exit 2")
def test_a_mode_that_the_recording_denies_is_refused(command, recorded):
    """A free run that is judged as a clip-driven one hides what it feeds back."""
    assert command("explain", recorded, *JUDGED, "--mode", "free").status == 2


@passes("arrays in `[[gate.trace]]` that do not say who drove the run: the project says it")
@pytest.mark.usefixtures("no_search")
def test_arrays_are_a_recording_of_the_gate(command, folder):
    """The project declares the mode; a guess beside it would be an alarm in every build."""
    frames = [line["stages"] for line in lines_of(folder / TRACE)]
    settings = (folder / "rigpact.toml").read_text(encoding="utf-8").replace(TRACE, "engine.npz")
    (folder / "rigpact.toml").write_text(settings, encoding="utf-8")
    for change, status in ((0.0, 0), (0.2, 1)):
        frames[7]["y_out"][100] += change
        arrays = {name: np.array([frame[name] for frame in frames], "f4") for name in frames[0]}
        np.savez(folder / "engine.npz", **arrays)
        assert command("gate").status == status
