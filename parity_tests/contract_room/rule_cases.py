"""A case of a rule: one named defect of the sample, and the finding that it must cause.

The cases themselves stand in bundle_cases.py, clip_cases.py, teacher_cases.py and model_cases.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rigpact.contract.model.tensor import TensorSignature

Edit = Callable[[Any], object]
ARTEFACTS = ("bundle", "companion", "clip", "batch", "prediction", "model")


@dataclass(frozen=True)
class Case:
    """One named defect: the rule that must report it, where, and a word that the message must hold."""

    code: str
    artefact: str
    pointer: str
    edit: Edit
    says: str = ""


def put(value: Any, *path: Any) -> Edit:
    """An edit that sets the value at a path of one artefact; the first step names the artefact."""

    def edit(sample: Any) -> None:
        holder = getattr(sample, path[0])
        for key in path[1:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return edit


def drop(*path: Any) -> Edit:
    """An edit that removes what stands at a path."""

    def edit(sample: Any) -> None:
        holder = getattr(sample, path[0])
        for key in path[1:-1]:
            holder = holder[key]
        del holder[path[-1]]

    return edit


def both(*edits: Edit) -> Edit:
    return lambda sample: [edit(sample) for edit in edits]


def text(name: str, old: str, new: str) -> Edit:
    """An edit of a file's text, for what no JSON writer would write."""
    return lambda sample: sample.texts.update({name: lambda content: content.replace(old, new, 1)})


def slice_at(side: str, name: str, start: int, size: int) -> Edit:
    return put({"start": start, "size": size}, "bundle", "meta", f"{side}_layout", name)


def reshape(index: int, **changes: Any) -> Edit:
    """An edit of one input of the model."""

    def edit(sample: Any) -> None:
        inputs = list(sample.model.inputs)
        inputs[index] = replace(inputs[index], **changes)
        sample.model = replace(sample.model, inputs=tuple(inputs))

    return edit


def reorder(*order: int) -> Edit:
    def edit(sample: Any) -> None:
        sample.model = replace(sample.model, inputs=tuple(sample.model.inputs[index] for index in order))

    return edit


def outputs(*signatures: TensorSignature) -> Edit:
    return lambda sample: setattr(sample, "model", replace(sample.model, outputs=signatures))


def aux_at_root(sample: Any) -> None:
    sample.prediction["aux_inputs"] = sample.prediction["teacher"].pop("aux_inputs")


def no_aux(prefix: str) -> Edit:
    """Remove one family of auxiliary statistics from the bundle; the companion keeps it."""
    keys = {"PoseHist": ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"), "AngVel": ("MuAngVel", "StdAngVel")}
    return lambda sample: [sample.bundle.pop(key) for key in keys[prefix]]


def no_aux_anywhere(prefix: str) -> Edit:
    def edit(sample: Any) -> None:
        no_aux(prefix)(sample)
        for key in [key for key in sample.companion if key.endswith(prefix) or key == "tanh_scales_pose_hist"]:
            del sample.companion[key]

    return edit


def only(*names: str) -> Edit:
    """An edit that hands the check these artefacts alone."""
    return lambda sample: sample.absent.update(set(ARTEFACTS) - set(names))


def scaled(factor: float, *path: Any) -> Edit:
    """An edit that multiplies every number at a path."""

    def times(value: Any) -> Any:
        return [times(each) for each in value] if isinstance(value, list) else value * factor

    def edit(sample: Any) -> None:
        holder = getattr(sample, path[0])
        for key in path[1:-1]:
            holder = holder[key]
        holder[path[-1]] = times(holder[path[-1]])

    return edit


def each_frame(change: Callable[[int, dict[str, Any]], object]) -> Edit:
    """An edit of every frame of the clip."""
    return lambda sample: [change(index, frame) for index, frame in enumerate(sample.clip["Frames"])]


META = ("bundle", "meta")
SPEC = (*META, "rot6d_spec")
SKELETON = (*META, "skeleton")
F32 = "float32"
