"""What all commands have in common: help, completion, -q, lists of files, the words of options, colours, width."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from rigpact.fixtures import demo_bundle
from rigpact.reports.command_line import application
from rigpact.reports.command_line.examples import EXAMPLES

from ..every_case import every_case

Command = Callable[..., Any]
CONTRACT = ("norm_template.json", "--companion", "pretrain_template.json")
DRIVEN = ("clips/Sneak_Turn.json", "--onnx", "model.onnx", "--frames", "12")
ROOT = typer.main.get_command(application())
COMMANDS = [(name,) for name in ROOT.commands] + [("neurarig", "serve")]  # type: ignore[attr-defined]
ESCAPE = "\x1b["
SCREEN = 46
"""Lines of a terminal that a help may fill."""


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the demo's files, the working directory."""
    shutil.copytree(demo_bundle(), tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    return tmp_path / "demo"


@every_case("words", [(), *COMMANDS], ids=" ".join)
def test_help_has_a_short_name_everywhere(command: Command, words: tuple[str, ...]) -> None:
    """`-h` is what fingers type; on some commands it was an error."""
    short, long = command(*words, "-h"), command(*words, "--help")
    assert (short.status, short.out) == (0, long.out)
    assert "Usage: rigpact" in short.out


def options_of(words: tuple[str, ...]) -> dict[str, str]:
    """The options of a command with their metavars."""
    found: Any = ROOT
    for word in words:
        found = found.commands[word]
    return {
        name: param.metavar or ""
        for param in found.params
        for name in param.opts
        if not getattr(param, "hidden", False)
    }


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_the_help_of_all_commands_is_that_of_the_whole_command_line(
    command: Command, capfd: pytest.CaptureFixture[str], word: str
) -> None:
    """It is built without the commands' options, which takes half of the time; nothing that it says may get lost."""
    answer = command(word)
    with pytest.raises(SystemExit):
        ROOT(args=[word], prog_name="rigpact")
    assert (answer.status, answer.out) == (0, capfd.readouterr().out)


def test_every_command_is_found_by_its_word_alone(command: Command) -> None:
    """Only the command that is asked for is built: one that is not found would be a spelling mistake."""
    for name in ROOT.commands:  # type: ignore[attr-defined]
        answer = command(name, "--help")
        assert (answer.status, answer.out.split(" [OPTIONS]")[0]) == (0, f"Usage: rigpact {name}")
        assert all(option in answer.out for option in options_of((name,)) if option.startswith("--"))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("rigpact expl", "explain"),
        ("rigpact explain --allow", "--allow-unjudged"),
        ("rigpact show RP10", "RP104"),
        ("rigpact show std-not", "std-not-positive"),
        ("rigpact show neu", "neurarig"),
        ("rigpact show ble", "blend"),
        ("rigpact show schema ga", "gate"),
        ("rigpact run x --set compose_o", "compose_order="),
        ("rigpact run x --set compose_order=p", "compose_order=prev_delta"),
    ],
)
def test_a_shell_completes(typed: str, offered: str) -> None:
    """Nobody remembers 60 conventions."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_RIGPACT_COMPLETE": "complete_bash"}
    found = subprocess.run(
        [sys.executable, "-c", "from rigpact.reports.command_line import main; main()"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered in found.stdout.split()


JUDGING: dict[str, tuple[object, ...]] = {
    "check": ("check", "norm_template.json", "clips/Run_F.json"),
    "diff contracts": ("diff", "norm_template.json", "norm_template.json"),
    "run": ("run", "--contract", *CONTRACT, *DRIVEN, "-o", "run.trace.bin"),
    "diff": ("diff", "kept.trace.bin", "kept.trace.bin", "--contract", *CONTRACT),
    "explain": ("explain", "kept.trace.bin", "--contract", *CONTRACT),
    "nan": ("nan", "--contract", *CONTRACT, *DRIVEN),
    "init --status": ("init", "--status"),
    "gate": ("gate",),
    "sweep": ("sweep", "--contract", *CONTRACT, *DRIVEN, "--mode", "teacher", "--processes", 1, "-o", "swept"),
}


@pytest.mark.parametrize("name", JUDGING)
def test_a_quiet_command_says_its_verdict_and_nothing_else(command: Command, demo: Path, name: str) -> None:
    """A script that runs fifty of them wants fifty lines."""
    if "kept.trace.bin" in JUDGING[name]:
        assert command("run", "--contract", *CONTRACT, *DRIVEN, "-o", "kept.trace.bin").status == 0
    if name in ("init --status", "gate"):
        assert command("init").status == 0
    loud, quiet = command(*JUDGING[name]), command(*JUDGING[name], "-q")
    assert quiet.status == loud.status
    assert re.fullmatch(r"[A-Z]{4,}: .*\n", quiet.out)
    assert quiet.out.split()[0] in loud.out
    assert command(*JUDGING[name], "--quiet", "--format", "json").out.startswith("{")


@pytest.mark.parametrize(
    "words",
    [
        ("init", "--force"), ("codegen", *CONTRACT, "-o", "contract.hpp"), ("convert", "kept.trace.bin", "-o", "kept.npz"),
        ("codegen", "norm_template.json", "--stamp", "model.onnx", "-o", "stamped.onnx"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_quiet_command_that_writes_says_nothing(command: Command, demo: Path, words: tuple[str, ...]) -> None:
    """Its file is the answer; what can be judged of a new project is its verdict."""
    assert command("run", "--contract", *CONTRACT, *DRIVEN, "-o", "kept.trace.bin").status == 0
    answer = command(*words, "-q")
    assert answer.status == 0
    assert answer.out == "" if words[0] != "init" else answer.out.startswith("READY")


def test_a_quiet_command_still_says_what_is_wrong_with_its_words(command: Command) -> None:
    """Silence after a spelling mistake looks like a pass."""
    answer = command("check", "no_such.json", "-q")
    assert (answer.status, answer.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("check", "."), 3), (("check", "norm_template.json", "clips"), 4), (("check", "norm_template.json", "clips/*.json"), 4),
        (("check", "**/*_template.json"), 2), (("check", "--each", "clips"), 3), (("check", "--each", "clips/R*.json"), 1),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)  # fmt: skip
def test_folders_and_patterns_name_files(command: Command, demo: Path, words: tuple[str, ...], count: int) -> None:
    """Shells of Windows expand nothing, and a quoted pattern reaches rigpact as it is."""
    Path("package.json").write_text('{"name": "somebody else\'s"}', encoding="utf-8")
    answer = command(*words, "--format", "json")
    assert answer.status == 0, answer.err
    assert len(json.loads(answer.out)["summary"]["files"]) == count


def test_a_folder_of_clips_is_a_list_of_clips(command: Command, demo: Path) -> None:
    """In the gate's settings."""
    settings = '[gate]\nbundle = "norm_template.json"\nfree-run = false\nclips = ["clips"]\n'
    Path("rigpact.toml").write_text(settings, encoding="utf-8")
    gated = json.loads(command("gate", "--format", "json").out)
    files = next(part for part in gated["parts"] if part["name"] == "files")
    assert len(files["summary"]["files"]) == 1 + 3
    Path("empty").mkdir()
    Path("rigpact.toml").write_text(settings.replace('"clips"]', '"empty"]'), encoding="utf-8")
    assert command("gate").status == 2


