"""The archive: the same results give the same bytes, and nothing that is not ours is believed."""

import hashlib
import io
import json
import shutil
import string
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.structure import check_against_schema
from rigpact.reference_runtime import read_trace
from rigpact.reports.comparing.stage_comparison import Address
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence, RestsOn, StageVerdict
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.gate.archive import (
    MAX_MEMBERS,
    archive_bytes,
    array_to_bytes,
    read_archive,
    sound_part,
    write_archive,
)
from rigpact.reports.gate.kept_values import from_plain, to_plain
from rigpact.reports.gate.measured import GateMeasurement, Measured
from rigpact.reports.gate.report import GateReport
from rigpact.reports.renderers import FORMATS, render
from rigpact.reports.viewer import render_html

from ..every_case import every_case
from ..soon import SOON
from .conftest import FILES, TRACE, codes, judged, measured, record

NAME = "kept.rigpact.zip"
Members = dict[str, bytes]
Make = Callable[[Path, Path], Path]


@pytest.fixture(scope="module")
def kept(honest_project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[GateMeasurement, GateReport, Path]:
    """A failing project, measured and judged: an engine with the factors the wrong way round."""
    folder = tmp_path_factory.mktemp("kept") / "game"
    shutil.copytree(honest_project, folder)
    record(folder, TRACE, compose_order="prev_delta")
    measurement = measured(folder, FILES)
    report = judged(folder, FILES, measurement)
    write_archive(folder / NAME, measurement, report)
    return measurement, report, folder


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}


