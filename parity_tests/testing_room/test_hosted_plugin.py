"""The plugin on a hosted system's contract file: its rules, its traces, and what it cannot judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.reports.command_line import run_command_line

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "neurarig"
CONTRACT, MODEL, CLIP = (BUNDLE / name for name in ("neurarig.json", "model.onnx", "clip.trace.safetensors"))
WORDS = (f"--rigpact-bundle={CONTRACT}", f"--rigpact-onnx={MODEL}", f"--rigpact-clip={CLIP}")
Edited = Callable[..., Path]


def recorded(folder: Path, name: str, *settings: str) -> str:
    """An engine's trace, made by the reference runtime under changed conventions, as an option."""
    path = folder / f"{name}.trace.jsonl"
    words = [word for each in settings for word in ("--set", each)]
    status = run_command_line(["run", "--contract", str(CONTRACT), str(CLIP), "--onnx", str(MODEL), "--frames", "60", "--out",
                               str(path), *words])  # fmt: skip
    assert status == 0
    return f"--rigpact-trace={path}"


def test_a_sound_contract_model_clip_and_trace_pass(run_pytest: Any, folder: Path) -> None:
    """The same tests for every system: an animator adds two lines to the studio's own."""
    ran = run_pytest("-rA", *WORDS, recorded(folder, "engine"))

    assert ran.status == 0
    assert set(ran.outcomes.values()) == {"passed"}
    assert {
        "rigpact::contract", "rigpact::check::RP702", "rigpact::signature", "rigpact::engine-trace::engine.trace.jsonl::joints",
        "rigpact::property::the network stays finite", "rigpact::free-run::clip",
    } <= set(ran.outcomes)  # fmt: skip


def test_the_convention_of_an_engine_is_named(run_pytest: Any, folder: Path) -> None:
    """The failing test's text is what the engine programmer reads."""
    ran = run_pytest("-rA", *WORDS, recorded(folder, "engine", "bone_axis=x_both"))

    assert ran.status == 1
    assert [name for name, outcome in ran.outcomes.items() if outcome == "failed"] == [
        "rigpact::engine-trace::engine.trace.jsonl::joints"
    ]
    assert "bone_axis = x_both" in ran.out


def test_a_moved_field_fails_its_rule(run_pytest: Any, edited: Edited) -> None:
    """Equal size, different meaning: the one test that a width cannot replace."""

    def swap(document: Any) -> None:
        fields = document["vectors"]["joints"]["fields"]
        fields[0]["name"], fields[1]["name"] = fields[1]["name"], fields[0]["name"]

    ran = run_pytest("-rA", f"--rigpact-bundle={edited(CONTRACT, swap)}")

    assert ran.status == 1
    assert ran.outcomes["rigpact::check::RP702"] == "failed"
    assert ran.outcomes["rigpact::contract"] == "failed"


def test_without_a_model_traces_are_judged_stage_by_stage_only(run_pytest: Any, folder: Path) -> None:
    """A judgement without its files must be skipped with the reason, and must not pass."""
    ran = run_pytest("-rA", WORDS[0], recorded(folder, "engine"))

    assert ran.outcomes["rigpact::engine-trace::engine.trace.jsonl::joints"] == "passed"
    assert "no model: --rigpact-onnx FILE" in ran.out


def test_an_option_of_the_enemys_is_refused(run_pytest: Any, folder: Path) -> None:
    """An unused companion would look like a checked one."""
    (folder / "companion.json").write_text(json.dumps({"pose_hist_len": 1}), encoding="utf-8")
    ran = run_pytest(*WORDS, f"--rigpact-companion={folder / 'companion.json'}")

    assert ran.status == 1
    assert "this system has no such file" in ran.out


@pytest.mark.parametrize("settings", ["unit=inch", "units=m"])
def test_an_unknown_convention_is_refused(run_pytest: Any, settings: str) -> None:
    """Without a refusal, a misspelt knob silently keeps its default."""
    ran = run_pytest("-rA", *WORDS, f"--rigpact-set={settings}")

    assert ran.outcomes["rigpact::contract"] == "failed"
