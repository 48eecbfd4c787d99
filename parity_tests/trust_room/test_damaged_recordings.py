"""Files that nobody should believe, run or obey

Numbers with thousands of digits, keys that stand twice, bytes after the end, words for a terminal, modules that shadow others.
"""

import json
import os
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import write_trace

from ..every_case import every_case
from ..measuring.fuzz.__main__ import fuzzed
from ..measuring.fuzz.readers import Reader, all_readers
from .recorded_demo import CONTRACT, recorded, wait_for
from .tiny_project import CONTRACT as TINY
from .tiny_project import rows, write_project
from .tried import passes, refused

Command = Callable[..., Any]
DIGITS, BEYOND, LONG, DEEP = "9" * 5000, "9" * 400, "k" * 100_000, "a=" + "[" * 5000 + "]" * 5000
"""Python reads an integer of 400 digits, and no float holds it."""
AXES = " ".join(f"{name}=(1,2,3)" for name in ("prevX", "prevZ", "deltaX", "deltaZ", "nextX", "nextZ"))
TRACE = (
    '{{"format":"rigpact-trace","version":1,"fps":{},"mode":"teacher","stages":{{"x_raw":1}}}}\n'
    '{{"frame":0,"time":{},"stages":{{"x_raw":[{}]}}}}\n'
)
SHOW, CONVERT, GATE, CONVENTIONS = (
    "show {}",
    "convert {} -o out.trace.bin",
    "gate --config {}",
    "show norm_template.json --conventions {}",
)
EXPLAIN = "explain {} --contract norm_template.json"
RUN = "run --contract norm_template.json --onnx model.onnx {} -o out.trace.bin"
FILES: dict[str, tuple[str, str, int, str]] = {
    # file: its text, the command, its exit status, and what the answer says beside the file's name
    "deep.toml": (DEEP, SHOW, 2, "nested"),
    "dotted.toml": (".".join(["a"] * 3000) + "=1", SHOW, 2, ""),
    "digits.toml": (f"a={DIGITS}", SHOW, 2, ""),
    "digits.json": (f'{{"MuX": {DIGITS}}}', SHOW, 2, ""),
    "deep.trace.jsonl": ('{"a":' * 1000 + "1" + "}" * 1000 + "\n", CONVERT, 2, ""),
    "digits.log": (f"[DeltaCompose] frame={DIGITS} {AXES}\n", EXPLAIN, 2, ""),
    "word.log": (f"[DeltaCompose] frame=1 {AXES.replace('3)', '1.#zz)')}\n[Schema OK] X=1 fps=1.2.3\n", EXPLAIN, 1, "not finite"),
    "digits.csv": (f"frame,x_raw[{DIGITS}]\n0,1\n1,2\n", EXPLAIN, 2, ""),
    "beyond.jsonl": (f'{{"frame": 0, "x_raw": [1, {BEYOND}]}}\n', EXPLAIN, 2, ""),
    "beyond.trace.jsonl": (TRACE.format(60, BEYOND, 1), CONVERT, 2, ""),
    "value.trace.jsonl": (TRACE.format(60, 0, BEYOND), CONVERT, 2, ""),
    "rate.trace.jsonl": (TRACE.format(BEYOND, 0, 1), CONVERT, 2, ""),
    "rate.json": (f'{{"fps": {BEYOND}, "Frames": [{{}}, {{}}]}}', RUN, 2, ""),
    "beyond.json": (f'{{"MuX": [{BEYOND}]}}', SHOW, 2, ""),
    "teacher.json": ('{"teacher": 3, "fps": 60}', RUN, 2, ""),
    "gate.toml": (f"[gate]\n{DEEP}", GATE, 2, ""),
    "set.toml": (DEEP, CONVENTIONS, 2, ""),
    "long.toml": (f"[gate]\n{LONG} = 1\n", GATE, 2, ""),
    "long.json": (f'{{"format": "{LONG}", "version": "{LONG}", "meta": "{LONG}"}}', SHOW, 2, ""),
    "long.trace.jsonl": (f'{{"format":"rigpact-trace","version":1,"mode":"{LONG}","{LONG}":1}}\n', CONVERT, 2, ""),
    "seven.trace.jsonl": (
        TRACE.replace("x_raw", "y_out").replace('"y_out":1', '"y_out":7').format(60, 0, "1, 0, 0, 0, 1, 0, 0"),
        "diff {} {}", 2, "#/stages/y_out: found 7 numbers, expected 6 for each bone",
    ),
    "table.csv": ("\x1b[31my_out[0]\n1\n", EXPLAIN, 2, "expected"),
    "rows.json": ("[[1, 2], [3, 4]]", EXPLAIN, 2, "--as"),
    "twice.json": ('{"y_out": [[1, 2]], "y_out": [[1, 2]]}', EXPLAIN, 2, "twice"),
    "half.json": ('{"a\\ud800": [1.0, 2.0]}', "convert {} -o arrays.npz", 2, "an array named 'a\\ud800'"),
    "secret": ("password=hunter2 and more of it\n", "check {}", 2, ""),
}  # fmt: skip


