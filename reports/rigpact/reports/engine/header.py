"""The C++ header of any contract: identity, layout, numbers, conventions, conformance vectors and a self-test.

All headers begin alike. A character's has its bundle as constants, and drives an engine's own loop through a free run. With every
other the engine runs its stages on the given rows, and passes the results in; that header needs only rigpact/sha256.hpp and
rigpact/bits.hpp. The loop itself is the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.character import character_of, is_character
from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import Layout
from rigpact.contract.statistics import FloatArray, SquashedStatistics
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldLayout
from rigpact.fixtures.clip_format import random_rows
from rigpact.reference_runtime.graph.bounds import stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reports.engine import cpp_text
from rigpact.reports.engine.conformance import Vectors, conformance_vectors
from rigpact.reports.engine.cpp_text import (
    IDENTIFIER,
    comment,
    identifiers,
    lines,
    shared_knobs,
    stage_loop,
    string_literal,
    type_name,
)

# Conformance vectors of a declared system: drawn inputs, and the reference's values of each stage.
FRAMES = 4
Rows = Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class StageVectors:
    """Rows (FRAMES, width) by stage: given, expected, and the tolerance; NaN where the tolerance is unknown."""

    given: Rows
    expected: Rows
    tolerance: Rows


def stage_vectors(contract: Contract) -> StageVectors:
    """Evaluate the graph on generated inputs; UnusableInput where no stage can be computed from them."""
    graph = contract.system.graph
    outside = [name for name in graph.names if name in (*graph.given, *graph.answers)]
    rng = np.random.default_rng(0)
    given = {name: random_rows(contract.fields(name), FRAMES, rng) for name in outside}
    frames = ReplayedFrames(Evidence(np.arange(FRAMES), contract.fps or 1.0, "teacher", given), contract)
    expected: dict[str, FloatArray] = {}
    bounds: dict[str, FloatArray] = {name: np.zeros(rows.shape) for name, rows in given.items()}
    for stage in graph:
        rows = None if stage.name in given else frames.computed(stage.name)
        if rows is None or not np.isfinite(rows).all():
            continue
        upstream = {name: bounds[name] for name in (*stage.needs, *stage.may_use) if name in bounds}
        expected[stage.name], bounds[stage.name] = rows, stage_bound(stage, frames, rows, upstream)
    if not expected:
        found, wanted = "no stage that made-up inputs lead to", "at least one, to test an engine with"
        raise UnusableInput(contract.path, found, wanted)
    return StageVectors(given, expected, {name: bounds[name] for name in expected})


# A contract's constants as C++ constants: objects as namespaces, tables as arrays
_INT32 = 2**31


def declarations(constants: Mapping[str, Any], place: str) -> Iterator[str]:
    """The lines that declare all constants; an object becomes a namespace."""
    for cpp, (name, value) in zip(identifiers(constants), constants.items(), strict=True):
        if isinstance(value, Mapping):
            yield f"namespace {cpp} {{"
            yield from declarations(value, f"{place}#/{name}")
            yield f"}}  // namespace {cpp}"
        else:
            yield from declaration(cpp, value, f"{place}#/{name}")


def declaration(cpp: str, value: Any, place: str) -> list[str]:
    """The lines that declare one constant. Entries that form no table are declared one by one, numbered by place."""
    if value is None or value == []:
        return [f"// {cpp}: empty"]
    table = np.array(value, dtype=object)  # of rows that differ in length, its entries are lists
    kind = _type(table.ravel().tolist(), place) if table.size else None
    if kind is None:
        nested = {f"{cpp}_{index}": each for index, each in enumerate(value)}
        return list(declarations(nested, place))
    if not table.shape:
        return [f"inline constexpr {kind} {cpp}{'[]' if kind == 'char' else ''} = {_literal(value)};"]
    sizes = "".join(f"[{size}]" for size in table.shape)
    return [f"inline constexpr {'const char*' if kind == 'char' else kind} {cpp}{sizes} = {{", *_table(value), "};"]


def _table(value: Sequence[Any]) -> list[str]:
    if not isinstance(value[0], list | tuple):
        return [f"    {line}," for line in lines([_literal(each) for each in value])]
    return [line for row in value for line in ("    {", *(f"    {each}" for each in _table(row)), "    },")]


def _type(leaves: Sequence[Any], place: str) -> str | None:
    """The common C++ type of all leaves; None if there is none."""
    if all(isinstance(leaf, bool) for leaf in leaves):
        return "bool"
    if all(isinstance(leaf, str) for leaf in leaves):
        return "char"
    if any(isinstance(leaf, bool) or not isinstance(leaf, int | float) for leaf in leaves):
        return None
    if not all(math.isfinite(leaf) for leaf in leaves):
        raise UnusableInput(place, "a number that is not finite", "finite numbers")
    is_whole = all(isinstance(leaf, int) and -_INT32 < leaf < _INT32 for leaf in leaves)
    return "int" if is_whole else "double"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_literal(value)
    return str(value) if isinstance(value, int) and -_INT32 < value < _INT32 else repr(float(value))


NAMESPACE = "rigpact_contract"
_ANGVEL, _POSE_HIST = ("AngvelScale", "MuAngVel", "StdAngVel"), ("PoseHistScale", "MuPoseHist", "StdPoseHist")
_UNKNOWN = -1.0
"""The tolerance that marks a number as not compared."""


def contract_header(
    contract: Contract, namespace: str = NAMESPACE, model_sha256: str | None = None, *, with_loop: bool = False
) -> str:
    """The header of one contract: the same files give the same bytes. model_sha256: of the model that belongs to it.

    with_loop: with `State` and `step`.

    UnusableInput where the files alone do not define every size, and for a number that is not finite.
    """
    name, word = ("character", "bundle") if is_character(contract) else ("stages", "contract")
    return cpp_text.template_of(f"{name}.hpp.j2").render(
        word=word,
        namespace=cpp_text.checked_namespace(namespace),
        file=comment(contract.path.name),
        sha256=contract.sha256,
        model_sha256=model_sha256,
        meaning_sha256=contract.hashes["meaning_sha256"],
        conventions_sha256=contract.hashes["conventions_sha256"],
        fps=repr(float(contract.fps or 0.0)),
        **(_character if is_character(contract) else _stages)(contract, with_loop=with_loop),
    )


def lines_to_paste(contract: Contract, namespace: str = NAMESPACE) -> list[str]:
    """`static_assert` lines for the engine's own code: with another contract than today's it does not compile."""
    asserts = [f"kFingerprint == 0x{contract.sha256[:16]}ULL", *_asserts(contract)]
    return [f'static_assert({namespace}::{each}, "the contract changed");' for each in asserts]


def _asserts(contract: Contract) -> Iterator[str]:
    """What engine code was written for, as expressions of the header: widths, and where each slice stands."""
    if not is_character(contract):
        names = contract.system.graph.names
        for cpp, name in zip(identifiers(names), names, strict=True):
            yield f"layout::{cpp}::kWidth == {contract.fields(name).width}"
        return
    own = character_of(contract)
    sizes = (own.bone_count, own.state.width, own.output.width, own.pose_history_length)
    yield f"widths_are({', '.join(map(str, sizes))})"
    for title, layout in (("State", own.state), ("Output", own.output)):
        for entry in layout:
            if IDENTIFIER.fullmatch(entry.name):
                yield f"k{title}{entry.name}Start == {entry.start}"


def _array(cpp: str, values: FloatArray) -> dict[str, Any]:
    return {"type": "float", "name": f"k{cpp}", "lines": cpp_text.float_lines(values)}


# --- for an engine's own loop ---


def _stages(contract: Contract, *, with_loop: bool) -> dict[str, Any]:
    system, vectors = contract.system, stage_vectors(contract)
    names = system.graph.names
    cpp = dict(zip(names, identifiers(names), strict=True))
    tolerances = {
        name: np.where(np.isnan(each), _UNKNOWN, cpp_text.rounded_up(each)) for name, each in vectors.tolerance.items()
    }

    def rows(name: str, values: FloatArray, title: str) -> dict[str, Any]:
        own = {"cpp": cpp[name], "literal": string_literal(name), "width": values.shape[1]}
        return own | {"array": _array(f"{title}_{cpp[name]}", values)}

    expected = [
        rows(name, values, "Expected")
        | {"tolerance": _array(f"Tolerance_{cpp[name]}", tolerances[name])}
        | {"signless": system.graph[name].measure.has_signless_quaternions}
        for name, values in vectors.expected.items()
    ]
    return {
        "system": string_literal(system.name),
        "file_sha256": contract.file_sha256 or contract.sha256,
        "plan": stage_loop(contract, cpp) if with_loop else None,
        "frames": FRAMES,
        "layouts": [_fields(cpp[name], name, contract.fields(name)) for name in names],
        "numbers": list(declarations(contract.constants, str(contract.path))),
        "conventions": [_convention(knob, contract.conventions[name]) for name, knob in system.knobs.items()],
        "given": [rows(name, values, "Given") for name, values in vectors.given.items()],
        "expected": expected,
        "left_out": ", ".join(name for name in names if name not in {*vectors.given, *vectors.expected}),
    }


def _fields(cpp: str, name: str, layout: FieldLayout) -> dict[str, Any]:
    names = identifiers("_".join(filter(None, (field.name, field.bone))) for field in layout)
    fields = [
        {
            "cpp": own, "start": field.start, "size": field.size,
            "comment": comment(", ".join(filter(None, (field.kind.value, field.unit, field.space)))),
            **{word: string_literal(str(getattr(field, word))) for word in ("name", "bone", "kind", "unit", "space")},
        }
        for own, field in zip(names, layout, strict=True)
    ]  # fmt: skip
    return {"cpp": cpp, "name": comment(name), "width": layout.width, "hash": layout.layout_hash, "fields": fields}


def _convention(knob: Knob, value: Any) -> dict[str, Any]:
    """A knob as an enumeration with the contract's choice; an order of parts becomes an array."""
    name = type_name(cpp_text.identifier(knob.name))
    own = {"cpp": f"k{name}", "type": name, "meaning": comment(knob.meaning)}
    if not isinstance(value, str):
        return {**own, "array": declaration(f"k{name}", list(value), knob.name)}
    choices = identifiers(cpp_text.enumerator(each) for each in knob.values)
    return {**own, "array": None, "choices": choices, "value": choices[knob.values.index(value)]}


