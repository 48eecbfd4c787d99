"""The project of a gate: contract, clips, recordings and model of one system, each read once.

The bundle or contract file defines the system. The only system that this module names is that of a schema bundle.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract, system_of
from rigpact.contract.declared.reading import sources_of
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.model.signature import ModelSignature, read_model
from rigpact.contract.settings.configuration import FILE_NAME
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, listed_endings, open_file
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.file_lists import files_of_settings


def clip_endings() -> tuple[str, ...]:
    """Names of the files that are taken from a folder of clips."""
    return (".json", *TRACE_ENDINGS, *listed_endings())


class Project:
    """The files that `[gate]` names, relative to the working directory. Every property may raise UnusableInput."""

    def __init__(self, settings: GateSettings, asked: Path = Path(FILE_NAME), *, verdict_only: bool = False) -> None:
        """Find the project's system, and check the names in its settings.

        Raises UnusableInput without a bundle, for a pattern without a match, and for a stage or convention that the
        system does not have. asked: the file of settings. verdict_only: skip work that only explains a verdict.
        """
        if settings.bundle is None:
            raise UnusableInput("[gate]", "no bundle", 'bundle = "norm_template.json"', "`rigpact init` writes one")
        self.settings, self.asked, self.verdict_only = settings, asked, verdict_only
        self.bundle_path = Path(settings.bundle)
        self.companion_path = Path(settings.companion) if settings.companion else None
        self.model_path = Path(settings.model) if settings.model else None
        self.clip_paths = tuple(files_of_settings(settings.clips, clip_endings(), "[gate] clips"))
        self._clips: dict[Path, Any] = {}
        self._kept: dict[Hashable, Trace] = {}
        self.document = read_document(self.bundle_path)
        self.system = system_of(self.document)
        check_names(settings, self.system)

    def files(self) -> list[Path]:
        """The files that the settings name."""
        runs, settings = (*self.settings.teacher, *self.settings.traces), self.settings
        names = [settings.free_run, settings.change_record, *(name for run in runs for name in (run.file, run.clip))]
        paths = (self.bundle_path, self.companion_path, self.model_path, *self.clip_paths)
        found = [path for path in paths if path is not None] + [Path(name) for name in names if name is not None]
        return list(dict.fromkeys(found))

    @cached_property
    def beside(self) -> tuple[Path, ...]:
        """The files that your own contract takes its numbers from, and its models, in its folder or below."""
        models = [network.path for network in self.system.networks.values() if network.path is not None]
        return tuple(dict.fromkeys([*sources_of(self.document), *models]))

    @cached_property
    def companion(self) -> Document | None:
        """The companion, if there is one."""
        return read_document(self.companion_path, Kind.COMPANION) if self.companion_path else None

    @property
    def contract_documents(self) -> tuple[Document, ...]:
        """The bundle or contract file, and the companion."""
        return (self.document, *(() if self.companion is None else (self.companion,)))

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Clips and teacher files that are JSON."""
        return tuple(file.document for file in map(open_file, self._given) if not file.is_recording)

    @property
    def recordings(self) -> tuple[Path, ...]:
        """Clips and teacher files that are recordings."""
        return tuple(path for path in self._given if open_file(path).is_recording)

    @property
    def _given(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((*self.clip_paths, *(Path(run.file) for run in self.settings.teacher))))

    @cached_property
    def contract(self) -> Contract:
        """The contract under the project's conventions."""
        opened = open_contract(self.bundle_path, self.companion_path)
        return opened.with_conventions(self.settings.conventions)

    @cached_property
    def model(self) -> ModelSignature:
        """The model's signature and its graph."""
        if len(self.models) != 1:
            found = f"{len(self.models)} models" if self.models else "no model"
            raise UnusableInput("[gate]", found, 'model = "model.onnx"')
        return read_model(self.models[0])

    @cached_property
    def models(self) -> tuple[Path, ...]:
        """The model of the settings, else those that the contract names; none where it names only some of its networks'."""
        if self.model_path is not None:
            return (self.model_path,)
        own = tuple(network.path for network in self.system.networks.values() if network.path is not None)
        return own if len(own) == len(self.system.networks) else ()

    @cached_property
    def network(self) -> Any:
        """The models, ready to run."""
        if not self.models:
            raise UnusableInput("[gate]", "no model", 'model = "model.onnx"')
        return network_of(self.contract, self.model_path)

    def recording(self, run: RecordedRun) -> Recording:
        """The recording of training or engine."""
        return self.recording_of(Path(run.file))

    def recording_of(self, path: Path) -> Recording:
        """A file's recording, as the project's system reads it."""
        found: Recording = files_of(self.contract).recording(path, self.contract)
        return found

    def drive(self, path: str | Path) -> Callable[[Any], Any]:
        """A clip's rows by stage; their layout follows the contract that reads them."""
        found: Callable[[Any], Any] = files_of(self.contract).drive_of(self.clip(Path(path)))
        return found

    def clip(self, path: Path) -> Any:
        """A clip to drive a run, read once."""
        if path not in self._clips:
            self._clips[path] = files_of(self.contract).clip(path, self.contract)
        return self._clips[path]

    def kept(self, run: Hashable, play: Callable[[], Trace]) -> Trace:
        """A run of the reference runtime, made once."""
        if run not in self._kept:
            self._kept[run] = play()
        return self._kept[run]


def check_names(settings: GateSettings, system: System) -> None:
    """Raise UnusableInput for a convention or stage in the settings that the system does not have."""
    for knob, value in settings.conventions.items():
        place = f"{settings.place}.conventions.{knob}"
        if knob not in system.knobs:
            hint = near(knob, system.knobs)
            raise UnusableInput(place, "an unknown knob", f"one of {', '.join(system.knobs)}", hint)
        try:
            system.knobs[knob].parsed(value)
        except UnusableInput as error:
            raise UnusableInput(place, error.found, error.expected, error.hint) from None
    names: tuple[str, ...] = system.graph.names
    for run in (*settings.teacher, *settings.traces):
        for stage in run.stages:
            if stage not in names:
                hint = near(stage, names)
                raise UnusableInput(f"{run.place}.stages", repr(stage), f"one of {', '.join(names)}", hint)
