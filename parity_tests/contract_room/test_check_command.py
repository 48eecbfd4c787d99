"""`rigpact check` from the outside: exit status, place, one line for what cannot be read, never a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reports.command_line import run_command_line


def checked(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command in this process: status, stdout, stderr."""
    status = run_command_line(["check", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_a_clean_character_passes(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A sound character must pass the gate."""
    paths = [document.path for document in sample.subject().documents]

    status, out, _ = checked(capsys, *paths)

    assert status == 0
    assert out.startswith("PASS: 0 errors, 0 warnings")


def test_a_finding_has_place_code_numbers_and_hint(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An animator must find the bone without opening a debugger."""
    sample.bundle["StdX"][12] = 0.0
    path = sample.write("bundle").path

    status, out, _ = checked(capsys, path)

    assert status == 1
    assert f"{path}#/StdX/12: RP104 error: StdX[12] = 0: a standard deviation must be > 0" in out
    assert "(BoneRotations6D, thigh_l)" in out
    assert "\n  hint: re-run the statistics" in out


def test_what_is_in_several_files_is_said_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One slip of an exporter filled a screen for each file that it wrote; numbers are plural where they are."""
    demo = demo_bundle()
    shutil.copy(demo / "norm_template.json", tmp_path)
    clip = json.loads((demo / "clips" / "Run_F.json").read_text(encoding="utf-8"))
    del clip["FPS"]
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps(clip), encoding="utf-8")

    status, out, _ = checked(capsys, *sorted(tmp_path.iterdir()))

    errors = [line for line in out.splitlines() if " error: " in line]
    assert (status, len(errors)) == (1, 1)
    assert f"{tmp_path / 'a.json'}" in errors[0]
    assert f"  also in {tmp_path / 'b.json'}, {tmp_path / 'c.json'}" in out.splitlines()
    assert out.splitlines()[-1].startswith("FAIL: 3 errors, 0 warnings, 0 info; ")


def test_strict_lets_a_warning_fail(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A nightly job may be stricter than an artist's desk."""
    del sample.bundle["fps"]
    path = sample.write("bundle").path

    assert checked(capsys, path)[0] == 0
    assert checked(capsys, path, "--strict")[0] == 1


def test_json_carries_the_same_verdict(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A build server reads this, not the text."""
    sample.bundle["StdX"][12] = 0.0
    path = sample.write("bundle").path

    status, out, _ = checked(capsys, path, "--format", "json")
    report = json.loads(out)

    assert (status, report["format"], report["verdict"]) == (1, "rigpact-findings", "fail")
    assert [(f["code"], f["pointer"]) for f in report["findings"]] == [("RP104", "/StdX/12"), ("RP131", "/s_eff_X/12")]
    assert report["summary"]["files"][0]["kind"] == "bundle"


UNREADABLE: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)),
    "truncated": b'{"MuX": [1.0, 2.0',
    "list": b"[1, 2]",
    "number": b"5",
    "unknown": b'{"hello": 1}',
    "deep": b'{"MuX":' + b"[" * 200 + b"]" * 200 + b"}",
    "very deep": b'{"MuX":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_one_line_and_status_two(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """A build that cannot judge must not look like a build that passed."""
    path = tmp_path / "file.json"
    path.write_bytes(content)

    status, out, err = checked(capsys, path)

    assert (status, out) == (2, "")
    assert err.startswith(f"rigpact: error: {path}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_missing_file_and_a_folder_are_told_apart(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong path is the commonest mistake of all."""
    status, _, err = checked(capsys, tmp_path / name)

    assert status == 2
    assert ("a directory" if name == "." else "an existing file") in err


def test_nothing_given_is_not_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """A glob that matches no file must not turn the gate green."""
    assert checked(capsys)[0] == 2


def test_two_bundles_are_refused(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """With two bundles it is unknown to which one the clips belong."""
    path = sample.write("bundle").path

    status, _, err = checked(capsys, path, path)

    assert status == 2
    assert "2 bundles" in err


def test_names_from_a_file_do_not_steer_the_terminal(sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A bone name is text from outside; an escape sequence in it must not clear the report above it."""
    sample.bundle["meta"]["bone_names"][1] = sample.bundle["meta"]["skeleton"]["bone_names"][1] = "\x1b[2Jthigh"
    sample.bundle["StdX"][12] = 0.0

    _, out, _ = checked(capsys, sample.write("bundle").path)

    assert "\x1b" not in out
    assert "x1b[2Jthigh" in out


def test_heavy_modules_wait_until_they_are_needed() -> None:
    """People do not use a `rigpact --help` that takes two seconds."""
    program = "import sys; import rigpact.reports.command_line.judging.check; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert not {"numpy", "onnxruntime", "pandas", "torch", "jsonschema"} & set(answer.stdout.split())
