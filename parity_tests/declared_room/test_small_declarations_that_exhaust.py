"""Declarations of a few kilobytes that would fill the memory, or never end: the limit comes before the allocation."""

import json
import subprocess
import sys
import time
from datetime import date
from itertools import pairwise

import pytest

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.formats import ImportRequest, import_contract

from ..every_case import every_case
from ..peak_memory import measured_command

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


def _history(length):
    stage = f'name="a",operation="history",of=["q"],length={length}'
    return f'{HEAD}stages=[{{{stage},layout="term_major",order="oldest_first",start="first"}}]'


CHAIN = ",".join(f'{{name="s{n}",operation="clip",of="q",lowest=-1,highest=1}}' for n in range(3000))
ONE_BY_ONE = ",".join(
    f'{{name="{name}",operation="clip",of="{before}",lowest=-1,highest=1}}'
    for before, name in pairwise(["q", *(f"s{number}" for number in range(1000))])
)
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
    "chain.toml": (f"{HEAD}stages=[{ONE_BY_ONE}]", ""),
    "dots-in-words.toml": (
        HEAD.replace('title = "x"', f'title = "{"..." * 50}" # {". . " * 90}')
        + 'stages=[{name="a",operation="clip",of="q",lowest=-1,highest=1}]', "",
    ),
}  # fmt: skip
"""Names were once looked up in lists that were made anew for every stage; dots in words nest nothing."""


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
def answers(tmp_path_factory):
    """What `check` says of each file, in one process with a limit on its memory, and how long it took."""
    folder = tmp_path_factory.mktemp("exhausting")
    for name, (text, _) in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    line = [sys.executable, "-c", ONE_AFTER_THE_OTHER, *FILES]
    subprocess.run(line, cwd=folder, check=False, timeout=10 * SECONDS)
    return folder


@every_case("name", FILES)
def test_a_small_declaration_is_refused_before_it_is_built_or_read_at_once(name, answers):
    """A pull request of two kilobytes takes the build machine of a studio down."""
    said = (answers / f"{name}.out").read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert FILES[name][1] in said
    status, seconds = json.loads((answers / f"{name}.json").read_text(encoding="utf-8"))
    assert status in ((1, 2) if FILES[name][1] else (0,)), said
    assert seconds < SECONDS


MEGABYTES, YAML_SECONDS = 300, 6
"""The largest memory in use, and processor time: a quiet machine starts and answers in one second, with 60 MB."""
YAML = {
    "[" + "1," * 500_000 + "1]": "more than 32768 values",
    "[" + "1," * 1_000_000 + "1]": "2000003 bytes of YAML",
    "- 1\n" * 250_000: "more than 32768 values",
    "".join(f"k{number}: 1\n" for number in range(90_000)): "more than 32768 values",
    "[" * 1_000_000: "nest", "- " * 100: "more than 64 nested levels",
    "a: 1" + ":1" * 500_000: "a number of 1000001 characters",
    "a: " + "b" * 1_000_000: "YAML with a", 'a: "' + "\n" * 1_000_000 + '"': "YAML with a",
}  # fmt: skip


@every_case("number", range(len(YAML)))
def test_small_yaml_is_refused_before_it_is_built(number, tmp_path):
    """Values are counted before one is built: a list of two megabytes took a minute and 800 MB."""
    import resource

    text, found = list(YAML.items())[number]
    source = tmp_path / "deploy.yaml"
    source.write_text(text, encoding="utf-8")
    if number in (0, 6):  # with its memory measured, in a process of its own
        limits = {resource.RLIMIT_CPU: YAML_SECONDS}
        done = measured_command(tmp_path, "init", "--from", "deploy.yaml", "-o", "out.toml", limits=limits)
        assert (done.status, found in done.err) == (2, True), done.err
        assert done.peak_bytes < MEGABYTES << 20
    else:
        began = time.process_time()
        with pytest.raises(UnusableInput, match=found):
            import_contract(ImportRequest(source, tmp_path / "out.toml"))
        assert time.process_time() - began < YAML_SECONDS


@every_case(
    ("text", "value"),
    [
        ("[" + "1.5," * 30_000 + "2]", [1.5] * 30_000 + [2]),
        ("a: 1:30\nb: -1:0:1\nc: 0x1F\nd: 1_000\n", {"a": 90, "b": -3601, "c": 31, "d": 1000}),
        (f"a: {10**4200}", {"a": 10**4200}),
        ("a: !robot {b: !!int '7'}\nc: 2020-01-01\n", {"a": {"b": 7}, "c": date(2020, 1, 1)}),
    ],
    ids="lnot",
)
def test_yaml_within_the_limits_is_read(text, value):
    """A limit that ordinary files meet would be switched off."""
    assert parse_yaml(text.encode(), "deploy.yaml") == value
