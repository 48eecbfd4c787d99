"""The archive: the same results give the same bytes, and nothing that is not ours is believed."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Ledger
from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.archive.archive import (
    MAX_MEMBERS,
    archive_bytes,
    array_to_bytes,
    read_archive,
    sound_part,
    write_archive,
)
from rigpact.reports.gate.measured import GateMeasurement, Measured
from rigpact.reports.renderers import FORMATS, render
from rigpact.reports.viewer import render_html

from ..every_case import every_case
from ..soon import SOON
from .conftest import FILES, TRACE, Command, codes, judged, measured, record

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def kept(honest_project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[GateMeasurement, GateReport, Path]:
    """A failing project, measured and judged: an engine with the factors the wrong way round."""
    import shutil

    folder = tmp_path_factory.mktemp("kept") / "game"
    shutil.copytree(honest_project, folder)
    record(folder, TRACE, compose_order="prev_delta")
    measurement = measured(folder, FILES)
    report = judged(folder, FILES, measurement)
    write_archive(folder / "kept.rigpact.zip", measurement, report)
    return measurement, report, folder


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}


def zipped(path: Path, members: Mapping[str, bytes], *, rehash: bool = True, method: int = zipfile.ZIP_STORED) -> Path:
    """An archive of other members; with `rehash` its manifest says their hashes."""
    whole = dict(members)
    if rehash:
        manifest = json.loads(whole["manifest.json"])
        manifest["members"] = {
            name: hashlib.sha256(content).hexdigest() for name, content in whole.items() if name != "manifest.json"
        }
        said = {key: value for key, value in manifest.items() if key != "sha256"}
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        whole["manifest.json"] = json.dumps(said | {"sha256": hashlib.sha256(canonical.encode()).hexdigest()}).encode()
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in whole.items():
            file.writestr(name, content)
    return path


def test_an_answer_reads_back_in_every_format(kept: Any) -> None:
    """A report shown a month later must be the same as the one that stopped the build."""
    measurement, report, folder = kept
    archive = read_archive(folder / "kept.rigpact.zip")

    for name in FORMATS:
        assert render(archive.report, name) == render(report, name)
    assert render_html(archive.report, archive.runs) == render_html(report, measurement.runs)
    assert archive.report.verdict == "fail"


def test_measurements_are_judged_again_alike(kept: Any) -> None:
    """The verdict must depend only on the measurements in the archive."""
    _, report, folder = kept
    archive = read_archive(folder / "kept.rigpact.zip")

    again = judged(folder, FILES, archive.measurement)

    assert render(again, "json") == render(report, "json")


def test_the_archive_holds_what_a_picture_needs(kept: Any) -> None:
    """Poses of both sides, errors and skeleton, recomputed here from the recording itself."""
    _, _, folder = kept
    run = read_archive(folder / "kept.rigpact.zip").runs[0]
    bundle = json.loads((folder / "norm_template.json").read_text(encoding="utf-8"))
    recorded = read_trace(folder / TRACE).stages["y_out"].astype(np.float64).reshape(len(run.frames), -1, 6)
    x, z = recorded[..., :3], recorded[..., 3:]
    traces = np.einsum("...ij,...ij->...", run.reference.astype(np.float64), run.engine.astype(np.float64))
    degrees = np.degrees(np.arccos(np.clip((traces - 1.0) / 2.0, -1.0, 1.0)))

    assert (run.name, run.fps) == ("sneak", 60.0)
    assert list(run.bone_names) == bundle["meta"]["bone_names"]
    assert list(run.parents or ()) == bundle["meta"]["skeleton"]["parents"]
    np.testing.assert_allclose(np.asarray(run.offsets_m), bundle["meta"]["skeleton"]["ref_local_offsets_m"], atol=1e-7)
    # columns are axes, float32: one rounding of a unit number each
    np.testing.assert_allclose(run.engine[..., :, 0], x, atol=1e-6)
    np.testing.assert_allclose(run.engine[..., :, 2], z, atol=1e-6)
    # acos loses half the digits near 0: sqrt(2 * 2^-23) rad is 0.03 degrees
    np.testing.assert_allclose(run.deg, degrees, atol=0.05)
    assert run.cm is not None
    assert run.cm.max() > 1.0
    assert {name for name, _ in run.stages} >= {"next6d", "y_out"}
    assert run.diagnosis is not None
    assert run.diagnosis.causes[0].changes == {"compose_order": "prev_delta"}


def test_the_same_results_give_the_same_bytes(kept: Any) -> None:
    """A cache or a signature over the archive must not change with the clock."""
    measurement, report, folder = kept
    content = (folder / "kept.rigpact.zip").read_bytes()

    assert archive_bytes(measurement, report) == content
    archive = read_archive(folder / "kept.rigpact.zip")
    assert archive_bytes(archive.measurement, archive.report) == content
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in file.infolist()} == {zipfile.ZIP_STORED}


def test_the_archive_is_bound_to_its_inputs(kept: Any) -> None:
    """A reader of an archive must be able to find out which model it describes."""
    _, _, folder = kept
    manifest = json.loads(members_of(folder / "kept.rigpact.zip")["manifest.json"])

    assert list(check_against_schema(manifest, "archive_manifest")) == []
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", TRACE, "rigpact.toml"):
        assert manifest["provenance"][name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_other_thresholds_give_another_verdict_without_running(kept: Any, project: Path, command: Command) -> None:
    """A night of recordings is not run again because a limit moved."""
    archive, trace = kept[2] / "kept.rigpact.zip", kept[2] / TRACE
    (project / TRACE).write_bytes(trace.read_bytes())

    def verdict(text: str) -> tuple[int, dict[str, Any]]:
        (project / "rigpact.toml").write_text(FILES + text, encoding="utf-8")
        answer = command("gate", "--from", archive, "--format", "json")
        return answer.status, json.loads(answer.out)

    waiver = f'[[gate.waive]]\npart = "engine-trace/sneak"\nowner = "A"\nreason = "r"\nexpires = "{SOON}"\n'
    assert verdict("")[0] == 1
    status, lax = verdict("[gate.thresholds]\ntolerance-factor = 8000\n")
    assert status == 1
    assert verdict(waiver)[0] == 0
    status, strict = verdict("[gate.thresholds]\ntolerance-factor = 8000\npose-deg = 1\n")
    assert status == 1
    assert "RP964" not in {finding["code"] for part in lax["parts"] for finding in part["findings"]}
    assert {finding["code"] for part in strict["parts"] for finding in part["findings"]} >= {"RP964"}


def test_an_archive_says_nothing_of_files_that_are_gone(honest_project: Path, project: Path, command: Command) -> None:
    """A pull request deletes what it breaks: yesterday's pass must not stand for files that nobody has any more."""
    (project / "rigpact.toml").write_text(FILES, encoding="utf-8")
    assert command("gate", "--archive", "kept.rigpact.zip").status == 0
    assert command("gate", "--from", "kept.rigpact.zip").status == 0
    (project / TRACE).unlink()

    answer = command("gate", "--from", "kept.rigpact.zip", "--format", "json")

    found = {
        (finding["code"], finding["file"]) for part in json.loads(answer.out)["parts"] for finding in part["findings"]
    }
    assert answer.status == 1
    assert ("RP979", TRACE) in found
    assert "there is none" in answer.out


