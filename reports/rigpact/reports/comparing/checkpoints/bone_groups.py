"""Bones by the part of the body that their names say. A name that says none is in `other`; nothing is guessed."""

import re
from collections.abc import Mapping, Sequence

OTHER = "other"
_WORDS: Mapping[str, frozenset[str]] = {
    "fingers": frozenset({"thumb", "index", "middle", "ring", "pinky", "finger", "metacarpal"}),
    "legs": frozenset({"thigh", "calf", "leg", "shin", "knee", "foot", "ball", "toe", "toes", "ankle", "hip"}),
    "arms": frozenset({"clavicle", "shoulder", "arm", "elbow", "fore", "wrist", "hand"}),
    "head": frozenset({"neck", "head", "jaw", "eye"}),
    "torso": frozenset({"pelvis", "hips", "spine", "chest", "torso", "waist", "abdomen"}),
}
"""Looked up in this order: a finger is named after its hand too."""
_ENDS = ("arm", "leg")
"""Ends of joined words: upperarm, forearm, lowerleg."""
_ORDER = ("torso", "head", "arms", "fingers", "legs", OTHER)


def bone_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """The indices of each group's bones, in the order of the body; groups without a bone are left out."""
    found: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        found.setdefault(group_of(name), []).append(index)
    return {group: found[group] for group in _ORDER if group in found}


def group_of(name: str) -> str:
    """The group of one bone.

    >>> [group_of(name) for name in ("upperarm_l", "LCalfTwist_01", "mixamorig:LeftHandIndex1", "Bip001")]
    ['arms', 'legs', 'fingers', 'other']
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    words |= {end for end in _ENDS for word in words if word.endswith(end)}
    return next((group for group, own in _WORDS.items() if words & own), OTHER)
