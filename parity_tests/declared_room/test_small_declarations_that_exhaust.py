"""Declarations of a few kilobytes that would fill the memory, or never end: the limit comes before the allocation."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ..every_case import every_case

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory")
MEMORY_BYTES, SECONDS = 3 << 30, 20
"""Numpy and its threads reserve about one gigabyte of addresses; of processor time, a start takes one second."""
HEAD = """format = "rigpact-contract"
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
    return f'{HEAD}stages=[{{{stage},layout="term_major",order="oldest_first",start="first"}}]'


CHAIN = ",".join(f'{{name="s{n}",operation="clip",of="q",lowest=-1,highest=1}}' for n in range(3000))
FEWER = ",".join(f'"w{number}"' for number in range(60_000))


FILES = {
    "stages.toml": (f"{HEAD}stages=[{CHAIN}]", "3001 vectors and stages, expected at most 1024"),
    "dots-40.toml": (HEAD + "a." * 20_000 + "b = 1\n", "more than 64 nested levels"),
    "dots-200.toml": (HEAD + "a." * 100_000 + "b = 1\n", "more than 64 nested levels"),
    "quoted-dots.toml": (HEAD + "'a b' . " * 20_000 + "b = 1\n", "more than 64 nested levels"),
    "dots-in-a-header.toml": (HEAD + "[[" + "a." * 20_000 + "b]]\n", "more than 64 nested levels"),
    "history-6.toml": (_history(10**6), "10000000 numbers in a frame, expected at most 65536"),
    "history-9.toml": (_history(10**9), "10000000000 numbers in a frame, expected at most 65536"),
    "doubling.toml": (f"{HEAD}stages=[{DOUBLED}]", "81920 numbers in a frame, expected at most 65536"),
    "reads-many.toml": (
        f'{HEAD.replace("given = [", "given = [" + SMALL + ",")}stages=[{{name="a",operation="concatenate",of=[{READS_MANY}]}}]',
        "90000 orders, expected at most 65536",
    ),
    "wrong.toml": (
        f'{HEAD.replace("size = 10", f"size = 10, carried = {chr(34)}a{chr(34)}, wrong = [{WORDS}]")}'
        'stages=[{name="a",operation="concatenate",of=["q"]}]',
        "200000 numbers where 65536 are expected",
    ),
    "fewer-wrong.toml": (
        f'{HEAD.replace("size = 10", f"size = 10, carried = {chr(34)}a{chr(34)}, wrong = [{FEWER}]")}'
        'stages=[{name="a",operation="concatenate",of=["q"]}]',
        "60000 readings, expected at most 64",
    ),
}  # fmt: skip


def answer_to(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with a limit on its memory and its time."""
    limits = {"RLIMIT_AS": MEMORY_BYTES, "RLIMIT_CPU": SECONDS}
    limited = "".join(f"resource.setrlimit(resource.{name}, ({most}, {most})); " for name, most in limits.items())
    code = f"import resource, sys; {limited}from rigpact.reports.command_line import main; main(sys.argv[1:])"
    line = [sys.executable, "-c", code, *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=10 * SECONDS)


ONE_AFTER_THE_OTHER = f"""
import json, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
from rigpact.reports.command_line import run_command_line
for name in sys.argv[1:]:
    began, out = time.process_time(), os.open(name + ".out", os.O_CREAT | os.O_WRONLY)
    os.dup2(out, 1)
    os.dup2(out, 2)
    status = run_command_line(["check", name])
    sys.stdout.flush()
    with open(name + ".json", "w") as file:
        json.dump([status, time.process_time() - began], file)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `check` says of each file, in one process with a limit on its memory, and how long it took."""
    folder = tmp_path_factory.mktemp("exhausting")
    for name, (text, _) in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    line = [sys.executable, "-c", ONE_AFTER_THE_OTHER, *FILES]
    subprocess.run(line, cwd=folder, check=False, timeout=10 * SECONDS)
    return folder


@every_case("name", FILES)
def test_a_small_declaration_is_refused_before_it_is_built(name: str, answers: Path) -> None:
    """A pull request of two kilobytes takes the build machine of a studio down."""
    said = (answers / f"{name}.out").read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert FILES[name][1] in said
    status, seconds = json.loads((answers / f"{name}.json").read_text(encoding="utf-8"))
    assert status in (1, 2)
    assert seconds < SECONDS


def test_settings_with_a_long_dotted_key_are_refused(tmp_path: Path) -> None:
    """The settings of a pull request are read before anything else is."""
    (tmp_path / "rigpact.toml").write_text("a." * 100_000 + "b = 1\n", encoding="utf-8")
    done = answer_to(tmp_path, "gate")
    assert done.returncode == 2, done.stderr
    assert "more than 64 nested levels" in done.stderr


def test_a_long_chain_of_stages_is_read(tmp_path: Path) -> None:
    """Names were looked up in lists that were made anew for every stage: the square of the stages, half a minute."""
    names = ["q", *(f"s{number}" for number in range(1000))]
    stages = ",".join(
        f'{{name="{name}",operation="clip",of="{before}",lowest=-1,highest=1}}' for before, name in pairwise(names)
    )
    (tmp_path / "chain.toml").write_text(f"{HEAD}stages=[{stages}]", encoding="utf-8")
    done = answer_to(tmp_path, "check", "chain.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_dots_in_words_are_no_key(tmp_path: Path) -> None:
    """A line of dots in a comment, or a long file name, nests nothing."""
    text = (
        HEAD.replace('title = "x"', f'title = "{"..." * 50}" # {". . " * 90}')
        + 'stages=[{name="a",operation="clip",of="q",lowest=-1,highest=1}]'
    )
    (tmp_path / "words.toml").write_text(text, encoding="utf-8")
    assert answer_to(tmp_path, "check", "words.toml").returncode == 0
