"""Hypothesis strategies: contracts, rotations, six numbers near their singularities, clips and traces of a contract.

All drawn values can be loaded, are finite (NaN only with `allow_nan`), and shrink to the simplest case: one bone, no
rotation, zeros, as few frames as possible. To add one: a function that returns a strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from rigpact.contract.bundle import bundle_to_contract
from rigpact.contract.character import character_of
from rigpact.contract.conventions import Conventions
from rigpact.contract.documents import file_to_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.skeleton import COLUMN_PAIRS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.geometry import exp_map
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

try:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as st_numpy
except ImportError as error:  # name the extra to install
    raise ImportError("rigpact.testing.strategies needs hypothesis: pip install 'rigpact[testing]'") from error

__all__ = ["bundles", "clips", "contracts", "near_degenerate_rot6d", "poses", "rotations", "traces"]

DRAWN = Path("drawn", "norm_template.json")
"""The name of a drawn bundle; the file is not written."""
MAX_HISTORY = 3
RATES_HZ = (60.0, 30.0, 24.0, 50.0, 120.0)
_OWN_SLICES = ("RootPosition", "RootVelocity", "RootYaw", "BoneRotations6D", "BoneAngularVelocities")
_SPREAD = (0.0009765625, 4.0)
"""Range of standard deviations and scales: accepted by the rules; the minimum is a real bundle's smallest value."""
_NAMES = ("pelvis", "spine_01", "head", "thigh_l", "thigh_r", "hand_l", "hand_r")
_COMPONENT = st.floats(-1.0, 1.0, allow_subnormal=False, width=32)
_HALF_TURN = 3.140625
"""Just below π, a float32."""


# --- rotations --------------------------------------------------------------------------------------------------------


def rotations(shape: tuple[int, ...] = (), *, max_angle_rad: float = _HALF_TURN) -> st.SearchStrategy[FloatArray]:
    """Rotation matrices (*shape, 3, 3), float64, columns are axes, angles in [0, max_angle_rad]; shrinks to no rotation."""
    drawn = st_numpy.arrays(np.float64, (*shape, 3), elements=_COMPONENT, fill=st.just(0.0))
    return drawn.map(
        lambda values: exp_map(values / np.maximum(_length(values), 1.0) * max_angle_rad)
    )  # in the unit ball


def _length(values: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(values * values, axis=-1, keepdims=True)))


def poses(contract: Contract, frames: int = 1) -> st.SearchStrategy[FloatArray]:
    """Published rotations (frames, 6·B), float32, in the contract's packing; shrinks to no rotation of any bone."""
    codec = Rot6d(contract.conventions)
    return rotations((frames, character_of(contract).bone_count)).map(
        lambda matrices: codec.encode(matrices).astype(np.float32)
    )


_LENGTHS = np.array([0.0, 1e-4, 1.0, 9.9e-5, 1.01e-4, 1e-6, 1e-8, 1e-12, 1e-3, 1e6, 1e15])
"""Lengths around the engine's threshold, far below it, and up to the largest that float32 can square."""
_SHORT = 9
"""The lengths before this index are at most 1."""
_ALONG = np.array([0.0, 1.0, -1.0, 2.0])


@st.composite
def near_degenerate_rot6d(draw: st.DrawFn, bones: int = 1, conventions: Conventions | None = None) -> FloatArray:
    """Six numbers (6·bones,), float32, near degenerate: axes that are (nearly) zero, parallel, tiny or huge.

    The second axis is a part of the first plus a small offset. Both axes then get lengths from 0 to 1e15; the engine's
    threshold is 1e-4. Shrinks to zero axes.
    """

    def pick(choices: int, shape: tuple[int, ...]) -> FloatArray:
        return draw(st_numpy.arrays(np.int64, shape, elements=st.integers(0, choices - 1), fill=st.just(0)))

    drawn = draw(st_numpy.arrays(np.float64, (2, bones, 3), elements=_COMPONENT, fill=st.just(0.0)))
    size = _length(drawn)
    first, other = np.where(size > 1e-3, drawn / np.maximum(size, 1e-3), np.array([1.0, 0.0, 0.0]))
    along, aside = _ALONG[pick(len(_ALONG), (bones, 1))], _LENGTHS[:_SHORT][pick(_SHORT, (bones, 1))]
    lengths = _LENGTHS[pick(len(_LENGTHS), (2, bones, 1))]
    axes = (first * lengths[0], (along * first + aside * other) * lengths[1])
    return Rot6d(conventions or find_system(ENEMY_ANIMATION).conventions()).join(
        *(axis.astype(np.float32) for axis in axes)
    )


