"""A system's page: a declaration, and the constants that every contract file of the system states in its own numbers.

Entry points `rigpact.systems` name pages. A contract file (`rigpact-system`) names the system and states its vectors, conventions
and constants: so it fills the page. Where it says nothing, the page holds.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.declared.fields import declared_fields
from rigpact.contract.declared.sources import Sources
from rigpact.contract.declared.values import flat_numbers
from rigpact.contract.declared.vocabulary import operations_of_packages, operations_of_rigpact
from rigpact.contract.errors import UnusableInput, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, FramesOfContract
from rigpact.contract.systems.layout import known_fields
from rigpact.contract.systems.stage import RAW, DataCheck, Graph, Measure, NotKnown, Problem, Stage, entries
from rigpact.contract.systems.system import Architecture, Description, System

Rows = Mapping[str, FloatArray]


def data_problems(checks: Sequence[DataCheck], contract: Contract, stages: Rows) -> Iterator[Problem]:
    """Yield what is wrong with finite rows of a data set, by stage (N, width)."""
    stages = {**_undone(contract, stages), **stages}
    for check in checks:
        if check.of in stages and (not check.labels or check.labels in stages):
            found = list(_check_problems(check, contract, stages))
            yield from found
            if found and check.same:
                return  # what is computed from it is another place too


def _undone(contract: Contract, stages: Rows) -> dict[str, FloatArray]:
    frames, found = DataSetFrames(contract, dict(stages)), {}
    for stage in contract.system.graph:
        if stage.undone is not None and stage.name in stages:
            found[stage.needs[0]] = stage.undone(frames)
    return found


def _check_problems(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    if check.judged_by:
        yield from _judged(check, contract, stages)
    rows = stages[check.of].astype(np.float64)
    if check.same:
        # Fields that are one place are one place in every row
        first, *others = (rows[:, contract.fields(check.of)[name].range] for name in check.same)
        for name, other in zip(check.same[1:], others, strict=True):
            apart = np.linalg.norm(other - first, axis=1)
            row = int(np.argmax(apart))
            if apart[row] > check.within:
                found = f"{apart[row]:.3g} from {check.same[0]} in row {row}"
                yield Problem(f"{check.of}/{name}", found, "the same place", check.why)
    if check.computed:
        yield from _not_as_computed(check, contract, stages)
    if check.several and len(np.unique(rows, axis=0)) < 2:
        yield Problem(check.of, f"one row, {len(rows)} times", "several", check.why)


def _judged(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    """What the operations of stages have against the rows; each row has its label."""
    count, labelled = len(stages[check.of]), len(stages[check.labels])
    if not count == labelled > 0:
        yield Problem(check.labels, f"{labelled} rows", f"{count}, one per {check.of}", check.why)
        return
    for name in check.judged_by:
        judge = contract.system.graph[name].judged
        if judge is not None:
            yield from judge(contract, stages, check)


def _not_as_computed(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    """The rows are those that the contract computes from what else the data hold; nothing is said where it cannot."""
    known = {name: rows for name, rows in stages.items() if name != check.of}
    try:
        computed = DataSetFrames(contract, known)[check.computed]
    except NotKnown:
        return
    difference = computed.astype(np.float64) - stages[check.of]
    fields = contract.fields(check.of)
    apart = np.stack([np.linalg.norm(difference[:, field.range], axis=1) for field in fields], axis=1).max(axis=1)
    row = int(np.argmax(apart))
    if apart[row] > check.within:
        yield Problem(
            check.of, f"{apart[row]:.3g} from the {check.computed} of row {row}", f"at most {check.within:g}", check.why
        )


class DataSetFrames(FramesOfContract):
    """The `Frames` of a data set: its rows stand alone, and there is no network."""

    def __init__(self, contract: Contract, rows: dict[str, FloatArray]) -> None:
        """rows: those of each known stage, (T, width)."""
        super().__init__(contract)
        self.rows = rows

    def __getitem__(self, stage: str) -> FloatArray:
        """The rows of a stage; NotKnown where they do not follow from the data."""
        if stage not in self.rows:
            self.rows[stage] = self.contract.system.graph[stage].computed(self)
        return self.rows[stage]


# The constants of a page: what a contract file may state in their place, and when it contradicts the page
_ORTHONORMAL, _OFF_BONE_DEG, _REST_RAD = 1e-4, 20.0, 1e-9
"""Published axes have six decimals; an axis further off its bone is another one; a range may miss the rest pose by a rounding."""


def tree_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where the parents of bones (J,), places in the list `tree`, are not the published ones or come later."""
    published, bones = entry["value"], constants[entry["tree"]]
    for place, (found, wanted) in enumerate(zip(constants[name], published, strict=True)):
        if found >= place:
            yield Problem(
                f"/{name}/{place}", str(found), f"a bone before {place}", "a parent that comes later is not turned yet"
            )
        elif found != wanted:
            yield Problem(
                f"/{name}/{place}", str(found), f"{wanted} ({bones[wanted]})", f"{bones[place]} hangs on another bone"
            )