def zipped(path: Path, members: Mapping[str, bytes], *, rehash: bool = True, method: int = zipfile.ZIP_STORED) -> Path:
    """An archive of other members; with `rehash` its manifest says their hashes."""
    whole = dict(members)
    if rehash:
        manifest = json.loads(whole.pop("manifest.json"))
        manifest["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in whole.items()}
        said = {key: value for key, value in manifest.items() if key != "sha256"}
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        manifest = said | {"sha256": hashlib.sha256(canonical.encode()).hexdigest()}
        whole = {"manifest.json": json.dumps(manifest).encode(), **whole}
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in whole.items():
            file.writestr(name, content)
    return path


def test_an_answer_reads_back_in_every_format(kept):
    """A report shown a month later is the one that stopped the build; the verdict depends on the measurements alone."""
    measurement, report, folder = kept
    archive = read_archive(folder / NAME)
    assert {name: render(archive.report, name) for name in FORMATS} == {name: render(report, name) for name in FORMATS}
    assert render_html(archive.report, archive.runs) == render_html(report, measurement.runs)
    assert archive.report.verdict == "fail"
    assert render(judged(folder, FILES, archive.measurement), "json") == render(report, "json")


def test_the_archive_holds_what_a_picture_needs(kept):
    """Poses of both sides, errors and skeleton, recomputed here from the recording itself."""
    folder = kept[2]
    run = read_archive(folder / NAME).runs[0]
    meta = json.loads((folder / "norm_template.json").read_text(encoding="utf-8"))["meta"]
    recorded = read_trace(folder / TRACE).stages["y_out"].astype(np.float64).reshape(len(run.frames), -1, 6)
    traces = np.einsum("...ij,...ij->...", run.reference.astype(np.float64), run.engine.astype(np.float64))
    degrees = np.degrees(np.arccos(np.clip((traces - 1.0) / 2.0, -1.0, 1.0)))
    assert (run.name, run.fps, list(run.bone_names)) == ("sneak", 60.0, meta["bone_names"])
    assert list(run.parents or ()) == meta["skeleton"]["parents"]
    np.testing.assert_allclose(np.asarray(run.offsets_m), meta["skeleton"]["ref_local_offsets_m"], atol=1e-7)
    # columns are axes, float32: one rounding of a unit number each
    np.testing.assert_allclose(run.engine[..., :, 0], recorded[..., :3], atol=1e-6)
    np.testing.assert_allclose(run.engine[..., :, 2], recorded[..., 3:], atol=1e-6)
    # acos loses half the digits near 0: sqrt(2 * 2^-23) rad is 0.03 degrees
    np.testing.assert_allclose(run.deg, degrees, atol=0.05)
    assert run.cm is not None
    assert run.cm.max() > 1.0
    assert {name for name, _ in run.stages} >= {"next6d", "y_out"}
    assert run.diagnosis is not None
    assert run.diagnosis.causes[0].changes == {"compose_order": "prev_delta"}


def test_the_same_results_give_the_same_bytes_bound_to_their_inputs(kept):
    """A signature over the archive must not change with the clock; a reader must find out which model it describes."""
    measurement, report, folder = kept
    content = (folder / NAME).read_bytes()
    archive = read_archive(folder / NAME)
    assert archive_bytes(measurement, report) == content == archive_bytes(archive.measurement, archive.report)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert {(entry.date_time, entry.compress_type) for entry in file.infolist()} == {((1980, 1, 1, 0, 0, 0), 0)}
    manifest = json.loads(members_of(folder / NAME)["manifest.json"])
    assert list(check_against_schema(manifest, "archive_manifest")) == []
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", TRACE, "rigpact.toml"):
        assert manifest["provenance"][name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    with pytest.raises(UnusableInput, match=r"\.rigpact\.zip"):  # a name that no command will take
        write_archive(folder / "results.zip", measurement, report)


def test_other_thresholds_give_another_verdict_without_running(kept, project, command):
    """A night of recordings is not run again because a limit moved; a new recording is not judged by an old archive."""
    (project / TRACE).write_bytes((kept[2] / TRACE).read_bytes())

    def answered(text: str) -> Any:
        (project / "rigpact.toml").write_text(FILES + text, encoding="utf-8")
        return command("gate", "--from", kept[2] / NAME, "--format", "json")

    def found(text: str) -> set[str]:
        return {finding["code"] for part in json.loads(answered(text).out)["parts"] for finding in part["findings"]}

    lax = "[gate.thresholds]\ntolerance-factor = 8000\n"
    waiver = f'[[gate.waive]]\npart = "engine-trace/sneak"\nowner = "A"\nreason = "r"\nexpires = "{SOON}"\n'
    assert [answered(text).status for text in ("", lax, f"{lax}pose-deg = 1\n", waiver)] == [1, 1, 1, 0]
    assert ["RP964" in found(text) for text in (lax, f"{lax}pose-deg = 1\n")] == [False, True]
    other = answered(f'[[gate.trace]]\nfile = "{TRACE}"\nclip = "clips/Run_F.json"\nname = "run"\n')
    assert (other.status, other.out, "gate.trace" in other.err) == (2, "", True)


def test_an_archive_says_nothing_of_files_that_are_gone(project, command):
    """A pull request deletes what it breaks: yesterday's pass must not stand for files that nobody has any more."""
    (project / "rigpact.toml").write_text(FILES, encoding="utf-8")
    assert command("gate", "--archive", NAME).status == command("gate", "--from", NAME).status == 0
    (project / TRACE).unlink()
    answer = command("gate", "--from", NAME, "--format", "json")
    found = [(each["code"], each["file"]) for part in json.loads(answer.out)["parts"] for each in part["findings"]]
    assert (answer.status, ("RP979", TRACE) in found) == (1, True)


def altered(change: Callable[[Members], Members | None]) -> Make:
    def make(source: Path, target: Path) -> Path:
        members = members_of(source)
        return zipped(target, change(members) or members)

    return make


def edited(name: str, edit: Callable[[Any], object]) -> Make:
    """An archive with a change of one of its documents."""

    def change(members: Members) -> None:
        document = json.loads(members[name])
        edit(document)
        members[name] = json.dumps(document).encode()

    return altered(change)


def measure(edit: Callable[[Any], object]) -> Make:
    return edited("measured.json", edit)


def verdict(edit: Callable[[Any], object]) -> Make:
    return edited("verdict.json", lambda document: edit(document["report"]["parts"]))


def part(**changes: Any) -> Make:
    return measure(lambda d: d["parts"][0].update(changes))


def run(edit: Callable[[Any], object]) -> Make:
    return measure(lambda d: edit(d["parts"][2]["run"]))


def runs(**changes: Any) -> Make:
    return run(lambda own: own.update(changes))


def figures(kind: str, edit: Callable[[Any], object]) -> Make:
    """A change of the figures of a part."""
    return measure(lambda d: edit(next(p for p in d["parts"] if p["name"].partition("/")[0] == kind)["metrics"]))


def diagnosis(**changes: Any) -> Make:
    return run(lambda own: own["diagnosis"].update(changes))


def array(name: str, content: bytes) -> Make:
    """An archive whose run has another array."""
    return altered(lambda members: members | {json.loads(members["measured.json"])["parts"][2]["run"][name]: content})


def added(name: str, content: bytes = b"{}") -> Make:
    return altered(lambda members: members | {name: content})


def lost(name: str, *, rehash: bool = False) -> Make:
    return lambda source, target: zipped(
        target, {n: c for n, c in members_of(source).items() if n != name}, rehash=rehash
    )


def rewritten(change: Callable[[bytes], bytes]) -> Make:
    def make(source: Path, target: Path) -> Path:
        target.write_bytes(change(source.read_bytes()))
        return target

    return make


def npy(shape: str, content: bytes = b"") -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"evil": 1}], object), allow_pickle=True)
    return stream.getvalue()