@pytest.mark.parametrize(
    "words",
    [
        ("--report", "sarif=a.json", "--report", "json=./a.json"),
        ("--report", "junit=a.html", "--html", "a.html"),
        ("--report", "json=a.rigpact.zip", "--archive", "a.rigpact.zip"),
    ],
)
def test_two_reports_on_one_path_are_refused(project: Path, command: Command, words: tuple[str, ...]) -> None:
    """The second replaced the first, and code scanning read an empty list."""
    (project / "rigpact.toml").write_text(FILES, encoding="utf-8")
    answer = command("gate", *words)
    assert answer.status == 2
    assert "twice, expected a file of its own for every report" in answer.err
    assert not list(project.glob("a.*"))


def test_another_question_is_refused(kept: Any, project: Path, command: Command) -> None:
    """A new recording judged by an old archive would pass without a comparison."""
    archive = kept[2] / "kept.rigpact.zip"
    more = FILES + f'[[gate.trace]]\nfile = "{TRACE}"\nclip = "clips/Run_F.json"\nname = "run"\n'
    (project / "rigpact.toml").write_text(more, encoding="utf-8")

    answer = command("gate", "--from", archive)

    assert (answer.status, answer.out) == (2, "")
    assert "gate.trace" in answer.err
    assert "run the gate again" in answer.err


def altered(change: Callable[[Members], Members | None]) -> Callable[[Path, Path], Path]:
    def make(source: Path, target: Path) -> Path:
        members = members_of(source)
        return zipped(target, change(members) or members)

    return make


def edited_json(name: str, edit: Callable[[Any], object]) -> Callable[[Members], Members | None]:
    def change(members: Members) -> None:
        document = json.loads(members[name])
        edit(document)
        members[name] = json.dumps(document).encode()

    return change


