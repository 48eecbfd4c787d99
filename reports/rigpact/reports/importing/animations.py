"""BVH and glTF: a contract of what the file's numbers become in an engine: local rotations as quaternions, and the root's place.

The order of Euler angles is the file's own, joint by joint. What no file says (BVH: its unit; whether an engine leaves out the
rest pose) stands as a reading: `rigpact explain` with the engine's poses names the other one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rigpact.reference_runtime.recordings.other_formats.animation import AT_REST, Animation, Joint
from rigpact.reports.importing.draft import Draft, lower_word

_UNITS = {"metres": 1.0, "centimetres": 0.01, "inches": 0.0254, "millimetres": 0.001}


def animation_to_draft(path: Path, animation: Animation) -> Draft:
    """The declaration of an animation: a vector of poses for each order of angles in it, and the root's position."""
    draft = Draft(lower_word(path.stem, "animation"), f"imported from {path.name}")
    draft.header = [
        f"Imported by `rigpact import` from {path.name}. The file itself is a recording of `rotation` and `position`.",
        "An engine's poses are columns pose.JOINT, quaternions x, y, z, w: other names go under [recordings].",
    ]
    draft.fps = animation.fps
    draft.names_comments = ["Joints in the order of the file; those whose angles stand in one order have a vector."]
    turned = [joint for joint in animation.joints if joint.name in animation.rotations]
    orders = list(dict.fromkeys(joint.order for joint in turned))
    for order in orders:
        _poses(draft, order, [joint for joint in turned if joint.order == order], is_only=len(orders) == 1)
    _root(draft, animation, is_metres=orders == [""])
    return draft


def _poses(draft: Draft, order: str, joints: Sequence[Joint], *, is_only: bool) -> None:
    """The angles or quaternions of some joints, as quaternions x, y, z, w; where the file has rests, these can be left out."""
    ending = "" if is_only else f"_{order.lower() or 'quaternion'}"
    names = draft.list_of([joint.name for joint in joints], f"joints{ending}")
    kind = {"kind": "euler_xyz", "size": 3} if order else {"kind": "quaternion_xyzw"}
    source = draft.give(f"rotation{ending}", names=names, **kind)
    draft.recordings[source] = "rotation"
    draft.recordings[f"pose{ending}"] = "pose"
    has_rest = any(joint.rest != AT_REST for joint in joints)
    pose = f"local{ending}" if has_rest else f"pose{ending}"
    said = (
        (f"the product R{order[0].lower()} R{order[1].lower()} R{order[2].lower()}, columns are axes",) if order else ()
    )
    reads = f"{order}_deg" if order else "xyzw"
    draft.compute(pose, "convert", source, *said, to="quaternion_xyzw", reads=reads)
    if has_rest:
        rest = draft.give(f"at_rest{ending}", names=names, kind="quaternion_xyzw")
        draft.recordings[rest] = "rest"
        comment = (
            "a file's rotation replaces the node's own; inverse_of_first: the turn that an engine adds to the rest pose"
        )
        draft.compute(f"pose{ending}", "compose", [rest, pose], comment, product="second_only")


def _root(draft: Draft, animation: Animation, *, is_metres: bool) -> None:
    root = next((joint for joint in animation.joints if not joint.parent and joint.name in animation.positions), None)
    if root is None:
        return
    own = "metres" if is_metres else "centimetres"
    wrong: Mapping[str, float] = {name: factor for name, factor in _UNITS.items() if name != own}
    draft.give("root_position", names=[root.name], kind="position")
    draft.recordings["root_position"] = f"position.{root.name}"
    said = "glTF is in metres" if is_metres else "LEFT OPEN: the unit. BVH says none; centimetres are usual"
    scale = {"value": _UNITS[own], "wrong": wrong}
    draft.compute("root_metres", "affine", "root_position", said, scale=scale)
