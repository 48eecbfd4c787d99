"""What the commands ask of a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rigpact.contract.documents import Document
from rigpact.contract.findings import FindingsReport

if TYPE_CHECKING:
    from rigpact.reports.diagnosing.diagnose import Diagnosis


@dataclass(frozen=True)
class ContractFiles:
    """What a contract is read from: the bundle or contract file, a companion, settings (KNOB=VALUE), a TOML of them."""

    bundle: Path | None = None
    companion: Path | None = None
    settings: Sequence[str] = ()
    conventions: Path | None = None


@dataclass(frozen=True)
class CheckRequest:
    """Files to judge together, JSON artefacts read already, the model and recordings by their paths."""

    documents: Sequence[Document]
    recordings: Sequence[Path] = ()
    model: Path | None = None
    companion: Path | None = None
    canary: Path | None = None


@dataclass(frozen=True)
class RunRequest:
    """A run of the reference runtime; `frames` None for the whole clip."""

    contract: ContractFiles
    clip: Path
    out: Path
    onnx: Path | None = None
    replay: Path | None = None
    mode: str = "teacher"
    frames: int | None = None
    floor_contacts: bool = False


@dataclass(frozen=True)
class DiffRequest:
    """Two recordings; `stages` empty for all; `table` where to write every error."""

    a: Path
    b: Path
    contract: ContractFiles
    stages: Sequence[str] = ()
    table: Path | None = None


@dataclass(frozen=True)
class ExplainRequest:
    """A recording whose difference is to be named."""

    recording: Path
    contract: ContractFiles
    clip: Path | None = None
    onnx: Path | None = None
    replay: Path | None = None
    with_pairs: bool = True


class ReportedSystem(Protocol):
    """One system under the commands. Every method raises UnusableInput where nothing can be answered."""

    def check(self, request: CheckRequest) -> FindingsReport:
        """Judge files against the contract's rules."""
        ...

    def run(self, request: RunRequest) -> FindingsReport:
        """Run the reference runtime and write what it did."""
        ...

    def diff(self, request: DiffRequest) -> FindingsReport:
        """Measure two recordings against each other."""
        ...

    def explain(self, request: ExplainRequest) -> tuple[Diagnosis, list[str]]:
        """Name the convention that differs; notes belong beside any verdict."""
        ...
