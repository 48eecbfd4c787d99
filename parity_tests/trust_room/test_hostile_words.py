"""Words of a file that nobody should believe, run or obey

Numbers with thousands of digits, names that give orders to a terminal or a build, modules that shadow rigpact's own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput

from .tiny_project import CONTRACT, rows, write_project
from .tried import refused

Run = Callable[..., Any]
DIGITS = "9" * 5000
BEYOND = "9" * 400
"""An integer that Python reads, and that no float holds."""
AXES = " ".join(f"{name}=(1,2,3)" for name in ("prevX", "prevZ", "deltaX", "deltaZ", "nextX", "nextZ"))
HOSTILE = "\n::error::x\x1b[31m<b>![i](http://h)@all"
FILES = {
    "deep.toml": ("show", "a=" + "[" * 5000 + "]" * 5000),
    "dotted.toml": ("show", ".".join(["a"] * 3000) + "=1"),
    "digits.toml": ("show", f"a={DIGITS}"),
    "digits.json": ("show", f'{{"MuX": {DIGITS}}}'),
    "deep.trace.jsonl": ("convert", '{"a":' * 1000 + "1" + "}" * 1000 + "\n"),
    "digits.log": ("explain", f"[DeltaCompose] frame={DIGITS} {AXES}\n"),
    "word.log": (
        "explain",
        "[DeltaCompose] frame=1 " + AXES.replace("3)", "1.#zz)") + "\n[Schema OK] X=1 Y=2 C=3 fps=1.2.3\n",
    ),
    "digits.csv": ("explain", f"frame,x_raw[{DIGITS}]\n0,1\n1,2\n"),
    "beyond.jsonl": ("explain", f'{{"frame": 0, "x_raw": [1, {BEYOND}]}}\n'),
    "beyond.trace.jsonl": (
        "convert",
        f'{{"format":"rigpact-trace","version":1,"fps":60,"mode":"teacher","stages":{{"x_raw":1}}}}\n'
        f'{{"frame":0,"time":{BEYOND},"stages":{{"x_raw":[1]}}}}\n',
    ),
    "value.trace.jsonl": (
        "convert",
        f'{{"format":"rigpact-trace","version":1,"fps":60,"mode":"teacher","stages":{{"x_raw":1}}}}\n'
        f'{{"frame":0,"time":0,"stages":{{"x_raw":[{BEYOND}]}}}}\n',
    ),
    "rate.trace.jsonl": (
        "convert",
        f'{{"format":"rigpact-trace","version":1,"fps":{BEYOND},"mode":"teacher","stages":{{"x_raw":1}}}}\n'
        '{"frame":0,"time":0,"stages":{"x_raw":[1]}}\n',
    ),
    "rate.json": ("run", f'{{"fps": {BEYOND}, "Frames": [{{}}, {{}}]}}'),
    "beyond.json": ("show", f'{{"MuX": [{BEYOND}]}}'),
    "teacher.json": ("run", '{"teacher": 3, "fps": 60}'),
    "rigpact.toml": ("gate", "[gate]\na=" + "[" * 5000 + "]" * 5000),
    "set.toml": ("conventions", "a=" + "[" * 5000 + "]" * 5000),
}


@pytest.fixture
def here(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's files, the working directory of the test."""
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx"):
        shutil.copy(demo_bundle / name, tmp_path / name)
    shutil.copy(demo_bundle / "clips" / "Sneak_Turn.json", tmp_path / "clip.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@refused(
    "numbers with 5000 digits, names in names without end, words where numbers stand: in JSON, TOML, traces, logs, settings",
    "exit 2 with one line, or a finding; never called a defect of rigpact",
)
@pytest.mark.parametrize("name", FILES)
def test_what_no_tool_writes_is_an_error_of_the_file(name: str, here: Path, command: Run) -> None:
    """Somebody would report a defect of rigpact, and look for it in rigpact, not in the file."""
    kind, text = FILES[name]
    (here / name).write_text(text, encoding="utf-8")
    words = {
        "show": ["show", name],
        "convert": ["convert", name, "-o", "out.trace.bin"],
        "explain": ["explain", name, "--contract", "norm_template.json"],
        "run": ["run", "--contract", "norm_template.json", "--onnx", "model.onnx", name, "-o", "out.trace.bin"],
        "gate": ["gate", "--config", name],
        "conventions": ["show", "norm_template.json", "--conventions", name],
    }[kind]

    answer = command(*words)

    assert answer.status in {1, 2}, answer
    assert "defect of rigpact" not in answer.err


@refused("a list where your own contract has a word", "exit 1 or 2 with the word's place")
@pytest.mark.parametrize(
    "word", ['direction = "forward"', 'to = "rot6d"', 'writes = "columns"', 'measure = "squared"', 'side = "below"']
)
def test_a_list_in_place_of_a_word(here: Path, checkout: Path, command: Run, word: str) -> None:
    """Somebody generates contracts, and a template leaves a list behind."""
    text = (checkout / "fixtures/contracts/humanml3d.toml").read_text(encoding="utf-8")
    key = word.partition(" ")[0]
    for wrong in ("[1]", "{ a = 1 }"):
        (here / "own.toml").write_text(text.replace(word, f"{key} = {wrong}", 1), encoding="utf-8")

        answer = command("check", "own.toml")

        assert answer.status in {1, 2}, answer
        assert key in answer.out + answer.err
        assert "defect of rigpact" not in answer.err


