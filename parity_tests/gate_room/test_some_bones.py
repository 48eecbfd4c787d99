"""An engine's recording of some bones in the gate: the project says which bones it is to hold."""

from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput

from ..some_bones import PUBLISHED, of_bones, written
from .conftest import FILES, FREE, TRACE, codes, gated, record

BONES = (0, 1, 2, 5, 6, 9, 20, 33)


def recorded(folder: Path, bones: Any = BONES, name: str = TRACE, mode: Any = "teacher", **changes: Any) -> list[str]:
    """The engine's recording, cut to some bones; the names of the bones."""
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    trace = record(folder, name, mode, **changes)
    whole = [stage for stage in trace.stages if stage not in PUBLISHED]
    written(folder, of_bones(trace, contract, bones, whole), name)
    return [contract.numbers.bone_names[bone] for bone in bones]


def asked(names: list[str]) -> str:
    return FILES + f"bones = [{', '.join(f'{name!r}' for name in names)}]\n"


def test_the_gate_passes_on_the_bones_that_the_project_names(project: Path) -> None:
    """The recording does not choose what it is judged by."""
    answer = gated(project, asked(recorded(project)))
    assert answer.verdict == "pass"
    assert "RP815" in codes(answer)


def test_bones_that_the_project_does_not_expect_to_miss_fail_it(project: Path) -> None:
    """An engine that stops recording its hands passes with broken hands."""
    names = recorded(project)
    answer = gated(project, FILES)
    assert (answer.verdict, "RP982" in codes(answer)) == ("fail", True)
    recorded(project, BONES[:-1])
    answer = gated(project, asked(names))
    assert (answer.verdict, "RP982" in codes(answer)) == ("fail", True)


def test_a_defect_on_these_bones_is_named_in_the_gate(project: Path) -> None:
    """A level of detail with its own code has its own mistakes."""
    answer = gated(project, asked(recorded(project, compose_order="prev_delta")))
    assert answer.verdict == "fail"
    assert "compose_order" in str([each.to_json() for part in answer.parts for each in part.report.findings])


def test_a_free_run_of_some_bones_is_held_to_its_envelope(project: Path) -> None:
    """At a distance a character runs free for minutes."""
    for changes, verdict in (({}, "pass"), ({"writeback": "none"}, "fail")):
        names = recorded(project, name=FREE, mode="free", **changes)
        answer = gated(project, asked(names).replace(TRACE, FREE) + 'mode = "free"\nframes = 32\n')
        assert answer.verdict == verdict, codes(answer)


def test_an_unknown_bone_in_the_settings_is_one_error(project: Path) -> None:
    """A misspelt bone would be missing for ever."""
    names = recorded(project)
    misspelt = [names[0], names[1].upper()]
    answer = gated(project, asked(misspelt))
    assert answer.verdict != "pass"
    assert names[1].upper() in str([each.to_json() for part in answer.parts for each in part.report.findings])


def test_init_writes_the_bones_that_it_found(project: Path, command: Any) -> None:
    """The first gate of a project is to pass as its files are."""
    names = recorded(project)
    assert command("init").status == 0
    assert (
        f"bones = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}]"
        in (project / "rigpact.toml").read_text()
    )


def test_the_selftest_plants_into_the_recorded_bones(project: Path) -> None:
    """A defect on a bone that is not recorded goes unnoticed: a selftest that records all bones promises too much."""
    from rigpact.contract.settings.configuration import read_configuration
    from rigpact.reference_runtime import read_trace
    from rigpact.reports.gate.project import Project as Checked
    from rigpact.reports.gate.selftest import plants

    names = recorded(project)
    (project / "rigpact.toml").write_text(asked(names))
    settings = read_configuration(project / "rigpact.toml").gate
    assert settings is not None
    before = read_trace(settings.traces[0].file).widths
    engine = plants._Engine(Checked(settings), settings.traces[0])
    plants._convention(engine, {"compose_order": "prev_delta"})
    assert read_trace(settings.traces[0].file).widths == before
    with pytest.raises((UnusableInput, plants.NotApplicable)):
        plants._convention(engine, {"math": "f64"})
