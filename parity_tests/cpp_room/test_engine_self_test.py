"""SelfTestEngine() of the generated header: an engine's own loop, driven over seed, player and network answers of a free run."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.reports.command_line import run_command_line
from rigpact.reports.engine.cpp_text import headers_folder

from ..every_case import every_case
from .conftest import ENGINE_LIKE, ROOM, STRICT, compiled, ran

Files = tuple[Path, Path, Path]
Engine = Callable[..., tuple[int, int, str]]
BUNDLE, VECTORS, WIDTHS, CONVENTIONS, MODEL = 1, 64, 2, 32, 128


@pytest.fixture(scope="module")
def files(demo_bundle: Path) -> Files:
    """Bundle, companion and model of the demo."""
    return demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", demo_bundle / "model.onnx"


@pytest.fixture(scope="module")
def header(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with contract.hpp that knows all three files, and the loops of two engines that read something differently."""
    folder = tmp_path_factory.mktemp("engine")
    bundle, companion, model = map(str, files)
    given = ["codegen", bundle, "--companion", companion, "--onnx", model, "--loop"]
    for name, more in (
        ("contract", []),
        ("prev_delta", ["--namespace", "prev_delta", "--set", "compose_order=prev_delta"]),
        ("newest_first", ["--namespace", "newest_first", "--set", "pose_history_order=newest_first"]),
    ):
        assert run_command_line([*given, *more, "-o", str(folder / f"{name}.hpp")]) == 0
    return folder


@pytest.fixture(scope="module")
def engine(any_compiler: str, header: Path, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """(defect, *files) -> failed checks, stages compared, the first failure in words."""
    out = tmp_path_factory.mktemp("game") / "game"
    program = compiled(any_compiler, ROOM / "engine_self_test.cpp", out, "-O1", *ENGINE_LIKE, include=[header])

    def test(defect: str, *files: Path) -> tuple[int, int, str]:
        done = ran(program, *files, defect)
        assert done.returncode == 0, done.stderr
        numbers, words = done.stdout.splitlines()
        return int(numbers.split()[0]), int(numbers.split()[1]), words

    return test


DEFECTS = [
    ("other compose order", VECTORS, r"frame 0, next6d\[\d+\]: found \S+, expected \S+"),
    ("seeded in every frame", VECTORS, r"frame 1, x_raw\[\d+\]"),
    ("answer of the frame before", VECTORS, r"frame 1, y_norm\[0\]"),
    ("history newest first", VECTORS, r"frame [13], pose_hist_raw\[\d+\]"),
    ("a number short", WIDTHS, r"frame 0, quat\[0\]: found 183, expected 184"),
    ("gives nothing", VECTORS, r"frame 0, no stage was given\[0\]: found 0, expected 1"),
    ("companion not given", BUNDLE, r"SHA-256 of the companion: found no file, expected [0-9a-f]{64}"),
    ("conventions of another review", CONVENTIONS, r"SHA-256 of the conventions: found 0123, expected [0-9a-f]{64}"),
]


@every_case(("defect", "check", "words"), DEFECTS)
def test_a_defect_is_refused_at_start_and_said(
    engine: Engine, files: Files, defect: str, check: int, words: str
) -> None:
    """Otherwise the first to see a twitching character is a player. A right loop agrees: 15 stages in three frames."""
    assert engine("none", *files) == (0, 45, "agrees with the contract")
    failed, _, said = engine(defect, *files)
    assert failed & check
    assert re.match(words, said), said


@every_case(("place", "what", "check"), [(0, "bundle", BUNDLE), (1, "companion", BUNDLE), (2, "model", MODEL)])
def test_another_file_is_refused_with_both_hashes(
    engine: Engine, files: Files, tmp_path: Path, place: int, what: str, check: int
) -> None:
    """Who is woken by a failed start wants to know which file is which, without computing a hash."""
    other = tmp_path / files[place].name
    other.write_bytes(files[place].read_bytes() + b"\n")
    failed, _, said = engine("none", *files[:place], other, *files[place + 1 :])
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (other, files[place])]
    assert failed == check
    assert said == f"SHA-256 of the {what}: found {hashes[0]}, expected {hashes[1]}"


def test_the_lines_to_paste_hold_for_this_bundle_alone(
    any_compiler: str, files: Files, tmp_path: Path, command: Callable[..., Any]
) -> None:
    """Widths that an engine was written for must break the build, not the character."""
    answer = command("codegen", files[0], "--companion", files[1], "-o", tmp_path / "contract.hpp")
    lines = [line for line in answer.out.splitlines() if line.lstrip().startswith("static_assert(")]
    numbers = load_contract(files[0]).numbers
    assert len(lines) == 2 + len(numbers.state.slices) + len(numbers.output.slices)
    for source, fits in ((lines, True), ([line.replace(f" {numbers.state.width},", " 7,") for line in lines], False)):
        (tmp_path / "engine.cpp").write_text('#include "contract.hpp"\n' + "\n".join(source), encoding="utf-8")
        flags = [*STRICT, "-fsyntax-only", f"-I{headers_folder()}", f"-I{tmp_path}"]
        assert (ran(any_compiler, *flags, tmp_path / "engine.cpp").returncode == 0) == fits


def test_errors_of_the_bundle_are_said(files: Files, tmp_path: Path, command: Callable[..., Any]) -> None:
    """A header of a broken bundle compiles and agrees with itself."""
    document = json.loads(files[0].read_text(encoding="utf-8")) | {"fps": 0.5}
    (tmp_path / "norm_template.json").write_text(json.dumps(document), encoding="utf-8")
    out = tmp_path / "contract.hpp"
    said = command("codegen", tmp_path / "norm_template.json", "--companion", files[1], "-o", out)
    assert (said.status, out.is_file()) == (0, True)
    assert [word in said.err for word in ("error", "rigpact check")] == [True, True]
