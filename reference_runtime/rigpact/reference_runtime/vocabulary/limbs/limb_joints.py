"""Limb joints: where the joints of limbs are, bones of known lengths turned by quaternions, from a frame on."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.quaternions import (
    PRODUCTS,
    TO_XYZW,
    TURNS,
    product,
    rotated,
    unit_or_zeros,
)
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.named_fields import (
    FrameFields,
    called,
    fields_named,
    frame_of,
    whole_quaternions,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

Point = tuple[FloatArray, FloatArray]
"""A place (N, 3) and a rotation (N, 4) xyzw."""
_A_BONE = 48
"""Operations of the longest chain of a bone: a product of quaternions, its length, a turned vector and a sum."""


def _flipped(component: int, of_first: int, of_second: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """The product with the wrong sign of one term of its cross product: a_i b_j is subtracted twice, or added."""
    sign = 1.0 if (of_first - component) % 3 == 1 else -1.0

    def multiply(a: FloatArray, b: FloatArray) -> FloatArray:
        result = product(a, b)
        result[..., component] -= 2.0 * sign * a[..., of_first] * b[..., of_second]
        return result

    return multiply


_TERMS = {
    f"{'xyz'[component]}_sign_of_a{'xyz'[i]}_b{'xyz'[j]}": (component, i, j)
    for component in range(3)
    for i, j in (((component + 1) % 3, (component + 2) % 3), ((component + 2) % 3, (component + 1) % 3))
}
"""The six terms of a cross product, by the name of a product that has the sign of one wrong."""
_PRODUCTS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "parent_child": product,
    "child_parent": PRODUCTS["second_first"],
    "child_only": PRODUCTS["second_only"],
    **{name: _flipped(*term) for name, term in _TERMS.items()},
}
_READ: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "forward": TURNS["forward"],
    "inverse": TURNS["inverse"],
    "w_first": lambda q: q[..., TO_XYZW["wxyz"]],
}
_PLACED_BY = {"own": 0, "next_bone": 1, "parent": -1}
"""How many bones further on the chain the rotation is that places the end of a bone."""
_SPACES: Mapping[str, Callable[[FloatArray, FloatArray], Point]] = {
    "world": lambda p, q: (p, q),
    "frame": lambda p, q: (np.zeros_like(p), TURNS["none"](q)),
    "world_not_turned": lambda p, q: (p, TURNS["none"](q)),
    "frame_turned": lambda p, q: (np.zeros_like(p), q),
}
_AXES: Mapping[str, Reading] = {
    "first_for_all": lambda axes: np.resize(axes.reshape(-1)[:3], axes.size),
    "minus_z": lambda axes: np.resize([0.0, 0.0, -1.0], axes.size),
}
_LENGTHS: Mapping[str, Reading] = {
    "cut": lambda lengths: np.floor(lengths * 100.0) / 100.0,
    "reversed": lambda lengths: lengths[::-1],
}


def joints_of_limb(
    frame: Point,
    root: FloatArray,
    turns: Sequence[FloatArray],
    bones: Sequence[FloatArray],
    multiply: Callable[[FloatArray, FloatArray], FloatArray] = product,
    read: Callable[[FloatArray], FloatArray] = TURNS["forward"],
    by: int = 0,
) -> FloatArray:
    """The root and the end of each bone of a limb, (N, 3 + 3 B): a frame (p, q), the root in its space, local rotations.

    root' = p + R(q) root; each next joint = the one before + R(Q) b with Q = parent times local, b along the bone. Zeros in
    place of a rotation turn neither this bone nor those behind it.
    multiply: parent and local; read: a quaternion as the formula that turns a vector reads it; by: how many bones further on
    the rotation is that places the end of a bone.
    """
    place, turn = frame
    chain = [turn]
    for local in turns:
        chain.append(unit_or_zeros(multiply(chain[-1], local)))
    found = [place + rotated(read(turn), root)]
    for bone, q in zip(bones, chain[by + 1 :], strict=False):
        found.append(found[-1] + rotated(read(q), bone))
    return np.concatenate(found, axis=-1)


def build(use: Use) -> Built:
    """of = [pose, rotations]: of each limb the root and the ends of its bones, one limb behind the other."""
    source, rotations = use.inputs
    frame, roots = frame_of(use, source), fields_named(use, source, "roots")
    limbs, turns = len(roots), _turns(use, len(roots))
    bones = _bones(use, turns)
    names = _joint_names(use, limbs * (bones + 1))
    ends = [called(names[place :: bones + 1], "joint") for place in range(bones + 1)]
    axes = use.number(
        "axes", 3 * limbs, meaning="the axis of its parent along which a limb's next bone lies", misread=_AXES
    )
    if use.value_of(axes).size != 3 * limbs:
        raise use.wrong(Wrong.WIDTH, "axes", "1 number", f"{3 * limbs}, a direction for each limb")
    multiply = use.choice(
        "product", _PRODUCTS, "how a parent's rotation and a local one are multiplied", _PRODUCT_HINTS
    )
    offsets = {word: by for word, by in _PLACED_BY.items() if by + bones <= turns}
    turned = [called([each.name for each in list(rotations.fields)[place::turns]], "bone") for place in range(bones)]
    placed = use.choice(
        "placed_by", offsets, "the bone whose rotation places the end of a bone", _placed_hints(turned, ends[1:])
    )
    read = use.choice("turning", _READ, "how the formula that turns a vector reads its quaternion", _READ_HINTS)
    root = use.choice("root", _offsets(source.fields, roots), *_root_words(source.fields, roots, names[:: bones + 1]))
    space = use.choice("joints_in", _SPACES, "the space in which kinematics place the joints", _space_hints(frame))
    length = use.number("lengths", meaning="the lengths of bones that kinematics take", misread=_LENGTHS)
    if use.value_of(length).shape != (bones, limbs):
        raise use.wrong(Wrong.WIDTH, "lengths", f"{use.value_of(length).shape}", f"of each bone {limbs}, one a limb")

    def compute(frames: Frames) -> FloatArray:
        pose, answer = wide(frames, source.name), wide(frames, rotations.name)
        local = unit_or_zeros(answer.reshape(len(answer), limbs, turns, 4))
        start = space.of(frames)(*frame.of(pose))
        ways = multiply.of(frames), read.of(frames), placed.of(frames)
        along, sizes, found = axes.of(frames).reshape(limbs, 3), length.of(frames), []
        for limb, field in enumerate(roots):
            at = field.start + root.of(frames)
            every = [along[limb] * float(size[limb]) for size in sizes]
            each = [local[:, limb, place] for place in range(turns)]
            found.append(joints_of_limb(start, pose[:, at : at + 3], each, every, *ways))
        return stored(np.hstack(found))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The bound of a position: the roundings of all terms in its sum."""
        pose = np.abs(wide(frames, source.name))
        furthest = np.max([pose[:, each.range].sum(axis=1) for each in roots], axis=0)
        reach = float(np.abs(frames.numbers[length.path]).sum(axis=0).max())
        largest = pose[:, frame.origin.range].sum(axis=1) + furthest + reach
        return np.broadcast_to(gamma(_A_BONE * bones) * largest[:, None], rows.shape)

    origin = frame.origin
    points = (
        Field(name, 3 * place, 3, FieldKind.POSITION, origin.unit, origin.space) for place, name in enumerate(names)
    )
    return Built(FieldLayout(tuple(points)), compute, bound)