def _npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def _pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"evil": 1}], object), allow_pickle=True)
    return stream.getvalue()


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], Path]:
    def make(source: Path, target: Path) -> Path:
        target.write_bytes(change(source.read_bytes()))
        return target

    return make


def _of(document: Any, kind: str) -> Any:
    """The figures of a part."""
    return next(part for part in document["parts"] if part["name"].partition("/")[0] == kind)["metrics"]


def other_array(name: str, content: bytes) -> Callable[[Path, Path], Path]:
    """An archive whose run has another array."""
    return altered(lambda members: members | {json.loads(members["measured.json"])["parts"][2]["run"][name]: content})


def other_run(edit: Callable[[Any], object]) -> Callable[[Path, Path], Path]:
    return altered(edited_json("measured.json", lambda document: edit(document["parts"][2]["run"])))


HOSTILE: dict[str, Callable[[Path, Path], Path]] = {
    "no zip": rewritten(lambda _content: b"PK nonsense"),
    "cut off": rewritten(lambda content: content[:-400]),
    "bytes changed": rewritten(lambda content: content.replace(b"compose_order", b"compose_0rder")),
    "a member changed": lambda source, target: zipped(
        target, {name: each.replace(b"against", b"beside") for name, each in members_of(source).items()}, rehash=False
    ),
    "more members than there are": lambda source, target: zipped(
        target, members_of(source) | {f"arrays/{number}.npy": b"" for number in range(MAX_MEMBERS)}
    ),
    "a path out of the folder": altered(lambda members: members | {"../evil.json": b"{}"}),
    "an absolute path": altered(lambda members: members | {"/etc/evil.json": b"{}"}),
    "a foreign member": altered(lambda members: members | {"arrays/0.py": b""}),
    "compressed": lambda source, target: zipped(target, members_of(source), method=zipfile.ZIP_DEFLATED),
    "a bomb": lambda source, target: zipped(
        target, members_of(source) | {"arrays/99.npy": b"\0" * 10_000_000}, method=zipfile.ZIP_DEFLATED
    ),
    "a pickle": other_array("frames", _pickled()),
    "an array that claims a terabyte": other_array(
        "deg", _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }")
    ),
    "an array of negative shape": other_array(
        "deg", _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }", b"\0" * 16)
    ),
    **{f"{name} of another shape": other_array(name, array_to_bytes(np.zeros((3, 3), np.float32))) for name in (
        "deg", "cm", "frames", "reference", "engine", "offsets_m", "ratios"
    )},
    "frames that are no whole numbers": lambda source, target: other_array(
        "frames", array_to_bytes(read_archive(source).runs[0].frames.astype(np.float64))
    )(source, target),
    **{f"{name} that are one number": other_array(
        name, _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", bytes(4))
    ) for name in ("ratios", "deg")},
    "an array that nothing names": altered(lambda members: members | {
        "arrays/99.npy": array_to_bytes(np.zeros(3, np.float32))
    }),
    "a member beside them": altered(lambda members: members | {"runs/2/run.json": b"{}"}),
    "an array that is not there": other_run(lambda run: run.update(cm="arrays/98.npy")),
    "an array in two places": other_run(lambda run: run.update(engine=run["reference"])),
    "no manifest": lambda source, target: zipped(
        target, {name: content for name, content in members_of(source).items() if name != "manifest.json"}, rehash=False
    ),
    "a member lost": lambda source, target: zipped(
        target, {name: content for name, content in members_of(source).items() if name != "verdict.json"}, rehash=False
    ),
    "an error that became a warning": altered(edited_json(
        "measured.json", lambda document: document["parts"][2]["findings"][0]["rule"].update(severity="warning")
    )),
    "a failure that became a pass": altered(edited_json("verdict.json", lambda document: document.update(verdict="pass"))),
    "no verdict": altered(lambda members: {name: each for name, each in members.items() if name != "verdict.json"}),
    "another format": altered(edited_json("manifest.json", lambda document: document.update(format="other"))),
    "no system": altered(edited_json("manifest.json", lambda document: document.update(system=""))),
    "two systems": altered(edited_json("measured.json", lambda document: document.update(system="other"))),
    "other files measured": altered(edited_json("measured.json", lambda document: document.update(provenance={}))),
    "a class that is not ours": altered(edited_json("measured.json", lambda document: document["parts"][0].update(
        metrics={"x": {"$Popen": {"args": "id"}}}
    ))),
    "a finding without its rule": altered(edited_json(
        "verdict.json", lambda document: document["report"]["parts"][2]["report"]["findings"][0]["rule"].pop("code")
    )),
    "a ledger of words": altered(edited_json("measured.json", lambda document: document["parts"][0].update(ledger="all"))),
    "a ledger without an end": altered(edited_json(
        "measured.json", lambda document: document["parts"][0]["ledger"].update(declared=float("inf"))
    )),
    "less than nothing": altered(edited_json("measured.json", lambda document: document["parts"][0]["ledger"].update(waived=-1))),
    "a run without an end of its frames": other_run(lambda run: run.update(fps={"$float": "inf"})),
    "a run of half a number": other_run(lambda run: run.update(fps=1e400)),
    "a run of a part that has none": altered(edited_json("measured.json", lambda document: (
        document["parts"][0].update(run=document["parts"][2]["run"]), document["parts"][2].update(run=None)
    ))),
    "lines of another day": altered(edited_json("measured.json", lambda document: document["parts"][0].update(remarks=["x"]))),
    "a part of no kind": altered(edited_json("measured.json", lambda document: document["parts"][0].update(name="files2"))),
    "a part twice": altered(edited_json("measured.json", lambda document: document["parts"].append(document["parts"][0]))),
    "a summary that is a list": altered(edited_json("measured.json", lambda document: document["parts"][0].update(summary=[]))),
    **{f"a summary with {words}": altered(edited_json(
        "verdict.json",
        lambda document, summary=summary: document["report"]["parts"][0]["report"].update(summary=summary),  # type: ignore[misc]
    )) for words, summary in {
        "a file without a path": {"files": [3]}, "a path that is a number": {"files": [{"path": 3}]},
        "a reason that is a list": {"not_judged": []}, "a spread in words": {"spread": "wide"},
    }.items()},
    "values that are a list": altered(edited_json(
        "verdict.json", lambda document: document["report"]["parts"][2]["report"]["findings"][0].update(values=[])
    )),
    "a figure that no part has": altered(edited_json("measured.json", lambda document: _of(document, "budget").update(x=1))),
    "bytes of a word": altered(edited_json("measured.json", lambda document: _of(document, "budget").update(model_bytes="x"))),
    "half a character": altered(edited_json("measured.json", lambda document: document["not_asked"].update(budget="\ud800"))),
    "no account": altered(edited_json("measured.json", lambda document: _of(document, "engine-trace").pop("accounts"))),
    "an account of two numbers": altered(edited_json(
        "measured.json", lambda document: _of(document, "engine-trace")["accounts"].update(y_out=[1, 1])
    )),
    "stages that the ratios do not have": other_run(lambda run: run.update(stages=[["y_out", ""]])),
    "a cause that is a number": other_run(lambda run: run["diagnosis"].update(causes=[3])),
    "bones that are numbers": other_run(lambda run: run["diagnosis"].update(
        rests_on={"bones": [3], "not_recorded": [], "whole_stages": []}
    )),
    "a divergence that is none": other_run(lambda run: run["diagnosis"].update(first_divergence={"frame": 3})),
    "a verdict that no diagnosis has": other_run(lambda run: run["diagnosis"].update(verdict="fine")),
    "a parent beyond the skeleton": other_run(lambda run: run.update(parents=[99] * 46)),
    "poses of nobody": other_run(lambda run: run.update(against="somebody")),
    "numbers of a channel without a name": other_run(lambda run: run["values"]["names"].pop()),
    "a channel that is nowhere in the network": other_run(lambda run: run["values"]["network"].pop()),
}  # fmt: skip


