"""The recipes of CONTRIBUTING.md, followed word for word in a copy of the repository: they work, and touch what they say."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from .outside_project import Rigpact, keep_stages, roots_of
from .recipes import changed, copied, recipe, sources

pytestmark = [pytest.mark.repository, pytest.mark.nightly]
RULES = "contract/rigpact/contract/rules"
RUNTIME = "reference_runtime/rigpact/reference_runtime"
RENDERERS = "reports/rigpact/reports/renderers"
Follow = Callable[[str], Rigpact]


@pytest.fixture
def follow(checkout: Path, tmp_path: Path) -> Follow:
    """Follow a recipe: the command of a copy of the repository in which it was done."""

    def done(heading: str) -> Rigpact:
        copy = copied(checkout, tmp_path / "copy")
        page = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
        for edit in recipe(page, heading):
            edit.apply(copy)
        return Rigpact(copy, tuple(roots_of(copy)))

    return done


def _tests(rigpact: Rigpact, *words: str, regenerate: bool = False) -> None:
    """Run tests of the copy, as its user would."""
    variables = {"RIGPACT_REGENERATE": "1"} if regenerate else {}
    answer = rigpact.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *words, **variables)
    assert answer.status == 0, answer.text


def _lint(rigpact: Rigpact, names: set[str]) -> None:
    if find_spec("ruff") is None:  # the environment that tests the wheel has none; `tox -e lint` has
        return
    files = sorted(name for name in names if name.endswith(".py"))
    for words in (("check", "--quiet"), ("format", "--check", "--quiet")):
        answer = rigpact.python("-m", "ruff", *words, *files)
        assert answer.status == 0, answer.text


def _counts_its_files(rigpact: Rigpact, heading: str) -> set[str]:
    """The files that the recipe touched; as many as it says."""
    page = (rigpact.folder / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = (part for part in page.split("\n## ") if part.startswith(f"{heading}\n"))
    (said,) = re.findall(r"You touched (\d+)\sfiles?\b", section)
    names = changed(rigpact.folder)
    assert len(names) == int(said), sorted(names)
    return names


def _installed(rigpact: Rigpact) -> Rigpact:
    """The copy as `pip install -e .` leaves it: its own entry points are found before those of the checkout."""
    project = tomllib.loads((rigpact.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = rigpact.folder.parent / "site" / f"rigpact-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: rigpact\nVersion: {project['version']}\n", encoding="utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return Rigpact(rigpact.folder, (str(info.parent), *rigpact.imports))


def test_an_operation_has_its_cpp_and_its_oracle(follow: Follow) -> None:
    """An operation without C++ makes every run slow; one without an oracle explains engines with its own mistakes."""
    rigpact = _installed(follow("Add an operation"))
    assert rigpact.python("-m", "rigpact.reports.engine.codegen").status == 0
    assert rigpact.python("-m", "parity_tests.measuring.pages.generated_docs").status == 0
    names = _counts_its_files(rigpact, "Add an operation")
    vocabulary = "reference_runtime/cpp/include/rigpact/vocabulary"
    assert {f"{vocabulary}/operations.hpp", f"{vocabulary}/readings.hpp", "docs/operations.md"} < names
    _lint(rigpact, names)
    room = "parity_tests/declared_room"
    _tests(
        rigpact,
        f"{room}/test_operations_scaling.py",
        f"{room}/test_operations_complete.py",
        "-k",
        "near_zero or oracle",
    )
    if shutil.which("g++") or shutil.which("clang++"):
        assert rigpact.python("hatch_build.py").status == 0
        _tests(rigpact, "parity_tests/cpp_room/test_native_plan.py", "-k", "near_zero")
    oracle = rigpact.folder / room / "test_operations_scaling.py"
    oracle.write_text(oracle.read_text(encoding="utf-8").replace('operation = "near_zero"', 'operation = "wrap"'))
    refused = rigpact.python("-m", "pytest", "-q", f"{room}/test_operations_complete.py")
    assert (refused.status, "near_zero" in refused.out) == (1, True), refused.text


STATED = """format = "rigpact-contract"
version = 1
name = "stated"
fps = 50
given = [{ name = "x", names = ["a", "b"] }]
stages = [{ name = "z", operation = "normalise", of = "x", mean = "mean", std = 2 }]
[numbers]
mean = { file = "stats.toml", at = "/mean" }
"""


def test_a_reader_of_numbers_is_a_function_and_a_row(follow: Follow) -> None:
    """Numbers that have to be copied by hand are those that differ between two sides."""
    rigpact = follow("Add a reader of numbers")
    _lint(rigpact, _counts_its_files(rigpact, "Add a reader of numbers"))
    (rigpact.folder / "stated.toml").write_text(STATED, encoding="utf-8")
    (rigpact.folder / "stats.toml").write_text("mean = [1.5, -0.5]\n", encoding="utf-8")
    answer = rigpact("show", "stated.toml")
    assert (answer.status, "{'mean': [1.5, -0.5]}" in answer.out) == (0, True), answer.text
    (rigpact.folder / "stats.toml").write_text("mean = [1.5,", encoding="utf-8")
    assert rigpact("check", "stated.toml").status != 0


def test_a_recording_format_is_a_function_and_a_row(follow: Follow) -> None:
    """A logger that cannot be changed writes what it writes."""
    rigpact = follow("Add a recording format")
    _lint(rigpact, _counts_its_files(rigpact, "Add a recording format"))
    contract = STATED.partition("[numbers]")[0].replace('"mean"', "[1, 1]")
    (rigpact.folder / "stated.toml").write_text(contract, encoding="utf-8")
    for name, last in (("right", "0.5"), ("wrong", "0.75")):
        rows = f"x.a x.b z.a z.b\n1 3 0 1\n5 2 2 {last}\n"
        (rigpact.folder / f"{name}.dat").write_text(rows, encoding="utf-8")
    answers = [rigpact("explain", f"{name}.dat", "--contract", "stated.toml") for name in ("right", "wrong")]
    assert [each.status for each in answers] == [0, 1], answers[0].text + answers[1].text
    _tests(rigpact, "parity_tests/runtime_room/test_table_files.py")


def test_a_rule_touches_the_module_of_its_family(follow: Follow, demo_bundle: Path) -> None:
    """If a rule needed changes in five files, contributors would not write rules."""
    rigpact = follow("Add a rule")
    room = "parity_tests/contract_room"
    pages = (f"{room}/test_every_rule.py",)
    _tests(rigpact, *pages, "-k", "told_as_it_was or RP073 or golden_findings", regenerate=True)
    assert rigpact.python("-m", "parity_tests.measuring.pages.generated_docs").status == 0

    tests = {f"{room}/bundle_cases.py", f"{room}/golden.txt"}
    assert changed(rigpact.folder) == {f"{RULES}/bundle/timing.py", f"{RULES}/examples.json", "docs/rules.md"} | tests
    _counts_its_files(rigpact, "Add a rule")
    _tests(rigpact, *pages, "-k", "told_as_it_was or RP073 or RP072 or golden")
    _lint(rigpact, changed(rigpact.folder))
    assert "is not a whole number" in rigpact("show", "fps-not-whole").out
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    (rigpact.folder / "b.json").write_text(json.dumps(bundle | {"fps": 59.94}), encoding="utf-8")
    assert "b.json#/fps: RP073 warning: fps = 59.94" in rigpact("check", "b.json").out
    assert "RP073" not in rigpact("check", demo_bundle / "norm_template.json").out


def test_a_value_of_a_knob_is_a_row(follow: Follow, demo_bundle: Path) -> None:
    """Reference, diagnosis, mutants and adequacy read one table: a value that one of them does not know is never named."""
    rigpact = follow("Add a value of a knob")
    assert rigpact.python("-m", "parity_tests.measuring.pages.generated_docs").status == 0
    assert rigpact.python("-m", "rigpact.reports.engine.codegen").status == 0

    names = _counts_its_files(rigpact, "Add a value of a knob")
    headers = {f"reference_runtime/cpp/include/rigpact/{name}.hpp" for name in ("vocabulary/readings", "normalisation")}
    tests = {"parity_tests/runtime_room/test_normalisation.py", "parity_tests/diagnosis_room/test_singles.py"}
    pages = {"docs/conventions.md", "docs/operations.md"}
    assert names == {f"{RUNTIME}/vocabulary/character/state_features.py"} | pages | headers | tests
    _lint(rigpact, names)
    _tests(rigpact, *sorted(tests), "parity_tests/runtime_room/test_knobs.py", "-k", "yaw")
    _compile(rigpact.folder)
    clip = demo_bundle / "clips" / "Sneak_Turn.json"
    bundle, trace = demo_bundle / "norm_template.json", rigpact.folder / "turns.trace.jsonl"
    said = ("--onnx", demo_bundle / "model.onnx", "--companion", demo_bundle / "pretrain_template.json", clip)
    assert (
        rigpact(
            "run", "--contract", bundle, *said, "--frames", 30, "--set", "yaw_encoding=turns", "--out", trace
        ).status
        == 0
    )
    answer = rigpact("explain", trace, "--contract", bundle, *said)
    assert (answer.status, "With yaw_encoding = turns" in answer.out) == (1, True), answer.text


def _compile(copy: Path) -> None:
    """The C++ headers of the copy have a case for every value."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:  # the rooms that need one say so
        return
    words = (
        "-std=c++17",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Ireference_runtime/cpp/include",
        "-xc++",
        "-",
    )
    code = "#include <rigpact/normalisation.hpp>\ntemplate float rigpact::encode_yaw<float>(rigpact::YawEncoding, float);\n"
    code += "template float rigpact::decode_yaw<float>(rigpact::YawEncoding, float);\n"
    done = subprocess.run(
        [compiler, *words], check=False, cwd=copy, input=code, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_stage_is_said_once(follow: Follow) -> None:
    """A stage that the reference computes and the diagnosis does not know is a blind spot."""
    rigpact = follow("Add a stage")
    assert _counts_its_files(rigpact, "Add a stage") == {"contract/rigpact/contract/pages/rig_inversion.toml"}

    old = rigpact.folder / "fixtures" / "bundles" / "rig_inversion"
    assert rigpact("show", "rig_inversion", "--write-contract", "rig.json").status == 0
    declared, before = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (rigpact.folder / "rig.json", old / "rig_inversion.json")
    )
    (rigpact.folder / "rig.json").write_text(
        json.dumps(declared | {"constants": before["constants"]}), encoding="utf-8"
    )
    said = ("--contract", "rig.json", old / "clip.trace.safetensors", "--onnx", old / "model.onnx", "--frames", 40)
    for name, changes in (("right", ()), ("wrong", ("--set", "score_of=euclidean"))):
        assert rigpact("run", *said, *changes, "--out", f"{name}.trace.jsonl").status == 0
    diff = rigpact("diff", "right.trace.jsonl", "wrong.trace.jsonl", "--contract", "rig.json")
    assert (diff.status, "stage score" in diff.out) == (1, True), diff.text
    explained = rigpact("explain", "wrong.trace.jsonl", "--contract", "rig.json")
    assert (explained.status, "With score_of = euclidean" in explained.out) == (1, True), explained.text
    sparse = rigpact.folder / "sparse.trace.jsonl"
    keep_stages(rigpact.folder / "wrong.trace.jsonl", sparse, ("mesh", "rig_parameters", "score"))
    explained = rigpact("explain", sparse, "--contract", "rig.json")
    assert (explained.status, "With score_of = euclidean" in explained.out) == (1, True), explained.text
    described = rigpact("show", "rig.json").out
    assert "score_of" in described
    assert "vertex_error" in described


