"""Small contracts: one fixed, and those that hypothesis draws (bones, history, order of slices, what the output holds)."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rigpact.contract import Contract, load_contract

from ..runtime_room.tiny_character import layout, wave

NAMES = ("pelvis", "thigh_l", "thigh_r", "spine_01", "head")


def bundle(
    state: Mapping[str, int], output: Mapping[str, int], bones: int, history: int, spec: Any, phase: float
) -> Any:
    """A schema bundle with merged auxiliary statistics."""
    dx, dy, angular, past = sum(state.values()), sum(output.values()), 3 * bones, 6 * bones * history
    return {
        "fps": 30.0, "MuX": wave(dx, 0.1, 0.3, phase), "StdX": wave(dx, 0.8, 0.4, phase),
        "MuY": wave(dy, 0.05, 0.2, phase), "StdY": wave(dy, 0.12, 0.05, phase), "tanh_scales_rootvel": [1.5, 0.7],
        "tanh_scales_angvel": wave(angular, 4.0, 2.0, phase), "MuAngVel": wave(angular, 0.0, 0.2, phase),
        "StdAngVel": wave(angular, 0.5, 0.2, phase), "pose_hist_len": history,
        "tanh_scales_pose_hist": wave(past, 0.9, 0.3, phase), "MuPoseHist": wave(past, 0.1, 0.3, phase),
        "StdPoseHist": wave(past, 0.5, 0.2, phase),
        "meta": {"state_layout": layout(state), "output_layout": layout(output),
                 "bone_names": [*NAMES, *(f"bone_{each}" for each in range(bones))][:bones], "rot6d_spec": spec},
    }  # fmt: skip


def written(folder: Path, document: Any) -> Contract:
    path = folder / "norm_template.json"
    path.write_text(json.dumps(document))
    return load_contract(path)


def state_slices(bones: int, *, contacts: bool) -> dict[str, int]:
    widths = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 6 * bones}
    return widths | {"BoneAngularVelocities": 3 * bones} | ({"Contacts": 2} if contacts else {})


def small_contract(folder: Path, *, auxiliary: bool = True) -> Contract:
    """Three bones; the output also holds yaw and velocities, so that their inverse transforms run.

    Without `auxiliary` no file has statistics of the auxiliary inputs, as when the companion was not merged in.
    """
    output = {"BoneRotations6D": 18, "RootYaw": 1, "RootVelocity": 2, "BoneAngularVelocities": 9}
    spec = {"columns": ["X", "Z"], "output_mode": "delta"}
    document = bundle(state_slices(3, contacts=True), output, 3, 3, spec, 0.3)
    absent = () if auxiliary else ("MuAngVel", "StdAngVel", "MuPoseHist", "StdPoseHist", "tanh_scales_pose_hist")
    return written(folder, {key: value for key, value in document.items() if key not in absent})


@st.composite
def _recipes(draw: st.DrawFn) -> Callable[[Path], Contract]:
    bones, history = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    own = state_slices(bones, contacts=draw(st.booleans()))
    order = draw(st.permutations(list(own)))
    extra = draw(st.lists(st.sampled_from(["RootYaw", "RootVelocity"]), unique=True))
    outputs = draw(st.permutations(["BoneRotations6D", *extra]))
    columns = list(draw(st.sampled_from(["XZ", "XY", "ZX", "YX", "YZ", "ZY"])))
    spec = {"columns": columns, "output_mode": draw(st.sampled_from(["delta", "residual", "absolute"]))}
    document = bundle(
        {name: own[name] for name in order},
        {name: own[name] for name in outputs},
        bones,
        history,
        spec,
        draw(st.floats(0, 6)),
    )
    return lambda folder: written(folder, document)


CONTRACTS = _recipes()