DEFLATED, ZEROS = zipfile.ZIP_DEFLATED, array_to_bytes(np.zeros((3, 3), np.float32))
BESIDE = {"bones": [3], "not_recorded": [], "whole_stages": []}
SUMMARIES = [{"files": [3]}, {"files": [{"path": 3}]}, {"not_judged": []}, {"spread": "wide"}]
HOSTILE: dict[str, Make] = {
    "no zip": rewritten(lambda _content: b"PK nonsense"),
    "cut off": rewritten(lambda content: content[:-400]),
    "bytes changed": rewritten(lambda content: content.replace(b"compose_order", b"compose_0rder")),
    "a member changed": lambda source, target: zipped(
        target, {name: each.replace(b"against", b"beside") for name, each in members_of(source).items()}, rehash=False
    ),
    "more members than there are": altered(lambda members: members | {f"arrays/{n}.npy": b"" for n in range(MAX_MEMBERS)}),
    "a path out of the folder": added("../evil.json"),
    "an absolute path": added("/etc/evil.json"),
    "a foreign member": added("arrays/0.py"),
    "compressed": lambda source, target: zipped(target, members_of(source), method=DEFLATED),
    "a bomb": lambda source, target: zipped(target, members_of(source) | {"arrays/99.npy": b"\0" * 10_000_000}, method=DEFLATED
    ),
    "a pickle": array("frames", pickled()),
    "an array that claims a terabyte": array("deg", npy("(1000000, 1000000)")),
    "an array of negative shape": array("deg", npy("(-1, 4)", b"\0" * 16)),
    **{f"{name} of another shape": array(name, ZEROS)
       for name in ("deg", "cm", "frames", "reference", "engine", "offsets_m", "ratios")},
    "frames that are no whole numbers": lambda source, target: array(
        "frames", array_to_bytes(read_archive(source).runs[0].frames.astype(np.float64))
    )(source, target),
    **{f"{name} that are one number": array(name, npy("()", bytes(4))) for name in ("ratios", "deg")},
    "an array that nothing names": added("arrays/99.npy", array_to_bytes(np.zeros(3, np.float32))),
    "a member beside them": added("runs/2/run.json"),
    "an array that is not there": runs(cm="arrays/98.npy"),
    "an array in two places": run(lambda own: own.update(engine=own["reference"])),
    "no manifest": lost("manifest.json"),
    "a member lost": lost("verdict.json"),
    "no verdict": lost("verdict.json", rehash=True),
    "an error that became a warning": measure(lambda d: d["parts"][2]["findings"][0]["rule"].update(severity="warning")),
    "a failure that became a pass": edited("verdict.json", lambda d: d.update(verdict="pass")),
    "another format": edited("manifest.json", lambda d: d.update(format="other")),
    "no system": edited("manifest.json", lambda d: d.update(system="")),
    "two systems": measure(lambda d: d.update(system="other")),
    "other files measured": measure(lambda d: d.update(provenance={})),
    "a class that is not ours": part(metrics={"x": {"$Popen": {"args": "id"}}}),
    "a finding without its rule": verdict(lambda parts: parts[2]["report"]["findings"][0]["rule"].pop("code")),
    "a ledger of words": part(ledger="all"),
    "a ledger without an end": measure(lambda d: d["parts"][0]["ledger"].update(declared=float("inf"))),
    "less than nothing": measure(lambda d: d["parts"][0]["ledger"].update(waived=-1)),
    "a run without an end of its frames": runs(fps={"$float": "inf"}),
    "a run of half a number": runs(fps=1e400),
    "a run of a part that has none": measure(
        lambda d: (d["parts"][0].update(run=d["parts"][2]["run"]), d["parts"][2].update(run=None))
    ),
    "lines of another day": part(remarks=["x"]),
    "a part of no kind": part(name="files2"),
    "a part twice": measure(lambda d: d["parts"].append(d["parts"][0])),
    "a summary that is a list": part(summary=[]),
    **{f"a summary of {summary}": verdict(lambda parts, summary=summary: parts[0]["report"].update(summary=summary))
       for summary in SUMMARIES},
    "values that are a list": verdict(lambda parts: parts[2]["report"]["findings"][0].update(values=[])),
    "a figure that no part has": figures("budget", lambda own: own.update(x=1)),
    "bytes of a word": figures("budget", lambda own: own.update(model_bytes="x")),
    "half a character": measure(lambda d: d["not_asked"].update(budget="\ud800")),
    "no account": figures("engine-trace", lambda own: own.pop("accounts")),
    "an account of two numbers": figures("engine-trace", lambda own: own["accounts"].update(y_out=[1, 1])),
    "stages that the ratios do not have": runs(stages=[["y_out", ""]]),
    "a cause that is a number": diagnosis(causes=[3]),
    "bones that are numbers": diagnosis(rests_on=BESIDE),
    "a divergence that is none": diagnosis(first_divergence={"frame": 3}),
    "a verdict that no diagnosis has": diagnosis(verdict="fine"),
    "a parent beyond the skeleton": runs(parents=[99] * 46),
    "poses of nobody": runs(against="somebody"),
    "numbers of a channel without a name": run(lambda own: own["values"]["names"].pop()),
    "a channel that is nowhere in the network": run(lambda own: own["values"]["network"].pop()),
}  # fmt: skip


