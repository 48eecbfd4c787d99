"""The engine's loop, frame by frame, in numpy and onnxruntime.

Imports only `rigpact.contract`. Start with `open_run`; `run_frames` keeps every stage as a `Trace`. Names are imported when first
used, so that a declared contract does not load the enemy animation's loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rigpact.reference_runtime.files.declared import open_run
    from rigpact.reference_runtime.files.run import run_frames
    from rigpact.reference_runtime.network import CallableNetwork, OnnxNetwork, ReplayNetwork, read_replay
    from rigpact.reference_runtime.recordings.clip import RawClip, TeacherFile, read_clip
    from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
    from rigpact.reference_runtime.recordings.recording import Recording, read_recording
    from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

_HOME = {
    "files.declared": ("open_run",),
    "files.run": ("run_frames",),
    "network": ("CallableNetwork", "OnnxNetwork", "ReplayNetwork", "read_replay"),
    "recordings.clip": ("RawClip", "TeacherFile", "read_clip"),
    "recordings.opened": ("read_trace", "write_trace"),
    "recordings.recording": ("Recording", "read_recording"),
    "recordings.trace": ("Trace", "TraceHeader"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "CallableNetwork",
    "OnnxNetwork",
    "RawClip",
    "Recording",
    "ReplayNetwork",
    "TeacherFile",
    "Trace",
    "TraceHeader",
    "open_run",
    "read_clip",
    "read_recording",
    "read_replay",
    "read_trace",
    "run_frames",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
