"""C++ written from Python: a header of one bundle (`rigpact codegen`), and the enumerations of all knobs.

`contract_header` is deterministic: the same bundle gives the same bytes. `python -m rigpact.reports.engine.codegen` rewrites
`reference_runtime/cpp/include/rigpact/conventions.hpp`; a test compares.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

import rigpact.reference_runtime
from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import Layout
from rigpact.contract.statistics import FloatArray, SquashedStatistics
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS
from rigpact.reports.engine.conformance import Vectors, conformance_vectors

NOT_ENUMERATED = ("bone_order", "input_order", "math")
"""Knobs that are arrays in C++, or the loop's template argument."""
ENUMERATOR: Mapping[str, str] = {"0": "same_frame", "-1": "one_earlier", "+1": "one_later"}
"""Values that are no C++ identifiers."""
_NUMBERS_PER_LINE = 12
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KEYWORDS = {
    "namespace",
    "class",
    "int",
    "float",
    "double",
    "std",
    "rigpact",
    "static",
    "const",
    "new",
    "delete",
    "this",
}
ANGVEL, POSE_HIST = ("AngvelScale", "MuAngVel", "StdAngVel"), ("PoseHistScale", "MuPoseHist", "StdPoseHist")


def contract_header(contract: Contract, namespace: str = "rigpact_contract") -> str:
    """The header of one bundle. UnusableInput where the bundle alone does not tell every size."""
    if not _IDENTIFIER.fullmatch(namespace) or namespace in _KEYWORDS:
        raise UnusableInput("--namespace", repr(namespace), "a C++ identifier")
    if contract.pose_history_length is None:
        raise UnusableInput(contract.path, "no pose_hist_len", "the history's length", "give the companion file")
    vectors = conformance_vectors(contract)
    rendered: str = _template("contract.hpp.j2").render(
        namespace=namespace,
        bundle_name=_comment(contract.path.name),
        sha256=contract.sha256,
        fps=repr(float(contract.fps)),
        bones=_bones(contract),
        state=_layout("State", contract.state),
        output=_layout("Output", contract.output),
        history=contract.pose_history_length,
        arrays=list(_arrays(contract, vectors)),
        angvel=_members(ANGVEL, contract.angular_velocity),
        pose_hist=_members(POSE_HIST, contract.pose_history),
        conventions=[
            {"type": knob_type(name), "value": enumerator(getattr(contract.conventions, name))} for name in enumerated()
        ],
        input_order=", ".join(str(INPUTS.index(name)) for name in contract.conventions.input_order),
        bone_order="nullptr" if contract.bone_permutation is None else "detail::kBoneOrder",
        wishes=[_wish(vectors, frame) for frame in range(vectors.clip.frame_count)],
        vectors=list(vectors.expected),
        frame=vectors.frame,
        clip_frames=vectors.clip.frame_count,
    )
    return rendered


def conventions_header() -> str:
    """The enumerations of every knob, and the struct that holds one choice of each."""
    knobs = [
        {
            "name": name,
            "type": knob_type(name),
            "meaning": KNOBS[name].meaning,
            "choices": [enumerator(value) for value in KNOBS[name].values],
            "default": enumerator(KNOBS[name].values[0]),
        }
        for name in enumerated()
    ]
    rendered: str = _template("conventions.hpp.j2").render(knobs=knobs)
    return rendered


def enumerated() -> tuple[str, ...]:
    """The knobs that are enumerations in C++, in the order of the struct's members."""
    return tuple(name for name in KNOBS if name not in NOT_ENUMERATED)


def knob_type(name: str) -> str:
    """`compose_order` -> `ComposeOrder`."""
    return "".join(word.capitalize() for word in name.split("_"))


def enumerator(value: str) -> str:
    """What a knob's value is called in C++."""
    return ENUMERATOR.get(value, value)


def headers_folder() -> Path:
    """Where the header-only runtime stands: beside the package in a wheel, in the checkout otherwise."""
    package = Path(rigpact.reference_runtime.__file__).resolve().parent
    for folder in (package / "cpp" / "include", package.parents[1] / "cpp" / "include"):
        if (folder / "rigpact" / "runtime.hpp").is_file():
            return folder
    raise UnusableInput(package, "no C++ headers beside it", "the headers of the wheel", "install rigpact again")


def copy_headers(folder: str | Path) -> Path:
    """Copy the runtime's headers into `folder`/rigpact and return that folder."""
    target = Path(folder) / "rigpact"
    shutil.copytree(headers_folder() / "rigpact", target, dirs_exist_ok=True)
    return target


def _template(name: str) -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _bones(contract: Contract) -> list[dict[str, Any]]:
    parents = contract.skeleton.parents if contract.skeleton else (-2,) * contract.bone_count
    pairs = zip(contract.bone_names, parents, strict=True)
    return [{"literal": string_literal(name), "parent": parent} for name, parent in pairs]


def _layout(title: str, layout: Layout) -> dict[str, Any]:
    slices = [
        {
            "literal": string_literal(entry.name),
            "identifier": entry.name if _IDENTIFIER.fullmatch(entry.name) else "",
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
        "bits": ", ".join(map(_float, clip.action_bits[frame])),
        "velocity": ", ".join(map(_float, clip.root_velocity_m_s[frame])),
        "trajectory": ", ".join(map(_float, middle)),
    }


def _arrays(contract: Contract, vectors: Vectors) -> Iterable[dict[str, Any]]:
    for name, values in (_statistics(contract) | _vector_arrays(contract, vectors)).items():
        if not np.isfinite(values).all():
            raise UnusableInput(f"{contract.path}#/{name}", "a number that is not finite", "finite numbers")
        texts = [_float(value) for value in values.ravel()]
        yield {"type": "float", "name": f"k{name}", "lines": _lines(texts)}
    if contract.bone_permutation is not None:
        yield {"type": "int", "name": "kBoneOrder", "lines": _lines([str(bone) for bone in contract.bone_permutation])}


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
        arrays |= {f"Expected_{stage}": values, f"Tolerance_{stage}": _short(vectors.tolerance[stage])}
    arrays["Expected_free_x_raw_next"] = vectors.free_expected
    arrays["Tolerance_free_x_raw_next"] = _short(vectors.free_tolerance)
    return arrays


def _short(tolerance: FloatArray) -> FloatArray:
    """Tolerances with three digits, rounded up: nobody reads more, and the header stays small."""
    with np.errstate(divide="ignore"):
        step = 10.0 ** (np.floor(np.log10(np.maximum(tolerance, 1e-30))) - 2)
    return np.asarray(np.where(tolerance > 0, np.ceil(tolerance / step) * step, 0.0)).astype(np.float32)


def _lines(texts: list[str]) -> list[str]:
    starts = range(0, len(texts), _NUMBERS_PER_LINE)
    return [", ".join(texts[start : start + _NUMBERS_PER_LINE]) for start in starts]


def _float(value: Any) -> str:
    """The shortest literal that is exactly this float32."""
    return f"{np.float32(value)!s}f"


def string_literal(text: str) -> str:
    """A C++ string literal of UTF-8 bytes; whatever is not plain is an octal escape, which cannot swallow what follows."""
    plain = set(range(0x20, 0x7F)) - set(b'"\\?')
    return (
        '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace")) + '"'
    )


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() and character != "\\" else "_" for character in text)


if __name__ == "__main__":
    (headers_folder() / "rigpact" / "conventions.hpp").write_text(conventions_header(), encoding="utf-8")
