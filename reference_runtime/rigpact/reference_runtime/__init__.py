"""The engine's loop, frame by frame, in numpy and onnxruntime.

Imports only `rigpact.contract`. Start with `Loop`; `run_frames` keeps every stage as a `Trace`.
"""

from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.network import CallableNetwork, OnnxNetwork, ReplayNetwork, read_replay
from rigpact.reference_runtime.recordings.clip import RawClip, TeacherFile, read_clip
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.systems.enemy_animation.loop import Loop, Playback, start_run

__all__ = [
    "CallableNetwork",
    "Loop",
    "OnnxNetwork",
    "Playback",
    "RawClip",
    "Recording",
    "ReplayNetwork",
    "TeacherFile",
    "Trace",
    "TraceHeader",
    "read_clip",
    "read_recording",
    "read_replay",
    "read_trace",
    "run_frames",
    "start_run",
    "write_trace",
]
