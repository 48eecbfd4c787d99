"""Outputs that would take the place of something else

A command that writes over its input, a device or a link destroys what nobody can make again. One module writes files.
"""

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .tried import passes, refused

Run = Callable[..., Any]
BUNDLE, COMPANION, MODEL, CLIP = "norm_template.json", "pretrain_template.json", "model.onnx", "clip.json"
ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes and symbolic links")
SHIPPED = ("contract", "reference_runtime", "fixtures", "reports")
MODES = {first + rest for first in ("w", "a", "x", "r+") for rest in ("", "b", "t", "+", "b+", "+b")}


def _writing(target: str) -> dict[str, list[str]]:
    return {
        "run": ["run", "--contract", BUNDLE, "--onnx", MODEL, CLIP, "--frames", "2", "-o", target],
        "codegen": ["codegen", BUNDLE, "-o", target],
        "gate": ["gate", "--report", f"json={target}"],
    }


def _configured(folder: Path) -> None:
    (folder / "rigpact.toml").write_text(f'[gate]\nbundle = "{BUNDLE}"\nmodel = "{MODEL}"\n', encoding="utf-8")


INPUTS = [("run", BUNDLE), ("run", CLIP), ("codegen", BUNDLE), ("gate", MODEL), ("gate", BUNDLE)]


@refused(
    "an output with the name of an input: `run -o bundle.json`, `--report json=model.onnx`", "exit 2; the file stays"
)
@pytest.mark.parametrize(("name", "target"), INPUTS)
def test_no_output_takes_the_place_of_an_input(name: str, target: str, here: Path, command: Run) -> None:
    """One slip of the hand, and the only copy of a trained model is a report."""
    _configured(here)
    before = (here / target).read_bytes()
    answer = command(*_writing(target)[name])
    assert answer.status == 2
    assert "a file that this command reads" in answer.err
    assert (here / target).read_bytes() == before


@refused("an output that is a named pipe, or a link to another file", "exit 2; neither is replaced")
@ON_POSIX
@pytest.mark.parametrize("name", ["run", "codegen", "gate"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_no_output_replaces_what_is_no_file(name: str, kind: str, here: Path, command: Run) -> None:
    """A pipe that a log shipper reads would be a file from then on, and a link in a pull request would name any file."""
    _configured(here)
    target, other = here / "out.json", here / "other.json"
    other.write_bytes(b"kept")
    if kind == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to(other)
    mode = target.lstat().st_mode
    answer = command(*_writing("out.json")[name])
    assert answer.status == 2
    assert f"out.json: found a {'named pipe' if kind == 'pipe' else 'symbolic link'}" in answer.err
    assert target.lstat().st_mode == mode
    assert other.read_bytes() == b"kept"


@refused("a disk that is full while headers are copied", "exit 2; the headers of before are whole")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_headers_are_all_copied_or_none(here: Path) -> None:
    """A header that ends in its middle compiles in the next build of somebody else, or not at all."""
    import resource
    import subprocess

    folder = here / "include" / "rigpact"
    folder.mkdir(parents=True)
    (folder / "runtime.hpp").write_bytes(b"// the header of before\n")
    code = (
        "import sys; from rigpact.reports.engine.codegen import copy_headers; import resource; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); copy_headers(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, here / "include"], capture_output=True, text=True, check=False)
    assert resource.RLIMIT_FSIZE is not None
    assert "a disk that refuses" in done.stderr
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == {"runtime.hpp": b"// the header of before\n"}


@passes("`codegen`, `run` and `breaking --record` a second time, onto their own outputs")
def test_an_output_of_before_is_replaced(here: Path, command: Run) -> None:
    """A build that makes its header each time must not ask for a new name each time."""
    for _ in range(2):
        assert command("codegen", BUNDLE, "-o", "made.hpp", "--headers", "include").status == 0
        assert (
            command("run", "--contract", BUNDLE, "--onnx", MODEL, CLIP, "--frames", "2", "-o", "a.trace.jsonl").status
            == 0
        )
    other = here / "other.json"
    other.write_text((here / BUNDLE).read_text(encoding="utf-8").replace('"pelvis"', '"hips"'), encoding="utf-8")
    (here / "record.md").write_text("# Change record\n", encoding="utf-8")
    assert command("diff", BUNDLE, other, "--record", "record.md").status == 1
    assert "hips" in (here / "record.md").read_text(encoding="utf-8")


def _called(node: ast.Call) -> tuple[str, str]:
    """The name of what is called, and of whose it is: `?` for an expression, nothing for a plain function."""
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return node.func.attr, owner.id if isinstance(owner, ast.Name) else "?"
    return getattr(node.func, "id", ""), ""