@refused(
    "numbers with 5000 digits, names in names without end, words where numbers stand, names of a hundred thousand "
    "characters, half a character, an escape, keys that stand twice, a file of another program: in JSON, TOML, traces, logs, "
    "settings",
    "exit 2 with one line that fits a screen; never called a defect of rigpact",
)
@every_case("name", FILES)
def test_what_no_tool_writes_is_an_error_of_the_file(name, here, command):
    """Somebody would report a defect of rigpact, and look for it in rigpact, not in the file."""
    text, words, status, said = FILES[name]
    (here / name).write_text(text, encoding="utf-8")
    answer = command(*words.format(name, name).split())
    shown = answer.out + answer.err
    assert (answer.status, said in shown, name in shown or status == 1) == (status, True, True), shown[:500]
    assert max(map(len, shown.splitlines())) < 4000
    assert not {word for word in ("defect of rigpact", "assword", "\x1b") if word in shown}


WORDS = ['direction = "forward"', 'to = "rot6d"', 'writes = "columns"', 'measure = "squared"', 'side = "below"']


@refused("a list where your own contract has a word", "exit 1 or 2 with the word's place")
@every_case("wrong", ["[1]", "{ a = 1 }"])
@every_case("word", WORDS)
def test_a_list_in_place_of_a_word(here, checkout, command, word, wrong):
    """Somebody generates contracts, and a template leaves a list behind."""
    text, key = (checkout / "fixtures/contracts/humanml3d.toml").read_text(encoding="utf-8"), word.partition(" ")[0]
    assert word in text
    (here / "own.toml").write_text(text.replace(word, f"{key} = {wrong}", 1), encoding="utf-8")
    answer = command("check", "own.toml")
    assert answer.status in {1, 2}, answer
    assert key in answer.out + answer.err
    assert "defect of rigpact" not in answer.err


@refused("a model with a name that is not text", "exit 2: a damaged file")
def test_a_name_that_is_no_text_is_damage(here, command):
    """An exporter of a game wrote a name in the code page of its machine: which name it is nobody can say."""
    model = (here / "model.onnx").read_bytes()
    assert model.count(b"motion_pred")
    (here / "model.onnx").write_bytes(model.replace(b"motion_pred", b"motion_pr\xe8d"))
    answer = command("check", "norm_template.json", "--onnx", "model.onnx")
    assert (answer.status, "a name that is not text" in answer.err) == (2, True), answer


def tensors_header(content: bytes, old: str, new: str) -> bytes:
    """A safetensors file with another header."""
    size = struct.unpack("<Q", content[:8])[0]
    text = content[8 : 8 + size].decode().replace(old, new, 1).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a key twice in the header": (".jsonl", lambda held: held.replace(b'"fps":60.0', b'"fps":30.0,"fps":60.0', 1)),
    "zeros after the last line": (".jsonl", lambda held: held + b"\0" * 64),
    "bytes after a gz stream": (".jsonl.gz", lambda held: held + b"abc"),
    "bytes after the tensors": (".safetensors", lambda held: held + b"abc"),
    "a key twice in the tensors' header": (
        ".safetensors", lambda held: tensors_header(held, '"frame":', '"frame":null,"frame":')
    ),
    "a hole between tensors": (".safetensors", lambda held: tensors_header(held + b"\0" * 8, "", "")),
}  # fmt: skip


