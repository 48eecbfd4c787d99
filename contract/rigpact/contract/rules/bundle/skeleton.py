"""RP220-RP249: the bones: how many, which names, which parents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, json_to_names
from rigpact.contract.rules.wording import and_more, listed
from rigpact.contract.skeleton import parent_cycle

BONE_COUNT_DIFFERS = Rule.titled(
    "RP220 error bone-count-differs",
    message="{what} is for {found} bones, output BoneRotations6D for {expected}",
    hint="export skeleton, names and layout from the same character",
    why="bones are matched by index: from the first one too many or too few, every rotation drives its neighbour",
)
DUPLICATE_BONE_NAME = Rule.titled(
    "RP221 error duplicate-bone-name",
    message="the bone name {name!r} stands at {first} and {second}{more}",
    hint="rename one of the bones, or remove the repeated row",
    why="the engine finds bones by name: one of the two rotations is applied to the other's bone",
)
PARENT_OUT_OF_RANGE = Rule.titled(
    "RP222 error parent-out-of-range",
    message="the parent of {bone} is {parent}, the bones are 0 to {last} (-1 for a root)",
    hint="indices count the tracked bones, not those of the whole asset",
    why="the bone has no place in the skeleton: positions and everything measured in centimetres are wrong",
)
PARENTS_FORM_A_CYCLE = Rule.titled(
    "RP223 error parents-form-a-cycle",
    message="the parents of {bones} lead back to themselves",
    hint="re-export the skeleton",
    why="forward kinematics never reaches these bones",
)
BONE_NAMES_DIFFER = Rule.titled(
    "RP224 error bone-names-differ",
    message="bone {index} is {found!r} in meta.skeleton and {expected!r} in meta.bone_names{more}",
    hint="write both lists from one source, in the order of the layout",
    why="one side pairs rotations with the first list, the other with the second: limbs swap",
)
SEVERAL_ROOTS = Rule.titled(
    "RP225 warning several-root-bones",
    message="{count} bones have no parent: {bones}",
    hint="give every bone but the pelvis its parent",
    why="a part of the body does not follow the pelvis",
)
BONE_NAMES_ABSENT = Rule.titled(
    "RP226 warning bone-names-absent",
    message="meta.bone_names is absent: bones are known by index only",
    hint="export the names of the tracked bones in the order of the layout",
    why="nothing can tell a reordered skeleton from the right one; limbs swap and no count differs",
)
SKELETON_ABSENT = Rule.titled(
    "RP227 warning skeleton-absent",
    message="meta.skeleton lacks {missing}: errors cannot be given in centimetres",
    hint="export parents and ref_local_offsets_m with the bundle",
    why="three degrees at the pelvis move a foot by centimetres, three at a finger by nothing: degrees alone mislead",
)

_SKELETON = ("meta", "skeleton")


def check_skeleton(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with the bones of a bundle."""
    skeleton = view.meta.get("skeleton")
    skeleton = skeleton if isinstance(skeleton, Mapping) else {}
    yield from _check_counts(view, skeleton)
    if "bone_names" not in view.meta:
        yield BONE_NAMES_ABSENT.at(view.path, "/meta")
    for path, holder in ((("meta",), view.meta), (_SKELETON, skeleton)):
        yield from _check_unique(view, (*path, "bone_names"), json_to_names(holder.get("bone_names")) or ())
    pairs = list(zip((json_to_names(skeleton.get("bone_names")) or ()), view.bone_names, strict=False))
    different = [index for index, (found, expected) in enumerate(pairs) if found != expected]
    if different:
        index = different[0]
        found, expected = pairs[index]
        more = and_more(len(different) - 1, "bones differ")
        pointer = json_pointer(*_SKELETON, "bone_names", index)
        yield BONE_NAMES_DIFFER.at(view.path, pointer, index=index, found=found, expected=expected, more=more)
    missing = [key for key in ("bone_names", "parents", "ref_local_offsets_m") if key not in skeleton]
    if missing:
        yield SKELETON_ABSENT.at(view.path, json_pointer(*_SKELETON) if skeleton else "/meta", missing=listed(missing))
    yield from _check_parents(view, skeleton.get("parents"))


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_skeleton))


def _check_counts(view: BundleView, skeleton: Mapping[str, Any]) -> Iterator[Finding]:
    expected = view.bone_count
    if expected is None:
        return
    for path, holder in ((("meta",), view.meta), (_SKELETON, skeleton)):
        for key in ("bone_names", "parents", "ref_local_offsets_m"):
            value = holder.get(key)
            if isinstance(value, list) and len(value) != expected:
                what = ".".join((*path, key))
                yield BONE_COUNT_DIFFERS.at(view.path, (*path, key), what=what, found=len(value), expected=expected)
    for name, channels in ((ROTATIONS, 6), (ANGULAR_VELOCITIES, 3)):
        if view.state is not None and name in view.state and view.state[name].size != channels * expected:
            (whole, rest), pointer = divmod(view.state[name].size, channels), json_pointer("meta", "state_layout", name)
            found = f"{whole} and {rest}/{channels}" if rest else whole
            yield BONE_COUNT_DIFFERS.at(view.path, pointer, what=f"state {name}", found=found, expected=expected)


def _check_unique(view: BundleView, path: tuple[str, ...], names: Sequence[str]) -> Iterator[Finding]:
    places: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        places.setdefault(name, []).append(index)
    for name, indices in places.items():
        if len(indices) > 1:
            values = {"first": indices[0], "second": indices[1], "more": and_more(len(indices) - 2, "times")}
            yield DUPLICATE_BONE_NAME.at(view.path, (*path, indices[1]), name=name, **values)


def _check_parents(view: BundleView, parents: Any) -> Iterator[Finding]:
    if not isinstance(parents, list) or not parents or not all(type(parent) in (int, float) for parent in parents):
        return
    path = (*_SKELETON, "parents")
    outside = [bone for bone, parent in enumerate(parents) if not -1 <= parent < len(parents)]
    for bone in outside:
        values = {"bone": _name(view, bone), "parent": parents[bone], "last": len(parents) - 1}
        yield PARENT_OUT_OF_RANGE.at(view.path, (*path, bone), **values)
    if outside:
        return
    cycle = parent_cycle([int(parent) for parent in parents])
    if cycle:
        bones = listed([_name(view, bone) for bone in cycle])
        yield PARENTS_FORM_A_CYCLE.at(view.path, (*path, cycle[0]), bones=bones)
    roots = [bone for bone, parent in enumerate(parents) if parent == -1]
    if len(roots) > 1:
        bones = listed([_name(view, bone) for bone in roots])
        yield SEVERAL_ROOTS.at(view.path, (*path, roots[1]), count=len(roots), bones=bones)


def _name(view: BundleView, bone: int) -> str:
    return view.bone_names[bone] if bone < len(view.bone_names) else f"bone {bone}"