@every_case("name", HOSTILE)
def test_a_hostile_archive_is_one_clear_line(kept, tmp_path, command, name):
    """An archive can come from an untrusted build server."""
    answer = command("gate", "--from", HOSTILE[name](kept[2] / NAME, tmp_path / "evil.rigpact.zip"))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert not (tmp_path.parent / "evil.json").exists()


ADEQUACY: dict[str, Any] = {
    "clips": [{"name": "probe", "margins": [("angvel_lag", "1", 3.5)], "limits": []}],
    "declared": {"angvel_lag": "0"}, "advice": {},
}  # fmt: skip


@every_case(
    "change",
    [
        {"clips": []}, {"clips": 3}, {"clips": [{"name": "probe", "margins": [["angvel_lag", "1"]], "limits": []}]},
        {"clips": [{"name": "probe", "margins": [[["angvel_lag"], "1", 3.5]], "limits": []}]},
        {"clips": [{"name": "probe", "margins": [], "limits": None}]}, {"declared": {}}, {"declared": None},
        {"advice": {"angvel_lag": 3}}, {"more": 1},
    ],
)  # fmt: skip
def test_figures_that_do_not_fit_are_refused_when_they_are_read(change):
    """Judged later, a convention without its value is an internal error, in a job that nobody can repeat."""
    own = Measured("adequacy", "t", (), Ledger(0, 0), metrics=ADEQUACY)
    assert sound_part(own).metrics == ADEQUACY
    with pytest.raises(UnusableInput, match="does not fit"):
        sound_part(replace(own, metrics=ADEQUACY | change))


