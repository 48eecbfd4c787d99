"""The recipes of CONTRIBUTING.md, followed word for word in a copy of the repository: they work, and touch what they say."""

import json
import re
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from .outside_project import PACKAGE, Rigpact, keep_stages, roots_of
from .recipes import changed, copied, recipe

pytestmark = [pytest.mark.repository, pytest.mark.nightly]
GENERATE = (("-m", "rigpact.reports.engine.cpp_text"), ("-m", "parity_tests.measuring.pages.generated_docs"))
GENERATED = {"Add an operation", "Add a rule", "Add a value of a knob"}
STATED = """format = "rigpact-contract"
version = 1
name = "stated"
fps = 50
given = [{ name = "x", names = ["a", "b"] }]
stages = [{ name = "z", operation = "normalise", of = "x", mean = "mean", std = 2 }]
[numbers]
mean = { file = "stats.toml", at = "/mean" }
"""


def _nothing_more(_rigpact: Rigpact, _demo: Path) -> None:
    """The tests that the recipe brings, or those of its room, show all of it."""


def _operation(rigpact: Rigpact, _demo: Path) -> None:
    """One without an oracle would explain engines with its own mistakes."""
    room = "parity_tests/declared_room"
    oracle = rigpact.folder / room / "test_operations_scaling.py"
    oracle.write_text(oracle.read_text(encoding="utf-8").replace('operation = "near_zero"', 'operation = "wrap"'))
    refused = rigpact.python(
        "-m", "pytest", "-q", f"{room}/test_operations_refused.py::test_every_operation_has_an_oracle"
    )
    assert (refused.status, "near_zero" in refused.out) == (1, True), refused.text


def _reader(rigpact: Rigpact, _demo: Path) -> None:
    """Numbers that have to be copied by hand are those that differ between two sides."""
    (rigpact.folder / "stated.toml").write_text(STATED, encoding="utf-8")
    (rigpact.folder / "stats.toml").write_text("mean = [1.5, -0.5]\n", encoding="utf-8")
    answer = rigpact("show", "stated.toml")
    assert (answer.status, "{'mean': [1.5, -0.5]}" in answer.out) == (0, True), answer.text


def _recording(rigpact: Rigpact, _demo: Path) -> None:
    """A logger that cannot be changed writes what it writes."""
    contract = STATED.partition("[numbers]")[0].replace('"mean"', "[1, 1]")
    (rigpact.folder / "stated.toml").write_text(contract, encoding="utf-8")
    for status, last in enumerate(("0.5", "0.75")):
        (rigpact.folder / "log.dat").write_text(f"x.a x.b z.a z.b\n1 3 0 1\n5 2 2 {last}\n", encoding="utf-8")
        assert rigpact("explain", "log.dat", "--contract", "stated.toml").status == status


def _knob(rigpact: Rigpact, demo: Path) -> None:
    """A value that the reference or the diagnosis does not know is never named."""
    bundle = ("--contract", demo / "norm_template.json", "--companion", demo / "pretrain_template.json")
    said = (*bundle, "--onnx", demo / "model.onnx")
    clip, trace = demo / "clips" / "Sneak_Turn.json", "turns.trace.jsonl"
    run = ("run", *said, clip, "--frames", 30, "--set", "yaw_encoding=turns", "--out", trace)
    assert rigpact(*run).status == 0
    answer = rigpact("explain", trace, *said, "--clip", clip)
    assert (answer.status, "With yaw_encoding = turns" in answer.out) == (1, True), answer.text