# --- of a character ---


def _character(contract: Contract, *, with_loop: bool) -> dict[str, Any]:
    character = character_of(contract)
    if character.pose_history_length is None:
        raise UnusableInput(contract.path, "no pose_hist_len", "the history's length", "give the companion file")
    vectors, graph = conformance_vectors(contract), contract.system.graph
    cpp = dict(zip(graph.names, identifiers(graph.names), strict=True))
    parents = character.skeleton.parents if character.skeleton else (-2,) * character.bone_count
    chosen = [name for name in sorted(shared_knobs()) if name in contract.system.knobs]
    arrays = _statistics(contract) | _vector_arrays(contract, vectors)
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise UnusableInput(f"{contract.path}#/{name}", "a number that is not finite", "finite numbers")
    return {
        "companion_sha256": contract.companion_sha256,
        "bones": [string_literal(name) for name in character.bone_names],
        "parents": parents,
        "layouts": [_slices("State", character.state), _slices("Output", character.output)],
        "history": character.pose_history_length,
        "arrays": [_array(name, values) for name, values in arrays.items()],
        "angvel": _members(_ANGVEL, character.angular_velocity),
        "pose_hist": _members(_POSE_HIST, character.pose_history),
        "conventions": [(type_name(name), cpp_text.enumerator(str(contract.conventions[name]))) for name in chosen],
        "wishes": [_wish(vectors, frame) for frame in range(vectors.clip.frame_count)],
        "frames": vectors.frames,
        "vectors": [{"name": name, "width": rows.shape[1]} for name, rows in vectors.expected.items()],
        "plan": stage_loop(contract, cpp) if with_loop else None,
        "widths": {cpp[name]: contract.fields(name).width for name in graph.names} if with_loop else {},
    }


