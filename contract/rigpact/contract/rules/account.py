"""The account of a check: what the artefacts declare, and how much of it could be judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.files.structure import MISSING_KEY, VALUE_NOT_ALLOWED, WRONG_ROW_LENGTH, WRONG_TYPE
from rigpact.contract.rules.subject import Subject

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
"""Sections in which each member counts as one part: each slice, each frame."""
_UNREADABLE = (WRONG_TYPE, MISSING_KEY, WRONG_ROW_LENGTH, VALUE_NOT_ALLOWED)


def account(subject: Subject, findings: Iterable[Finding]) -> Ledger:
    """Count what the artefacts declare and how much of it could be judged.

    A part is a section that rules read: a statistics array, a slice of a layout, a frame of a clip, an array of rows, an input
    or output of a model. Declared are the parts that the given files hold or must hold; a companion that was not given is not
    counted. Compared are the parts that the rules could read. A part is missing if its JSON has the wrong shape, or if the
    file must hold it and does not. Nothing is waived.
    """
    broken: dict[str, set[str]] = {}
    for finding in findings:
        if finding.rule in _UNREADABLE:
            place = finding.pointer + json_pointer(*filter(None, [finding.values.get("key")]))
            broken.setdefault(finding.file, set()).add(place)
    declared = missing = 0
    for document in subject.documents:
        places = broken.get(str(document.path), set())
        around = {each for place in places for each in _around(place)}
        for part in _parts(document):
            declared += 1
            missing += part in around or not places.isdisjoint(_around(part))
    model_parts = len(subject.model.inputs) + max(len(subject.model.outputs), 1) if subject.model else 0
    unread = int(
        bool(subject.model and subject.model.graph_not_read)
    )  # its nodes and weights, which most rules are about
    return Ledger(declared + model_parts + unread, declared - missing + model_parts)


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


def _around(pointer: str) -> Iterator[str]:
    """A place and all that it lies in, up to the whole document."""
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer
