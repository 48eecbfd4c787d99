"""The Unreal plug-in and the example project, compiled against a stub of the engine's types, and played on it."""

import json
import os
import re
import subprocess
from functools import cache

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.recordings.trace_bytes import segments
from rigpact.reports.command_line import run_command_line
from rigpact.reports.engine.header import contract_header

from .conftest import ENGINE_LIKE, ROOM, STRICT, ran

STUB = ROOM / "unreal_stub"


@pytest.fixture(scope="module")
def plugin(demo_bundle, tmp_path_factory):
    """The plug-in as the command copies it into a project."""
    folder = tmp_path_factory.mktemp("project")
    words = [
        "codegen",
        demo_bundle / "norm_template.json",
        "-o",
        folder / "contract.hpp",
        "--unreal",
        folder / "Plugins",
    ]
    assert run_command_line(list(map(str, words))) == 0
    return folder / "Plugins" / "RigpactTrace"


@pytest.fixture(scope="module")
def folders(plugin):
    return [f"-I{folder}" for folder in (STUB, plugin / "Source" / "RigpactTrace" / "Public")]


def built(compiler_name, plugin, folders, out, *flags, sources=None):
    """A program of some sources and the plug-in."""
    sources = sources or [ROOM / "unreal_game.cpp", *sorted((plugin / "Source").rglob("*.cpp"))]
    done = ran(compiler_name, *STRICT, "-pthread", *folders, *flags, *sources, "-o", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def objects(plugin, folders, tmp_path_factory):
    """The plug-in as an engine compiles it, once for each compiler."""

    @cache
    def of_compiler(name):
        folder, flags = tmp_path_factory.mktemp("objects"), (*STRICT, *ENGINE_LIKE, "-DRIGPACT_TRACE=1", "-c")
        made = []
        for source in sorted((plugin / "Source").rglob("*.cpp")):
            made.append(folder / f"{source.stem}.o")
            done = ran(name, *flags, *folders, source, "-o", made[-1])
            assert done.returncode == 0, done.stderr
        return made

    return of_compiler


@pytest.fixture(scope="module")
def game(compiler, plugin, folders, objects, tmp_path_factory):
    """The game of unreal_game.cpp as an engine compiles it."""
    out, sources = tmp_path_factory.mktemp("game") / "game", [ROOM / "unreal_game.cpp", *objects(compiler)]
    return built(compiler, plugin, folders, out, *ENGINE_LIKE, "-DRIGPACT_TRACE=1", sources=sources)


def played(program, folder, *words, timeout=60):
    """The log of a game, and the files that it left, in the order in which they were begun."""
    environment = os.environ | {"UNREAL_STUB_SAVED": str(folder)}
    done = subprocess.run(
        [program, *words], env=environment, capture_output=True, text=True, check=False, timeout=timeout
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines(), sorted((folder / "Rigpact").glob("*"), key=number_of)


def number_of(path):
    """A file's number in its process, the last part of its name."""
    return int(re.search(r"-(\d+)\.trace\.", path.name)[1])


def whose(path):
    """A file's name without time, process and number."""
    return path.name.split("-2026")[0]


def counts(log):
    """What the last lines of the recordings say: frames, segments, dropped, refused, lost, stray stages."""
    line = r": (\d+) frames in (\d+) segments, (\d+) dropped, (\d+) refused, (\d+) lost, (\d+) stray stages$"
    return [tuple(map(int, found.groups())) for found in (re.search(line, each) for each in log) if found]


def test_the_file_says_which_character_it_is_and_the_console_chooses_some(game, tmp_path):
    """Every enemy's anim instance is ABP_Enemy_C_0, in every world: 200 such files help nobody, and fill the disk."""
    log, files = played(game, tmp_path, "choice")
    enemies = [f"BP_Enemy_C_{n}.ABP_Enemy_C_0-Arena-pie{(1, 0)[n % 2]}-{('client', 'listen')[n % 2]}" for n in range(6)]
    hero, preview = "BP_Hero_C_0.ABP_Enemy_C_0-Arena-pie1-client", "BP_Enemy_C_0.ABP_Enemy_C_0-Preview-standalone"
    expected = [
        enemies[:4], [*enemies, hero], [hero], [enemies[3]], [enemies[5]], [enemies[3], enemies[4]],
        [*enemies, hero, preview], [*enemies, hero, preview],
    ]  # fmt: skip
    assert [whose(path) for path in files] == [name for names in expected for name in names]
    assert sum("4 of 8 characters record; 7 fit, at most 4 record" in line for line in log) == 1
    assert sum("BP_Late_C_1.ABP_Enemy_C_0-Arena-pie1-client and later ones do not record" in line for line in log) == 1
    assert not any("BP_Late_C_2" in line for line in log)
    assert dict(read_trace(files[1]).header.about) == {
        "object": "ABP_Enemy_C_0", "class": "/Game/ABP_Enemy_C", "actor": "BP_Enemy_C_1", "actor_class": "/Game/BP_Enemy_C",
        "mesh": "/Game/SK_Enemy", "world": "Arena", "pie": "0", "net_mode": "listen",
    }  # fmt: skip


def test_a_new_start_and_another_mode_begin_a_segment(game, tmp_path):
    """After a respawn every frame was refused, to the end of the level; after a change of mode too."""
    log, (path,) = played(game, tmp_path, "life")
    assert counts(log) == [(13, 4, 0, 2, 0, 1)]
    assert sum("a frame number that does not increase" in line for line in log) == 1
    with segments(path) as parts:
        traces = [read_trace(part) for part in parts.paths]
    found = [(trace.header.mode, trace.frame.tolist(), list(trace.stages)) for trace in traces]
    assert found == [
        ("free", [0, 1, 2, 3], ["number"]),
        ("free", [0, 1, 2], ["number"]),
        ("teacher", [3, 4, 5], ["number", "target"]),
        ("free", [6, 7, 8], ["number"]),
    ]


def test_the_engines_types_become_numbers(game, tmp_path):
    """A transform in another order, or half of a double, is a defect that the engine does not have."""
    _, (path,) = played(game, tmp_path, "types")
    trace = read_trace(path)
    transform = [0, 0, 1, 0, 1, 2, 3, 4, 5, 6]
    matrix = [0, 7, *[0] * 10, 8, 0, 0, 0]
    expected = {
        "array": [0, 1], "view": [0, 1], "list": [0.5, 1.5], "c_array": [0.25, 0.5], "rows": [1, 2, 3, 4, 5, 6],
        "feet": [1, 0], "flag": [1], "count": [16777217], "number": [0.5], "quat": [1, 2, 3, 4], "quat4f": [1, 2, 3, 4],
        "vector": [1, 2, 3], "rotator": [10, 20, 30], "matrix": matrix, "transforms": transform * 2,
        "small": [0, 1, 0, 0, 7, 8, 9, 1, 1, 1] * 2, "vector2": [1, 2, 3, 4], "rotations": [0, 0, 1, 0] * 2, "some": [0],
    }  # fmt: skip
    assert list(trace.stages) == list(expected)
    for name, row in expected.items():
        np.testing.assert_array_equal(trace.stages[name], np.array([row, row], np.float32), err_msg=name)


def test_a_folder_that_cannot_be_written_is_in_the_log_once(game, tmp_path):
    """Sixty lines of log a second would be worse than no recording."""
    (tmp_path / "Rigpact").write_text("a file where the folder should be")
    log, _ = played(game, tmp_path, "life")
    assert sum("the engine cannot open the file" in line for line in log) == 1
    assert counts(log) == [(0, 0, 0, 0, 15, 0)]


def test_the_example_compiles_with_the_plugin(compiler, checkout, folders, demo_bundle, tmp_path):
    """It is what an engine programmer starts from; a name that was renamed would be found there."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    (tmp_path / "contract.hpp").write_text(contract_header(contract, with_loop=True), encoding="utf-8")
    example = checkout / "reference_runtime" / "cpp" / "ue_example"
    enabled = {each["Name"] for each in json.loads((example / "RigpactExample.uproject").read_text())["Plugins"]}
    assert enabled == {"RigpactTrace", "NNERuntimeORT"}
    source = example / "Source" / "RigpactExample" / "EnemyAnimInstance.cpp"
    flags = (*STRICT, *ENGINE_LIKE, "-DRIGPACT_TRACE=1", "-fsyntax-only", *folders, f"-I{tmp_path}")
    done = ran(compiler, *flags, source)
    assert done.returncode == 0, done.stderr


def test_the_descriptions_of_the_plugin_are_whole(plugin):
    """Unreal refuses a plug-in with a comma too many, and compiles with fast maths unless a module says otherwise."""
    described = json.loads((plugin / "RigpactTrace.uplugin").read_text(encoding="utf-8"))
    (module,) = described["Modules"]
    rules = (plugin / "Source" / module["Name"] / f"{module['Name']}.Build.cs").read_text(encoding="utf-8")
    assert f"public class {module['Name']} : ModuleRules" in rules
    assert "FPSemantics = FPSemanticsMode.Precise;" in rules
    assert rules.count("{") == rules.count("}")
    assert "5.1 or later" in rules
    assert "5.1 or later" in described["Description"]
    assert (plugin / "Source" / module["Name"] / "Public" / f"{module['Name']}.h").is_file()
