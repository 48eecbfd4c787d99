"""Wrong edits of a system's contract file, such as merges and exporters make. To add one: a row in `CONTRACT_EDITS`.

An edit changes the document in place. It raises LookupError where the file holds nothing to damage.

Those of your own contract are rows in `DECLARATION_EDITS`.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from rigpact.reports.importing.toml_text import tables_to_toml

Document = dict[str, Any]


def _vectors(root: Document) -> list[Document]:
    return list(root["vectors"].values())


def _fields_exchanged(root: Document) -> None:
    """Exchange the names of two fields of one vector: the widths stay the same, the meaning changes."""
    for vector in _vectors(root):
        fields = vector["fields"]
        for first, second in pairwise(fields):
            if first["size"] == second["size"]:
                first["name"], second["name"] = second["name"], first["name"]
                return
    raise LookupError("no two fields of one size")


def _field_narrower(root: Document) -> None:
    _vectors(root)[0]["fields"][-1]["size"] -= 1


def _hash_stale(root: Document) -> None:
    vector = _vectors(root)[0]
    vector["layout_hash"] = "0" * len(str(vector["layout_hash"]))


def _vector_lost(root: Document) -> None:
    del root["vectors"][next(iter(root["vectors"]))]


def _convention_renamed(root: Document) -> None:
    name = next(iter(root["conventions"]))
    root["conventions"][f"{name}s"] = root["conventions"].pop(name)


def _convention_of_no_value(root: Document) -> None:
    root["conventions"][next(iter(root["conventions"]))] = "sideways"


def _convention_not_declared(root: Document) -> None:
    del root["conventions"][next(iter(root["conventions"]))]


def _constant_lost(root: Document) -> None:
    del root["constants"][next(iter(root["constants"]))]


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Container and key of every number in a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        if isinstance(each, float):
            yield value, key
        yield from _numbers(each)


def first_number(change: Callable[[float], Any], *sections: str) -> Callable[[Document], None]:
    """The edit of the first number with a fraction in some sections of a document."""

    def edit(root: Document) -> None:
        place = next(_numbers([root.get(section) for section in sections]), None)
        if place is None:
            raise LookupError(f"no number with a fraction in {', '.join(sections)}")
        container, key = place
        container[key] = change(container[key])

    return edit


CONTRACT_EDITS: Mapping[str, Callable[[Document], None]] = {
    "two fields exchanged": _fields_exchanged,
    "a field a number short": _field_narrower,
    "a layout hash of another layout": _hash_stale,
    "a vector lost": _vector_lost,
    "a convention renamed": _convention_renamed,
    "a convention with no such value": _convention_of_no_value,
    "a convention not declared": _convention_not_declared,
    "a constant lost": _constant_lost,
    "a constant not finite": first_number(lambda _value: float("nan"), "constants"),
    "a constant as a word": first_number(str, "constants"),
    "a constant doubled": first_number(lambda value: 2.0 * value + 1.0, "constants"),
    "another system's name": lambda root: root.__setitem__("system", "somebody_elses"),
    "fps = 0": lambda root: root.__setitem__("fps", 0),
}
"""All edits by name."""


_NUMBERS = ("numbers", "stages")
"""The sections that hold numbers."""


def edited_declaration(content: bytes, edit: Callable[[Document], None]) -> bytes:
    """The text of a declaration with one wrong edit; its comments are gone. LookupError where the file is like that already."""
    before, document = (tomllib.loads(content.decode("utf-8")) for _ in range(2))
    edit(document)
    text = tables_to_toml(document)
    if tomllib.loads(text) == before:
        raise LookupError("the file is like that already")
    return text.encode("utf-8")


def _sources(stage: Document) -> list[str]:
    of = stage.get("of", [])
    return [of] if isinstance(of, str) else of


def _user(root: Document) -> tuple[int, int]:
    """The places of a stage and of an earlier stage that it takes."""
    names = [stage["name"] for stage in root["stages"]]
    for place, stage in enumerate(root["stages"]):
        for source in _sources(stage):
            if source in names:
                return place, names.index(source)
    raise LookupError("no stage takes another")


def _exchanged(root: Document) -> None:
    later, earlier = _user(root)
    stages = root["stages"]
    stages[later], stages[earlier] = stages[earlier], stages[later]


def _stage_lost(root: Document) -> None:
    del root["stages"][_user(root)[1]]


def _given_lost(root: Document) -> None:
    taken = {source for stage in root["stages"] for source in _sources(stage)}
    place = next((i for i, vector in enumerate(root["given"]) if vector["name"] in taken), None)
    if place is None:
        raise LookupError("no given vector is taken")
    del root["given"][place]


def _operation_misspelt(root: Document) -> None:
    root["stages"][0]["operation"] += "s"


def _parameter_misspelt(root: Document) -> None:
    for stage in root["stages"]:
        key = next((key for key in stage if key not in ("name", "operation", "of")), None)
        if key is not None:
            stage[f"{key}_"] = stage.pop(key)
            return
    raise LookupError("no stage has a parameter")


def _changed_list(change: Callable[[list[str]], list[str]]) -> Callable[[Document], None]:
    def edit(root: Document) -> None:
        lists = root.get("names", {})
        key = next((key for key, names in lists.items() if len(names) > 1), None)
        if key is None:
            raise LookupError("no list of names")
        lists[key] = change(lists[key])

    return edit


def _carried_from_nowhere(root: Document) -> None:
    vector = next((each for each in root["given"] if "carried" in each), None)
    if vector is None:
        raise LookupError("nothing is carried")
    vector["carried"] += "_"


def _network_input_renamed(root: Document) -> None:
    network = next(iter(root.get("networks", {}).values()), None)
    if network is None:
        raise LookupError("no network")
    inputs = network["inputs"]
    key = next(iter(inputs)) if isinstance(inputs, dict) else 0
    inputs[key] += "_"


def _no_frames_a_second(root: Document) -> None:
    root["fps"] = 0


def _another_format(root: Document) -> None:
    root["format"] = "contract"


DECLARATION_EDITS: Mapping[str, Callable[[Document], None]] = {
    "a stage before what it takes": _exchanged,
    "a stage lost": _stage_lost,
    "a given vector lost": _given_lost,
    "an operation misspelt": _operation_misspelt,
    "a parameter misspelt": _parameter_misspelt,
    "two names of a list exchanged": _changed_list(lambda names: [names[1], names[0], *names[2:]]),
    "a name lost from a list": _changed_list(lambda names: names[:-1]),
    "a name twice in a list": _changed_list(lambda names: [*names[:-1], names[0]]),
    "a number not finite": first_number(lambda _value: float("nan"), *_NUMBERS),
    "a number as a word": first_number(str, *_NUMBERS),
    "a number doubled": first_number(lambda value: 2.0 * value + 1.0, *_NUMBERS),
    "a vector carried from a stage that is not there": _carried_from_nowhere,
    "an input of a network renamed": _network_input_renamed,
    "fps = 0": _no_frames_a_second,
    "another format": _another_format,
}
"""All edits by name."""
