"""The files of one project of a hosted system, each read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from rigpact.contract.systems.definition import SystemContract
from rigpact.reference_runtime.systems.registry import RUNTIMES
from rigpact.reference_runtime.systems.stage_graph import StageGraph
from rigpact.reports.systems.hosted import read_hosted_trace, run_graph

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.file import read_model
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.contract.systems.reading import document_to_system_contract, with_conventions
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork
from rigpact.reports.gate.enemy_case import matching

REFERENCE = "reference run"
_ONE_WINDOW = 100


class HostedCase:
    """What `[gate]` names, relative to the working directory. Every property may raise UnusableInput."""

    def __init__(self, settings: GateSettings) -> None:
        """Keep the settings; UnusableInput for questions that only the enemy animation has."""
        if settings.bundle is None:
            raise UnusableInput("[gate]", "no bundle", 'bundle = "contract.json"')
        asked = {"companion": settings.companion, "free-run": settings.free_run, "base": settings.base}
        for key, value in asked.items():
            if value is not None:
                raise UnusableInput(f"[gate] {key}", value, "no such key", "this system has no such question")
        self.settings = settings
        self.bundle_path = Path(settings.bundle)
        self.model_path = Path(settings.model) if settings.model else None
        self.clip_paths = tuple(dict.fromkeys(path for pattern in settings.clips for path in matching(pattern)))

    def files(self) -> Iterable[Path]:
        """Every file that the parts read."""
        runs = (*self.settings.teacher, *self.settings.traces)
        named = [Path(name) for run in runs for name in (run.file, run.clip) if name is not None]
        paths = (self.bundle_path, *([self.model_path] if self.model_path else []), *self.clip_paths)
        return dict.fromkeys((*paths, *named))

    @cached_property
    def document(self) -> Document:
        """The contract file."""
        return read_document(self.bundle_path, Kind.SYSTEM_CONTRACT)

    @cached_property
    def contract(self) -> SystemContract:
        """The contract under the project's conventions."""
        return with_conventions(document_to_system_contract(self.document), self.settings.conventions)

    @cached_property
    def model(self) -> ModelSignature:
        """The model's signature and, where the package onnx is there, its graph."""
        return read_model(self._model)

    @cached_property
    def network(self) -> OnnxSystemNetwork:
        """The model, ready to run."""
        return OnnxSystemNetwork(self._model, self.contract.definition)

    @cached_property
    def graph(self) -> StageGraph:
        """The stages with the model behind them."""
        return RUNTIMES[self.contract.definition.name].graph(self.contract, self.network)

    def inference(self) -> Callable[[], object]:
        """One inference of one row, or of one window, of zeros, ready to be timed."""
        definition, network = self.contract.definition, self.network
        shape = (1, _ONE_WINDOW) if definition.windowed else (1,)
        inputs = [np.zeros((*shape, definition.vectors[name].width), np.float32) for name in definition.inputs]
        return lambda: network(inputs)

    def recording(self, run: RecordedRun) -> Recording:
        """What a side recorded."""
        return _as_recording(Path(run.file), self)

    def reference(self, run: RecordedRun) -> Recording:
        """The same run by the reference runtime, from the clip's given vectors or from the recording's own."""
        driving = read_hosted_trace(Path(run.clip or run.file), self.contract)
        trace = run_graph(self.contract, self.graph, driving, frames=run.frames)
        return Recording(Path(REFERENCE), "trace", trace, frozenset(trace.stages))

    @property
    def _model(self) -> Path:
        if self.model_path is None:
            raise UnusableInput("[gate]", "no model", 'model = "model.onnx"')
        return self.model_path


def _as_recording(path: Path, case: HostedCase) -> Recording:
    trace = read_hosted_trace(path, case.contract)
    return Recording(path, "trace", trace, frozenset(case.contract.definition.vectors))


def recorded_runs(case: HostedCase) -> Iterator[Path]:
    """The files that a check judges: clips and what training recorded."""
    yield from case.clip_paths
    yield from (Path(run.file) for run in case.settings.teacher)
