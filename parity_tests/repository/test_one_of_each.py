"""One contract, one comparer, one generator of headers, one way in which both sides name a number: a second one would drift."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from rigpact.contract.declared.vocabulary import operations_of_rigpact
from rigpact.reports.engine.codegen import OWN_HEADERS

from ..sources import nodes

ROOMS = ("contract", "reference_runtime", "fixtures", "reports")


def calls_of_index(folder: Path) -> list[str]:
    """Places where the number of a word is its place in a list: `list(TABLE).index(word)`."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in nodes(path):
            is_index = isinstance(node, ast.Attribute) and node.attr == "index" and isinstance(node.value, ast.Call)
            if is_index and ast.unparse(node.value.func) == "list":
                found.append(f"{path.name}:{node.lineno}")
    return found


def called(path: Path) -> list[str]:
    """Names of everything that a module calls, without what stands before the last dot."""
    calls = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
    return [ast.unparse(call).rpartition(".")[2] for call in calls]


def imported(path: Path) -> set[str]:
    """Modules that a module imports."""
    return {str(node.module).rpartition(".")[2] for node in nodes(path) if isinstance(node, ast.ImportFrom)}


def classes_of_contracts(folders: Iterable[Path]) -> list[str]:
    """Classes that are contracts by what they hold: conventions, and the hashes that a recording says of its contract."""
    found = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for node in nodes(path):
            if not isinstance(node, ast.ClassDef) or any(ast.unparse(base) == "Protocol" for base in node.bases):
                continue
            held = {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
            held |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            if node.name.endswith("Contract") and {"conventions", "hashes"} <= held:
                found.append(f"{path.stem}.{node.name}")
    return found


def readers_of_contracts(checkout: Path) -> list[str]:
    """Modules that define a function under the name of the one that opens contracts."""
    paths = (path for room in ROOMS for path in (checkout / room).rglob("*.py"))
    return [path.stem for path in paths if "def open_contract(" in path.read_text(encoding="utf-8")]


def test_there_is_one_class_of_contracts(checkout: Path) -> None:
    """With one for a character and one for everybody else, whoever computes with a contract must ask which of them it is."""
    assert classes_of_contracts(checkout / room for room in ROOMS) == ["contract.Contract"]
    assert readers_of_contracts(checkout) == ["contract_files"]


def test_there_is_one_comparer(checkout: Path) -> None:
    """With one for each kind of contract, a change of one layout is breaking for a robot and cosmetic for a character."""
    room = {path.stem: path for path in (checkout / "contract/rigpact/contract/compatibility").glob("*.py")}
    kinds = {"bundles", "systems", "declared"}

    assert [name for name, path in room.items() if "Compatibility" in called(path)] == ["compare"]
    assert kinds <= imported(room["compare"])
    for kind in kinds:
        assert not imported(room[kind]) & (kinds | {"compare"}), f"{kind} compares by itself"
        assert {"vectors", "numbers", "values"} <= imported(room[kind]), kind
    assert [name for name, path in room.items() if "spacing" in called(path)] == ["numbers"], "rounding is judged once"


def test_there_is_one_generator_of_headers(checkout: Path) -> None:
    """With two, what a robot's header says at start-up (its hash, its model, its date of writing) a character's does not."""
    room = checkout / "reports/rigpact/reports/engine"
    texts = {path.name: path.read_text(encoding="utf-8") for path in (room / "templates").iterdir()}
    whole = {name for name, text in texts.items() if "#pragma once" in text}

    assert whole - {f"{Path(name).name}.j2" for name in OWN_HEADERS} == {"contract.hpp.j2"}
    assert {name for name, text in texts.items() if '{% extends "contract.hpp.j2" %}' in text} == set(texts) - whole - {
        "macros.j2",
        "step.j2",  # the loop, in both
    }
    callers = {path.name for path in room.glob("*.py") if "template" in called(path)}
    assert callers == {"header.py", "codegen.py"}, "codegen.py writes the headers of the runtime itself"


def test_there_is_one_loop_in_cpp(checkout: Path) -> None:
    """With one of a character's own beside it, an engine plays what no test of declared contracts looks at."""
    cpp, templates = checkout / "reference_runtime/cpp", checkout / "reports/rigpact/reports/engine/templates"
    paths = (*(cpp / "include").rglob("*.hpp"), *(cpp / "native").iterdir(), *templates.iterdir())
    texts = {path.name: re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in paths}

    # both go through the steps of `rigpact.contract.systems.plan`: one as they run, one as they are written down
    assert [name for name, text in texts.items() if "kOperations[step." in text] == ["plan.hpp"]
    assert [name for name, text in texts.items() if "step.function" in text] == ["step.j2"]
    # another would name the stages that it computes; of a quaternion the sign is free
    assert {name: found for name, text in texts.items() if (found := set(re.findall(r"\bStage::(\w+)", text)))} == {
        "self_test.hpp": {"quat"}
    }


def test_no_word_of_a_plan_is_a_place_in_a_list(checkout: Path) -> None:
    """A row put between two others would renumber the readings in Python alone, and C++ would clip where numpy stretches."""
    assert not calls_of_index(checkout / "reference_runtime" / "rigpact" / "reference_runtime" / "vocabulary")


def test_every_reading_that_cpp_numbers_has_a_name_there(checkout: Path) -> None:
    """A reading that a header takes by its number alone stays behind when the table in Python grows."""
    headers = (checkout / "reference_runtime/cpp/include/rigpact/vocabulary").glob("*ing.hpp")
    text = "".join(path.read_text(encoding="utf-8") for path in headers)
    named = {name: each.readings for name, each in operations_of_rigpact().items()}

    assert len([name for name, readings in named.items() if readings]) >= 12
    for name, readings in named.items():
        kind = "".join(map(str.capitalize, name.split("_")))
        assert not readings or f"{kind}Reading" in text, name
    assert "case 0:" not in text