def _turns(use: Use, limbs: int) -> int:
    """How many local rotations each limb has."""
    count, rest = divmod(whole_quaternions(use, use.inputs[1]), limbs)
    if rest or not count:
        found = f"{use.inputs[1].name}, {use.inputs[1].fields.width} numbers"
        raise Misdeclared(Wrong.WIDTH, use.at("of"), found, f"as many quaternions for each of {limbs} limbs")
    return count


def _bones(use: Use, turns: int) -> int:
    """How many bones of each limb have a length."""
    listed = use.table.get("lengths")
    if not isinstance(listed, list) or not 0 < len(listed) <= turns:
        raise use.wrong(Wrong.NUMBERS, "lengths", shown(listed), f"an entry for each bone, at most {turns}")
    return len(listed)


def _joint_names(use: Use, count: int) -> tuple[str, ...]:
    names = use.word_list("joints")
    if len(names) != count:
        raise use.wrong(Wrong.WIDTH, "joints", f"{len(names)} names", f"{count}: the roots and the ends of bones")
    return names


def _next_bone(layout: FieldLayout, root: Field) -> Field:
    """The place of the bone behind a root; the root itself where the pose has none."""
    return next((each for each in layout if each.kind is root.kind and each.start > root.start), root)


def _offsets(layout: FieldLayout, roots: Sequence[Field]) -> dict[str, int]:
    """Where sides read the root, in numbers from where it begins; no further than the pose reaches."""
    bone = _next_bone(layout, roots[0]).start - roots[0].start
    offsets = {"one_early": -1, "one_late": 1, "bone_before": -bone, "next_bone": bone}
    low, high = -min(each.start for each in roots), layout.width - max(each.stop for each in roots)
    return {"declared": 0, **{word: by for word, by in offsets.items() if by and low <= by <= high}}