def _slices(title: str, layout: Layout) -> dict[str, Any]:
    entries = [{"literal": string_literal(entry.name), "start": entry.start, "size": entry.size,
                "identifier": entry.name if IDENTIFIER.fullmatch(entry.name) else ""} for entry in layout]  # fmt: skip
    return {"title": title, "width": layout.width, "slices": entries}


def _members(names: tuple[str, ...], statistics: SquashedStatistics | None) -> str:
    return "nullptr, nullptr, nullptr" if statistics is None else ", ".join(f"detail::k{name}" for name in names)


def _wish(vectors: Vectors, frame: int) -> tuple[str, ...]:
    clip = vectors.clip
    middle = clip.trajectory_direction[frame, clip.trajectory_direction.shape[1] // 2]
    parts = clip.action_bits[frame], clip.root_velocity_m_s[frame], middle
    return tuple(", ".join(map(cpp_text.float_literal, part)) for part in parts)


def _statistics(contract: Contract) -> dict[str, FloatArray]:
    character = character_of(contract)
    state, output = character.state_statistics, character.output_statistics
    arrays: dict[str, FloatArray] = {
        "MuX": state.mean, "StdX": state.std, "MuY": output.mean, "StdY": output.std,
        "RootvelScales": character.rootvel_scales, "AngvelScales": character.angvel_scales,
    }  # fmt: skip
    for names, own in ((_ANGVEL, character.angular_velocity), (_POSE_HIST, character.pose_history)):
        if own is not None:
            arrays |= dict(zip(names, (own.scale, own.statistics.mean, own.statistics.std), strict=True))
    return arrays


def _vector_arrays(contract: Contract, vectors: Vectors) -> dict[str, FloatArray]:
    scores = vectors.clip.contact_scores
    arrays: dict[str, FloatArray] = {
        "ClipStates": vectors.clip.state_rows(character_of(contract).state),
        "ClipConditions": vectors.given["cond_raw"],
        "ClipScores": np.zeros(2) if scores is None else scores,
        "ClipContacts": vectors.given["contacts"],
        "ClipOutputs": vectors.outputs,
    }
    for stage, values in vectors.expected.items():
        arrays |= {f"Expected_{stage}": values, f"Tolerance_{stage}": cpp_text.rounded_up(vectors.tolerance[stage])}
    return arrays