@refused("an array whose name holds half a character, to be written as a .npz", "exit 2 with the name")
def test_an_array_with_half_a_character_in_its_name(here: Path, command: Run) -> None:
    """What would be written under another name is found under none."""
    (here / "arrays.json").write_text('{"a\\ud800": [1.0, 2.0]}', encoding="utf-8")

    answer = command("convert", "arrays.json", "-o", "arrays.npz")

    assert (answer.status, answer.out) == (2, "")
    assert "an array named 'a\\ud800'" in answer.err


@refused("a model with a name that is not text", "exit 2: a damaged file")
def test_a_name_that_is_no_text_is_damage(here: Path, command: Run) -> None:
    """An exporter of a game wrote a name in the code page of its machine: which name it is nobody can say."""
    model = (here / "model.onnx").read_bytes()
    assert model.count(b"motion_pred")
    (here / "model.onnx").write_bytes(model.replace(b"motion_pred", b"motion_pr\xe8d"))

    answer = command("check", "norm_template.json", "--onnx", "model.onnx")

    assert (answer.status, "a name that is not text" in answer.err) == (2, True), answer


@refused('a file in place of the bundle: `bundle = "/etc/passwd"`', "exit 2; of its text one character is shown")
def test_an_error_shows_nothing_of_another_file(here: Path, command: Run) -> None:
    """A pull request could print the secrets of a build machine into a public log."""
    (here / "secret").write_text("password=hunter2 and more of it\n", encoding="utf-8")
    (here / "rigpact.toml").write_text('[gate]\nbundle = "secret"\n', encoding="utf-8")

    answer = command("gate")

    assert answer.status == 2
    assert "assword" not in answer.out + answer.err


@refused(
    "orders to a terminal, a build or a page in the name of a bone, a file or a recorder", "shown as text, never obeyed"
)
def test_names_are_shown_and_never_obeyed(here: Path, command: Run) -> None:
    """`::error::` in a bone's name would mark any line of a pull request; a picture in a record would call home."""
    text = (here / "norm_template.json").read_text(encoding="utf-8")
    (here / "named.json").write_text(text.replace('"spine_03"', json.dumps(f"spine_03{HOSTILE}")), encoding="utf-8")
    out = f"a{HOSTILE.replace('/', '')}.trace.jsonl"
    words = ["--onnx", "model.onnx", "clip.json", "--frames", "3"]

    said = [
        command("run", "--contract", "named.json", *words, "-o", out), command("convert", out, "-o", "b.trace.bin"),
        command("show", "named.json"), page := command("show", "named.json", "--format", "markdown"),
        command("diff", "norm_template.json", "named.json", "--record", "record.md"),
        command("diff", "norm_template.json", "named.json", "--record", f"{out}.md"),
    ]  # fmt: skip
    text = "".join(answer.out + answer.err for answer in said)

    assert [answer.status for answer in said] == [1, 0, 0, 0, 1, 1]
    assert "RP900" in said[0].out  # the clip has that bone under its plain name
    assert "\x1b" not in text
    assert "\n::error::" not in text
    for shown in (page.out, (here / "record.md").read_text(encoding="utf-8")):
        assert "spine_03" in shown
        assert not {"<b>", "](http", "@all"} & {word for word in ("<b>", "](http", "@all") if word in shown}


@refused("a module `numpy.py` in the folder that is judged, and `python -m rigpact.reports`", "it is not run")
def test_a_module_of_the_judged_folder_is_not_run(here: Path) -> None:
    """A pull request from a stranger would run its own program with the rights of the build."""
    (here / "numpy.py").write_text("print('run')\nraise SystemExit(0)\n", encoding="utf-8")
    words = [sys.executable, "-m", "rigpact.reports", "show", "norm_template.json"]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("run")


@refused("a `rigpact.py` or a folder `rigpact` that is judged, and `python -P -m rigpact.reports`", "it is not run")
@pytest.mark.parametrize("name", ["rigpact.py", "rigpact/__init__.py", "rigpact/reports/__init__.py"])
def test_a_module_named_rigpact_is_not_run(here: Path, name: str) -> None:
    """Without `-P` Python finds it before any line of rigpact runs; docs/security.md says so."""
    (here / name).parent.mkdir(parents=True, exist_ok=True)
    (here / name).write_text("print('run')\nraise SystemExit(0)\n", encoding="utf-8")
    words = [sys.executable, "-P", "-m", "rigpact.reports", "show", "norm_template.json"]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("run")


@refused("a standard error that is closed or full", "the exit status stays")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("ending", ["2>&-", "2>/dev/full", ">&- 2>&-"])
def test_an_error_that_nobody_can_read_changes_no_status(ending: str, here: Path) -> None:
    """Status 1 means findings: a script would take a missing file for a defect of the contract."""
    words = f"{sys.executable} -m rigpact.reports check missing.json {ending}"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert subprocess.run(["sh", "-c", words], cwd=here, check=False, env=buffered).returncode == 2


