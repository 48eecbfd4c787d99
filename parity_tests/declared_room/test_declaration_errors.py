"""A damaged contract of your own: one clear answer for each mistake, with place, found, expected and a hint."""

import json

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.native_agreement import _drawn_rows

from ..every_case import every_case
from ..trust_room.tiny_project import CONTRACT, write_project
from .declared_rule_cases import DAMAGES, SMALL, write_small


@every_case("name", DAMAGES)
def test_a_mistake_is_answered_at_its_place(name, tmp_path, command):
    """An engineer who writes the first contract makes these mistakes, and has only the answer to find them."""
    text, replacement, code, pointer, found, expected = DAMAGES[name]
    assert SMALL.count(text) >= 1, "the case damages nothing"
    path = write_small(tmp_path, SMALL.replace(text, replacement, 1))
    answer = command("check", path, "--format", "json")
    if not code:
        assert answer.status == 2
        assert found in answer.err
        assert expected in answer.err
        return
    assert answer.status != 0, "the mistake passes"
    findings = [each for each in json.loads(answer.out)["findings"] if each["severity"] == "error"]
    at_place = [each for each in findings if each["code"].startswith(code) and each["pointer"].startswith(pointer)]
    assert at_place, [(each["code"], each["pointer"], each["message"]) for each in findings]
    finding = at_place[0]
    assert found in finding["message"]
    assert expected in finding["message"] + finding["hint"]
    assert finding["hint"]


def test_numbers_with_a_mistake_are_not_called_undeclared(tmp_path, command):
    """One line that is missing in a list was three findings, of which two sent the reader to stages that are right."""
    path = write_small(tmp_path, SMALL.replace("value = [0.1, -0.4]", "value = [0.1]"))
    found = json.loads(command("check", path, "--format", "json").out)["findings"]
    assert [(each["code"], each["pointer"]) for each in found if each["severity"] == "error"] == [
        ("RP743", "/numbers/pose")
    ]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path, command):
    """A contract from somebody else must not read a file of the build machine into its report."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"std": [0.25, 0.5]}', encoding="utf-8")
    (tmp_path / "contracts").mkdir()
    path = write_small(tmp_path / "contracts")
    (path.parent / "stats.json").unlink()
    try:
        (path.parent / "stats.json").symlink_to(secret)
    except OSError:
        pytest.skip("no links here")
    answer = command("check", path, "--format", "json")
    assert answer.status == 1
    assert "a link that leads out of the folder" in answer.out


@pytest.mark.parametrize("content", ["[0.25, 0.5]", "- 0.25\n- 0.5\n", "!!python/tuple [0.25, 0.5]"])
def test_a_file_that_is_the_numbers_needs_no_path(content, tmp_path, command):
    """Statistics are often a bare list; training frameworks mark theirs as a tuple."""
    name = "stats.json" if content.startswith("[") else "stats.yaml"
    path = write_small(tmp_path, SMALL.replace('"stats.json", at = "/std"', f'"{name}"'))
    (tmp_path / name).write_text(content, encoding="utf-8")
    answer = command("check", path)
    assert answer.status == 0, answer.out


DEEP = "[" * 70 + "0.5" + "]" * 70
BOMB = "a: &a [0, 0, 0, 0, 0, 0, 0, 0]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 8)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (DEEP, "more than 64 nested levels"),
        (BOMB, "more than 32768 values"),
        ("# to be filled in\n", "std is not there"),
        ("std: !robot {arm: [0.25, 0.5]}", "number"),
        ("std: !robot arm", "number"),
        ("#" * ((1 << 20) + 1), "bytes of YAML"),
    ],
    ids=["deep", "bomb", "empty", "tagged table", "tagged word", "long"],
)
def test_yaml_that_holds_no_numbers_is_refused(content, words, tmp_path, command):
    """A file of a few lines can ask for all memory, and a tag can name code: it is data, or it is refused."""
    path = write_small(tmp_path, SMALL.replace('"stats.json"', '"stats.yaml"'))
    (tmp_path / "stats.yaml").write_text(content, encoding="utf-8")
    answer = command("check", path, "--format", "json")
    assert answer.status == 1
    assert words in answer.out


@pytest.mark.parametrize("value", ["[[2.0, 3.0]]", "[[2.0], [3.0]]"])
def test_numbers_in_a_row_have_their_names(tmp_path, command, value):
    """A row of statistics, as numpy saves it, ended in an internal error."""
    write_project(tmp_path)
    text = CONTRACT.replace('file = "numbers.json"\nat = "/gain"', f"value = {value}")
    (tmp_path / "contract.toml").write_text(text, encoding="utf-8")
    assert command("explain", tmp_path / "run.csv", "--contract", tmp_path / "contract.toml").status == 0


@pytest.mark.parametrize("ends", ["low = -1, high = inf", "low = -1.7e308, high = 1.7e308", "low = -1, high = 2"])
def test_numbers_are_drawn_from_a_range_without_an_end(tmp_path, ends):
    """Every run ended in an internal error: numbers were to be drawn evenly from all that there are."""
    write_project(tmp_path)
    text = CONTRACT.replace('unit = "rad"', f'unit = "rad", {ends}')
    (tmp_path / "contract.toml").write_text(text, encoding="utf-8")
    drawn = _drawn_rows(open_contract(tmp_path / "contract.toml"), "x", np.random.default_rng(2))
    assert np.isfinite(drawn).all()
    assert len(np.unique(drawn)) > 2
