"""The files of one enemy animation, each read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from rigpact.contract.bundle import Contract, document_to_contract
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.file import read_model
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.settings.gate import GateSettings
from rigpact.reference_runtime.network import CallableNetwork, Network, OnnxNetwork
from rigpact.reference_runtime.recordings.clip import Clip, read_clip
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

_WILD = frozenset("*?[")
_BEFORE_THE_MODEL = STAGE_NAMES[: STAGE_NAMES.index("y_norm")]


class EnemyCase:
    """What `[gate]` names, relative to the working directory. Every property may raise UnusableInput."""

    def __init__(self, settings: GateSettings, *, verdict_only: bool = False) -> None:
        """Keep the settings; nothing is read yet. UnusableInput without a bundle, or for a pattern that matches nothing.

        verdict_only: leave out what explains and does not decide (selftest.py asks many times).
        """
        if settings.bundle is None:
            raise UnusableInput("[gate]", "no bundle", 'bundle = "norm_template.json"', "`rigpact init` writes one")
        self.settings, self.verdict_only = settings, verdict_only
        self.bundle_path = Path(settings.bundle)
        self.companion_path = Path(settings.companion) if settings.companion else None
        self.model_path = Path(settings.model) if settings.model else None
        self.clip_paths = tuple(dict.fromkeys(path for pattern in settings.clips for path in matching(pattern)))
        self._clips: dict[Path, Clip] = {}

    def files(self) -> Iterable[Path]:
        """Every file that the parts read."""
        runs = (*self.settings.teacher, *self.settings.traces)
        named = [
            self.settings.free_run,
            self.settings.change_record,
            *(name for run in runs for name in (run.file, run.clip)),
        ]
        paths = (self.bundle_path, self.companion_path, self.model_path, *self.clip_paths)
        found = [path for path in paths if path is not None] + [Path(name) for name in named if name is not None]
        return dict.fromkeys(found)

    @cached_property
    def bundle(self) -> Document:
        """The bundle."""
        return read_document(self.bundle_path, Kind.BUNDLE)

    @cached_property
    def companion(self) -> Document | None:
        """The companion, if there is one."""
        return read_document(self.companion_path, Kind.COMPANION) if self.companion_path else None

    @cached_property
    def others(self) -> tuple[Document, ...]:
        """Clips and teacher files."""
        teacher = (Path(run.file) for run in self.settings.teacher)
        return tuple(read_document(path) for path in (*self.clip_paths, *teacher))

    @cached_property
    def model(self) -> ModelSignature:
        """The model's signature and, where the package onnx is there, its graph."""
        return read_model(self._model)

    @cached_property
    def contract(self) -> Contract:
        """The contract under the project's conventions."""
        return document_to_contract(self.bundle, self.companion).with_conventions(self.settings.conventions)

    @cached_property
    def network(self) -> OnnxNetwork:
        """The model, ready to run."""
        return OnnxNetwork(self._model, self.contract)

    def inference(self) -> Callable[[], object]:
        """One inference of one row of zeros, ready to be timed."""
        network, widths = self.network, self.contract.input_widths
        order = self.contract.conventions.input_order
        vectors = [
            np.zeros((1, bound or widths[name] or 1), np.float32)
            for name, bound in zip(order, network.bound_widths, strict=True)
        ]
        return lambda: network.run(vectors, 0)

    def network_for(self, stages: Collection[str]) -> Network:
        """What a run needs: the model, or zeros where no model is named and only stages before it are asked for."""
        if self.model_path is None and stages and all(stage in _BEFORE_THE_MODEL for stage in stages):
            width = self.contract.output.width
            return CallableNetwork(lambda *vectors: np.zeros((len(vectors[0]), width), np.float32), "no model")
        return self.network

    def clip(self, path: str | Path) -> Clip:
        """A clip or teacher file that drives a run."""
        key = Path(path)
        if key not in self._clips:
            self._clips[key] = read_clip(key)
        return self._clips[key]

    @property
    def _model(self) -> Path:
        if self.model_path is None:
            raise UnusableInput("[gate]", "no model", 'model = "model.onnx"')
        return self.model_path


def matching(pattern: str) -> list[Path]:
    """The files that a pattern matches, sorted; a plain name stands for itself. What matches nothing is no clip."""
    if _WILD.isdisjoint(pattern):
        return [Path(pattern)]
    found = sorted(path for path in Path().glob(pattern) if path.is_file())
    if not found:
        raise UnusableInput("[gate] clips", f"no file that matches {pattern!r}", "at least one")
    return found
