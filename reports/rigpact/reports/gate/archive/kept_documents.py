"""The JSON of an archive: measured.json, verdict.json, and runs/N/run.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from rigpact.reports.gate.archive.shapes import Counts


class KeptFinding(TypedDict):
    """A finding with the texts of its rule."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    file: str
    pointer: str
    message: str
    hint: str
    fingerprint: str
    why: str
    engine_refuses: bool
    about: str
    follows: list[str]
    values: dict[str, Any]


class KeptFile(TypedDict, total=False):
    """A file in the summary of a part."""

    path: str
    kind: str


class KeptPart(TypedDict):
    """A part in measured.json. metrics: see the kinds of parts."""

    name: str
    title: str
    metrics: dict[str, Any]
    findings: list[KeptFinding]
    ledger: Counts
    summary: dict[str, Any]


class KeptAnswer(TypedDict):
    """A part in verdict.json."""

    name: str
    title: str
    is_waived: bool
    findings: list[KeptFinding]
    ledger: Counts
    summary: dict[str, Any]


class KeptMeasurement(TypedDict):
    """measured.json."""

    parts: list[KeptPart]
    not_asked: dict[str, str]
    questions: dict[str, Any]


class KeptGate(TypedDict):
    """verdict.json."""

    verdict: Literal["pass", "fail", "undetermined"]
    parts: list[KeptAnswer]
    not_asked: dict[str, str]
    next_steps: list[str]
    strict: bool
    provenance: dict[str, str]


class KeptRun(TypedDict):
    """runs/N/run.json."""

    name: str
    fps: float
    bone_names: list[str]
    parents: list[int] | None
    stages: list[Annotated[list[str], str, str]]
    first_divergence: dict[str, Any] | None
    diagnosis: dict[str, Any] | None
    against: str
    values: KeptValues | None


class KeptValues(TypedDict):
    """The numbers of one stage, without its arrays."""

    stage: str
    unit: str
    names: list[str]
    channels: list[int]
    network: list[int]


class KnownSummary(TypedDict, total=False):
    """The entries of a part's summary that are read again."""

    files: list[KeptFile] | tuple[KeptFile, ...]
    not_judged: str
    waived: Any
    growth_per_frame: float | None
    spread: float | None