@pytest.mark.parametrize("words", [("check", "empty"), ("check", "*.nothing"), ("check", "--each", "empty")])
def test_a_word_that_names_no_file_is_no_pass(command: Command, demo: Path, words: tuple[str, ...]) -> None:
    """A folder that was moved must not turn a build green."""
    Path("empty").mkdir()
    assert command(*words).status == 2


def test_the_verdict_stands_once_as_the_last_line(command: Command, demo: Path) -> None:
    """Who opens a log looks at its end; the same line at both ends reads as two answers."""
    Path("rigpact.toml").write_text('[gate]\nbundle = "norm_template.json"\n', encoding="utf-8")
    long = command("gate", "--selftest", "--only", "bundle").out.splitlines()
    assert len(long) > 40
    assert [line for line in long if "planted defects caught" in line] == [long[-1]]


def run_in_a_terminal(words: list[str], rows: int, columns: int, **environment: str) -> str:
    """What a command prints at a terminal of a size."""
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    own = {
        name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "rigpact.reports", *words], stdout=child, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, env={**own, "TERM": "xterm-256color", **environment},
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


def test_a_terminal_gets_colours_unless_it_wants_none(demo: Path) -> None:
    """An escape in a log, or none on a screen, makes the verdict hard to find."""
    words = ["check", "norm_template.json"]
    assert ESCAPE in run_in_a_terminal(words, 40, 100)
    assert ESCAPE not in run_in_a_terminal(words, 40, 100, NO_COLOR="1")
    assert ESCAPE not in run_in_a_terminal(words, 40, 100, TERM="dumb")


