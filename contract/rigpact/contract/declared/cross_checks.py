"""How large a declaration may be, and mistakes that only show where its parts are seen together: names, feedback, networks."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.fields import OF_A_VECTOR
from rigpact.contract.declared.operation import Operation
from rigpact.contract.declared.values import known_profiles
from rigpact.contract.errors import Misdeclared, Wrong, shown, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import NetworkBinding

MOST_VECTORS, MOST_READINGS, MOST_ORDERS = 1024, 64, 1 << 16
"""Vectors and stages; other readings of one value; other orders of the vectors that stages read, n x n of n vectors."""
MOST_OF_VECTOR, MOST_OF_ALL = 1 << 16, 1 << 18
"""Numbers of one vector in a frame, and of all vectors together."""
MOST_FRAMES = 1 << 16
"""How far from its own frame a stage may look: eighteen minutes at 60 frames a second, which a loop would have to keep."""


def beyond_limits(root: Mapping[str, Any]) -> Iterator[Misdeclared]:
    """Yield the limits that the words of a declaration exceed; none of them needs a stage to be built."""
    vectors = len(root["given"]) + len(root["stages"])
    if vectors > MOST_VECTORS:
        yield _too_many(("stages",), f"{vectors} vectors and stages", f"at most {MOST_VECTORS}")
    orders = sum(len(table["of"]) ** 2 for table in root["stages"] if isinstance(table.get("of"), list))
    if orders > MOST_ORDERS:
        yield _too_many(("stages",), f"stages that read many vectors each, {orders} orders", f"at most {MOST_ORDERS}")
    for kind in ("given", "stages"):
        for index, table in enumerate(root[kind]):
            place = (kind, index)
            for owner, entry in (((), table), *(((key,), value) for key, value in table.items())):
                wrong = entry.get("wrong") if isinstance(entry, Mapping) else None
                if isinstance(wrong, list | Mapping) and len(wrong) > MOST_READINGS:
                    yield _too_many((*place, *owner, "wrong"), f"{len(wrong)} readings", f"at most {MOST_READINGS}")


def refuse_wide(width: int, place: tuple[Token, ...], most: int = MOST_OF_VECTOR) -> None:
    """Misdeclared for a vector, or all of them together, of more numbers than fit."""
    if width > most:
        raise _too_many(place, f"{width} numbers in a frame", f"at most {most}")


def _too_many(place: tuple[Token, ...], found: str, expected: str) -> Misdeclared:
    return Misdeclared(Wrong.WIDTH, place, found, expected, "a motion network has hundreds; split the contract")


Root = Mapping[str, Any]
SECTIONS = (
    "format", "version", "name", "title", "profile", "fps", "names", "numbers", "networks", "given", "stages", "conventions",
    "recordings",
)  # fmt: skip
OF_GIVEN = (*OF_A_VECTOR, "carried", "carried_fields", "start", "wrong", "left_open", "why")


def declared_tables(root: Root) -> list[tuple[tuple[Token, ...], Mapping[str, Any]]]:
    """The vectors from outside and the stages, in order, each with its place."""
    return [((kind, index), table) for kind in ("given", "stages") for index, table in enumerate(root[kind])]


def declared_names(root: Root) -> list[str]:
    """The names of all vectors, in order."""
    return [table["name"] for _, table in declared_tables(root)]


def places_of(convention: Mapping[str, Any]) -> list[str]:
    """The parameters that a convention of [conventions] is, each STAGE.PARAMETER; none for one without `at`.

    `at` is one of them, a list, or a table that says of each of them the word or the numbers of each reading.
    """
    at = convention.get("at", [])
    return [at] if isinstance(at, str) else list(at)


def conventions_of_nothing(root: Root, operations: Mapping[str, Operation]) -> Iterator[Misdeclared]:
    """Yield conventions of a contract that stand nowhere, at no parameter, twice, or at a stage that says another word."""
    stages = {table["name"]: table for table in root["stages"]}
    taken = set[str]()
    for name, entry in root.get("conventions", {}).items():
        where = ("conventions", name, "at")
        if not places_of(entry):
            yield Misdeclared(Wrong.MISSING, where, "nothing", "STAGE.PARAMETER, or a list of them")
        is_table = isinstance(entry.get("at"), Mapping)
        if is_table and "value" not in entry:
            yield Misdeclared(Wrong.MISSING, ("conventions", name, "value"), "nothing", "the reading of this side")
        for place in places_of(entry):
            stage, _, parameter = place.partition(".")
            operation = operations.get(stages.get(stage, {}).get("operation", ""))
            if stage not in stages:
                yield unknown(where, stage, stages, "a stage, then a dot and its parameter")
            elif operation is not None and parameter not in operation.parameters:
                yield unknown(where, parameter, operation.parameters, f"a parameter of {operation.name}")
            elif not is_table and "value" in entry and stages[stage].get(parameter, entry["value"]) != entry["value"]:
                expected = f"{shown(entry['value'])}, as the convention says, or no word at the stage"
                yield Misdeclared(Wrong.CHOICE, where, f"{place} = {shown(stages[stage][parameter])}", expected)
            if place in taken:
                yield Misdeclared(Wrong.NAMED_TWICE, where, f"{place} again", "each parameter under one convention")
            taken.add(place)


def conventions_of(root: Root) -> dict[str, Mapping[str, Any]]:
    """Every convention that has a name of its own: those of [conventions], and those that a stage names with `knobs`."""
    named: dict[str, list[str]] = {}
    for table in root["stages"]:
        for parameter, name in table.get("knobs", {}).items():
            named.setdefault(name, []).append(f"{table['name']}.{parameter}")
    return {**{name: {"at": places} for name, places in named.items()}, **root.get("conventions", {})}


def said_at_stages(root: Root) -> dict[str, Any]:
    """The root with the words of [conventions] at the stages that they are said of, where no word of their own stands.

    A convention that says a word for each place has every reading at every place: a stage's own where it says none. The
    declared one stands at the stage.
    """
    own = {table["name"]: table for table in root["stages"]}
    conventions: dict[str, Mapping[str, Any]] = {}
    words, chosen = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    for name, entry in conventions_of(root).items():
        at, said, filled = entry.get("at"), entry.get("value"), dict[str, Mapping[str, Any]]()
        for place in places_of(entry) if said is not None else ():
            stage, _, parameter = place.partition(".")
            if isinstance(at, Mapping) and said is not None:
                readings = dict.fromkeys((said, *(word for each in at.values() for word in each)))
                declared = own.get(stage, {}).get(parameter)
                filled[place] = {reading: at[place].get(reading, declared) for reading in readings}
                chosen.setdefault(stage, {})[parameter] = filled[place][said]
            else:
                words.setdefault(stage, {})[parameter] = said
        conventions[name] = {**entry, "at": filled} if filled else entry
    chosen = {stage: {key: word for key, word in each.items() if word is not None} for stage, each in chosen.items()}
    stages = [{**words.get(table["name"], {}), **table, **chosen.get(table["name"], {})} for table in root["stages"]]
    return {**root, "conventions": conventions, "stages": stages}


def said_of_places(root: Root) -> dict[str, Mapping[str, Any]]:
    """What is said of each convention, by the STAGE.PARAMETER of every stage that has it; on a page, or by its name."""
    tables = root.get("conventions", {})
    found = {name: entry for name, entry in tables.items() if "at" not in entry}
    for name, entry in tables.items():
        for place in places_of(entry):
            is_table = isinstance(entry["at"], Mapping) and "value" in entry
            found[place] = {**entry, "name": name, **({"readings": entry["at"][place]} if is_table else {})}
    return found


_OF_A_PAGE = ("only_named", "published", "windowed", "classes", "posed", "architecture", "data", "slices")
"""What only a system's own page says."""


