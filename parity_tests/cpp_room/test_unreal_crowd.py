"""A crowd in three worlds, whose loop shares no code with rigpact, in a class of the size of a real one; and its self-test."""

import json
import os
import signal
import subprocess
import time
from functools import cache

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.trace import segments
from rigpact.reports.command_line import run_command_line
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.engine.header import contract_header

from ..engine_room.test_self_test_of_loop import BEFORE_THE_NETWORK, NOT_OF_A_FREE_RUN, names
from ..measuring.scores.engine.engine_side import SOURCE, _of_bundle, _of_clip
from .conftest import ROOM, ran
from .large_class import LINES, integrated, large_class
from .test_unreal import folders, number_of, plugin  # noqa: F401 - fixtures

CLIP_FRAMES, CHARACTERS = 30, 200
DRIVEN = ("x_raw", "cond_raw", "contacts", "y_norm")
"""What comes from clip and network: nothing here judges it."""
BEFORE_WHAT_IS_GIVEN = {"hysteresis_off_by_one"}
"""The class computes its contacts, and then takes those that are given."""


@pytest.fixture(scope="module")
def files(demo_bundle):
    return [demo_bundle / name for name in ("norm_template.json", "pretrain_template.json")]


@pytest.fixture(scope="module")
def crowd(any_compiler, plugin, folders, files, demo_bundle, tmp_path_factory):  # noqa: F811
    """The program of unreal_crowd.cpp with any flags, and the numbers of the files as its loader reads them."""
    folder = tmp_path_factory.mktemp("crowd")
    bundle, companion = (json.loads(path.read_bytes()) for path in files)
    clip = json.loads((demo_bundle / "clips" / "Walk_Spin.json").read_bytes())
    clip["Frames"] = clip["Frames"][:CLIP_FRAMES]
    with (folder / "schema.txt").open("w") as stream:
        for name, values in {**_of_bundle(bundle, companion), **_of_clip(clip, bundle)}.items():
            numbers = np.ravel(np.asarray(values, float)).tolist()
            stream.write(f"{name} {len(numbers)}\n{' '.join(map(repr, numbers))}\n")
    (folder / "contract.hpp").write_text(contract_header(load_contract(*files)), encoding="utf-8")
    (folder / "enemy.hpp").write_text(integrated(large_class()), encoding="utf-8")

    @cache
    def build(*flags):
        out = folder / "_".join(["crowd", *(flag.strip("-").replace("=", "_") for flag in flags)])
        own = plugin / "Source" / "RigpactTrace" / "Private" / "RigpactTrace.cpp"
        words = [
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-DRIGPACT_TRACE=1",
            "-pthread",
            *folders,
            f"-I{folder}",
            *flags,
        ]
        done = ran(any_compiler, *words, ROOM / "unreal_crowd.cpp", own, "-o", out)
        assert done.returncode == 0, done.stderr
        return [out, folder / "schema.txt"]

    return build


def lives(folder):
    """Every segment of every file: (character, life, trace). The frames say themselves whose they are."""
    for path in sorted((folder / "Rigpact").glob("*"), key=number_of):
        if path.stat().st_size == 0:
            continue  # killed before its first frame
        with segments(path) as parts:
            traces = [read_trace(part) for part in parts.paths]
        for trace in traces:
            about = dict(trace.header.about)
            character = int(about["actor"].rsplit("_", 1)[1])
            assert (about["world"], about.get("pie")) == [("Arena", "0"), ("Arena", "1"), ("Menu", None)][character % 3]
            root = trace.stages["x_raw"][:, :2]
            life = int(root[0, 1])
            np.testing.assert_array_equal(root, np.tile([character, life], (len(root), 1)))
            assert trace.frame.tolist() == list(range(len(trace.frame)))
            yield character, life, trace


def is_right(trace, contract):
    """Whether every stage is what the contract makes of the stages before it."""
    order = contract.system.graph.names
    recorded = {name: trace.stages[name] for name in order}
    evidence = Evidence(
        trace.frame, trace.header.fps, "free", recorded, drive=None, network=None, precision=trace.precision
    )
    return diagnose(evidence, contract, budget=Budget.spent()).first_divergence is None