@pytest.mark.parametrize(
    ("environment", "is_coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_pipe_gets_colours_only_if_it_asks(demo: Path, environment: dict[str, str], is_coloured: bool) -> None:
    """CI views show colours if asked; JSON with an escape in it is no JSON, and a bar that moves fills the log."""
    own = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    run = [sys.executable, "-m", "rigpact.reports", "check", "clips/Run_F.json", "--contract", *CONTRACT]
    found = subprocess.run(run, env={**own, **environment}, capture_output=True, text=True, check=False)
    assert (ESCAPE in found.stdout, found.stderr) == (is_coloured, "")
    if is_coloured:
        as_json = subprocess.run(
            [*run, "--format", "json"], env={**own, **environment}, capture_output=True, text=True, check=False
        )
        assert ESCAPE not in as_json.stdout


@pytest.mark.parametrize("columns", [60, 100])
def test_help_and_tables_fit_the_terminal(demo: Path, columns: int) -> None:
    """A table that is wider than the screen is torn into a puzzle."""
    assert max(map(len, run_in_a_terminal(["check", "-h"], 40, columns).splitlines())) <= columns
    wide = max(map(len, run_in_a_terminal(["check", "-h"], 40, 200).splitlines()))
    assert 80 < wide <= 120
    shown = run_in_a_terminal(["show", "norm_template.json"], 400, columns, NO_COLOR="1").splitlines()
    table = shown[shown.index(next(line for line in shown if line.startswith("Stages"))) + 1 :][:12]
    assert max(map(len, table)) <= columns


def test_the_help_has_twelve_commands_on_half_a_screen_and_shortens_no_sentence() -> None:
    """Twenty-seven commands in a heap, their sentences cut: nobody finds the one to begin with."""
    shown = run_in_a_terminal(["--help"], 24, 80)
    assert len(shown.splitlines()) <= 24
    names = re.findall(r"^  (\w+)  +\S", shown.partition("Commands:")[2], re.MULTILINE)
    assert sorted([*names, "neurarig"]) == sorted(ROOT.commands), "the plug-in of one system is left out"  # type: ignore[attr-defined]
    assert (len(names), names[:3]) == (12, ["demo", "init", "check"])
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=" ".join)
def test_every_help_is_one_screen_that_ends_with_an_example(words: tuple[str, ...]) -> None:
    """What scrolls out of the screen is not read, and nobody can type a command from a list of options alone."""
    shown = run_in_a_terminal([*words, "--help"], SCREEN, 80).splitlines()
    example = EXAMPLES[" ".join(words)]
    last = [f"  Example: {example[0]}"] if len(example) == 1 else ["  Example:", *(f"    {line}" for line in example)]
    assert shown[-len(last) :] == last
    assert max(map(len, shown[: -len(last)])) <= 80
    assert len(shown) <= SCREEN, "\n".join(shown)


def test_every_command_has_its_example() -> None:
    """An example of a command that was renamed is a trap."""
    assert set(EXAMPLES) == {"", *(" ".join(words) for words in COMMANDS)}
    assert all(lines[-1].startswith(f"rigpact {words}".rstrip()) for words, lines in EXAMPLES.items())


SLOW = {"gate"}
ALONE = [
    pytest.param(words, marks=pytest.mark.nightly if words in SLOW else ())
    for words in EXAMPLES
    if not words.startswith("neurarig")
]
FINDINGS = {"demo", "diff", "explain"}
"""Their examples show a mistake: status 1."""


@pytest.mark.parametrize("words", ALONE)
def test_the_example_of_a_help_works(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """The first thing that people do with an example is to paste it."""
    monkeypatch.chdir(tmp_path)
    *before, last = (line.split()[1:] for line in EXAMPLES[words])
    assert [command(*line).status for line in before] == [0] * len(before)
    answer = command(*last)
    assert answer.status == (1 if words in FINDINGS else 0), answer.err
    assert answer.out
