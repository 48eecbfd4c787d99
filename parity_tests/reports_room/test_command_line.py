"""What all commands have in common: help, options, completion, -q, lists of files, further answers, colours, width."""

import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
import typer

from rigpact.fixtures import demo_robot
from rigpact.reports.command_line import application
from rigpact.reports.command_line.options import EXAMPLES
from rigpact.reports.terminal import counted, say_aside, tracked, working

from ..every_case import every_case
from .demo import DEMO

CONTRACT = "norm_template.json --companion pretrain_template.json"
DRIVEN = f"--contract {CONTRACT} clips/Sneak_Turn.json --onnx model.onnx --frames 2"
ROOT = typer.main.get_command(application())
COMMANDS = [(name,) for name in ROOT.commands] + [("neurarig", "serve")]
ESCAPE, SCREEN = "\x1b[", 46
"""SCREEN: lines of a terminal that a help may fill."""
CONVENTIONS = "--companion --conventions --operations --set"
JUDGED = f"{CONVENTIONS} --config --contract --onnx --report --html"
RUN = f"{CONVENTIONS} --config --contract --onnx --mode --engine --frames"
OPTIONS = {
    "demo": "--into --open --quiet",
    "init": "--builds-on --force --fps --from --onnx --operations --out --quiet --recording --status",
    "check": f"{JUDGED} --backend --each --expires --map --module --owner --quiet --reason --seed --strict --write-baseline",
    "diff": f"{JUDGED} --base --quiet --record --resolution --stage --state --strict --table --teacher --tolerance",
    "explain": f"{JUDGED} --allow-unjudged --budget --clip --deadline --fill --mode --patch --quiet --replay --resolution "
    "--segment",
    "nan": f"{JUDGED} --drift --engine --floor-contacts --frames --mode --perturb --quiet --replay",
    "run": f"{RUN} --floor-contacts --out --probe --quiet --replay --strict",
    "gate": "--base --config --html --only --operations --quiet --report --selftest --strict",
    "convert": f"{CONVENTIONS} --as --below --config --contract --episode --fps --mode --out --producer --quiet --segment --tick",
    "codegen": f"{CONVENTIONS} --headers --loop --namespace --onnx --out --quiet --stamp --unreal",
    "sweep": f"{RUN} --out --processes --quiet --strict",
    "show": f"{CONVENTIONS} --beside --onnx --write --write-contract",
}
"""Each command's options beside --format."""


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """A copy of the demo's files, the working directory."""
    shutil.copytree(DEMO, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")


def parameters():
    found = [(name, each) for name, command in ROOT.commands.items() if not command.hidden for each in command.params]
    return [(name, each) for name, each in found if not getattr(each, "hidden", False)]


def test_an_option_stands_in_the_table_and_has_the_same_words_in_every_command():
    """Two texts for one option read as two options. Where it takes another thing, its metavar says so."""
    found, texts = {}, {}
    for name, each in parameters():
        is_option = each.param_type_name == "option"
        if is_option:
            found.setdefault(name, set()).add(max(each.opts, key=len))
        key = each.opts[0] if is_option else "argument"
        texts.setdefault((key, each.metavar or ""), set()).add(each.help or "")
    assert found == {name: {"--format", *options.split()} for name, options in OPTIONS.items()}
    assert {key for key, said in texts.items() if len(said) > 1} == set()


@every_case("words", [(), *COMMANDS], ids=" ".join)
def test_help_is_found_by_the_word_alone_and_fits_one_screen_with_its_example(command, words):
    """Only the command that is asked for is built; nobody can type a command from a list of options alone."""
    short, long = command(*words, "-h"), command(*words, "--help")
    assert (short.status, short.out) == (0, long.out)
    assert short.out.startswith(" ".join(("Usage: rigpact", *words)))
    if len(words) == 1:
        assert [option for option in OPTIONS.get(words[0], "").split() if option not in short.out] == []
    shown, example = run_in_a_terminal([*words, "--help"], SCREEN, 80).splitlines(), EXAMPLES[" ".join(words)]
    last = [f"  Example: {example[0]}"] if len(example) == 1 else ["  Example:", *(f"    {line}" for line in example)]
    assert shown[-len(last) :] == last
    assert max(map(len, shown[: -len(last)])) <= 80
    assert len(shown) <= SCREEN


def test_the_whole_help_has_twelve_commands_on_half_a_screen(command, capfd):
    """It is built without the commands' options: nothing that it says may get lost, or shortened."""
    answer = command("--help")
    with pytest.raises(SystemExit):
        ROOT(args=["--help"], prog_name="rigpact")
    assert (answer.status, answer.out) == (0, capfd.readouterr().out)
    shown = run_in_a_terminal(["--help"], 24, 80)
    names = re.findall(r"^  (\w+)  +\S", shown.partition("Commands:")[2], re.MULTILINE)
    assert len(shown.splitlines()) <= 24
    assert sorted([*names, "neurarig"]) == sorted(ROOT.commands), "the plug-in of one system is left out"
    assert (len(names), names[:3]) == (12, ["demo", "init", "check"])
    assert "..." not in shown.partition("Commands:")[2]


COMPLETED = {
    "rigpact expl": "explain", "rigpact explain --allow": "--allow-unjudged", "rigpact show std-not": "std-not-positive",
    "rigpact show neu": "neurarig", "rigpact show ble": "blend", "rigpact show schema ga": "gate",
    "rigpact show RP10": "RP104", "rigpact run x --set compose_o": "compose_order=",
    "rigpact run x --set compose_order=p": "compose_order=prev_delta",
}  # fmt: skip


@every_case("typed", COMPLETED)
def test_a_shell_completes(capfd, monkeypatch, typed):
    """Nobody remembers 60 conventions."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_RIGPACT_COMPLETE": "complete_bash"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    capfd.readouterr()
    with pytest.raises(SystemExit):
        ROOT(args=[], prog_name="rigpact")
    assert COMPLETED[typed] in capfd.readouterr().out.split()


JUDGING = (
    "check norm_template.json clips/Run_F.json", "diff norm_template.json norm_template.json", f"nan {DRIVEN}",
    f"run {DRIVEN} -o run.trace.bin", f"diff kept.trace.bin kept.trace.bin --contract {CONTRACT}",
    f"explain kept.trace.bin --contract {CONTRACT}", "init --status", "gate --config least.toml",
    f"sweep {DRIVEN} --mode teacher --processes 1 -o swept",
)  # fmt: skip
WRITING = (
    "init --force", f"codegen {CONTRACT} -o contract.hpp", "convert kept.trace.bin -o kept.npz",
    "codegen norm_template.json --stamp model.onnx -o stamped.onnx",
)  # fmt: skip


def test_a_quiet_command_says_its_verdict_and_nothing_else(command, demo):
    """A script that runs fifty of them wants fifty lines; of a command that writes, its file is the answer."""
    assert command("run", *DRIVEN.split(), "-o", "kept.trace.bin").status == 0
    assert command("init").status == 0
    Path("least.toml").write_text('[gate]\nbundle = "norm_template.json"\nfree-run = false\n', encoding="utf-8")
    for words in map(str.split, JUDGING):
        loud, quiet = command(*words), command(*words, "-q")
        assert quiet.status == loud.status
        assert re.fullmatch(r"[A-Z]{4,}: .*\n", quiet.out), words
        assert quiet.out.split()[0] in loud.out
        assert command(*words, "--quiet", "--format", "json").out.startswith("{")
    for words in map(str.split, WRITING):
        answer = command(*words, "-q")
        assert (answer.status, answer.out[:5]) == (0, "READY" if words[0] == "init" else "")
    answer = command("check", "no_such.json", "-q")
    assert (answer.status, answer.err.count("\n")) == (2, 1), "silence after a spelling mistake looks like a pass"


def test_folders_and_patterns_name_files(command, demo):
    """Shells of Windows expand nothing. A folder that was moved must not turn a build green."""
    Path("package.json").write_text('{"name": "somebody else\'s"}', encoding="utf-8")
    Path("empty").mkdir()
    for words, count in (
        ("check .", 3), ("check norm_template.json clips", 4), ("check norm_template.json clips/*.json", 4),
        ("check **/*_template.json", 2), ("check --each clips", 3), ("check --each clips/R*.json", 1),
        ("check empty", None), ("check *.nothing", None), ("check --each empty", None),
    ):  # fmt: skip
        answer = command(*words.split(), "--format", "json")
        assert answer.status == (2 if count is None else 0), words
        assert count is None or len(json.loads(answer.out)["summary"]["files"]) == count
    for folder, count in (("clips", 4), ("empty", None)):
        settings = f'[gate]\nbundle = "norm_template.json"\nfree-run = false\nclips = ["{folder}"]\n'
        Path("rigpact.toml").write_text(settings, encoding="utf-8")
        gated = command("gate", "--format", "json")
        if count is None:
            assert gated.status == 2
        else:
            files = next(part for part in json.loads(gated.out)["parts"] if part["name"] == "files")
            assert len(files["summary"]["files"]) == count


def run_in_a_terminal(words, rows, columns, **environment):
    """What a command prints at a terminal of a size."""
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "rigpact.reports", *words], stdout=child, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, env={**plain(), "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # how Linux ends a terminal
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(main)
    return shown.decode("utf-8").replace("\r\n", "\n")


def plain():
    return {
        name: text for name, text in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    }


def test_a_terminal_gets_colours_and_its_width_unless_it_wants_none(demo):
    """An escape in a log, or none on a screen, makes the verdict hard to find; a table wider than it is torn."""
    words = ["check", "norm_template.json"]
    assert ESCAPE in run_in_a_terminal(words, 40, 100)
    assert ESCAPE not in run_in_a_terminal(words, 40, 100, NO_COLOR="1")
    assert ESCAPE not in run_in_a_terminal(words, 40, 100, TERM="dumb")
    for columns in (60, 100):
        shown = run_in_a_terminal(["show", "norm_template.json"], 400, columns, NO_COLOR="1").splitlines()
        table = shown[shown.index(next(line for line in shown if line.startswith("Stages"))) + 1 :][:12]
        assert max(map(len, table)) <= columns
    assert max(map(len, run_in_a_terminal(["check", "-h"], 40, 60).splitlines())) <= 60
    assert 80 < max(map(len, run_in_a_terminal(["check", "-h"], 40, 200).splitlines())) <= 120


@pytest.mark.parametrize(
    ("asked", "is_coloured"), [("", False), ("FORCE_COLOR", True), ("FORCE_COLOR NO_COLOR", False)]
)
def test_a_pipe_gets_colours_only_if_it_asks(demo, asked, is_coloured):
    """CI views show colours if asked; JSON with an escape in it is no JSON, and a bar that moves fills the log."""
    run = [sys.executable, "-m", "rigpact.reports", "check", "clips/Run_F.json", "--contract", *CONTRACT.split()]
    how = {"env": plain() | dict.fromkeys(asked.split(), "1"), "capture_output": True, "text": True}
    found = subprocess.run(run, check=False, **how)
    assert (ESCAPE in found.stdout, found.stderr) == (is_coloured, "")
    if is_coloured:
        assert ESCAPE not in subprocess.run([*run, "--format", "json"], check=False, **how).stdout


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self):
        return True


@every_case("is_watched", [True, False])
def test_progress_is_shown_to_people_alone(is_watched, monkeypatch):
    """A bar that moves fills the log of a build; a windowed program on Windows has no stderr at all."""
    stream = Terminal() if is_watched else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert list(tracked(range(300), "clips measured")) == list(range(300))
    with counted(3, "cells done") as advance:
        for _ in range(3):
            advance(1)
    with working("the compiler runs"):
        pass
    shown = stream.getvalue()
    assert [words in shown for words in ("clips measured", "cells done", "the compiler runs")] == [is_watched] * 3
    monkeypatch.setattr(sys, "stderr", None)
    say_aside("listening")


FINDINGS = {"demo", "diff", "explain"}
"""Their examples show a mistake: status 1."""


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=pytest.mark.nightly if words == "gate" else ()) for words in EXAMPLES if words[:8] != "neurarig"],
)  # fmt: skip
def test_the_example_of_a_help_works(command, tmp_path, monkeypatch, words):
    """The first thing that people do with an example is to paste it."""
    assert EXAMPLES[words][-1].startswith(f"rigpact {words}".rstrip())
    monkeypatch.chdir(tmp_path)
    *before, last = (line.split()[1:] for line in EXAMPLES[words])
    assert [command(*line).status for line in before] == [0] * len(before)
    answer = command(*last)
    assert (answer.status, bool(answer.out)) == (int(words in FINDINGS), True), answer.err


RO = "--contract ro/contract.toml"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Twelve frames of the demo robot and two files of arrays, the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ro").mkdir()
    for name in ("contract.toml", "policy.onnx"):
        shutil.copy(demo_robot() / name, "ro")
    lines = (demo_robot() / "run.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("run.csv").write_text("".join(lines[:13]), encoding="utf-8")
    joints = np.random.default_rng(0).normal(size=(20, 4))
    np.savez("a.npz", joints=joints)
    np.savez("b.npz", joints=joints[:, [1, 0, 2, 3]])


def test_a_file_holds_what_the_format_prints(command, here):
    """A build keeps the page and the JSON of the one run that it paid for."""
    kept = {"json": "kept", "markdown": "kept.md", "html": "kept.html", "text": "kept.txt"}
    asked = ("--report", "json=kept", "--report", "kept.md", "--html", "kept.html", "--report", "text=kept.txt")
    ro = f"run.csv {RO}"
    for typed in (f"explain {ro} --budget 1", f"diff run.csv {ro}", "diff a.npz b.npz", f"nan {ro}", "check ro"):
        printed = {name: command(*typed.split(), "--format", name) for name in kept}
        answer = command(*typed.split(), *asked, "-q")
        assert (answer.status, answer.out.count("\n")) == (printed["text"].status, 1), "the verdict alone"
        for name, file in kept.items():
            assert Path(file).read_text(encoding="utf-8") == printed[name].out, (typed, name)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(command, here):
    """An answer of ten minutes, and nowhere to put it."""
    for asked, says in (
        ("--report junit=a.xml", "'junit' is not one of 'text', 'json'"), ("--report a.dat", "found .dat"),
        ("--report a.md --html a.md", "a.md twice"), ("--html nowhere/a.html", "no folder"),
    ):  # fmt: skip
        answer = command(*f"nan run.csv {RO} {asked}".split())
        assert (answer.status, answer.out, says in answer.err) == (2, "", True), answer
    assert sorted(path.name for path in Path().iterdir()) == ["a.npz", "b.npz", "ro", "run.csv"]