@refused(
    "damaged recordings: keys that stand twice, bytes after the end, tensors that the library refuses",
    "every command: exit 2, the place",
)
@every_case("what", DAMAGES)
def test_damage_is_an_error(folder, command, what):
    """Two parsers read a damaged text differently; the numbers that one happens to read pass as the engine's."""
    ending, damage = DAMAGES[what]
    write_trace(recorded(), f"whole.trace{ending}")
    content = Path(f"whole.trace{ending}").read_bytes()
    damaged = f"damaged.trace{ending}"
    Path(damaged).write_bytes(damage(content))
    assert damage(content) != content
    answer = command("diff", "right.trace.jsonl", damaged, *CONTRACT)
    assert (answer.status, answer.out, damaged in answer.err) == (2, "", True)


@passes("a byte order mark before the header, Windows line ends, empty lines, keys with a space before the colon")
def test_text_as_windows_writes_it_is_no_damage(folder, command):
    """A text editor saved it; every number is still there."""
    text = Path("right.trace.jsonl").read_text(encoding="utf-8").replace('"frame":', '"frame" : ')
    Path("windows.trace.jsonl").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n\r\n").encode())
    answer = command("diff", "right.trace.jsonl", "windows.trace.jsonl", *CONTRACT, "--strict", "--format", "json")
    assert (answer.status, json.loads(answer.out)["findings"]) == (0, [])


TWICE = {
    "mean: [1, 2]\nstd: [1, 1]\nmean: [3, 4]\n": ":3:1: found the key 'mean' twice, first in line 1",
    "a:\n  - {q: 1, q: 2}\n": ":2:12: found the key 'q' twice, first in line 2",
    "1: a\n0x1: b\n": ":2:1: found the key '0x1' twice, first in line 1",
    "!tag {a: 1, a: 2}\n": ":1:13: found the key 'a' twice",
    "? [a]\n: 1\nb: 2\nb: 3\n": ":4:1: found the key 'b' twice",
    "c: {q: 1, q: 2}\na: &x [1]\nb: *x\n": ":1:11: found the key 'q' twice",
}


@refused("a key that stands twice in a YAML file", "exit 2 with line and column: no value wins in silence")
@every_case("text", TWICE)
def test_a_yaml_key_stands_once(text):
    """The last one won: a reviewer reads the first statistics, and the character runs on the second."""
    with pytest.raises(UnusableInput) as caught:
        parse_yaml(text.encode(), "deploy.yaml")
    assert TWICE[text] in str(caught.value)
    merged = (
        "a: &sizes {b: 1, c: 2}\nd:\n  <<: *sizes\n  b: 3\n"  # an anchor that is merged and overridden repeats none
    )
    assert parse_yaml(merged.encode(), "x") == {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}


HOSTILE = "\n::error::x\x1b[31m<b>![i](http://h)@all"


@refused(
    "orders to a terminal, a build or a page in the name of a bone, a file or a recorder", "shown as text, never obeyed"
)
def test_names_are_shown_and_never_obeyed(here, command):
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
    assert ("\x1b" in text, "\n::error::" in text) == (False, False)
    for shown in (page.out, (here / "record.md").read_text(encoding="utf-8")):
        assert "spine_03" in shown
        assert not {word for word in ("<b>", "](http", "@all") if word in shown}


@refused("a unit with control characters and a sign that turns the line, in every command's text", "shown escaped")
@every_case("words", ["explain run.csv --contract", "diff run.csv run.csv --contract", "show", "check"])
def test_words_of_a_contract_steer_no_terminal(command, tmp_path, monkeypatch, words):
    """The title of the window, or a verdict that reads the other way, was the contract's to choose."""
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    hostile = r'highest = 5, unit = "rad\u001B]0;OWNED\u0007\u202E"'
    Path("contract.toml").write_text(TINY.replace("highest = 5", hostile), encoding="utf-8")
    Path("run.csv").write_text(rows(most=50.0), encoding="utf-8")
    answer = command(*words.split(), "contract.toml")
    assert answer.status in (0, 1)
    assert not set("\x1b\x07\u202e") & set(answer.out + answer.err)


@refused(
    "a `numpy.py`, a `rigpact.py` or a folder `rigpact` that is judged, and `python -P -m rigpact.reports`",
    "it is not run",
)
@pytest.mark.parametrize("name", ["numpy.py", "rigpact.py", "rigpact/__init__.py"])
def test_a_module_of_the_judged_folder_is_not_run(here, name):
    """A pull request from a stranger would run its own program with the rights of the build; docs/security.md says -P."""
    (here / name).parent.mkdir(parents=True, exist_ok=True)
    (here / name).write_text("print('run')\nraise SystemExit(0)\n", encoding="utf-8")
    safe = [] if name == "numpy.py" else ["-P"]
    words = [sys.executable, *safe, "-m", "rigpact.reports", "show", "norm_template.json"]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("run")) == (0, False), done.stderr