def play(program, folder, ticks, characters=CHARACTERS, *, kill_after_s=None):
    """Play the crowd to its end, or kill it some time after the first were respawned."""
    environment = os.environ | {"UNREAL_STUB_SAVED": str(folder)}
    words = [*map(str, program), "crowd", str(characters), str(ticks)]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if kill_after_s is not None:
        while process.poll() is None:
            sizes = [path.stat().st_size for path in folder.glob("Rigpact/*")]
            if len(sizes) > characters and all(sizes):
                break
            time.sleep(0.02)
        time.sleep(kill_after_s)
        process.send_signal(signal.SIGKILL)
    said = process.communicate(timeout=300)[1]
    assert (process.returncode, said) == (0 if kill_after_s is None else -signal.SIGKILL, "")


@pytest.mark.nightly
def test_every_frame_of_a_crowd_is_told_apart_and_judged(crowd, files, tmp_path):
    """200 characters in three worlds, respawned and pooled, two workers, and a kill in between: 200 files of one name."""
    play(crowd(), tmp_path, 100_000, kill_after_s=0.4)
    contract, found = load_contract(*files), list(lives(tmp_path))
    frames = sum(len(trace.frame) for _, _, trace in found)
    print(f"{len(found)} lives of {len({who for who, _, _ in found})} characters, {frames} frames")  # noqa: T201
    assert {who for who, _, _ in found} == set(range(CHARACTERS))
    assert len({(who, life) for who, life, _ in found}) == len(found) > CHARACTERS
    assert all(is_right(trace, contract) for _, _, trace in found)


def test_explain_answers_for_each_life(crowd, files, tmp_path, capsys):
    """One answer for two lives would blame the history for a respawn."""
    play(crowd(), tmp_path, 12, characters=5)
    path = next(iter((tmp_path / "Rigpact").glob("BP_Enemy_C_4.*")))
    words = ["explain", str(path), "--contract", str(files[0]), "--companion", str(files[1])]
    words += [word for stage in DRIVEN for word in ("--allow-unjudged", stage)]
    assert run_command_line(words) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith("Segment")] == [
        "Segment 1 of 2: free, frames 0 to 7",
        "Segment 2 of 2: free, frames 0 to 3",
    ]
    assert (said.count("AGREES"), said.count("actor BP_Enemy_C_4")) == (2, 2)
    assert run_command_line([*words, "--format", "json"]) == 2
    assert "--segment 1" in capsys.readouterr().err
    assert run_command_line([*words, "--format", "json", "--segment", "2"]) == 0


def test_sixteen_lines_record_and_self_test_a_large_class(crowd, files):
    """Beside 24 lines that recorded, the self-test needed 45 more, and nobody wrote them."""
    assert len(LINES) <= 16
    assert max(len(line) for line, _, _ in LINES) <= 140
    assert len(large_class().splitlines()) >= 3000
    done = ran(*crowd(), "self_test", *files)
    assert (done.returncode, done.stderr) == (0, "")
    found = {}
    for line in done.stdout.splitlines():
        number, failed, compared, words = line.split(" ", 3)
        found[names()[int(number)]] = int(failed), int(compared), words
    assert found["none"] == (0, 45, "agrees with the contract")
    silent = {name for name, (failed, _, _) in found.items() if not failed}
    assert silent == {"none", *NOT_OF_A_FREE_RUN, *BEFORE_THE_NETWORK, *BEFORE_WHAT_IS_GIVEN}
    assert "rigpact" not in SOURCE.read_text(encoding="utf-8").split("#include", 2)[2].split("extern")[0]


@pytest.mark.nightly
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_the_sanitizers_find_nothing_in_a_crowd(crowd, files, tmp_path, sanitizer):
    """A race of the animation threads is a crash in another level, a week later."""
    play(crowd("-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"), tmp_path, 30)
    contract, found = load_contract(*files), list(lives(tmp_path))
    frames = sum(len(trace.frame) for _, _, trace in found)
    assert frames == 30 * CHARACTERS
    assert all(is_right(trace, contract) for _, _, trace in found)