# --- contracts --------------------------------------------------------------------------------------------------------


@st.composite
def bundles(draw: st.DrawFn, *, max_bones: int = 4, history: int | None = None) -> dict[str, Any]:
    """Schema bundles as JSON objects with merged auxiliary statistics: sizes, slice order, statistics, rates, columns.

    history: number of history frames; drawn if None.
    """
    bones = draw(st.integers(1, max_bones))
    past = history if history is not None else draw(st.integers(1, MAX_HISTORY))
    sizes = dict(zip(_OWN_SLICES, (3, 2, 1, 6 * bones, 3 * bones), strict=True))
    if draw(st.booleans()):
        sizes["Contacts"] = 2
    state = _layout({name: sizes[name] for name in draw(st.permutations(list(sizes)))})
    output = _layout({"BoneRotations6D": 6 * bones})
    names = [*_NAMES[:bones], *(f"bone_{index:02d}" for index in range(len(_NAMES), bones))]
    spec = {"columns": list(draw(st.sampled_from([value.upper() for value in COLUMN_PAIRS]))), "order": "columns"}
    return {
        "fps": draw(st.sampled_from(RATES_HZ)),
        **_statistics(draw, "X", sum(sizes.values())), **_statistics(draw, "Y", 6 * bones),
        **_statistics(draw, "AngVel", 3 * bones), **_statistics(draw, "PoseHist", 6 * bones * past),
        "tanh_scales_rootvel": draw(_positive(2)), "tanh_scales_angvel": draw(_positive(3 * bones)),
        "tanh_scales_pose_hist": draw(_positive(6 * bones * past)), "pose_hist_len": past,
        "meta": {"state_layout": state, "output_layout": output, "bone_names": names, "rot6d_spec": spec},
    }  # fmt: skip


def contracts(
    *, max_bones: int = 4, history: int | None = None, knobs: Sequence[str] = ()
) -> st.SearchStrategy[Contract]:
    """Contracts as `load_contract` returns them; shrinks to one bone under the default conventions.

    knobs: conventions to draw, out of those with a list of values; all others keep the bundle's value or the default.
    """
    known = find_system(ENEMY_ANIMATION).knobs
    unknown = [name for name in knobs if name not in known]
    if unknown:
        raise UnusableInput("knobs", ", ".join(unknown), f"some of {', '.join(known)}")
    changes = st.fixed_dictionaries({name: st.sampled_from(known[name].values) for name in knobs})

    def contract(bundle: Mapping[str, Any], changed: Mapping[str, Any]) -> Contract:
        document = file_to_document(bytes_to_json(orjson.dumps(bundle), DRAWN))
        return bundle_to_contract(document).with_conventions(changed)

    return st.builds(contract, bundles(max_bones=max_bones, history=history), changes)