def words_that_name_nothing(root: Root, *, is_page: bool = False) -> Iterator[Misdeclared]:
    """Yield unknown keys outside of stages, an unknown profile, repeated names, and a rate that is not a number."""
    names = declared_names(root)
    tables: list[tuple[tuple[Token, ...], Mapping[str, Any], tuple[str, ...]]] = [
        ((), root, SECTIONS + _OF_A_PAGE if is_page else SECTIONS)
    ]
    tables += [(("given", index), table, OF_GIVEN) for index, table in enumerate(root["given"])]
    tables.append((("recordings",), root.get("recordings", {}), tuple(names)))
    for place, table, known in tables:
        yield from (unknown((*place, key), key, known, "one of these") for key in table if key not in known)
    seen = set[str]()
    for place, table in declared_tables(root):
        if table["name"] in seen:
            yield Misdeclared(Wrong.NAMED_TWICE, (*place, "name"), f"{table['name']} again", "a name of its own")
        seen.add(table["name"])
    for name, words in root.get("names", {}).items():
        twice = next((word for word, count in Counter(words).items() if count > 1), None)
        if twice is not None:
            yield Misdeclared(Wrong.NAMED_TWICE, ("names", name), f"{twice} twice", "each name once")
    if root.get("profile", next(iter(known_profiles()))) not in known_profiles():
        yield unknown(("profile",), root["profile"], known_profiles(), "a profile")
    if not np.isfinite(root.get("fps", 1.0)):
        yield Misdeclared(Wrong.NUMBERS, ("fps",), str(root["fps"]), "a finite number")


