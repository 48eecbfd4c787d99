"""RP700 to RP711: what keeps a runtime from loading the contract file of a hosted system (rigpact-system).

Two orders of the same 63 numbers pass every check of sizes. So each field is compared with what the system means, and the
finding names the first field that moved. `open_contract` refuses what `rules.engine.refusals` finds.
"""

from collections.abc import Iterator

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.pages.registry import ENEMY_ANIMATION, canonical_name, find_system, known_systems
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.files.structure import has_its_shape
from rigpact.contract.rules.views.bundle import need
from rigpact.contract.rules.views.system_files import SystemFiles
from rigpact.contract.systems.layout import Field, FieldLayout, json_to_fields
from rigpact.contract.systems.system import System

UNKNOWN_SYSTEM = Rule.of("""RP700 error system-unknown refused
    {name!r} is not a system that rigpact hosts (it hosts {known})
    hint: correct the name; `rigpact show` lists them
    why: without its definition nothing can be said about any number in the file""")
HASH_OF_OTHER_FIELDS = Rule.of("""RP701 error system-hash-of-other-fields refused
    {vector}: the layout hash {found} is not that of the fields beside it ({expected})
    hint: export the file anew; the hash is not for editing by hand
    why: one of the two is stale: an engine that trusts the hash would not notice that a field moved""")
FIELD_DIFFERS = Rule.of("""RP702 error system-field-moved refused
    {vector}: {width} numbers as expected, but number {start} begins {found}, expected {expected}
    hint: rename or reorder on the side that exports; the definition's order is shown by rigpact show NAME
    why: equal size, different meaning: every size check passes and the character takes one number for another""")
WIDTH_DIFFERS = Rule.of("""RP703 error system-width-differs refused
    {vector}: {found} numbers, expected {expected}; the first difference is number {start}: {what}
    hint: export with the layout of this version of the system
    why: a datagram or a tensor of another size is cut or padded somewhere on its way""")
FIELDS_OVERLAP = Rule.of("""RP704 error system-fields-overlap refused
    {vector}: {second} begins at {start}, inside {first}, which ends at {stop}
    hint: give every field its own numbers
    why: writing one field changes the other""")
FIELDS_GAP = Rule.of("""RP705 error system-fields-gap refused
    {vector}: nothing is said about the numbers {stop} to {start}, before {second}
    hint: declare them, or move the field
    why: a parser that adds up sizes instead of reading starts is off by as many from here on""")
REPEATED_NAME = Rule.of("""RP706 error system-field-name-repeated refused
    {vector}: two fields are called {name}
    hint: rename one
    why: code that looks a field up by its name gets one of the two""")
VECTOR_MISSING = Rule.of("""RP707 error system-vector-missing refused
    the vector {vector} ({width} numbers) is not declared
    hint: export every vector that rigpact show NAME lists
    why: an undeclared convention cannot be compared: a change of it would go unseen""")
UNKNOWN_KNOB = Rule.of("""RP709 error system-knob-unknown refused
    {knob!r} is not a convention of this system (it has {known})
    hint: correct the name; rigpact show NAME lists the knobs
    why: the convention that was meant keeps its default silently""")
UNKNOWN_VALUE = Rule.of("""RP710 error system-knob-value-unknown refused
    {knob} is {value!r}, not one of {known}
    hint: correct the value; rigpact show NAME lists them
    why: no runtime knows what to do under it""")
CONSTANT_WRONG = Rule.of("""RP711 error system-constant-wrong refused
    {found}, expected {expected}: {consequence}
    hint: export the constants of the rig that the network was trained with
    why: skeleton, limits and calibration enter every frame; both sides must have the same numbers""")


