"""Two versions of the companion file, which training reads and the engine does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigpact.contract.compatibility.bones import BoneMatch
from rigpact.contract.compatibility.change import Change
from rigpact.contract.compatibility.declarations import judge_differences
from rigpact.contract.compatibility.numbers import ARRAYS, Side, compare_array
from rigpact.contract.documents import Document
from rigpact.contract.rules.bundle.view import BundleView

_KEYS = (
    "tanh_scales_angvel", "MuAngVel", "StdAngVel", "tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist",
)  # fmt: skip


def compare_companions(
    old: BundleView, new: BundleView, match: BoneMatch, companions: tuple[Document, Document]
) -> Iterator[Change]:
    """Yield what changed in the companions; their channels are those of the bundles they belong to."""
    views = [_beside(view, companion) for view, companion in zip((old, new), companions, strict=True)]
    sides = Side(views[0], match.old_keys, {}), Side(views[1], match.new_keys, {})
    found = [each for array in ARRAYS if array.key in _KEYS
             for each in compare_array(replace(array, kind="training-statistics"), *sides)]  # fmt: skip
    found += judge_differences(companions[0].data, companions[1].data)
    yield from (replace(each, message=f"companion: {each.message}") for each in found)


def _beside(view: BundleView, companion: Document) -> BundleView:
    """The companion's arrays under the layouts of its bundle."""
    bundle = {key: value for key, value in view.root.items() if key not in _KEYS}
    own = {key: value for key, value in companion.data.items() if key in _KEYS}
    return BundleView(replace(companion, file=replace(companion.file, data=bundle | own)))