def test_a_report_format_is_a_module_and_a_row(follow: Follow, demo_bundle: Path) -> None:
    """A studio's build server reads what a studio's build server reads."""
    rigpact = follow("Add a report format")
    names = {f"{RENDERERS}/csv_table.py", f"{RENDERERS}/__init__.py"}
    assert sources(changed(rigpact.folder)) == names
    assert _counts_its_files(rigpact, "Add a report format") == names | {"docs/ci.md"}
    _lint(rigpact, names)
    _tests(rigpact, "parity_tests/renderers_room/test_formats.py", "-k", "csv or hostile")
    _tests(rigpact, "parity_tests/renderers_room/test_ci_page.py", "-k", "formats")

    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    del bundle["fps"]
    (rigpact.folder / "b.json").write_text(json.dumps(bundle), encoding="utf-8")
    lines = rigpact("check", "b.json", "--format", "csv").out.splitlines()
    assert lines[0] == "part,severity,code,file,pointer,message"
    assert any(line.startswith("check,warning,RP070,") for line in lines), lines
    assert "csv" in rigpact("gate", "--help").out


def test_the_system_recipe_is_the_outside_package(checkout: Path) -> None:
    """The page shows the two lines that a package needs; they are the package's own."""
    page = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = page.partition("```toml\n")[2].partition("```")[0]
    folder = checkout / "parity_tests" / "repository" / "outside"
    assert lines in (folder / "pyproject.toml").read_text(encoding="utf-8")
    assert len((folder / "walking_policy.py").read_text(encoding="utf-8").splitlines()) <= 120
    mentions = [
        path for path in (checkout / "reports").rglob("*.py") if "walking_policy" in path.read_text(encoding="utf-8")
    ]
    assert mentions == []