def _check_loading(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.SYSTEM_CONTRACT and has_its_shape(document))
    root, system = document.data, hosted_system(document)
    if system is None:
        yield UNKNOWN_SYSTEM.at(document.path, "/system", name=root["system"], known=", ".join(_hosted_names()))
        return
    for name, expected in system.vectors.items():
        if name in root["vectors"]:
            yield from _check_vector(document, system, name)
        elif name not in system.graph.handed_on:  # it has the fields of the vector that it is carried into
            yield VECTOR_MISSING.at(document.path, "/vectors", vector=name, width=expected.width)
    for name, value in root.get("conventions", {}).items():
        place, knob = ("conventions", name), system.knobs.get(name)
        if knob is None:
            yield UNKNOWN_KNOB.at(document.path, place, knob=name, known=", ".join(system.knobs))
        elif value not in knob.values:
            yield UNKNOWN_VALUE.at(document.path, place, knob=name, value=value, known=", ".join(knob.values))
    for problem in system.problems_of(root.get("constants", {})):
        values = {"found": problem.found, "expected": problem.expected, "consequence": problem.why}
        yield CONSTANT_WRONG.at(document.path, f"/constants{problem.pointer}", **values)


FAMILY = family(globals(), (Need.CONTRACT_FILE,), _check_loading)


def hosted_system(document: Document) -> System | None:
    """The system that a contract file names; None where rigpact hosts no such system."""
    name = document.data.get("system")
    return find_system(name) if isinstance(name, str) and canonical_name(name) in _hosted_names() else None


def _hosted_names() -> list[str]:
    return [name for name in known_systems() if name != ENEMY_ANIMATION]  # whose contract is a schema bundle


def _check_vector(document: Document, system: System, name: str) -> Iterator[Finding]:
    declared, place = document.data["vectors"][name], json_pointer("vectors", name)
    layout = json_to_fields(declared["fields"])
    tiling = list(_check_tiling(document, place, name, layout))
    yield from tiling
    if layout.layout_hash != declared["layout_hash"]:
        values = {"vector": name, "found": declared["layout_hash"][:12], "expected": layout.layout_hash[:12]}
        yield HASH_OF_OTHER_FIELDS.at(document.path, f"{place}/layout_hash", **values)
    meant = system.expected_fields(name, layout)
    if not tiling and layout.layout_hash != meant.layout_hash:
        yield _moved(document, place, name, layout, meant)


def _check_tiling(document: Document, place: str, vector: str, layout: FieldLayout) -> Iterator[Finding]:
    names: set[str] = set()
    stop, before = 0, "the beginning"
    for index, field in enumerate(layout):
        pointer = f"{place}/fields/{index}"
        if field.name in names:
            yield REPEATED_NAME.at(document.path, f"{pointer}/name", vector=vector, name=field.name)
        names.add(field.name)
        values = {"vector": vector, "first": before, "second": field.name, "start": field.start, "stop": stop}
        if field.start != stop:
            yield (FIELDS_OVERLAP if field.start < stop else FIELDS_GAP).at(document.path, f"{pointer}/start", **values)
        stop, before = max(stop, field.stop), field.name


def _moved(document: Document, place: str, vector: str, found: FieldLayout, expected: FieldLayout) -> Finding:
    """Name the first field of a vector that differs from the system's definition."""
    pairs = enumerate(zip(map(_meaning, found), map(_meaning, expected), strict=False))
    shorter = min(len(found.fields), len(expected.fields))
    index = next((index for index, (one, other) in pairs if one != other), shorter)
    pointer, (one, other) = f"{place}/fields/{index}", (_at(layout, index) for layout in (found, expected))
    start = found.fields[index].start if index < len(found.fields) else found.width
    if found.width != expected.width:
        values = {"vector": vector, "found": found.width, "expected": expected.width, "start": start}
        return WIDTH_DIFFERS.at(document.path, pointer, what=f"{one}, expected {other}", **values)
    values = {"vector": vector, "width": found.width, "start": start}
    return FIELD_DIFFERS.at(document.path, pointer, found=one, expected=other, **values)


def _meaning(field: Field) -> tuple[object, ...]:
    return field.name, field.start, field.size, field.kind, field.unit, field.space


def _at(layout: FieldLayout, index: int) -> str:
    if index >= len(layout.fields):
        return "nothing"
    field = layout.fields[index]
    meaning = ", ".join(filter(None, (field.kind.value, field.unit, field.space)))
    return f"{field.name} ({field.size}: {meaning})"
