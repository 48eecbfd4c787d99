"""`rigpact adequacy`: what a set of clips cannot show, and the probe that shows it."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from rigpact.contract import load_contract
from rigpact.fixtures.probe import probe_clip
from rigpact.reports.diagnosing.adequacy import ClipAdequacy, weigh
from rigpact.reports.diagnosing.adequacy_text import print_adequacy


def _adequacy(command: Any, demo_bundle: Path, *words: object) -> tuple[int, Any]:
    answer = command("adequacy", "--contract", demo_bundle / "norm_template.json", *words, "--format", "json")
    return answer.status, json.loads(answer.out)


def test_a_clip_that_never_turns_cannot_show_a_wrap_bug(command: Any, demo_bundle: Path) -> None:
    """On a straight run, the wrapped heading equals the unwrapped one: a missing wrap would ship."""
    status, document = _adequacy(command, demo_bundle, demo_bundle / "clips/Run_F.json")
    missed = {(entry["knob"], entry["value"]) for entry in document["missed"]}
    assert status == 1
    assert ("yaw_encoding", "unwrapped_over_pi") in missed
    assert "root yaw never leaves" in document["clips"][0]["limits"][0]


def test_the_demo_clips_separate_everything_separable(command: Any, demo_bundle: Path) -> None:
    """The demo's own parity test must not be blind."""
    status, document = _adequacy(command, demo_bundle, *sorted((demo_bundle / "clips").glob("*.json")))
    assert (status, document["verdict"], document["missed"]) == (0, "pass", [])


def test_the_smallest_set_is_found_among_many_clips() -> None:
    """A team with a hundred clips asks which two to record: a list of thirteen is not an answer."""

    def clip(name: str, *shown: int) -> ClipAdequacy:
        return ClipAdequacy(name, {("knob", value): 100.0 * (value in shown) for value in range(6)}, ())

    probe = clip("probe", *range(6))
    few = [clip("a", 0, 1), clip("b", 2), clip("c", 0, 1, 2), clip("d", 3, 4)]
    assert weigh(few, probe).smallest_set == ("c", "d")
    assert weigh([], probe).smallest_set == ()
    many = [*few, *(clip(f"copy {number}", number % 3) for number in range(12))]
    assert sorted(weigh(many, probe).smallest_set) == ["c", "d"]
    assert weigh(many, probe).missed == (("knob", 5),)
    shown = io.StringIO()
    print_adequacy(weigh(many, probe, {"knob": "add a turn"}), Console(file=shown, width=200))
    assert "not shown by any clip: knob=5; add a turn" in shown.getvalue()


def test_a_probe_separates_everything_by_ten_tolerances(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """One short clip in the engine's format replaces a day of searching for the right one."""
    probe = tmp_path / "probe.json"
    status, document = _adequacy(command, demo_bundle, "--synthesise", probe)
    inseparable = {tuple(choice) for choice in document["inseparable"]}
    margins = {(knob, value): margin for knob, value, margin in document["clips"][0]["margins"]}
    assert status == 0
    assert min(margin for choice, margin in margins.items() if choice not in inseparable) >= 10.0
    # a second Gram–Schmidt of a rotation, a mean that a residual does not add, an axis that never degenerates
    assert inseparable == {
        ("reproject", "before"),
        ("denorm", "std_only"),
        ("degenerate_axis", "canonical"),
        ("degenerate_axis", "previous_frame_for_delta"),
        ("degenerate_axis", "zero"),
    }
    assert command("check", demo_bundle / "norm_template.json", probe).status == 0


def test_the_probe_is_a_motion_that_its_channels_describe(demo_bundle: Path) -> None:
    """A probe whose velocity contradicts its positions would itself look like a defect."""
    contract = load_contract(demo_bundle / "norm_template.json")
    frames = probe_clip(contract)["Frames"]
    position = np.array([frame["RootPosition"] for frame in frames], float)
    velocity = np.array([frame["RootVelocityXY"] for frame in frames], float)
    yaw = np.array([frame["RootYaw"] for frame in frames], float)
    central = (position[2:, :2] - position[:-2, :2]) * contract.fps / 2
    # positions are float32 of up to a metre; their difference is divided by two frames
    np.testing.assert_allclose(velocity[1:-1], central, atol=2.0**-24 * contract.fps * 2)
    assert yaw.max() > np.pi
    assert yaw.min() < -np.pi


def test_the_smallest_set_shows_as_much_as_all(command: Any, demo_bundle: Path) -> None:
    """If two clips are enough, users need not compare thirty."""
    clips = sorted((demo_bundle / "clips").glob("*.json"))
    _, whole = _adequacy(command, demo_bundle, *clips)
    chosen = [Path(name) for name in whole["smallest_set"]]
    _, reduced = _adequacy(command, demo_bundle, *chosen)
    assert len(chosen) < len(clips)
    assert reduced["missed"] == whole["missed"]


def test_no_clip_at_all_cannot_be_judged(command: Any, demo_bundle: Path) -> None:
    """Without any clip, the answer must not be a pass."""
    assert command("adequacy", "--contract", demo_bundle / "norm_template.json").status == 2


def test_real_clips_show_what_they_miss(command: Any, real_data: Path) -> None:
    """The straight walk of the deployed character cannot show a yaw bug; its turning walk shows most of it."""
    answer = command(
        "adequacy",
        "--contract",
        real_data / "norm_template.json",
        "--companion",
        real_data / "pretrain_template.json",
        "--set",
        "output_mode=residual",
        real_data / "Walk_F.json",
        "--format",
        "json",
    )
    missed = {(entry["knob"], entry["value"]) for entry in json.loads(answer.out)["missed"]}
    assert answer.status == 1
    assert {("yaw_encoding", "radians"), ("yaw_encoding", "unwrapped_over_pi")} <= missed


@pytest.mark.parametrize("words", [["--synthesise", "no/such/folder/probe.json"], ["no such clip.json"]])
def test_bad_arguments_are_one_line(command: Any, demo_bundle: Path, words: list[str]) -> None:
    """A typing mistake must give one line, not a traceback."""
    answer = command("adequacy", "--contract", demo_bundle / "norm_template.json", *words)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
