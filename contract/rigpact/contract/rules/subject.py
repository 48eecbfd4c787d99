"""What one check looks at, and the account of what it could judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.bundle.structure import MISSING_KEY, VALUE_NOT_ALLOWED, WRONG_ROW_LENGTH, WRONG_TYPE


@dataclass(frozen=True)
class Subject:
    """The artefacts of one check: a bundle, its companion, files made with it, and a model; any of them may be absent.

    others: clips, teacher batches and teacher predictions.
    """

    bundle: Document | None = None
    companion: Document | None = None
    others: tuple[Document, ...] = ()
    model: ModelSignature | None = None

    @property
    def documents(self) -> tuple[Document, ...]:
        """Every JSON artefact, the bundle first."""
        return tuple(document for document in (self.bundle, self.companion, *self.others) if document is not None)


_REQUIRED = {
    Kind.BUNDLE: (
        ("MuX",), ("StdX",), ("MuY",), ("StdY",), ("tanh_scales_rootvel",), ("tanh_scales_angvel",),
        ("meta", "state_layout"), ("meta", "output_layout"),
    ),
    Kind.COMPANION: (),
    Kind.RAW_CLIP: (("Frames",),),
    Kind.TEACHER_BATCH: (("teacher", "state_norm"), ("teacher", "cond")),
    Kind.TEACHER_PREDICTION: (("teacher", "state_norm"), ("teacher", "cond"), ("prediction", "y_norm")),
}  # fmt: skip
_OPTIONAL = {
    Kind.BUNDLE: (
        ("fps",), ("input_dim",), ("output_dim",), ("cond_norm_config",), ("pose_hist_len",),
        ("tanh_scales_pose_hist",), ("MuPoseHist",), ("StdPoseHist",), ("MuAngVel",), ("StdAngVel",),
        ("meta", "bone_names"), ("meta", "rot6d_spec"), ("meta", "skeleton"),
    ),
    Kind.COMPANION: (
        ("tanh_scales_angvel",), ("MuAngVel",), ("StdAngVel",), ("pose_hist_len",), ("tanh_scales_pose_hist",),
        ("MuPoseHist",), ("StdPoseHist",),
    ),
    Kind.RAW_CLIP: (("NumFrames",), ("FPS",), ("fps",), ("meta", "skeleton")),
    Kind.TEACHER_BATCH: (
        ("fps",), ("num_pairs",), ("dims",), ("layouts",), ("teacher", "target_norm"), ("teacher", "aux_inputs"),
        ("aux_inputs",), ("prediction", "y_raw"),
    ),
}  # fmt: skip
_OPTIONAL[Kind.TEACHER_PREDICTION] = _OPTIONAL[Kind.TEACHER_BATCH]
_DIVIDED = {("meta", "state_layout"), ("meta", "output_layout"), ("Frames",)}
"""Sections of which every member is a part of its own: each slice, each frame."""
_UNREADABLE = (WRONG_TYPE, MISSING_KEY, WRONG_ROW_LENGTH, VALUE_NOT_ALLOWED)


def account(subject: Subject, findings: Iterable[Finding]) -> Ledger:
    """Count what the artefacts declare and how much of it could be judged.

    A part is a section that rules read: each statistics array, each slice of a layout, each frame of a clip, each array
    of rows, each input and output of a model. Declared is every part that a given file holds or must hold; what no given
    file declares (the companion that nobody named) is not counted. Compared is what the rules could read; a part whose
    JSON is of the wrong shape, or that must be there and is not, could not be judged and is missing. Nothing is waived.
    """
    broken: dict[str, list[str]] = {}
    for finding in findings:
        if finding.rule in _UNREADABLE:
            place = finding.pointer + json_pointer(*filter(None, [finding.values.get("key")]))
            broken.setdefault(finding.file, []).append(place)
    declared = missing = 0
    for document in subject.documents:
        places = broken.get(str(document.path), [])
        for part in _parts(document):
            declared += 1
            missing += any(_within(part, place) or _within(place, part) for place in places)
    model_parts = len(subject.model.inputs) + max(len(subject.model.outputs), 1) if subject.model else 0
    return Ledger(declared + model_parts, declared - missing + model_parts)


def _parts(document: Document) -> Iterator[str]:
    for path in _REQUIRED[document.kind] + _OPTIONAL[document.kind]:
        value = _value_at(document.data, path)
        if path in _DIVIDED and isinstance(value, Mapping | list) and value:
            keys = value if isinstance(value, Mapping) else range(len(value))
            yield from (json_pointer(*path, key) for key in keys)
        elif value is not None or path in _REQUIRED[document.kind]:
            yield json_pointer(*path)


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")