@every_case("name", HOSTILE)
def test_a_hostile_archive_is_one_clear_line(kept: Any, tmp_path: Path, command: Command, name: str) -> None:
    """An archive can come from an untrusted build server."""
    path = HOSTILE[name](kept[2] / "kept.rigpact.zip", tmp_path / "evil.rigpact.zip")

    answer = command("gate", "--from", path)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert not (tmp_path.parent / "evil.json").exists()


ADEQUACY = {
    "clips": [{"name": "probe", "margins": [("angvel_lag", "1", 3.5)], "limits": []}],
    "declared": {"angvel_lag": "0"},
    "advice": {},
}


@every_case(
    "change",
    [
        {"clips": []},
        {"clips": 3},
        {"clips": [{"name": "probe", "margins": [["angvel_lag", "1"]], "limits": []}]},
        {"clips": [{"name": "probe", "margins": [[["angvel_lag"], "1", 3.5]], "limits": []}]},
        {"clips": [{"name": "probe", "margins": [], "limits": None}]},
        {"declared": {}},
        {"declared": None},
        {"advice": {"angvel_lag": 3}},
        {"more": 1},
    ],
)
def test_figures_that_do_not_fit_are_refused_when_they_are_read(change: dict[str, Any]) -> None:
    """Judged later, a convention without its value is an internal error, in a job that nobody can repeat."""
    part = Measured("adequacy", "t", (), Ledger(0, 0), metrics=ADEQUACY)
    assert sound_part(part).metrics == ADEQUACY
    with pytest.raises(UnusableInput, match="does not fit"):
        sound_part(replace(part, metrics=ADEQUACY | change))