def _root_words(layout: FieldLayout, roots: Sequence[Field], joints: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The meaning, and a hint for each reading, in the names of the bones."""
    joint, bone = called(joints, "root"), called([each.name for each in roots], "bone")
    behind = called([_next_bone(layout, each).name for each in roots], "next bone")
    begins = f"the {bone}'s position begins at numbers {' and '.join(str(each.start) for each in roots)} of the pose"
    other = f"the {joint} is the {bone}'s position, not"
    return f"where in the pose the {joint}'s place is read, in numbers from the {bone}'s position", {
        "one_early": begins,
        "one_late": begins,
        "bone_before": f"{other} that of the bone before it",
        "next_bone": f"{other} the {behind}'s",
    }


def _placed_hints(bones: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    first, *others = zip(bones, joints, strict=True)
    rule = ", ".join(
        (f"the {first[0]}'s rotation places the {first[1]}", *(f"the {bone}'s the {end}" for bone, end in others))
    )
    return {"next_bone": f"{rule}: not those of the next bone", "parent": f"{rule}: not those of the parents"}


def _space_hints(frame: FrameFields) -> dict[str, str]:
    formula = "p + R(q) v"
    return {
        "frame": f"positions are in world space: {formula}",
        "world_not_turned": f"the {frame.whose} rotation is missing: {formula}",
        "frame_turned": f"the {frame.whose} position is missing: {formula}",
    }


_PRODUCT_HINTS = {
    "child_parent": "world = parent * local; for quaternions too",
    "child_only": "the parent's rotation is missing: world = parent * local",
    **{name: f"Hamilton's product has the other sign of this term in {name[0]}" for name in _TERMS},
}
_READ_HINTS = {
    "inverse": "R(q) v turns from the bone's space outwards; this is R(q)^-1 v",
    "w_first": "the formula takes x, y, z, w; its w is read from the first number",
}
_CODE = {
    "axes": {
        "declared": CodeHint("axis[limb] * length", "axes[limb] * length"),
        "first_for_all": CodeHint("axis[0] * length", "axes[0] * length"),
        "minus_z": CodeHint("Vec3(0, 0, -length)", "torch.tensor([0, 0, -1]) * length"),
    },
    "product": {
        "parent_child": CodeHint("parent * local", "quat_mul(parent, local)"),
        "child_parent": CodeHint("local * parent", "quat_mul(local, parent)"),
        "child_only": CodeHint("local", "local"),
        **{
            name: CodeHint(f"{name[0]}: the sign of a.{i} * b.{j}", f"{name[0]}: the sign of a{i} * b{j}")
            for name, (i, j) in ((name, (name[-4], name[-1])) for name in _TERMS)
        },
    },
    "placed_by": {
        "own": CodeHint("end[i] = start[i] + turn[i] * bone[i]", "start + rotate(turns[i], bone[i])"),
        "next_bone": CodeHint("end[i] = start[i] + turn[i + 1] * bone[i]", "start + rotate(turns[i + 1], bone[i])"),
        "parent": CodeHint("end[i] = start[i] + turn[i - 1] * bone[i]", "start + rotate(turns[i - 1], bone[i])"),
    },
    "turning": {
        "forward": CodeHint("q.RotateVector(v)", "rotate(q, v)"),
        "inverse": CodeHint("q.UnrotateVector(v)", "rotate(conjugate(q), v)"),
        "w_first": CodeHint("Quat(q[3], q[0], q[1], q[2]) // w x y z", "w, x, y, z = q.unbind(-1)"),
    },
    "root": {
        "declared": CodeHint("pose[root]", "pose[:, root : root + 3]"),
        "one_early": CodeHint("pose[root - 1]", "pose[:, root - 1 : root + 2]"),
        "one_late": CodeHint("pose[root + 1]", "pose[:, root + 1 : root + 4]"),
        "bone_before": CodeHint("pose[root - bone]", "pose[:, root - bone : root - bone + 3]"),
        "next_bone": CodeHint("pose[root + bone]", "pose[:, root + bone : root + bone + 3]"),
    },
    "joints_in": {
        "world": CodeHint("p + q * v", "p + rotate(q, v)"),
        "frame": CodeHint("v", "v"),
        "world_not_turned": CodeHint("p + v", "p + v"),
        "frame_turned": CodeHint("q * v", "rotate(q, v)"),
    },
    "lengths": {
        "declared": CodeHint("length[bone][limb]", "lengths[bone, limb]"),
        "cut": CodeHint("a literal with two decimals", "a literal with two decimals"),
        "reversed": CodeHint("length[count - 1 - bone][limb]", "lengths.flip(0)[bone, limb]"),
    },
}
OPERATION = Operation(
    "limb_joints",
    "the joints of limbs: bones of known lengths turned by local quaternions xyzw, one behind the other, from a frame on",
    build,
    {
        "frame": "the field of the frame's origin in the first vector, and that of its quaternion xyzw",
        "roots": "the fields where the limbs begin, in the frame",
        "axes": "of each limb the direction of its bones in their parents, a unit vector",
        "lengths": "of each bone, from the root on, a name of [numbers] or numbers: one for each limb",
        "joints": "the names of the joints, limb by limb, or a name of [names]",
        "product": ", ".join(_PRODUCTS),
        "placed_by": ", ".join(_PLACED_BY),
        "turning": ", ".join(_READ),
        "root": "declared; one_early, one_late, bone_before, next_bone where the pose has numbers there",
        "joints_in": ", ".join(_SPACES),
    },
    (2, 2),
    ("product", "placed_by", "turning", "root", "joints_in"),
    code=_CODE,
)
