"""The C++ header of a schema bundle: sizes, statistics, conventions and conformance vectors for the C++ loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import Layout
from rigpact.contract.statistics import FloatArray, SquashedStatistics
from rigpact.reference_runtime.systems.enemy_animation.cpp.views import enumerated
from rigpact.reports.engine.conformance import Vectors, conformance_vectors
from rigpact.reports.engine.cpp_text import (
    IDENTIFIER,
    comment,
    enumerator,
    float_lines,
    float_literal,
    lines,
    rounded_up,
    string_literal,
    template,
    type_name,
)

ANGVEL, POSE_HIST = ("AngvelScale", "MuAngVel", "StdAngVel"), ("PoseHistScale", "MuPoseHist", "StdPoseHist")


def bundle_header(contract: Contract, namespace: str, model_sha256: str | None = None) -> str:
    """The header of one bundle. UnusableInput where the bundle alone does not define every size."""
    if contract.pose_history_length is None:
        raise UnusableInput(contract.path, "no pose_hist_len", "the history's length", "give the companion file")
    vectors = conformance_vectors(contract)
    rendered: str = template("contract.hpp.j2").render(
        namespace=namespace,
        bundle_name=comment(contract.path.name),
        sha256=contract.sha256,
        companion_sha256=contract.companion_sha256,
        model_sha256=model_sha256,
        meaning_sha256=contract.hashes["meaning_sha256"],
        conventions_sha256=contract.hashes["conventions_sha256"],
        fps=repr(float(contract.fps)),
        bones=_bones(contract),
        state=_layout("State", contract.state),
        output=_layout("Output", contract.output),
        history=contract.pose_history_length,
        arrays=list(_arrays(contract, vectors)),
        angvel=_members(ANGVEL, contract.angular_velocity),
        pose_hist=_members(POSE_HIST, contract.pose_history),
        conventions=[
            {"type": type_name(name), "value": enumerator(getattr(contract.conventions, name))} for name in enumerated()
        ],
        input_order=", ".join(str(INPUTS.index(name)) for name in contract.conventions.input_order),
        bone_order="nullptr" if contract.bone_permutation is None else "detail::kBoneOrder",
        wishes=[_wish(vectors, frame) for frame in range(vectors.clip.frame_count)],
        vectors=list(vectors.expected),
        free_frames=vectors.free_frames,
        free_vectors=list(vectors.free_expected),
        frame=vectors.frame,
        clip_frames=vectors.clip.frame_count,
    )
    return rendered


def bundle_asserts(contract: Contract) -> list[str]:
    """What engine code was written for, as expressions of the header: sizes, and where each slice stands."""
    sizes = (contract.bone_count, contract.state.width, contract.output.width, contract.pose_history_length)
    slices = [
        f"k{title}{entry.name}Start == {entry.start}"
        for title, layout in (("State", contract.state), ("Output", contract.output))
        for entry in layout
        if IDENTIFIER.fullmatch(entry.name)
    ]
    return [f"widths_are({', '.join(map(str, sizes))})", *slices]


def _bones(contract: Contract) -> list[dict[str, Any]]:
    parents = contract.skeleton.parents if contract.skeleton else (-2,) * contract.bone_count
    pairs = zip(contract.bone_names, parents, strict=True)
    return [{"literal": string_literal(name), "parent": parent} for name, parent in pairs]


def _layout(title: str, layout: Layout) -> dict[str, Any]:
    slices = [
        {
            "literal": string_literal(entry.name),
            "identifier": entry.name if IDENTIFIER.fullmatch(entry.name) else "",
            "start": entry.start,
            "size": entry.size,
        }
        for entry in layout
    ]
    return {"title": title, "width": layout.width, "slices": slices}


def _members(names: Iterable[str], statistics: SquashedStatistics | None) -> str:
    return "nullptr, nullptr, nullptr" if statistics is None else ", ".join(f"detail::k{name}" for name in names)


def _wish(vectors: Vectors, frame: int) -> dict[str, str]:
    clip = vectors.clip
    middle = clip.trajectory_direction[frame, clip.trajectory_direction.shape[1] // 2]
    return {
        "bits": ", ".join(map(float_literal, clip.action_bits[frame])),
        "velocity": ", ".join(map(float_literal, clip.root_velocity_m_s[frame])),
        "trajectory": ", ".join(map(float_literal, middle)),
    }


def _arrays(contract: Contract, vectors: Vectors) -> Iterable[dict[str, Any]]:
    for name, values in (_statistics(contract) | _vector_arrays(contract, vectors)).items():
        if not np.isfinite(values).all():
            raise UnusableInput(f"{contract.path}#/{name}", "a number that is not finite", "finite numbers")
        yield {"type": "float", "name": f"k{name}", "lines": float_lines(values)}
    if contract.bone_permutation is not None:
        yield {"type": "int", "name": "kBoneOrder", "lines": lines([str(bone) for bone in contract.bone_permutation])}


def _statistics(contract: Contract) -> dict[str, FloatArray]:
    state, output = contract.state_statistics, contract.output_statistics
    arrays: dict[str, FloatArray] = {
        "MuX": state.mean, "StdX": state.std, "MuY": output.mean, "StdY": output.std,
        "RootvelScales": contract.rootvel_scales, "AngvelScales": contract.angvel_scales,
    }  # fmt: skip
    for names, own in ((ANGVEL, contract.angular_velocity), (POSE_HIST, contract.pose_history)):
        if own is not None:
            arrays |= dict(zip(names, (own.scale, own.statistics.mean, own.statistics.std), strict=True))
    return arrays


def _vector_arrays(contract: Contract, vectors: Vectors) -> dict[str, FloatArray]:
    scores = vectors.clip.contact_scores
    arrays: dict[str, FloatArray] = {
        "ClipStates": vectors.clip.state_rows(contract.state),
        "ClipContacts": np.zeros(2) if scores is None else scores,
        "ClipOutputs": vectors.outputs,
    }
    for stage, values in vectors.expected.items():
        arrays |= {f"Expected_{stage}": values, f"Tolerance_{stage}": rounded_up(vectors.tolerance[stage])}
    for stage, values in vectors.free_expected.items():
        arrays |= {
            f"Expected_free_{stage}": values,
            f"Tolerance_free_{stage}": rounded_up(vectors.free_tolerance[stage]),
        }
    return arrays