def _stage(rigpact: Rigpact, _demo: Path) -> None:
    """A stage that the reference computes and the diagnosis does not know is a blind spot."""
    old = rigpact.folder / "fixtures" / "bundles" / "rig_inversion"
    assert rigpact("show", "rig_inversion", "--write-contract", "rig.json").status == 0
    own, before = (
        json.loads(path.read_text("utf-8")) for path in (rigpact.folder / "rig.json", old / "rig_inversion.json")
    )
    (rigpact.folder / "rig.json").write_text(json.dumps(own | {"constants": before["constants"]}), encoding="utf-8")
    said = ("--contract", "rig.json", old / "clip.trace.safetensors", "--onnx", old / "model.onnx", "--frames", 40)
    assert rigpact("run", *said, "--set", "score_of=euclidean", "--out", "wrong.trace.jsonl").status == 0
    stages = ("mesh", "rig_parameters", "score")
    keep_stages(rigpact.folder / "wrong.trace.jsonl", rigpact.folder / "sparse.trace.jsonl", stages)
    for name in ("wrong", "sparse"):
        explained = rigpact("explain", f"{name}.trace.jsonl", "--contract", "rig.json")
        assert (explained.status, "With score_of = euclidean" in explained.out) == (1, True), explained.text


RECIPES: dict[str, tuple[Callable[[Rigpact, Path], None], tuple[str, ...]]] = {
    "Add an operation": (_operation, ("-k", "near_zero or oracle")),
    "Add a reader of numbers": (_reader, ()),
    "Add a recording format": (_recording, ()),
    "Add a rule": (
        _nothing_more,
        ("parity_tests/contract_room/test_every_rule.py", "-k", "told_as_it_was or RP073 or golden"),
    ),
    "Add a value of a knob": (_knob, ("-k", "yaw")),
    "Add a stage": (_stage, ()),
    "Add a report format": (_nothing_more, ("parity_tests/renderers_room", "-k", "csv or hostile or formats")),
}
"""What shows that a recipe works, and the words for pytest beside the test files that the recipe touches."""


def _installed(rigpact: Rigpact) -> Rigpact:
    """The copy as `pip install -e .` leaves it: its own entry points are found before those of the checkout."""
    project = tomllib.loads((rigpact.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = rigpact.folder.parent / "site" / f"rigpact-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: rigpact\nVersion: {project['version']}\n", encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in each.items()) for group, each in groups]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return Rigpact(rigpact.folder, (str(info.parent), *rigpact.imports))


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_works_and_touches_as_many_files_as_it_says(
    heading: str, checkout: Path, tmp_path: Path, demo_bundle: Path
) -> None:
    """If a rule needed changes in five files, contributors would not write rules."""
    works, words = RECIPES[heading]
    copy = copied(checkout, tmp_path / "copy")
    page = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for edit in recipe(page, heading):
        edit.apply(copy)
    rigpact = _installed(Rigpact(copy, tuple(roots_of(copy))))
    pytest_of_the_copy = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    touched = sorted(name for name in changed(copy) if re.fullmatch(r"parity_tests/\w+/test_\w+\.py", name))
    if heading == "Add a rule":
        rigpact.python(*pytest_of_the_copy, *words, RIGPACT_REGENERATE="1")
    for command in GENERATE if heading in GENERATED else ():
        assert rigpact.python(*command).status == 0
    names = changed(copy)
    (section,) = (part for part in page.split("\n## ") if part.startswith(f"{heading}\n"))
    (said,) = re.findall(r"You touched (\d+)\sfiles?\b", section)
    assert len(names) == int(said), sorted(names)
    if find_spec("ruff") is not None:  # the environment that tests the wheel has none; `tox -e lint` has
        files = sorted(name for name in names if name.endswith(".py"))
        for lint in (("check", "--quiet"), ("format", "--check", "--quiet")):
            assert rigpact.python("-m", "ruff", *lint, *files).status == 0
    if touched or words:
        answer = rigpact.python(*pytest_of_the_copy, *touched, *words)
        assert answer.status == 0, answer.text
    works(rigpact, demo_bundle)


def test_the_system_recipe_is_the_outside_package(checkout: Path) -> None:
    """The page shows the two lines that a package needs; they are the package's own, and no file of rigpact names it."""
    page = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = page.partition("```toml\n")[2].partition("```")[0]
    assert lines in (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    assert len((PACKAGE / "walking_policy.py").read_text(encoding="utf-8").splitlines()) <= 120
    reports = list((checkout / "reports").rglob("*.py"))
    assert reports
    assert [path for path in reports if "walking_policy" in path.read_text(encoding="utf-8")] == []