@refused("SIGTERM to a sweep in several processes, as a build that is cancelled sends it", "its processes end with it")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in /proc")
def test_the_processes_of_a_sweep_end_with_it(here: Path, demo_bundle: Path) -> None:
    """A build machine that cancels jobs fills with processes that wait for ever."""
    words = ["--contract", "norm_template.json", "--onnx", "model.onnx", str(demo_bundle / "clips"), "--mode", "both"]
    command = [sys.executable, "-m", "rigpact.reports", "sweep", *words, "-o", "swept", "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        journal = here / "swept" / "journal.jsonl"
        _wait_for(lambda: journal.exists() and journal.stat().st_size > 0)
        children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text(encoding="ascii").split()
        sweep.send_signal(signal.SIGTERM)
        sweep.wait(timeout=30)

    assert children
    _wait_for(lambda: not any(_lives(child) for child in children))


def _lives(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_for(is_so: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@refused("a name of a hundred thousand characters in a file", "the error is a line that fits a screen")
@pytest.mark.parametrize("name", ["long.toml", "long.json", "long.trace.jsonl"])
def test_an_error_stays_a_line(command: Run, tmp_path: Path, name: str) -> None:
    """A log of a build cuts its lines, and loses what stood behind; a terminal scrolls the answer away."""
    word = "k" * 100_000
    text = {
        "long.toml": f"[gate]\n{word} = 1\n",
        "long.json": f'{{"format": "{word}", "version": "{word}", "meta": "{word}"}}',
        "long.trace.jsonl": f'{{"format":"rigpact-trace","version":1,"mode":"{word}","{word}":1}}\n',
    }[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    words = {"long.toml": ("gate", "--config"), "long.json": ("show",), "long.trace.jsonl": ("convert",)}[name]
    more = ("-o", tmp_path / "out.trace.bin") if name == "long.trace.jsonl" else ()
    answer = command(*words, tmp_path / name, *more)
    assert answer.status == 2
    assert max(map(len, answer.err.splitlines())) < 4000


@refused("a key that stands twice in a YAML file", "exit 2 with line and column: no value wins in silence")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("mean: [1, 2]\nstd: [1, 1]\nmean: [3, 4]\n", ":3:1: found the key 'mean' twice, first in line 1"),
        ("a:\n  - {q: 1, q: 2}\n", ":2:12: found the key 'q' twice, first in line 2"),
        ("1: a\n0x1: b\n", ":2:1: found the key '0x1' twice, first in line 1"),
        ("!tag {a: 1, a: 2}\n", ":1:13: found the key 'a' twice"),
    ],
)
def test_a_yaml_key_stands_once(text: str, place: str) -> None:
    """The last one won: a reviewer reads the first statistics, and the character runs on the second."""
    with pytest.raises(UnusableInput) as caught:
        parse_yaml(text.encode(), "deploy.yaml")
    assert place in str(caught.value)


def test_yaml_that_merges_a_table_repeats_no_key() -> None:
    """An anchor that is merged and overridden is what anchors are for."""
    merged = "a: &sizes {b: 1, c: 2}\nd:\n  <<: *sizes\n  b: 3\n"
    assert parse_yaml(merged.encode(), "x") == {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}


@refused("a unit with control characters and a sign that turns the line, in every command's text", "shown escaped")
@pytest.mark.parametrize("words", [("explain", "--contract"), ("diff", "run.csv", "--contract"), ("show",), ("check",)])
def test_words_of_a_contract_steer_no_terminal(command: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The title of the window, or a verdict that reads the other way, was the contract's to choose."""
    write_project(tmp_path)
    hostile = r"rad\u001B]0;OWNED\u0007\u202E"
    (tmp_path / "contract.toml").write_text(
        CONTRACT.replace("highest = 5", f'highest = 5, unit = "{hostile}"'), encoding="utf-8"
    )
    (tmp_path / "run.csv").write_text(rows(most=50.0), encoding="utf-8")
    recording = [tmp_path / "run.csv"] if words[0] in ("explain", "diff") else []
    more = [tmp_path / word if word == "run.csv" else word for word in words[1:]]
    answer = command(words[0], *recording, *more, tmp_path / "contract.toml")
    assert answer.status in (0, 1)
    assert not set("\x1b\x07\u202e") & set(answer.out + answer.err)


@refused("Control-C while a compiled library loads", "exit 130, as everywhere; no word of a defect")
def test_an_interrupted_start_is_no_defect(command: Run, monkeypatch: pytest.MonkeyPatch, demo_bundle: Path) -> None:
    """The library says only that it cannot be loaded; the build was told of a defect of rigpact."""

    def interrupted(_: object) -> None:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr("rigpact.reports.checking.check.check_files", interrupted)
    answer = command("check", demo_bundle / "norm_template.json")
    assert (answer.status, answer.err) == (130, "")
