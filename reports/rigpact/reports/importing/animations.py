"""BVH: a contract of what the file's numbers become in an engine: local rotations as quaternions, and the root's place.

The order of Euler angles is the file's own, joint by joint. What the file does not say, its unit, stands as a reading:
`rigpact explain` with the engine's poses names the other one.
"""

from collections.abc import Sequence
from pathlib import Path

from rigpact.reference_runtime.recordings.other_formats.bvh_files import Animation, Joint
from rigpact.reports.importing.draft import Draft, lower_word

_WRONG_UNITS = {"inches": 0.0254, "millimetres": 0.001}


def animation_to_draft(path: Path, animation: Animation) -> Draft:
    """The declaration of an animation: a vector of poses for each order of angles in it, and the root's position."""
    draft = Draft(lower_word(path.stem, "animation"), f"imported from {path.name}")
    draft.header = [
        f"Made by `rigpact init` from {path.name}. The file itself is a recording of `rotation` and `position`.",
        "An engine's poses are columns pose.JOINT, quaternions x, y, z, w: other names go under [recordings].",
    ]
    draft.fps = animation.fps
    draft.names_comments = ["Joints in the order of the file; those whose angles stand in one order have a vector."]
    turned = [joint for joint in animation.joints if joint.name in animation.rotations]
    orders = list(dict.fromkeys(joint.order for joint in turned))
    for order in orders:
        ending = "" if len(orders) == 1 else f"_{order.lower()}"
        _poses(draft, order, ending, [joint for joint in turned if joint.order == order])
    root = next((joint for joint in animation.joints if not joint.parent and joint.name in animation.positions), None)
    if root is not None:
        draft.give("root_position", names=[root.name], kind="position")
        draft.recordings["root_position"] = f"position.{root.name}"
        said = "LEFT OPEN: the unit. BVH says none; centimetres are usual"
        scale = {"value": 0.01, "wrong": _WRONG_UNITS}
        draft.compute("root_metres", "affine", "root_position", said, scale=scale)
    return draft


def _poses(draft: Draft, order: str, ending: str, joints: Sequence[Joint]) -> None:
    """The angles of some joints as quaternions x, y, z, w."""
    names = draft.list_of([joint.name for joint in joints], f"joints{ending}")
    source = draft.give(f"rotation{ending}", names=names, kind="euler_xyz", size=3)
    draft.recordings[source] = "rotation"
    draft.recordings[f"pose{ending}"] = "pose"
    said = f"the product R{order[0].lower()} R{order[1].lower()} R{order[2].lower()}, columns are axes"
    draft.compute(f"pose{ending}", "convert", source, said, to="quaternion_xyzw", reads=f"{order}_deg")