def _layout(sizes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return {name: {"start": start, "size": size} for (name, size), start in zip(sizes.items(), starts, strict=False)}


def _statistics(draw: st.DrawFn, name: str, width: int) -> dict[str, list[float]]:
    return {f"Mu{name}": draw(_channels(width, _COMPONENT, 0.0)), f"Std{name}": draw(_positive(width))}


def _positive(width: int) -> st.SearchStrategy[list[float]]:
    return _channels(width, st.floats(*_SPREAD, width=32), 1.0)


@st.composite
def _channels(draw: st.DrawFn, width: int, elements: st.SearchStrategy[float], usual: float) -> list[float]:
    """One number for all channels with a few exceptions: quick to draw; shrinks to the same number everywhere."""
    values = [draw(st.one_of(st.just(usual), elements))] * width
    for index, value in draw(st.lists(st.tuples(st.integers(0, width - 1), elements), max_size=4)):
        values[index] = value
    return values


# --- clips and traces -------------------------------------------------------------------------------------------------


@st.composite
def clips(draw: st.DrawFn, contract: Contract, *, min_frames: int = 2, max_frames: int = 12) -> RawClip:
    """Raw clips that fit a contract, at its rate: any poses, positions within 100 m, speeds within 10 m/s.

    Poses of neighbouring frames are drawn independently: this is input, not motion.
    """
    frames = draw(st.integers(min_frames, max_frames))

    def numbers(*shape: int, largest: float = 1.0) -> FloatArray:
        drawn = draw(st_numpy.arrays(np.float32, (frames, *shape), elements=_COMPONENT, fill=st.just(0.0)))
        return (drawn * np.float32(largest)).astype(np.float32)

    action = draw(st.integers(0, 3))
    has_contacts = CONTACTS in character_of(contract).state or draw(st.booleans())
    return RawClip(
        path=Path("drawn", "clip.json"),
        fps=contract.known_fps,
        root_position_m=numbers(3, largest=100.0),
        root_velocity_m_s=numbers(2, largest=10.0),
        root_yaw_rad=numbers(1, largest=20.0),
        rotations6d=draw(poses(contract, frames)),
        angular_velocity_rad_s=numbers(character_of(contract).state[ANGULAR_VELOCITIES].size, largest=20.0),
        action_bits=np.tile(np.eye(4, dtype=np.float32)[action], (frames, 1)),
        trajectory_direction=numbers(3, 2),
        contact_scores=np.abs(numbers(2)) if has_contacts else None,
    )


@st.composite
def traces(
    draw: st.DrawFn,
    contract: Contract,
    *,
    stages: Sequence[str] | None = None,
    max_frames: int = 6,
    mode: Literal["teacher", "free", "playback"] | None = None,
    allow_nan: bool = False,
) -> Trace:
    """Traces with stages of the contract's widths, float32; numbers are arbitrary, but rotations are valid.

    stages: the recorded stages; if None, any non-empty subset. allow_nan: NaN and infinities may appear everywhere
    except in the header, the frame numbers and the times.
    """
    widths = {name: width for name, width in contract.stage_widths.items() if width is not None}
    chosen = (
        list(stages) if stages is not None else draw(st.lists(st.sampled_from(list(widths)), min_size=1, unique=True))
    )
    missing = [name for name in chosen if name not in widths]
    if missing:
        raise UnusableInput("stages", ", ".join(missing), f"some of {', '.join(widths)}")
    count = draw(st.integers(1, max_frames))
    steps = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    frame = np.cumsum(np.array(steps, np.int64)) - steps[0]
    header = TraceHeader(
        contract.known_fps, mode or draw(st.sampled_from(("teacher", "free"))), "drawn", contract.sha256
    )
    recorded = {
        name: draw(_stage(name, contract, count, widths[name], allow_nan=allow_nan))
        for name in sorted(chosen, key=contract.system.graph.names.index)
    }
    return Trace(header, frame, frame / contract.known_fps, recorded)


def _stage(name: str, contract: Contract, frames: int, width: int, *, allow_nan: bool) -> st.SearchStrategy[FloatArray]:
    bounds: dict[str, Any] = {} if allow_nan else {"min_value": -64.0, "max_value": 64.0}
    elements = st.floats(width=32, allow_subnormal=False, allow_nan=allow_nan, allow_infinity=allow_nan, **bounds)
    anything = st_numpy.arrays(np.float32, (frames, width), elements=elements, fill=st.just(0.0))
    if allow_nan or name not in ("delta6d", "next6d"):
        return anything
    return poses(contract, frames)