@refused("a standard error that is closed or full", "the exit status stays")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full: what nobody can read is not tried")
@pytest.mark.parametrize("ending", ["2>/dev/full", ">&- 2>&-"])
def test_an_error_that_nobody_can_read_changes_no_status(ending, here):
    """Status 1 means findings: a script would take a missing file for a defect of the contract."""
    words = f"{shlex.quote(sys.executable)} -m rigpact.reports check missing.json {ending}"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert subprocess.run(["sh", "-c", words], cwd=here, check=False, env=buffered).returncode == 2


@refused("Control-C while a compiled library loads", "exit 130, as everywhere; no word of a defect")
def test_an_interrupted_start_is_no_defect(command, monkeypatch, here):
    """The library says only that it cannot be loaded; the build was told of a defect of rigpact."""

    def interrupted(_: object) -> None:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr("rigpact.reports.checking.check.check_files", interrupted)
    answer = command("check", "norm_template.json")
    assert (answer.status, answer.err) == (130, "")


@refused("SIGTERM to a sweep in several processes, as a build that is cancelled sends it", "its processes end with it")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in /proc")
def test_the_processes_of_a_sweep_end_with_it(here, demo_bundle):
    """A build machine that cancels jobs fills with processes that wait for ever."""
    words = ["--contract", "norm_template.json", "--onnx", "model.onnx", str(demo_bundle / "clips"), "--mode", "both"]
    command = [sys.executable, "-m", "rigpact.reports", "sweep", *words, "-o", "swept", "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        journal = here / "swept" / "journal.jsonl"
        wait_for(lambda: journal.exists() and journal.stat().st_size > 0)
        children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text(encoding="ascii").split()
        sweep.send_signal(signal.SIGTERM)
        sweep.wait(timeout=30)
    assert children
    wait_for(lambda: not any(_lives(child) for child in children))


def _lives(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


NAMES = (
    "bundle", "companion", "clip", "teacher batch", "prediction", "trace .jsonl", "trace .jsonl.gz", "trace .jsonl.zst",
    "trace .bin", "trace .safetensors", "table .csv", "table .npz", "table .json", "evidence", "pasted log",
    "explained log", "ONNX model", "model compared", "configuration", "conventions", "known findings", "numbers",
    "declared contract", "importers", "configurations", "folders", "other formats", "segments", "datagrams",
)  # fmt: skip
EXECUTIONS, SEED = 12, 20
"""Together ten seconds; another seed than that of the page."""


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Reader, Path]]:
    """Every reader by its name, with the folder of its files."""
    folder = tmp_path_factory.mktemp("fuzz")
    return {reader.name: (reader, folder) for reader in all_readers(folder)}


def test_every_reader_is_fuzzed(readers):
    """A reader that nobody lists is one that nobody tries."""
    assert tuple(readers) == NAMES


@pytest.mark.sampled(3)
@passes("the files from which the fuzzer starts, as they are", "read without an error")
@pytest.mark.parametrize("name", NAMES)
def test_every_seed_is_sound(name, readers):
    """From a file that is refused at its first line, a fuzzer never gets to the second."""
    reader, folder = readers[name]
    assert reader.seeds
    for seed in reader.seeds:
        path = folder / seed.name
        path.write_bytes(seed.content)
        try:
            reader.read(path)
        except UnusableInput as error:
            pytest.fail(f"{seed.name}: {error}")


@pytest.mark.sampled(2)
@refused(
    "bytes flipped, cut, repeated and swapped, hostile words and numbers, in every kind of file", "a value, or exit 2"
)
@pytest.mark.parametrize("name", NAMES)
def test_no_file_crashes_or_hangs_a_reader(name, readers):
    """A crash is called a defect of rigpact; a hang takes the build machine until its time is over."""
    executions = 2 if name == "explained log" else EXECUTIONS  # of those that search for causes, one takes a second
    count = fuzzed(*readers[name], SEED, range(executions))
    assert count.places == {}
    assert (count.executions, count.crashes, count.hangs) == (executions, 0, 0)
