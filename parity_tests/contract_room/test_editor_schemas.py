"""The schemas that editors get: they accept what the readers accept, refuse what they refuse, and are found from the files."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rigpact.contract.contract_files import open_contract
from rigpact.contract.editor_schemas import contract_schema, settings_schema
from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.configuration import KEYS, text_to_configuration
from rigpact.contract.settings.table import tables_of
from rigpact.fixtures import demo_bundle
from rigpact.reports.importing.draft import tables_to_toml

from ..declared_room.foreign_files import write_model
from ..every_case import every_case

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = sorted([*ROOT.glob("fixtures/contracts/*.toml"), *ROOT.glob("fixtures/bundles/*/*.toml")])
PAGES = sorted(ROOT.glob("contract/rigpact/contract/pages/*.toml"))
PROFILES = ROOT / "contract/rigpact/contract/declared/profiles.toml"


def schema_of(path):
    """The schema that an editor finds from a file's first line."""
    word, _, place = path.read_text(encoding="utf-8").partition("\n")[0].partition(" ")
    assert word == "#:schema", path
    return json.loads((path.parent / place).read_text(encoding="utf-8"))


@every_case("path", [*CONTRACTS, *PAGES, PROFILES], ids=lambda path: path.name)
def test_a_file_that_ships_names_its_schema_and_follows_it(path):
    """An editor would underline a file that is right, or know nothing of it."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(schema_of(path)).validate(root)
    if path in CONTRACTS:
        Draft202012Validator(contract_schema()).validate(root)


DAMAGES: Mapping[str, Callable[[Any], object]] = {
    "a section that nobody knows": lambda root: root.update(stage=[]),
    "no stages": lambda root: root.pop("stages"),
    "another version": lambda root: root.update(version=2),
    "a rate of zero": lambda root: root.update(fps=0),
    "an unknown operation": lambda root: root["stages"][0].update(operation="afine"),
    "a stage without a name": lambda root: root["stages"][0].pop("name"),
    "a parameter of another operation": lambda root: root["stages"][0].update(mixed_up=1),
    "an open word that is not a convention": lambda root: root["stages"][0].update(left_open=["nothing"]),
    "a key that no vector has": lambda root: root["given"][0].update(widht=3),
    "an operation of a character's page": lambda root: root["stages"][0].update(operation="turn"),
}


@every_case("words", DAMAGES)
@pytest.mark.parametrize("path", CONTRACTS[::3], ids=lambda path: path.name)
def test_a_damaged_contract_is_refused_by_both(path, words, tmp_path):
    """What the editor lets pass, the command line refuses a day later."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    DAMAGES[words](root)
    assert not Draft202012Validator(contract_schema()).is_valid(root)
    (tmp_path / path.name).write_text(tables_to_toml(root), encoding="utf-8")
    with pytest.raises(UnusableInput):
        open_contract(tmp_path / path.name)


WHOLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("every_key.toml").read_text(encoding="utf-8"))
"""Every key of rigpact.toml, right."""


def test_every_key_of_rigpact_toml_is_read_and_known_to_editors(tmp_path):
    """A key that the schema forgets is underlined in a right file; one that is misspelt is refused by both."""
    schema, path = Draft202012Validator(settings_schema()), tmp_path / "rigpact.toml"
    assert text_to_configuration(tables_to_toml(WHOLE).encode(), path).says_anything
    assert schema.is_valid(WHOLE)
    known = {f"{table}.{key}" for table, keys in tables_of("", KEYS) for key in keys}
    assert known == set(dotted(WHOLE)), "every key stands in the file above"
    for key, wrong in {"gate": {"bundel": "b"}, "lower": [{"rule": "RP1"}], "severity": {"RP104": "info"}}.items():
        root = {**WHOLE, key: wrong}
        assert not schema.is_valid(root), key
        with pytest.raises(UnusableInput, match=key):
            text_to_configuration(tables_to_toml(root).encode(), path)


def dotted(table, name=""):
    """Every key with the tables that it stands in."""
    for key, value in table.items():
        yield f"{name}.{key}"
        inner = value[0] if isinstance(value, list) and isinstance(value[0], dict) else value
        if isinstance(inner, dict) and key not in ("conventions", "severity"):
            yield from dotted(inner, f"{name}.{key}")


def test_what_init_writes_names_the_schema_that_show_writes(command, tmp_path, monkeypatch):
    """A line that leads nowhere gives no completion, and a TOML linter fails on it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("hero", "bare"):
        Path(folder).mkdir()
    Path("hero/norm_template.json").write_bytes((demo_bundle() / "norm_template.json").read_bytes())
    write_model(Path("bare/net.onnx"), 9, 2)
    for folder in ("hero", "bare"):
        assert command("init", folder).status == command("show", "schema", "--write", folder).status == 0
    for written in (Path("hero/rigpact.toml"), Path("bare/contract.toml")):
        Draft202012Validator(schema_of(written)).validate(tomllib.loads(written.read_text(encoding="utf-8")))
    for name, schema in (("contract.toml", "rigpact-contract"), ("rigpact.toml", "rigpact")):
        said = Path(f"bare/{schema}.schema.json").read_text(encoding="utf-8")
        assert command("show", "schema", name).out == said
    statuses = [command(*words).status for words in (
        ("gate", "--config", "hero/rigpact.toml", "-q"), ("check", "hero"), ("check", "--each", *Path("hero").glob("*.json")),
        ("show", "schema", "--write", "nowhere"),
    )]  # fmt: skip
    assert statuses == [0, 0, 0, 2]  # a schema is no artefact
