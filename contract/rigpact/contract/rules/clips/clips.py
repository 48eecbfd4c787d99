"""RP500-RP549: raw clips, as the engine exports them and as training and playback read them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.views.bundle import (
    BundleView,
    json_to_rate,
)
from rigpact.contract.rules.views.clip import BONE_CHANNELS, CHANNELS, FPS_KEYS, ClipView, same_rate
from rigpact.contract.rules.wording import and_more, number_text

FRAME_COUNT_DIFFERS = Rule.titled(
    "RP500 error frame-count-differs",
    message="NumFrames is {declared}, Frames holds {found}",
    hint="the export was interrupted or edited; export again",
    why="one side loops at the declared length, the other at the real one: the clip jumps, or plays zeros",
)
CLIP_TOO_SHORT = Rule.titled(
    "RP501 error clip-too-short",
    message="the clip has {found} frames; one step of the network needs 2",
    hint="export the whole animation",
    why="there is no pair of frames to train on, and nothing to play",
)
CLIP_BONE_COUNT_DIFFERS = Rule.titled(
    "RP502 error clip-bone-count-differs",
    message="frame {frame}: {key} has {found} bones, {source} {expected}{more}",
    hint="export the clip with the character that the bundle describes",
    why="bones are matched by index; the engine fills missing rows with zeros, which collapses the limb",
)
CLIP_VALUE_NOT_FINITE = Rule.titled(
    "RP503 error clip-value-not-finite",
    message="frame {frame}: {key} has a value that is not finite in float32{bone}{more}",
    hint="find the frame in the animation tool; a zero-scaled bone or a division by a zero time step",
    why="one such frame spoils the statistics of the whole data set, or blows up playback",
)
CLIP_FPS_DIFFERS = Rule.titled(
    "RP505 error clip-fps-differs",
    message="the clip has {found:g} frames a second, the bundle {expected:g}{origin}",
    hint="resample the clip, or write the right fps at the root of the bundle",
    why="the engine steps the network at the bundle's rate: the clip plays at the wrong speed, its velocities disagree",
    about="a clip of {found:g} frames a second",
)
CLIP_FPS_ABSENT = Rule.titled(
    "RP506 error clip-fps-absent",
    message="the clip has neither fps nor FPS at its root",
    hint="write the rate at which the clip was sampled",
    why="velocities cannot be computed from positions, and playback guesses the speed",
)
CLIP_FPS_NOT_POSITIVE = Rule.titled(
    "RP507 error clip-fps-not-positive",
    message="{key} = {fps}: a frame rate must be > 0 and finite",
    hint="write the rate at which the clip was sampled",
    why="the length of a frame is 1 / fps",
)
CLIP_FPS_CONFLICTS = Rule.titled(
    "RP508 error clip-fps-conflicts",
    message="fps = {lower} and FPS = {upper} in one clip",
    hint="keep one of the two keys",
    why="whichever key a reader looks for first decides the speed",
)


def check_clips(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with each raw clip, alone and against the bundle."""
    for clip in subject.clips:
        yield from _check_frame_count(clip)
        yield from _check_bone_counts(clip, subject.view)
        for key in CHANNELS:
            values = clip.channel(key)
            if values is None:
                continue
            with np.errstate(over="ignore"):
                bad = np.argwhere(~np.isfinite(values.astype(np.float32)))
            if len(bad):
                frame, *inner = (int(index) for index in bad[0])
                named = key in BONE_CHANNELS and inner and inner[0] < len(clip.bone_names)
                bone = f" ({clip.bone_names[inner[0]]})" if named else ""
                more = and_more(len(bad) - 1, "in this channel")
                pointer = json_pointer("Frames", frame, key, *inner)
                yield CLIP_VALUE_NOT_FINITE.at(clip.path, pointer, frame=frame, key=key, bone=bone, more=more)
        yield from _check_fps(clip, subject.view)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), check_clips)


def _check_frame_count(clip: ClipView) -> Iterator[Finding]:
    frames, declared = clip.document.data.get("Frames"), clip.document.data.get("NumFrames")
    if not isinstance(frames, list):
        return
    if _is_number(declared) and declared != len(frames):
        yield FRAME_COUNT_DIFFERS.at(clip.path, "/NumFrames", declared=declared, found=len(frames))
    if len(frames) < 2:
        yield CLIP_TOO_SHORT.at(clip.path, "/Frames", found=len(frames))


def _check_bone_counts(clip: ClipView, bundle: BundleView | None) -> Iterator[Finding]:
    expected, source = _expected_bones(clip, bundle)
    for key in BONE_CHANNELS:
        counts = [len(frame[key]) if isinstance(frame.get(key), list) else expected for frame in clip.frames]
        wrong = [index for index, count in enumerate(counts) if count != expected]
        if wrong:
            values = {"frame": wrong[0], "key": key, "found": counts[wrong[0]], "source": source, "expected": expected}
            more = and_more(len(wrong) - 1, "frames")
            yield CLIP_BONE_COUNT_DIFFERS.at(clip.path, ("Frames", wrong[0], key), more=more, **values)


def _expected_bones(clip: ClipView, bundle: BundleView | None) -> tuple[int | None, str]:
    if bundle is not None and bundle.bone_count is not None:
        return bundle.bone_count, "the bundle"
    if clip.bone_names:
        return len(clip.bone_names), "the clip's skeleton"
    first = clip.frames[0].get(BONE_CHANNELS[0]) if clip.frames else None
    return (len(first) if isinstance(first, list) else None), "frame 0"


def _check_fps(clip: ClipView, bundle: BundleView | None) -> Iterator[Finding]:
    declared = {key: clip.document.data[key] for key in FPS_KEYS if _is_number(clip.document.data.get(key))}
    if not any(key in clip.document.data for key in FPS_KEYS):
        yield CLIP_FPS_ABSENT.at(clip.path)
    for key, value in declared.items():
        if json_to_rate(value) is None:
            yield CLIP_FPS_NOT_POSITIVE.at(clip.path, (key,), key=key, fps=number_text(value))
    if len(declared) == len(FPS_KEYS) and declared["fps"] != declared["FPS"]:
        yield CLIP_FPS_CONFLICTS.at(
            clip.path, "/FPS", lower=number_text(declared["fps"]), upper=number_text(declared["FPS"])
        )
    if bundle is not None and clip.fps is not None and not same_rate(clip.fps, bundle.fps):
        key = next(iter(declared))
        origin = "" if "fps" in bundle.root else " (the engine's default: the bundle has no root fps)"
        values = {"found": clip.fps, "expected": bundle.fps, "origin": origin}
        yield CLIP_FPS_DIFFERS.at(clip.path, (key,), **values)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
