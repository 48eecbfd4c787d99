"""The statistics of the auxiliary inputs as rules read them, from the bundle or from its companion. It holds no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rigpact.contract.documents import Document
from rigpact.contract.layout import ANGULAR_VELOCITIES, Layout, Slice, is_whole
from rigpact.contract.rules.views.bundle import POSE_HISTORY, BundleView, FileView, one_slice

POSE_HISTORY_KEYS = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
ANGVEL_KEYS = ("MuAngVel", "StdAngVel")
SCALE_KEYS = {
    "PoseHist": "tanh_scales_pose_hist", "AngVel": "tanh_scales_angvel", "PoseTarget": "tanh_scales_pose_target"
}  # fmt: skip
TARGET_KEYS = ("tanh_scales_pose_target", "MuPoseTarget", "StdPoseTarget")


@dataclass(frozen=True, eq=False)
class Auxiliary(FileView):
    """The auxiliary statistics in one file, bundle or companion, of a character of so many bones."""

    bone_count: int
    names: tuple[str, ...] = ()

    @property
    def bone_names(self) -> tuple[str, ...]:
        """The bundle's names."""
        return self.names

    @cached_property
    def history_length(self) -> int | None:
        """Frames of history: declared, else from the width of the statistics."""
        declared: Any = self.document.data.get("pose_hist_len")
        if is_whole(declared) and declared > 0:
            return int(declared)
        means = self.numbers("MuPoseHist")
        return len(means) // (6 * self.bone_count) if means is not None else None

    @cached_property
    def pose_history_layout(self) -> Layout | None:
        """One slice for each frame of history, oldest first; None if there are no statistics of it."""
        width, length, means = 6 * self.bone_count, self.history_length, self.numbers("MuPoseHist")
        if not length or means is None or length > len(means):
            return None
        frames = tuple(Slice(frame * width, width, f"{POSE_HISTORY}[{frame}]") for frame in range(length))
        return Layout(frames, length * width)

    @property
    def angvel_layout(self) -> Layout:
        """One slice, three numbers a bone."""
        return one_slice(ANGULAR_VELOCITIES, 3 * self.bone_count)


def auxiliaries(view: BundleView | None, companion: Document | None) -> tuple[Auxiliary, ...]:
    """The files that may hold auxiliary statistics: the bundle, then the companion; none without a number of bones.

    A companion without a bundle says by itself how many bones it is for.
    """
    if view is None:
        bones = companion.data.get("J") if companion else None
        return (Auxiliary(companion, bones),) if companion and type(bones) is int and bones > 0 else ()
    documents = [document for document in (view.document, companion) if document is not None and view.bone_count]
    return tuple(Auxiliary(document, view.bone_count or 0, view.bone_names) for document in documents)


def history_length(files: Sequence[Auxiliary]) -> int | None:
    """Frames of pose history as the contract takes them: what the companion says goes before what the bundle says."""
    return next((file.history_length for file in reversed(files) if file.history_length), None)
