"""Changes of a contract, and whom they concern"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.compatibility import Compatibility, compare_contracts
from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import ContractRefused
from rigpact.contract.files import JsonFile
from rigpact.contract.systems.contract import Contract

from ..contract_room.bundle_edits import base
from ..every_case import every_case
from .tried import refused, tries

Bundle = dict[str, Any]


def own(value: Any) -> Any:
    return json.loads(json.dumps(value))


def document(name: str, root: Bundle) -> Document:
    return Document(Kind.BUNDLE, JsonFile(Path(f"{name}.json"), json.dumps(root).encode(), root, standard=True))


def compared(old: Bundle, new: Bundle) -> Compatibility:
    return compare_contracts(document("old", old), document("new", new))


def kinds(found: Compatibility) -> list[str]:
    return [each.kind.name for each in found.changes]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every object, array, number, word and flag of a JSON value; of an array of numbers the first and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) - 1}):
            yield from places(value[place], (*path, place))


def others(value: Any) -> Iterator[Any]:
    """Values that are not this one: the next number, the other flag, a word in other letters, a shorter list."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, -value if value else 0.5)
    elif isinstance(value, str):
        yield from (f"{value}!", value.swapcase())
    elif isinstance(value, list):
        yield from (value[:-1], value[::-1])


def edits(bundle: Bundle) -> Iterator[tuple[tuple[Any, ...], Bundle]]:
    """The bundle with one place changed or taken away."""
    for path in places(bundle):
        holder = bundle
        for key in path[:-1]:
            holder = holder[key]
        for value in (*others(holder[path[-1]]), ...):
            new = own(bundle)
            holder_of_new = new
            for key in path[:-1]:
                holder_of_new = holder_of_new[key]
            if value is ...:
                del holder_of_new[path[-1]]
            else:
                holder_of_new[path[-1]] = value
            yield path, new


def loaded(root: Bundle) -> Contract | None:
    """What the runtime computes with; None where no engine would load it."""
    try:
        return document_to_contract(document("bundle", root))
    except ContractRefused:
        return None


def plain(value: Any) -> Any:
    """A value of a contract as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def computed_with(contract: Contract | None) -> Any:
    if contract is None:
        return None
    numbers = plain(contract)
    for name in ("path", "sha256", "meaning"):
        del numbers[name]
    return numbers


@refused(
    "any place of a schema bundle that the runtime computes with changed or removed, expecting `cosmetic`",
    "`rigpact diff` of the two never calls it cosmetic: exit 1",
)
def test_what_is_computed_with_is_never_cosmetic():
    """A character that moves otherwise after a change 'that nobody computes with' is found by a player, not by the gate."""
    old = base()
    before, judged = computed_with(loaded(old)), 0
    assert before is not None
    for path, new in edits(old):
        if computed_with(loaded(new)) != before:
            judged += 1
            assert compared(old, new).is_breaking, path
            assert compared(new, old).is_breaking, path
    assert judged > 100


Edit = Callable[[Bundle], object]


def put(value: Any, *path: str) -> Edit:
    """The edit that gives a place this value; `...` takes it away."""

    def edit(bundle: Bundle) -> None:
        *keys, last = path
        for key in keys:
            bundle = bundle[key]
        bundle.pop(last) if value is ... else bundle.update({last: value})

    return edit


SILENT = (
    ("root_motion", "forward_axis_offset_deg"), ("root_motion", "planar_alignment_applied"), ("trajectory", "edge_policy"),
    ("spaces", "root_motion"), ("asset_to_ue", "source_axes_in_ue"),
)  # fmt: skip
UNKNOWN: tuple[Edit, ...] = (
    put(2, "velocity_gain"), put([1, 2], "meta", "twist"), put([[0, 0, 0, 1]], "meta", "skeleton", "ref_local_rotations"),
    put({"offset": 2}, "meta", "alignment", "pose_to_y"), put(30, "cond_norm_config", "window"),
)  # fmt: skip
ASSUMED = (
    ("fps",), ("meta", "units"), ("meta", "handedness"), ("meta", "axes"), ("meta", "rot6d_spec", "columns"),
    ("meta", "spaces", "bone_rotations"), ("meta", "alignment", "x_to_y"), ("meta", "root_motion", "root_yaw_units"),
    ("meta", "asset_to_ue"), ("cond_norm_config", "mode"), ("pose_hist_len",), ("input_dim",),
)  # fmt: skip
CHANGES: tuple[tuple[str, str, str, tuple[Edit, ...], str, bool], ...] = (
    # kind of row, what is tried, the answer, edits of a bundle, the one kind of change that is found, whether it breaks
    ("refused", "a declaration with a meaning that only one of two bundles has, such as `forward_axis_offset_deg`",
     "`rigpact diff` of the two counts it as changed, because nobody can say what the silent bundle means: exit 1",
     tuple(put(-90, "meta", *path) for path in SILENT), "", True),
    ("refused", "a key that rigpact does not know added to a bundle, at the root or inside a known object",
     "`unjudged-change`: everybody may read it, exit 1; an entry in the change record acknowledges it",
     UNKNOWN, "unjudged-change", True),
    ("refused", "a standard deviation with the other sign, expecting `cosmetic`", "`input-std-moved`, exit 1",
     (lambda bundle: bundle["StdX"].__setitem__(9, -bundle["StdX"][9]),), "input-std-moved", True),
    ("passes", "a declaration removed or added that says what every reader assumes without it: metres, left-handed, 60 fps",
     "passes", tuple(put(..., *path) for path in ASSUMED), "", False),
    ("passes", "notes, the bundle's version and by-products of training changed", "passes",
     (lambda bundle: bundle.update(notes="better", bundle_version=7, s_eff_X=[2.0] * 35),), "", False),
)  # fmt: skip


@tries(row[:3] for row in CHANGES)
@every_case(("edit", "kind", "breaks"), [(edit, *row[4:]) for row in CHANGES for edit in row[3]], ids=lambda _: "")
def test_a_change_concerns_whom_it_may_concern(edit, kind, breaks):
    """A forward axis turned by -90° moves the root's velocity by 200 deviations; a team that documents must not train again."""
    old, new = base(), own(base())
    edit(new)
    assert compared(old, new).changes
    assert not kind or kinds(compared(old, new)) == [kind]
    assert [compared(*pair).is_breaking for pair in ((old, new), (new, old))] == [breaks, breaks]
