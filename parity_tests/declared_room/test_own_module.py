"""Operations of a module that the command line names: `--operations FILE.py`; and that nothing else can name one."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from rigpact.contract.declared import vocabulary
from rigpact.contract.declared.operation import Built, Operation
from rigpact.contract.declared.vocabulary import known_operations, origin_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages import enemy_animation, rig_inversion
from rigpact.reference_runtime import read_trace
from rigpact.reports.command_line import application

from ..every_case import every_case
from ..models import saved
from .samples_of_files import sample

ODD = sample("odd_operation.txt")
CONTRACT = sample("sticks.toml")
WEIGHTS = np.array([[1.0, 0.5], [-0.3, 0.8]], np.float32)
WITH = ("--operations", "odd.py")
CHECK = ("check", "contract.toml")
EXPLAIN = ("explain", "run.csv", "--contract", "contract.toml")
RUN = ("run", "--contract", "contract.toml", "clip.csv", "-o", "out.trace.jsonl")
EVIL = sample("evil_operation.txt")


def sticks(count=40):
    return np.random.default_rng(5).uniform(-1.0, 1.0, (count, 2)).astype(np.float32)


def bent_by_hand(x, power):
    """The stick outside a dead zone of a tenth, to a power."""
    beyond = max(abs(x) - 0.1, 0.0)
    return float(np.copysign(beyond**power, x))


def expected(*powers: int):
    """The stage of the module by hand; one rounding of numbers below 1."""
    rows = [[sum(bent_by_hand(x, power) for power in powers) for x in row] for row in sticks().tolist()]
    return pytest.approx(np.array(rows), abs=1e-7)


def write_rows(path, names, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names.split(), *rows])


def write_model(path):
    saved(path, "(float[n, 2] x) => (float[n, 2] y) { y = MatMul(x, w) }", w=WEIGHTS)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with module, contract, model, clip, and a recording of an engine that leaves the cube out."""
    for name, text in (("odd.py", ODD), ("other.py", ODD), ("evil.py", EVIL), ("contract.toml", CONTRACT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    write_model(tmp_path / "policy.onnx")
    write_rows(tmp_path / "clip.csv", "stick.x stick.y", sticks().tolist())
    bent = np.array([[bent_by_hand(x, 1) for x in row] for row in sticks().tolist()], np.float32)
    rows = np.hstack([sticks(), bent, bent @ WEIGHTS]).tolist()
    write_rows(tmp_path / "run.csv", "stick.x stick.y bent.x bent.y action.a action.b", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_an_own_operation_is_computed_judged_and_gone_with_its_command(command):
    """The odd stage is where a studio's own code is: where nobody else looks; the next command must not know it."""
    answer = command(*EXPLAIN, *WITH)
    assert answer.status == 1
    assert "With bent.shape = linear the error of bent falls" in answer.out
    assert command(*RUN, *WITH).status == 0
    assert read_trace(Path("out.trace.jsonl")).stages["bent"] == expected(3)
    assert [command(*CHECK, *WITH).status, command(*CHECK).status] == [0, 1]
    assert "stick_curve" not in known_operations()


@pytest.mark.nightly
@pytest.mark.usefixtures("here")
def test_the_processes_of_a_sweep_load_it_too(command):
    """A sweep of a thousand cells that all fail in the workers costs a night."""
    words = (
        "sweep", "--contract", "contract.toml", "--onnx", "policy.onnx", "clip.csv", "--set", "bent.shape=cubic,linear",
    )  # fmt: skip
    for text in (ODD, ODD.replace("x**3", "x**3 + x")):  # another function is another sweep
        Path("odd.py").write_text(text, encoding="utf-8")
        answer = command(*words, "-o", "out", "--processes", 2, *WITH)
        assert (answer.status, "2 of 2 measured now" in answer.out) == (0, True), answer.out + answer.err


@pytest.mark.usefixtures("here")
def test_every_command_that_reads_contracts_has_the_option(command):
    """A stage that one command knows and the next one does not is not a tool."""
    names = {each.name or each.callback.__name__.replace("_", "-") for each in application().registered_commands}
    assert {name for name in names if "--operations" not in command(name, "--help").out} == {"demo"}
    assert command("run", "--probe", "probe.trace.jsonl", "--contract", "contract.toml", *WITH).status == 0


def test_the_contracts_hash_covers_the_module(command, here):
    """The same contract with another function is another contract: a stamped model must not pass with it."""
    assert command("codegen", "contract.toml", "--stamp", "policy.onnx", "-o", "stamped.onnx", *WITH).status == 0
    assert command(*CHECK, "stamped.onnx", *WITH).status == 0
    (here / "odd.py").write_text(ODD.replace("x**3", "x**5"), encoding="utf-8")
    answer = command(*CHECK, "stamped.onnx", *WITH)
    assert (answer.status, "RP770" in answer.out) == (1, True)


def test_the_module_that_runs_is_the_one_that_stands_there(command, here, monkeypatch):
    """A compiled file of the same second and size would run in its place: the old verdict for the new function."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for power, status in (("x**3", 1), ("x**1", 0)):
        (here / "odd.py").write_text(ODD.replace("x**3", power), encoding="utf-8")
        os.utime(here / "odd.py", (1_000_000_000, 1_000_000_000))
        assert command(*EXPLAIN, *WITH).status == status, "the engine leaves the cube out"
    assert not (here / "__pycache__").exists()


@pytest.mark.nightly
def test_in_pytest_it_is_an_option_too(here):
    """A studio that tests its contract in its own tests has the same odd stage there; 4 is a usage error of pytest."""
    words = [sys.executable, "-m", "pytest", "--rigpact-bundle=contract.toml", "--rigpact-trace=run.csv", "-q"]
    for text, status, says in (
        (ODD, 1, "bent.shape = linear"),
        ("1 / 0\n", 4, "ZeroDivisionError: division by zero in line 1"),
    ):
        (here / "odd.py").write_text(text, encoding="utf-8")
        ran = subprocess.run(
            [*words, "--rigpact-operations=odd.py"], cwd=here, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, says in ran.stdout + ran.stderr) == (status, True)
    assert "Traceback" not in ran.stdout + ran.stderr


def test_an_own_operation_stands_in_for_rigpacts_of_the_same_name(command, here):
    """A release that adds a name would break every contract that has an own operation under it."""
    (here / "odd.py").write_text(ODD.replace('"stick_curve"', '"switch"').replace("x**3", "x**3 + x"), encoding="utf-8")
    (here / "contract.toml").write_text(CONTRACT.replace('"stick_curve"', '"switch"'), encoding="utf-8")
    assert command(*RUN, *WITH).status == 0
    assert read_trace(Path("out.trace.jsonl")).stages["bent"] == expected(3, 1)
    said = "switch of odd.py: in place of rigpact's of the same name"
    assert [command("show", "contract.toml", *words).out.count(said) for words in (WITH, ())] == [1, 0]
    assert command(*CHECK).status == 1, "rigpact's own takes three vectors"


@every_case("name", ["clip", "select", "history", "rotate"])
def test_no_rule_takes_an_own_operation_for_rigpacts(name, command, here):
    """A check that looks for the ends of a `clip` in somebody else's would fail, or accuse it."""
    for file, text in (("odd.py", ODD), ("contract.toml", CONTRACT)):
        (here / file).write_text(text.replace('"stick_curve"', f'"{name}"'), encoding="utf-8")
    answer = command(*CHECK, *WITH)
    assert (answer.status, answer.err) == (0, "")


STUDIO = type("Package", (), {"name": "studio"})


@pytest.fixture
def brought(monkeypatch):
    """Operations of a package, by name, beside those that are installed; asked for anew each time."""
    entries = [*entry_points(group="rigpact.operations")]
    monkeypatch.setattr(vocabulary, "entry_points", lambda group: entries)

    def bring(name, operation):
        entries.append(SimpleNamespace(name=name, load=lambda: operation, dist=STUDIO))
        forget()

    def forget():
        vocabulary._entries.cache_clear()
        vocabulary._installed.cache_clear()

    yield bring
    monkeypatch.undo()
    forget()


def test_a_packages_operation_stands_in_too_and_never_on_rigpacts_own_pages(brought):
    """A studio's package would change what rigpact's own systems compute."""
    own = Operation("constant", "a studio's", lambda use: Built(use.inputs[0].fields, lambda frames: frames["q"]))
    brought("clip", known_operations()["clip"])
    brought("constant", own)
    assert known_operations()["constant"] is own
    assert [name for name in known_operations() if vocabulary.stands_in(name)] == ["constant"]
    assert origin_of("constant") == "studio"
    assert all(page.system().stages for page in (rig_inversion, enemy_animation))
    assert vocabulary.operations_of_rigpact()["constant"] is not own
    brought("constant", replace(own))
    with pytest.raises(UnusableInput, match="two packages that bring it"):
        known_operations()


MISTAKES = {
    # what the module holds -> what the one line says
    "x = (\n": "SyntaxError: '(' was never closed",
    "import re\n1 / 0\n": "ZeroDivisionError: division by zero in line 2",
    "import sys\nsys.exit(0)\n": "SystemExit: 0",
    "import helpers_beside_it\n": "No module named 'helpers_beside_it' in line 1), expected a module (hint: its",
    "x = 1\n": "found a module without an operation",
    ODD.replace('"stick_curve"', '""'): "found no name, or nothing that builds",
    ODD.replace("    source, dead", "    use.nothing\n    source, dead"): "found build that fails (AttributeError",
    ODD.replace("return Built(source.fields, compute, bound)", "return 1"): "found build that returns int, expected a Built",
    ODD.replace("Built(source.fields,", "Built(lambda _contract: source.fields,"):
        "found build that returns fields of type function",
}  # fmt: skip


RESULTS = {
    # what its function returns -> what the one line of `explain` and `run` says
    "1 / 0": "operation stick_curve, compute: found compute that fails (ZeroDivisionError: division by zero in",
    "np.zeros((3, 5))": "stick_curve, compute: found an array (3, 5) of float64, expected numbers, (frames, 2)",
    "'none'": "found an array () of <U4, expected numbers",
}
FILES = {
    "nowhere.py": "nowhere.py: found nothing, expected an existing file",
    "contract.toml": "contract.toml: found no Python file, expected a name ending in .py",
    "odd.py --operations other.py": "other.py: found an operation named 'stick_curve', which odd.py brings",
}


def returning(result):
    return ODD.replace("        return np.sign", f"        return {result}\n        return np.sign")


@every_case(
    ("text", "asked", "says"),
    [
        *((text, (*CHECK, *WITH), f"odd.py|{says}") for text, says in MISTAKES.items()),
        *((returning(result), (*words, *WITH), f"|{says}") for result, says in RESULTS.items() for words in (EXPLAIN, RUN)),
        *((ODD, (*CHECK, "--operations", *files.split()), f"{says}|") for files, says in FILES.items()),
    ],
    ids=lambda each: str(each)[-40:],
)  # fmt: skip
def test_what_cannot_be_taken_is_one_clear_line(text, asked, says, command, here):
    """A traceback of rigpact for a slip in the user's module sends both to the wrong place; `not judged` says nothing."""
    (here / "odd.py").write_text(text, encoding="utf-8")
    answer = command(*asked)
    begins, holds = says.split("|")
    assert (answer.status, answer.err.count("\n"), holds in answer.err) == (2, 1, True), answer.err
    assert answer.err.startswith(f"rigpact: error: {begins}")


DATA = {
    "an operation by its file": CONTRACT.replace('"stick_curve"', '"evil.py"'),
    "an operation by module and name": CONTRACT.replace('"stick_curve"', '"evil:OPERATION"'),
    "an operation by its name": CONTRACT.replace('"stick_curve"', '"evil"'),
    "a list of modules": CONTRACT.replace("fps = 50", 'fps = 50\noperations = ["evil.py"]'),
    "a table of modules": CONTRACT + '[operations]\nevil = "evil.py"\n',
    "a module in a stage": CONTRACT.replace("dead_zone = 0.1", 'dead_zone = 0.1, module = "evil.py"'),
    "numbers from a module": CONTRACT.replace("dead_zone = 0.1", 'dead_zone = "dead"')
    + '[numbers]\ndead = { file = "evil.py", at = "x" }\n',
    "a network that is a module": CONTRACT.replace('"policy.onnx"', '"evil.py"'),
    "a recording's column": CONTRACT + '[recordings]\nstick = "evil.py"\n',
}


@pytest.mark.parametrize("text", DATA.values(), ids=DATA)
def test_a_declaration_cannot_have_a_module_loaded(text, command, here):
    """A contract that comes with a pull request would run its author's code on the machine of who checks it."""
    (here / "contract.toml").write_text(text, encoding="utf-8")
    for words in (CHECK, ("show", "contract.toml"), ("codegen", "contract.toml", "-o", "c.hpp"), RUN, EXPLAIN):
        command(*words, *WITH)
    assert not (here / "ran").exists()


def test_a_configuration_or_a_recording_cannot_have_a_module_loaded(command, here):
    """A rigpact.toml comes with the repository, recordings from testers' machines: asking for a verdict runs nothing of them."""
    rows, words = sticks().tolist(), {"operations": '["evil.py"]', "module": "evil.py", "system": "evil.py"}
    save_file({"stick": sticks(), "bent": sticks()}, here / "run.safetensors", metadata=words)
    lines = [json.dumps({"stick": row, "bent": row, "operations": ["evil.py"]}) for row in rows]
    (here / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    write_rows(here / "columns.csv", "stick.x stick.y operations/evil.py", [[*row, 0.0] for row in rows])
    for name in ("run.safetensors", "run.jsonl", "columns.csv"):
        command("explain", name, "--contract", "contract.toml", *WITH)
        command("check", name)
    (here / "contract.toml").write_text(CONTRACT.replace('"stick_curve"', '"evil"'), encoding="utf-8")
    gate, own = '[gate]\nbundle = "contract.toml"\nmodel = "policy.onnx"\n', 'operations = ["evil.py"]\n'
    for text in (own + gate, gate + own, f"{gate}[operations]\n{own}"):
        (here / "rigpact.toml").write_text(text, encoding="utf-8")
        assert command("gate").status == 2
        command(*CHECK)
    assert not (here / "ran").exists()
    command("show", "--operations", "evil.py")
    assert (here / "ran").exists(), "the module leaves its mark where it runs"