def parts_that_do_not_meet(
    root: Root, stages: Mapping[str, Stage], networks: Mapping[str, NetworkBinding]
) -> Iterator[Misdeclared]:
    """Yield feedback of another width, networks that take or give what is not there, shared knobs that differ."""
    names = dict.fromkeys(declared_names(root))
    for index, table in enumerate(root["given"]):
        for source in filter(None, [table.get("carried"), *table.get("wrong", [])]):
            yield from _feedback(names, stages, table["name"], source, ("given", index, "carried"))
    for name, network in networks.items():
        yield from _network(root, name, network, {each.name for each in stages.values() if each.is_answer})
    for stage in (each for each in stages.values() if each.compute is not None):
        read = (*filter(None, (stage.carried,)), *stage.may_use, *stage.earlier)
        yield from (
            unknown(("stages",), name, names, f"a stage, for {stage.name}") for name in read if name not in names
        )
    yield from _shared_knobs(stages)


def _feedback(
    names: Collection[str], stages: Mapping[str, Stage], name: str, source: str, place: tuple[Token, ...]
) -> Iterator[Misdeclared]:
    if source not in names:
        yield unknown(place, source, names, "a stage")
    elif name in stages and source in stages:
        own, other = (stages[each].fields(None).width for each in (name, source))
        if own != other:
            yield Misdeclared(Wrong.WIDTH, place, f"{source}, {other} numbers", f"{own} numbers, as {name} has")


def _network(root: Root, name: str, network: NetworkBinding, built: Collection[str]) -> Iterator[Misdeclared]:
    answers = {*built} | {table["name"] for table in root["stages"] if table["operation"] == "network"}
    for key, vectors in (("inputs", network.inputs), ("outputs", network.outputs)):
        place = ("networks", name, key)
        for vector in vectors:
            if vector not in declared_names(root):
                yield unknown(place, vector, declared_names(root), "a vector or a stage")
            elif key == "outputs" and vector not in answers:
                yield Misdeclared(Wrong.KIND, place, f"{vector}, which no network gives", 'operation = "network"')


def _shared_knobs(stages: Mapping[str, Stage]) -> Iterator[Misdeclared]:
    known: dict[str, Knob] = {}
    for stage in stages.values():
        for knob in stage.every_knob:
            first = known.setdefault(knob.name, knob)
            if first.values != knob.values:
                found = f"the knob {knob.name} with {', '.join(knob.values)} at {stage.name}"
                expected = f"{', '.join(first.values)}, as where it stands first"
                hint = "stages that share a knob declare the same"
                yield Misdeclared(Wrong.CHOICE, ("stages",), found, expected, hint)
