"""Reads a declaration, a TOML file, into the contract that it declares; writes it with other words for some conventions.

Written anew it is the same text, comments and order, and only these words changed. A convention is a word of a stage
(`direction = "inverse"`) or of [conventions], the stage that a vector is taken over from, or a reading of a number: then the
number that the reading makes stands there. A lookup of names is not a word of a file, nor is a table misread. The text is
found by trying: an edit counts only where the parsed file is then exactly the one that is wanted.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.cross_checks import conventions_of, declared_tables, places_of, said_at_stages
from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.contract import Contract, Meaning


def declaration_of(document: Document) -> Declaration:
    """What a document declares; its shape must follow the schema."""
    return read_declaration(document.data, document.path.parent)


def sources_of(document: Document) -> tuple[Path, ...]:
    """The files that the numbers of a contract come from; none for a contract of another kind."""
    if document.kind is not Kind.DECLARATION:
        return ()
    return tuple(document.path.parent / name for name in declaration_of(document).read)


def declared_contract(document: Document) -> Contract:
    """The contract of a declaration without mistakes."""
    declaration = declaration_of(document)
    system = declaration.system
    if system is None:
        raise UnusableInput(document.path, str(declaration.problems[0]), "a contract without mistakes")
    fps = document.data.get("fps")
    # SHA-256 over the declaration and the files that its numbers and operations come from
    read = {**declaration.read, **declaration.code}
    parts = [document.file.content, *(name.encode() + b"\0" + read[name] for name in sorted(read))]
    return Contract(
        system=system,
        path=document.path,
        sha256=hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest(),
        vectors={},
        conventions=system.conventions(),
        constants=declaration.constants,
        fps=None if fps is None else float(fps),
        meaning=Meaning(partial(_meaning, document.data, declaration.constants)),
        file_sha256=document.file.sha256,
    )


def _meaning(root: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
    """What both sides compute with: stages, names, networks and numbers; no titles, no files, no columns of recordings."""
    parts = {key: root[key] for key in ("name", "fps", "names", "given") if key in root}
    networks = root.get("networks", {})
    bindings = {name: {"inputs": each["inputs"], "outputs": each["outputs"]} for name, each in networks.items()}
    return {**parts, "stages": said_at_stages(root)["stages"], "networks": bindings, "constants": constants}


Root = dict[str, Any]
Place = tuple[str, int | str, str]
"""A section, the place or name of a table in it, and a key of this table."""
_ONE_VALUE = r"""("[^"\n]*"|'[^'\n]*'|[-+.\w]+)"""


def with_changed_words(content: bytes, knobs: Mapping[str, Knob], changes: Mapping[str, Any]) -> bytes | None:
    """The text of a declaration under changed conventions; None where one of them is not a word or number of the file.

    knobs: those of the declaration, by name.
    """
    text: str | None = content.decode("utf-8")
    for name, value in changes.items():
        places = [] if text is None else list(_places(tomllib.loads(text), knobs[name], value))
        if not places:
            return None
        for place, word in places:
            text = None if text is None else _edited(text, place, word)
    return None if text is None else text.encode("utf-8")


def with_answered_words(content: bytes, knobs: Mapping[str, Knob], answers: Mapping[str, Any]) -> bytes | None:
    """The text with the words that it left open; they are no longer said to be open. None where one is not a word of the file."""
    changed = with_changed_words(content, knobs, answers)
    if changed is None:
        return None
    text = changed.decode("utf-8")
    for name, value in answers.items():
        for place, _ in list(_places(tomllib.loads(text), knobs[name], value)):
            text = _without_left_open(text, place)
    return text.encode("utf-8")


def _without_left_open(text: str, place: Place) -> str:
    """The text without one key among those that a stage says to be left open; the same where it says none."""
    section, index, key = place
    wanted = deepcopy(tomllib.loads(text))
    table = wanted[section][index]
    kept = [each for each in table.get("left_open", ()) if each != key]
    if len(kept) == len(table.get("left_open", ())):
        return text
    table.pop("left_open")
    written = ""
    if kept:
        table["left_open"] = kept
        written = f"left_open = [{', '.join(map(_written, kept))}]"
    every = re.finditer(r"(,\s*)?left_open\s*=\s*\[[^\]]*\]", text)
    candidates = (
        text[: found.start()] + ((found[1] or "") + written if written else "") + text[found.end() :] for found in every
    )
    return next(filter(partial(_reads_as, wanted), candidates), text)


def _reads_as(wanted: Root, text: str) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _places(root: Root, knob: Knob, value: Any) -> Iterator[tuple[Place, Any]]:
    """Each key of a table that says the convention, and what has to stand there."""
    shared = root.get("conventions", {}).get(knob.name, {})
    own_words = {called: word for word, called in shared.get("words", {}).items()}
    if "value" in shared:
        yield ("conventions", knob.name, "value"), own_words.get(value, value)
        return
    taken = {place: name for name, entry in conventions_of(root).items() for place in places_of(entry)}
    for (section, index), table in declared_tables(root):
        for key in _keys(str(section), table, knob.name, taken):
            said = table.get(key)
            is_word = section == "given" or key in known_operations()[table["operation"]].choices
            if is_word:
                yield (str(section), int(index), key), str(own_words.get(value, value))
            elif isinstance(said, int | float) and not isinstance(said, bool):
                made = np.asarray(knob.effects[value](np.asarray(float(said))))
                if made.size == 1:
                    yield (str(section), int(index), key), float(made.reshape(())) + 0.0


def _keys(section: str, table: Mapping[str, Any], name: str, taken: Mapping[str, str]) -> list[str]:
    """The parameters of a table that are the convention of that name; taken: what [conventions] calls them."""
    if section == "given":
        return ["carried"] if name == f"{table['name']}.carried" else []
    keys = [*known_operations()[table["operation"]].parameters]
    return [key for key in keys if taken.get(place := f"{table['name']}.{key}", place) == name]


def _edited(text: str, place: Place, word: Any) -> str | None:
    """The text with one value changed or added, such that it reads as the file that is wanted; None where none does."""
    section, index, key = place
    wanted = deepcopy(tomllib.loads(text))
    table = wanted[section][index]
    table[key] = word
    candidates = _candidates(text, key, table.get("name", ""), _written(word))
    return next(filter(partial(_reads_as, wanted), candidates), None)


def _candidates(text: str, key: str, stage: str, written: str) -> Iterator[str]:
    """Every text with one value of that key changed, then with the key added after the stage's name."""
    for found in re.finditer(rf"(?<![\w.-]){re.escape(key)}\s*=\s*{_ONE_VALUE}", text):
        yield text[: found.start(1)] + written + text[found.end(1) :]
    for found in re.finditer(rf"(?<![\w.-])name\s*=\s*[\"']{re.escape(stage)}[\"']", text):
        for between in (", ", "\n"):
            yield f"{text[: found.end()]}{between}{key} = {written}{text[found.end() :]}"


def _written(word: Any) -> str:
    if isinstance(word, float):
        return repr(word)
    return '"' + str(word).replace("\\", "\\\\").replace('"', '\\"') + '"'