def test_the_hostile_archives_differ_by_one_thing_only(kept: Any, tmp_path: Path, command: Command) -> None:
    """The passing case: written anew and unchanged, the archive is read."""
    path = zipped(tmp_path / "kind.rigpact.zip", members_of(kept[2] / "kept.rigpact.zip"))

    assert command("gate", "--from", path).status == 1


def test_an_archive_of_an_earlier_rigpact_says_so(kept: Any, tmp_path: Path, command: Command) -> None:
    """Its members had other names: the line names the version, and what to do."""
    make = altered(edited_json("manifest.json", lambda document: document.update(version=3)))
    path = make(kept[2] / "kept.rigpact.zip", tmp_path / "old.rigpact.zip")
    zipped(path, members_of(path) | {"runs/2/run.json": b"{}", "parts/2/frames.npy": b""})

    answer = command("gate", "--from", path)

    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert (
        "found version 3 of a result archive, expected version 4 (hint: run the gate again with --archive)"
        in answer.err
    )


@pytest.mark.parametrize("name", ["path", "offsets_m"])
def test_a_place_that_is_not_finite_is_not_drawn(kept: Any, name: str) -> None:
    """A root at infinity is nowhere on a page; the errors beside it still are."""
    run = read_archive(kept[2] / "kept.rigpact.zip").runs[0]
    shape = (len(run.frames), 4) if name == "path" else np.asarray(run.offsets_m).shape
    page = render_html(kept[1], [replace(run, **{name: np.full(shape, np.inf, np.float32)})])
    assert ('"path":null' if name == "path" else '"offsets":null') in page


def test_text_of_an_archive_is_never_a_format(kept: Any, tmp_path: Path) -> None:
    """A message such as {x.__class__} would read the reporting process's memory into a public report."""
    text = "{0} {address.__init__.__globals__} {{stage}}"
    change = edited_json(
        "verdict.json",
        lambda document: document["report"]["parts"][2]["report"]["findings"][0]["rule"].update(
            message=text, about=text
        ),
    )
    path = altered(change)(kept[2] / "kept.rigpact.zip", tmp_path / "evil.rigpact.zip")

    read = read_archive(path)
    finding = read.report.parts[2].report.findings[0]
    assert (finding.message, finding.about) == (text, text)
    assert text.encode() in archive_bytes(read.measurement, read.report)


def test_an_archive_of_another_version_is_still_read(kept: Any, tmp_path: Path) -> None:
    """Last month's gate must be readable after an update, though a rule may have another severity now."""

    def older(document: Any) -> None:
        document["rigpact"] = "0.0.1"
        document["sha256"] = ""

    path = altered(edited_json("manifest.json", older))(kept[2] / "kept.rigpact.zip", tmp_path / "old.rigpact.zip")
    severity = edited_json(
        "measured.json", lambda each: each["parts"][2]["findings"][0]["rule"].update(severity="warning")
    )
    found = read_archive(altered(severity)(path, tmp_path / "older.rigpact.zip"))
    assert codes(found.report) == codes(read_archive(kept[2] / "kept.rigpact.zip").report) != set()


def test_the_codec_of_the_archive_is_the_contracts(kept: Any) -> None:
    """A rotation kept with rows for columns would turn every picture inside out."""
    _, _, folder = kept
    from rigpact.contract.bundle import load_contract

    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    run = read_archive(folder / "kept.rigpact.zip").runs[0]
    decoded = Rot6d(contract.conventions).decode(read_trace(folder / TRACE).stages["y_out"].astype(np.float64))
    np.testing.assert_allclose(run.engine, decoded, atol=1e-6)


def test_another_name_is_refused(kept: Any, tmp_path: Path) -> None:
    """A file that no command will take is found out when it is written."""
    with pytest.raises(UnusableInput, match=r"\.rigpact\.zip"):
        write_archive(tmp_path / "results.zip", kept[0], kept[1])
