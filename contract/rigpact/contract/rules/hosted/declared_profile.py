"""RP756 and RP757: where your own contract contradicts the profile that it names."""

import re
from collections.abc import Iterator
from itertools import pairwise

from rigpact.contract.declared.profiles import Profile, known_profiles
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Family, Need, on_declaration, rules_in
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.systems.layout import Field, FieldKind
from rigpact.contract.units import kind_of, numerator

CONTRADICTED = Rule.titled(
    "RP756 warning declared-profile-contradicted",
    message="{what} is {found}, the profile {profile} says {expected}",
    hint="correct the one that is wrong, or leave the profile out; `rigpact show PROFILE` shows it",
    why="a reader of the profile's name builds the other side by it",
)
JOINTS = Rule.titled(
    "RP757 warning declared-profile-of-other-joint-order",
    message="{stage} has its joints as {found}, which goes {way}; the profile {profile} says {expected}, as {other} goes",
    hint="compare both lists with the names that the network was exported with",
    why="every joint gets the command of another one, and each command is in range",
)

_KINDS = {FieldKind.QUATERNION_WXYZ: "wxyz", FieldKind.QUATERNION_XYZW: "xyzw"}
_WAYS = {"breadth_first": "level by level", "depth_first": "limb by limb"}


def check_profile(view: DeclaredView) -> Iterator[Finding]:
    """Yield every place where the declaration says otherwise than its profile."""
    profile = known_profiles().get(view.root.get("profile", ""))
    if profile is None:
        return
    fps, expected = view.root.get("fps"), profile.says.get("fps")
    if None not in (fps, expected) and fps != expected:
        yield _contradicted(view, profile, "/fps", ("the rate", f"{fps:g}", f"{expected:g}"))
    for name, table in view.tables.items():
        for field in view.layout(name) if not view.inputs_of(name) else ():
            found = next(_of_field(profile, field), None)
            if found is not None:
                yield _contradicted(view, profile, view.at(name), found)
                break
        for key, value in table.items():
            own = profile.choice(view.operation(name), key)
            if own is not None and isinstance(value, str) and value != own:
                yield _contradicted(view, profile, view.at(name, key), (f"{key} of {name}", value, own))
    yield from _joints(view, profile)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION,), on_declaration(check_profile))


def _contradicted(view: DeclaredView, profile: Profile, place: str, found: tuple[str, str, str]) -> Finding:
    what, value, expected = found
    return CONTRADICTED.at(view.path, place, what=what, found=value, profile=profile.name, expected=expected)


def _of_field(profile: Profile, field: Field) -> Iterator[tuple[str, str, str]]:
    """Yield what a field says and what the profile says of the same."""
    says = profile.says
    unit = numerator(field.unit)
    pairs = (
        ("quaternion", f"the quaternion {field.name}", _KINDS.get(field.kind)),
        ("length", f"the unit of {field.name}", unit if kind_of(unit) == "length" else None),
        ("angle", f"the unit of {field.name}", unit if kind_of(unit) == "angle" else None),
        ("angular_velocity", f"the frame of {field.name}", _frame_of(field)),
    )
    for key, what, found in pairs:
        if found is not None and key in says and found != says[key]:
            yield what, found, says[key]


def _frame_of(field: Field) -> str | None:
    """The frame of an angular velocity, where its space is one of the two words."""
    is_rate = field.kind is FieldKind.ANGULAR_RATE
    return field.space if is_rate and field.space in ("body", "world") else None


def _joints(view: DeclaredView, profile: Profile) -> Iterator[Finding]:
    answers = [name for network in view.networks() for name in network.outputs]
    sensors = [name for name in view.system.graph.given if "carried" not in view.tables[name]]
    for key, stages in (("network_joints", answers), ("sensor_joints", sensors)):
        expected = str(profile.says.get(key, ""))
        for name in stages if expected else ():
            other = _list_that_goes(expected, view, view.names(name))
            if other is not None:
                way = next(_WAYS[each] for each in _WAYS if each != expected)
                yield JOINTS.at(
                    view.path, view.at(name), stage=name, found=view.list_of(view.names(name)), way=way,
                    profile=profile.name, expected=_WAYS[expected], other=other,
                )  # fmt: skip


def _list_that_goes(expected: str, view: DeclaredView, own: tuple[str, ...]) -> str | None:
    """Another declared list of the same names that goes the expected way, where the own order goes the other way.

    A list that goes level by level changes between the left and the right side more often than one that goes limb by limb.
    """
    changes = _changes_of_side(own)
    for name, words in view.lists.items():
        if sorted(words) == sorted(own) and words != own:
            others = _changes_of_side(words)
            if (others > changes) if expected == "breadth_first" else (others < changes):
                return name
    return None


def _changes_of_side(names: tuple[str, ...]) -> int:
    sides = [side for side in map(_side, names) if side]
    return sum(one != other for one, other in pairwise(sides))


def _side(name: str) -> str:
    word = re.search(r"(?i)(?<![a-z])(left|right|[lr])(?![a-z])|(Left|Right)(?=[A-Z])", name)
    return word[0][0].lower() if word else ""
