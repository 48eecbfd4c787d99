"""What a set of clips cannot show, and the probe that shows it."""

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_clip
from rigpact.reports.diagnosing.adequacy import CLEAR_MARGIN, ClipAdequacy, measure, weigh


def test_the_smallest_set_is_found_among_many_clips():
    """A team with a hundred clips asks which two to record: a list of thirteen is not an answer."""

    def clip(name, *shown):
        return ClipAdequacy(name, {("knob", value): 100.0 * (value in shown) for value in range(6)}, ())

    probe = clip("probe", *range(6))
    few = [clip("a", 0, 1), clip("b", 2), clip("c", 0, 1, 2), clip("d", 3, 4)]
    assert weigh(few, probe).smallest_set == ("c", "d")
    assert weigh([], probe).smallest_set == ()
    many = [*few, *(clip(f"copy {number}", number % 3) for number in range(12))]
    assert sorted(weigh(many, probe).smallest_set) == ["c", "d"]
    assert weigh(many, probe).missed == (("knob", 5),)


def test_a_probe_separates_everything_by_ten_tolerances(command, demo_bundle, tmp_path):
    """One short clip in the engine's format replaces a day of searching for the right one."""
    bundle, probe = demo_bundle / "norm_template.json", tmp_path / "probe.json"
    assert command("run", "--probe", probe, "--contract", bundle).status == 0
    assert command("check", bundle, probe).status == 0
    margins = measure("probe", read_clip(probe), load_contract(bundle)).margins
    # a second Gram–Schmidt of a rotation, a mean that a residual does not add, an axis that never degenerates
    assert {choice for choice, margin in margins.items() if margin < CLEAR_MARGIN} == {
        ("reproject", "before"), ("denorm", "std_only"), ("degenerate_axis", "canonical"),
        ("degenerate_axis", "previous_frame_for_delta"), ("degenerate_axis", "zero"),
    }  # fmt: skip