def axes_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where rest orientations (J, 3, 3) are not rotations, or where a y axis leaves its bone.

    axes: the lists of the bones, of their parents, and of their heads (J, 3).
    """
    bones, parents, heads = (constants[each] for each in entry["axes"])
    axes, places = np.array(constants[name], np.float64), np.array(heads, np.float64)
    gram = np.swapaxes(axes, 1, 2) @ axes
    is_rotation = (np.linalg.det(axes) > 0.0) & (np.abs(gram - np.eye(3)).max(axis=(1, 2)) < _ORTHONORMAL)
    for place in np.flatnonzero(~is_rotation):
        why = f"{bones[place]} and everything below it is stretched or mirrored"
        yield Problem(f"/{name}/{place}", "no rotation matrix", "orthonormal columns, determinant 1", why)
    for place in np.flatnonzero(is_rotation):
        angle = _angle_off_bone_deg(axes, places, parents, int(place))
        if angle > _OFF_BONE_DEG:
            found = f"y axis {angle:.0f} degrees off the bone"
            why = f"{bones[place]}: transposed, or the orientation is ignored"
            yield Problem(f"/{name}/{place}", found, "columns are axes, y along the bone", why)


def _angle_off_bone_deg(axes: FloatArray, heads: FloatArray, parents: list[int], place: int) -> float:
    if place + 1 >= len(parents) or parents[place + 1] != place:
        return 0.0
    along = heads[place + 1] - heads[place]
    cosine = float(along @ axes[place, :, 1]) / max(float(np.linalg.norm(along)), 1e-12)
    return float(np.rad2deg(np.arccos(np.clip(cosine, -1.0, 1.0))))


def range_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where a joint's range (J, 3, 2), low and high of each axis, is none, or where the rest pose is outside it."""
    bones, limits = constants[entry["ranges"]], np.array(constants[name], np.float64)
    low, high = limits[..., 0], limits[..., 1]
    mistakes = (
        (low > high, "low to high", "can take no angle at all"),
        ((low > _REST_RAD) | (high < -_REST_RAD), "a range with the rest pose in it", "cannot rest"),
    )
    for is_wrong, wanted, follows in mistakes:
        for bone, axis in np.argwhere(is_wrong):
            found = f"{low[bone, axis]:g} to {high[bone, axis]:g}"
            yield Problem(f"/{name}/{bone}/{axis}", found, wanted, f"{bones[bone]} {follows}")


CHECKS: Mapping[str, Callable[[str, Mapping[str, Any], Mapping[str, Any]], Iterator[Problem]]] = {
    "tree": tree_problems,
    "axes": axes_problems,
    "ranges": range_problems,
}
"""What a page says of such a constant -> what is judged in it."""


