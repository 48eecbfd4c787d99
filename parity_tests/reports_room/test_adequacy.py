"""What a set of clips cannot show, and the probe that shows it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.fixtures.probe import probe_clip
from rigpact.reference_runtime import read_clip
from rigpact.reports.diagnosing.adequacy import CLEAR_MARGIN, ClipAdequacy, measure, weigh


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


def test_a_probe_separates_everything_by_ten_tolerances(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """One short clip in the engine's format replaces a day of searching for the right one."""
    bundle, probe = demo_bundle / "norm_template.json", tmp_path / "probe.json"
    assert command("run", "--probe", probe, "--contract", bundle).status == 0
    assert command("check", bundle, probe).status == 0
    margins = measure("probe", read_clip(probe), load_contract(bundle)).margins
    # a second Gram–Schmidt of a rotation, a mean that a residual does not add, an axis that never degenerates
    assert {choice for choice, margin in margins.items() if margin < CLEAR_MARGIN} == {
        ("reproject", "before"),
        ("denorm", "std_only"),
        ("degenerate_axis", "canonical"),
        ("degenerate_axis", "previous_frame_for_delta"),
        ("degenerate_axis", "zero"),
    }


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


def test_real_clips_show_what_they_miss(real_data: Path) -> None:
    """The straight walk of the deployed character cannot show a yaw bug; its turning walk shows most of it."""
    contract = load_contract(real_data / "norm_template.json", real_data / "pretrain_template.json")
    contract = contract.with_conventions({"output_mode": "residual"})
    shown = measure("walk", read_clip(real_data / "Walk_F.json"), contract).separated
    assert not {("yaw_encoding", "radians"), ("yaw_encoding", "unwrapped_over_pi")} & shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no/such/folder/probe.json",), "no/such/folder"),
        (("probe.json", "-o", "run.trace.bin", "--frames", "3"), "-o, --frames beside it"),
    ],
)
def test_a_probe_that_cannot_be_written_is_one_line(
    command: Any, demo_bundle: Path, words: tuple[str, ...], says: str
) -> None:
    """A typing mistake must give one line, not a traceback."""
    answer = command("run", "--contract", demo_bundle / "norm_template.json", "--probe", *words)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert says in answer.err