def test_an_archive_of_an_earlier_rigpact(kept, tmp_path, command):
    """Last month's gate must be readable after an update, though a rule is graded otherwise now; an older format says so."""
    same = zipped(tmp_path / "kind.rigpact.zip", members_of(kept[2] / NAME))
    assert command("gate", "--from", same).status == 1  # the passing case of the hostile ones
    of_another = edited("manifest.json", lambda d: d.update(rigpact="0.0.1"))(same, tmp_path / "a.rigpact.zip")
    graded = measure(lambda d: d["parts"][2]["findings"][0]["rule"].update(severity="warning"))
    found = read_archive(graded(of_another, tmp_path / "b.rigpact.zip"))
    assert codes(found.report) == codes(kept[1]) != set()
    older = edited("manifest.json", lambda d: d.update(version=3))(same, tmp_path / "c.rigpact.zip")
    answer = command("gate", "--from", zipped(older, members_of(older) | {"runs/2/run.json": b"{}"}))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "found version 3 of a result archive, expected version 4" in answer.err


@pytest.mark.parametrize(("name", "key"), [("path", "path"), ("offsets_m", "offsets")])
def test_a_place_that_is_not_finite_is_not_drawn(kept, name, key):
    """A root at infinity is nowhere on a page; the errors beside it still are."""
    own = read_archive(kept[2] / NAME).runs[0]
    shape = (len(own.frames), 4) if name == "path" else np.asarray(own.offsets_m).shape
    page = render_html(kept[1], [replace(own, **{name: np.full(shape, np.inf, np.float32)})])
    assert f'"{key}":null' in page


def test_text_of_an_archive_is_never_a_format(kept, tmp_path):
    """A message such as {x.__class__} would read the reporting process's memory into a public report."""
    text = "{0} {address.__init__.__globals__} {{stage}}"
    make = verdict(lambda parts: parts[2]["report"]["findings"][0]["rule"].update(message=text, about=text))
    read = read_archive(make(kept[2] / NAME, tmp_path / "evil.rigpact.zip"))
    finding = read.report.parts[2].report.findings[0]
    assert (finding.message, finding.about) == (text, text)
    assert text.encode() in archive_bytes(read.measurement, read.report)


def again(kind: Any, value: Any) -> Any:
    """A value without arrays, written and read."""
    return from_plain(kind, json.loads(json.dumps(to_plain(kind, value, {}))), {})


def said_of(finding: Finding) -> Any:
    try:
        return finding.to_json()
    except (ValueError, TypeError, KeyError):
        return None


def test_findings_of_most_rules_read_back():
    """The archive must keep every message of a rule unchanged; the messages of a few want other values than a number."""
    address, findings = Address("y_out", 3, bone="hand_l"), []
    for rule in ALL_RULES:
        names = {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(rule.message) if name}
        values = dict.fromkeys(names, np.float32(1.5)) | {"address": address, "tuple": (1, "a")}
        findings.append(Finding(rule, "a.json", "/x", values))
    findings = [finding for finding in findings if said_of(finding) is not None]
    assert len(findings) > 0.7 * len(ALL_RULES)
    for before in findings:
        after = again(Finding, before)
        assert (said_of(after), after.values["address"], after.values["tuple"]) == (said_of(before), address, (1, "a"))


@every_case("value", [float("nan"), float("inf"), -float("inf"), 1e300, 0, True, None, "$x", [1, [2]], (), {"a": (1,)}])
def test_a_value_reads_back(value):
    """Numbers that are not finite are what a report is about; JSON has none."""
    assert repr(again(Any, value)) == repr(value)


def test_a_diagnosis_reads_back():
    """A relation that became text on its way made the report of its recording an internal error."""
    relation = Relation("quat", "quat of hand_l", "turned", "turned by 90° about z", 24, 24, 0.3)
    stage = StageVerdict("quat", 1.0, None, 1.0, 0.1, 10.0, ok=False, unit="deg")
    place = Divergence(3, "quat", Address("quat", 3, bone="hand_l"), 90.0, "deg")
    rests_on = RestsOn(("hand_l",), ("head",), ())
    says = {"relations": (relation,), "first_unexplained": place, "rests_on": rests_on}
    before = Diagnosis("unexplained", place, (stage,), (), (("fps", 60),), **says)  # type: ignore[arg-type]
    after = again(Diagnosis, before)
    assert after.to_json() == before.to_json()
    assert after.relations[0].sentence == relation.sentence
