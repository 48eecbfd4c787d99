"""The Unreal plug-in and the example that uses it, compiled against a stub of the engine's types; the plug-in also runs."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reports.command_line import run_command_line

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


def built(compiler_name, plugin, folders, out, *flags):
    sources = (ROOM / "unreal_game.cpp", plugin / "Source" / "RigpactTrace" / "Private" / "RigpactTrace.cpp")
    done = ran(compiler_name, *STRICT, *ENGINE_LIKE, "-pthread", *folders, *flags, *sources, "-o", out)
    assert done.returncode == 0, done.stderr
    return out


def played(program, folder):
    """The log of a game that switches the console variable, and the files that it left."""
    environment = os.environ | {"UNREAL_STUB_SAVED": str(folder)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines(), sorted((folder / "Rigpact").glob("*"))


def test_a_console_variable_starts_and_stops_the_recording_of_every_character(compiler, plugin, folders, tmp_path):
    """A tester sees a limb twist, opens the console, and has the frames: no build, no code."""
    log, files = played(built(compiler, plugin, folders, tmp_path / "game", "-DRIGPACT_TRACE=1"), tmp_path)
    names = [re.sub(r"-\d+-(\d)\.trace", r"-PID-\1.trace", path.name) for path in files]
    stamp = "Wölf_C_3-2026.01.02-03.04.05-PID"
    assert names == [f"{stamp}-1.trace.bin", f"{stamp}-2.trace.bin", f"{stamp}-3.trace.jsonl", f"{stamp}-4.trace.jsonl"]
    assert sum(line.endswith("5 frames, 0 dropped, 0 refused, 0 lost") for line in log) == 2
    assert sum(line.endswith("4 frames, 0 dropped, 0 refused, 0 lost") for line in log) == 2

    for path, frames in zip(files, [range(3, 8)] * 2 + [range(10, 14)] * 2, strict=True):
        trace, frame = read_trace(path), np.array(frames)
        assert trace.frame.tolist() == frame.tolist()
        assert (trace.header.producer, trace.header.system) == ("MyGame", "studio")
        expected = {
            "pose": np.tile([0, 0, 1, 0, 0, 2, 3, 4, 5, 6] * 2, (len(frame), 1)).astype(float),
            "quat": np.tile([0, 0, 1, 0] * 2, (len(frame), 1)),
            "turns": np.tile([0, 0.2, 0.3, 1, 0.1, 0.2, 0.3, 1], (len(frame), 1)),
            "y_raw": np.repeat(frame[:, None] + 0.5, 2, axis=1),
            "feet": np.tile([7, 8, 9] * 2, (len(frame), 1)),
            "clock": frame[:, None] / 4.0,
        }
        expected["pose"][:, [4, 14]] = frame[:, None]
        assert list(trace.stages) == list(expected)
        for name, rows in expected.items():
            np.testing.assert_array_equal(trace.stages[name], rows.astype(np.float32))


def test_a_shipping_build_records_nothing(any_compiler, plugin, folders, tmp_path):
    """A player with the console open must not fill a disk."""
    log, files = played(built(any_compiler, plugin, folders, tmp_path / "game", "-DRIGPACT_TRACE=0"), tmp_path)
    assert (log, files) == ([], [])


def test_a_folder_that_cannot_be_written_is_in_the_log_once(any_compiler, plugin, folders, tmp_path):
    """Sixty lines of log a second would be worse than no recording."""
    (tmp_path / "Rigpact").write_text("a file where the folder should be")
    program = built(any_compiler, plugin, folders, tmp_path / "game", "-DRIGPACT_TRACE=1")
    log, _ = played(program, tmp_path)
    assert sum("Not a directory" in line for line in log) == 4  # two characters, switched on twice
    assert sum("0 frames, 0 dropped, 0 refused, 5 lost" in line for line in log) == 2
    assert sum("0 frames, 0 dropped, 0 refused, 4 lost" in line for line in log) == 2
    assert len(log) == 8


def test_the_example_compiles_with_the_plugin(compiler, checkout, folders, demo_header):
    """It is what an engine programmer starts from; a name that was renamed would be found there."""
    source = checkout / "reference_runtime" / "cpp" / "ue_example" / "EnemyAnimInstance.cpp"
    # the stub's engine is empty, so what it returns is not looked at; the widths are those of the demo character
    done = ran(compiler, *STRICT, *ENGINE_LIKE, "-fsyntax-only", *folders, f"-I{demo_header}", source)
    assert done.returncode == 0, done.stderr


def test_the_descriptions_of_the_plugin_are_whole(plugin):
    """Unreal refuses a plug-in with a comma too many, and compiles with fast maths unless a module says otherwise."""
    described = json.loads((plugin / "RigpactTrace.uplugin").read_text(encoding="utf-8"))
    (module,) = described["Modules"]
    rules = (plugin / "Source" / module["Name"] / f"{module['Name']}.Build.cs").read_text(encoding="utf-8")
    assert f"public class {module['Name']} : ModuleRules" in rules
    assert "FPSemantics = FPSemanticsMode.Precise;" in rules
    assert rules.count("{") == rules.count("}")
    assert (plugin / "Source" / module["Name"] / "Public" / f"{module['Name']}.h").is_file()
