"""`rigpact check` and `show RULE` from the outside: exit status, place, one line for what cannot be read, never a traceback."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.structure import check_against_schema
from rigpact.reports.describing.shown import rule_section

from ..every_case import every_case


def test_a_clean_character_passes(sample, command):
    """A sound character must pass the gate; with two bundles it is unknown to which one the clips belong."""
    paths = [document.path for document in sample.subject().documents]
    answer = command("check", *paths)
    assert answer.status == 0
    assert answer.out.startswith("PASS: 0 errors, 0 warnings")
    refused = command("check", paths[0], paths[0])
    assert (refused.status, "2 bundles" in refused.err) == (2, True)


def test_a_finding_has_place_code_numbers_and_hint(sample, command):
    """An animator must find the bone without a debugger, a build server the same verdict; names do not steer the terminal."""
    sample.bundle["meta"]["bone_names"][1] = sample.bundle["meta"]["skeleton"]["bone_names"][1] = "\x1b[2Jthigh"
    sample.bundle["StdX"][12] = 0.0
    path = sample.write("bundle").path
    answer = command("check", path)
    assert answer.status == 1
    assert f"{path}#/StdX/12: RP104 error: StdX[12] = 0: a standard deviation must be > 0" in answer.out
    assert "\n  hint: re-run the statistics" in answer.out
    assert ("\x1b" in answer.out, "x1b[2Jthigh" in answer.out) == (False, True)
    answer = command("check", path, "--format", "json")
    report = json.loads(answer.out)
    assert (answer.status, report["format"], report["verdict"]) == (1, "rigpact-findings", "fail")
    assert [(f["code"], f["pointer"]) for f in report["findings"]] == [("RP104", "/StdX/12"), ("RP131", "/s_eff_X/12")]
    assert report["summary"]["files"][0]["kind"] == "bundle"
    assert list(check_against_schema(report, "findings_report")) == []


def test_what_is_in_several_files_is_said_once(command, tmp_path, demo_bundle):
    """One slip of an exporter filled a screen for each file that it wrote; numbers are plural where they are."""
    shutil.copy(demo_bundle / "norm_template.json", tmp_path)
    clip = json.loads((demo_bundle / "clips" / "Run_F.json").read_text(encoding="utf-8"))
    del clip["FPS"]
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    for path in paths:
        path.write_text(json.dumps(clip), encoding="utf-8")
    answer = command("check", tmp_path / "norm_template.json", *paths)
    (error,) = [line for line in answer.out.splitlines() if " error: " in line]
    assert (answer.status, str(paths[0]) in error) == (1, True)
    assert f"  also in {paths[1]}, {paths[2]}" in answer.out.splitlines()
    assert answer.out.splitlines()[-1].startswith("FAIL: 3 errors, 0 warnings, 0 info; ")


def test_strict_lets_a_warning_fail(sample, command):
    """A nightly job may be stricter than an artist's desk."""
    del sample.bundle["fps"]
    path = sample.write("bundle").path
    assert (command("check", path).status, command("check", path, "--strict").status) == (0, 1)


@every_case(
    "content",
    [
        b"", bytes(range(256)), b'{"MuX": [1.0, 2.0', b"[1, 2]", b"5", b'{"hello": 1}',
        b'{"MuX":' + b"[" * 200 + b"]" * 200 + b"}", b'{"MuX":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda content: repr(content[:20]),
)  # fmt: skip
def test_what_cannot_be_read_is_one_line_and_status_two(tmp_path, content, command):
    """A build that cannot judge must not look like a build that passed."""
    path = tmp_path / "file.json"
    path.write_bytes(content)
    answer = command("check", path)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"rigpact: error: {path}")


def test_a_missing_file_a_folder_and_nothing_are_told_apart(tmp_path, command):
    """A wrong path is the commonest mistake of all; a glob that matches no file must not turn the gate green."""
    for words, said in (((tmp_path / "missing.json",), "an existing file"), ((tmp_path,), "a directory"), ((), "")):
        answer = command("check", *words)
        assert (answer.status, said in answer.err) == (2, True)


def test_heavy_modules_wait_until_they_are_needed():
    """People do not use a `rigpact --help` that takes two seconds; rules about graphs need no onnx."""
    program = (
        "import sys; sys.modules['onnx'] = None; import rigpact.reports.command_line.check; print(*sys.modules);"
        "import rigpact.contract.rules.catalogue, rigpact.contract.model.signature"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert not {"numpy", "onnxruntime", "pandas", "torch", "jsonschema"} & set(answer.stdout.split())


def test_a_rule_is_shown_by_code_and_by_name(command):
    """The rule's text must be readable in the terminal; the page is read by search, under the same four headings."""
    by_code = command("show", "rp104")
    assert (by_code.status, by_code.out) == (0, command("show", "std-not-positive").out)
    assert by_code.out.startswith("## RP104 std-not-positive\n")
    for code in ("RP002", "RP104"):  # the engine loads a file whose deviation is 0
        rows = json.loads(command("show", code, "--format", "json").out)["sections"][0]["rows"]
        assert ("engine" in dict(rows)) == (code == "RP002")
    headings = ["### What it does", "### Why it is bad", "### Example", "### How to fix"]
    for rule in ALL_RULES:
        assert [line for line in rule_section(rule).splitlines() if line.startswith("###")] == headings, rule.code


@pytest.mark.parametrize(
    ("word", "near"),
    [("RP10", "RP10"), ("RP999", "RP9"), ("std-not-postive", "std-not-positive"), ("x", "lists all names")],
)
def test_an_unknown_code_is_one_line_with_what_is_near(word, near, command):
    """A code is copied by hand from a build log."""
    answer = command("show", word)
    assert (answer.status, answer.out, answer.err.count("\n"), near in answer.err) == (2, "", 1, True)