def constant_problems(root: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a contract file's constants.

    A constant is of the kind and shape that the page publishes. `fixed` says why it must be the published one, `about` the same
    of a number but for its last digits; `layers` names the vectors that the first and the last of its numbers are as wide as;
    `_MUST` says what else a page can ask. `tree`, `axes` and `ranges` are a rig's, judged where every constant is alike.
    """
    declared: Mapping[str, Any] = root.get("constants", {})
    if missing := [name for name, entry in declared.items() if name not in constants and not entry.get("optional")]:
        yield Problem("", f"no {', '.join(missing)}", f"every constant of {root['title']}", _UNUSABLE)
    for name, entry in declared.items():
        if name in constants:
            yield from _problems(root, name, entry, constants[name])
    if not missing and all(
        _is_alike(constants.get(name, entry["value"]), entry["value"]) for name, entry in declared.items()
    ):
        for name, entry in declared.items():
            for key in CHECKS.keys() & entry.keys():
                yield from CHECKS[key](name, entry, constants)


def _problems(root: Mapping[str, Any], name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    published = entry["value"]
    if "layers" in entry:
        # The widths of a network's layers begin and end with those of two vectors
        widths, ends = entries(found), [_width(root, vector) for vector in entry["layers"]]
        if len(widths) < 2 or [widths[0], widths[-1]] != ends:
            yield Problem(f"/{name}", shown(widths), f"{ends[0]} … {ends[-1]}", "the network would not fit the rig")
    elif not _is_alike(found, published):
        said = (entry[key] for key in ("fixed", "about", "why", *_MUST) if isinstance(entry.get(key), str))
        yield Problem(f"/{name}", shown(found), _expected(entry), next(said, _UNUSABLE))
    elif "fixed" in entry:
        yield from _moved(name, entry, found)
    elif "about" in entry and not np.allclose(found, published):
        yield Problem(f"/{name}", f"{found}", f"{published}", entry["about"])
    else:
        # The first thing that the page asks of a constant's numbers and does not hold
        for key, (holds, expected) in _MUST.items():
            if key in entry and not holds(np.asarray(found, np.float64), entry[key]):
                why = entry["why"] if key == "between" else entry[key]
                yield Problem(f"/{name}", shown(found), expected(entry), why)
                return


def _expected(entry: Mapping[str, Any]) -> str:
    return str(entry.get("expected", _kind(entry["value"])))


_MUST: Mapping[str, tuple[Callable[[FloatArray, Any], bool], Callable[[Mapping[str, Any]], str]]] = {
    "positive": (lambda found, _why: bool((found > 0.0).all()), lambda _entry: "above zero"),
    "between": (lambda found, ends: bool(((found > ends[0]) & (found < ends[1])).all()), _expected),
    "unit_rows": (
        lambda rows, _why: np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6), lambda _entry: "unit vectors",
    ),
    "opposed": (
        lambda rows, _why: bool((np.triu(rows @ rows.T, 1) <= 0.0).all()), lambda _entry: "rows that point to opposite sides",
    ),
}  # fmt: skip
"""What a page may ask of a constant's numbers -> whether it holds (numbers, what the page says), and what is expected."""
_UNUSABLE = "nothing can be computed without it"


def _is_alike(found: Any, published: Any) -> bool:
    """Whether both are finite numbers of one shape, or both lists of words."""
    mine, theirs = _array(found), _array(published)
    if mine is None or theirs is None:
        return theirs is None and isinstance(found, list) and {type(each) for each in found} == {str}
    return mine.shape == theirs.shape


def _array(value: Any) -> FloatArray | None:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    if isinstance(value, bool) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        return None
    return array.astype(np.float64)


def _kind(published: Any) -> str:
    array = _array(published)
    if array is None:
        return f"names: {', '.join(published[:2])}, …"
    return " × ".join(map(str, array.shape)) + " numbers" if array.ndim else "a number"


def _moved(name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    """Where a constant is not the published one: entries of a list and rows of a table one by one, a list of words whole."""
    published, why = entry["value"], entry["fixed"]
    if not isinstance(found, list) or _array(published) is None:
        if found != published:
            words = ", ".join(published) if isinstance(published, list) else shown(published)
            yield Problem(f"/{name}", shown(found), words, why)
        return
    for place, (one, other) in enumerate(zip(found, published, strict=True)):
        if one != other:
            yield Problem(f"/{name}/{place}", shown(one), shown(other), why)


def _width(root: Mapping[str, Any], vector: str) -> int:
    tables = [*root["given"], *root["stages"]]
    layout = declared_fields(next(each for each in tables if each["name"] == vector), (), root.get("names", {}))
    return 0 if layout is None else layout.width


_UNITS_OF_ERRORS = ("m", "cm", "rad")


@dataclass(frozen=True)
class Page:
    """The text of a page, by the name of its system. folder: where the files are that its numbers come from.

    by_rigpact: it is one of rigpact's own, and names rigpact's own operations.
    """

    name: str
    text: str
    folder: Path = Path()
    by_rigpact: bool = False

    @cached_property
    def root(self) -> Mapping[str, Any]:
        """What the page says, with the constants and numbers that stand in a file beside it."""
        root, sources = tomllib.loads(self.text), Sources(self.folder)
        for section in ("constants", "numbers"):
            for name, entry in root.get(section, {}).items():
                if isinstance(entry, dict) and "file" in entry:
                    entry["value"] = sources.value(entry.pop("file"), entry.pop("at", ""), (section, name))
        return root

    @property
    def constants(self) -> dict[str, Any]:
        """The constants as published; a contract file states its own."""
        return {name: entry["value"] for name, entry in self.root.get("constants", {}).items()}

    def numbers(self, constants: Mapping[str, Any]) -> dict[str, FloatArray]:
        """Every number of the page by its path, filled by a contract file; ValueError where the page cannot be built so."""
        return _numbers(self, json.dumps({name: constants[name] for name in self.constants if name in constants}))

    def _filled(self, constants: Mapping[str, Any]) -> Declaration:
        """The page with these constants among its numbers and its lists of names."""
        filled = self.constants | {name: value for name, value in constants.items() if name in self.constants}
        lists = {name: value for name, value in filled.items() if isinstance(value, list)}
        names = {name: value for name, value in lists.items() if any(isinstance(each, str) for each in value)}
        numbers = {name: {"value": value} for name, value in filled.items() if name not in names}
        root = {key: value for key, value in self.root.items() if key not in ("constants", "formulas")}
        formulas = self.root.get("formulas", {})
        root["stages"] = [{**table, **formulas.get(table["name"], {})} for table in root["stages"]]
        root["names"] = {**root.get("names", {}), **names}
        root["numbers"] = {**root.get("numbers", {}), **numbers}
        return read_declaration(root, Path(), operations_of_rigpact() if self.by_rigpact else operations_of_packages())

    def system(self) -> System:
        """The system; UnusableInput for a page with a mistake."""
        declaration, root = self._filled({}), self.root
        if declaration.system is None:
            raise UnusableInput(f"{self.name}.toml", str(declaration.problems[0]), "a page without mistakes")
        self._refuse_idle_conventions(declaration.system)
        return replace(
            declaration.system,
            stages=tuple(_on_a_page(stage, declaration.system.graph) for stage in declaration.system.stages),
            own_page=self.text,
            windowed=root.get("windowed", False),
            classes=tuple(root.get("classes", ())),
            posed=root.get("posed", ""),
            published={stage: tuple(names) for stage, names in root.get("published", {}).items()},
            architecture=Architecture(**root["architecture"]) if "architecture" in root else None,
            numbers=self.numbers,
            constant_problems=lambda constants: constant_problems(root, constants),
            template=lambda: self.constants,
            data_problems=partial(data_problems, [DataCheck(**entry) for entry in root.get("data", ())]),
            description=Description(),
        )

    def _refuse_idle_conventions(self, system: System) -> None:
        """UnusableInput for a convention that says of a stage what this stage does not have."""
        for name, entry in self.root.get("conventions", {}).items():
            where, places = f"{self.name}.toml#/conventions/{name}", entry.get("at", [])
            if isinstance(places, Mapping) and "value" not in entry:
                raise UnusableInput(where, "no value", "the reading of this side")
            if "at" not in entry and name not in system.knobs:
                raise UnusableInput(where, name, "a convention that stages share, or `at`")
            for place in [places] if isinstance(places, str) else places:
                if place.partition(".")[0] not in system.graph.places_of(name):
                    raise UnusableInput(where, place, "a parameter that sides read otherwise")


@lru_cache(maxsize=256)
def _numbers(page: Page, constants: str) -> dict[str, FloatArray]:
    declaration = page._filled(json.loads(constants))
    if declaration.system is None:
        raise ValueError(str(declaration.problems[0]))
    return flat_numbers(declaration.constants)


def _on_a_page(stage: Stage, graph: Graph) -> Stage:
    """The stage of a system whose files name no networks; its error is in the unit of its numbers, where they have one."""
    units = {each.unit for each in known_fields(stage.layout)}
    in_unit = stage.measure is RAW and len(units) == 1 and units <= set(_UNITS_OF_ERRORS)
    before = [name for each in stage.needs for name in graph[each].needs or (each,)]
    model = f"--onnx with the model, and record {', '.join(dict.fromkeys(before))}" if stage.is_answer else ""
    measure = Measure(units.pop()) if in_unit else stage.measure
    return replace(stage, measure=measure, source=stage.source or model)
