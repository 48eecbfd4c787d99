"""Every mutant by name. The gate should notice each of them.

A mutant makes a `Case`: the files and the recording of an engine in which one thing is wrong. The right run for comparison is
the run of the case's scene. `SURVIVORS` names the mutants that the gate does not notice, and says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from rigpact.contract.bundle import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import ModelSignature, read_model_signature
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.demo import demo_bundle
from rigpact.fixtures.mutants.artefacts import BUNDLE, CLIP, COMPANION, EDITS, ArtefactEdit
from rigpact.fixtures.mutants.conventions import Changes, single_changes, words
from rigpact.fixtures.mutants.engine import slip
from rigpact.fixtures.mutants.recordings import DAMAGES, NAN_ON_BOTH_SIDES, Damage, both_not_finite
from rigpact.fixtures.mutants.scene import Scene, SyntheticNetwork, demo_contract, demo_network
from rigpact.fixtures.mutants.slips import SLIPS, Slip
from rigpact.reference_runtime.graph.run import Mode
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.recordings.clip import RawClip, read_clip
from rigpact.reference_runtime.recordings.trace import Trace

from .free_run import FREE_RUN_SLIPS, record_free_run
from .losing import losing_scene
from .models import SIGNATURES, WEIGHTS, reweighted

FRAMES = 32
FILES: Mapping[str, str] = {
    BUNDLE: "norm_template.json", COMPANION: "pretrain_template.json", CLIP: "clips/Sneak_Turn.json",
}  # fmt: skip
MODEL = "model.onnx"


@dataclass(frozen=True, eq=False)
class Case:
    """The files and the recording of an engine in which one thing is wrong.

    trace: its recording; None where it did not run. recording: the same as a damaged file. files: edited artefacts by
    kind. model: an edited signature. reference: the right recording, if it is not the scene's own.
    """

    scene: Scene
    trace: Trace | None = None
    recording: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    model: ModelSignature | None = None
    reference: Trace | None = None


@dataclass(frozen=True, eq=False)
class Mutant:
    """One thing wrong; `make` writes its files into a folder."""

    name: str
    kind: str
    make: Callable[[Path], Case]


def all_mutants() -> Iterator[Mutant]:
    """The catalogue."""
    for changes in single_changes(demo_contract()):
        mode: Mode = "free" if "writeback" in changes else "teacher"
        yield Mutant(words(changes), "convention", partial(_convention, changes, mode))
    for edit in EDITS:
        yield Mutant(edit.name, "artefact", partial(_artefact, edit))
    for name in SIGNATURES:
        yield Mutant(name, "model", partial(_signature, name))
    for name in WEIGHTS:
        yield Mutant(name, "model", partial(_weights, name))
    for entry in SLIPS:
        yield Mutant(entry.name, "engine slip", partial(_slip, entry))
    for name in FREE_RUN_SLIPS:
        yield Mutant(f"free run: {name}", "engine slip", partial(_free_run, name))
    for name, damage in DAMAGES.items():
        yield Mutant(name, "recording", partial(_recording, damage))
    yield Mutant(NAN_ON_BOTH_SIDES, "recording", _nan_on_both_sides)


@cache
def demo_scene(mode: Mode = "teacher") -> Scene:
    """The demo bundle, its model and one of its clips."""
    contract = demo_contract()
    return Scene(f"demo {mode}", contract, demo_network(contract), _clip(demo_bundle() / FILES[CLIP]), mode, FRAMES)


@cache
def synthetic_network() -> SyntheticNetwork:
    """A network whose weights are at hand."""
    return SyntheticNetwork(demo_contract())


@cache
def synthetic_scene() -> Scene:
    """The demo scene with that network."""
    return demo_scene().with_network(synthetic_network())


@cache
def honest_trace(scene: Scene) -> Trace:
    """The recording of the scene without any mutant."""
    return scene.record()


def _clip(path: Path) -> RawClip:
    clip = read_clip(path)
    if not isinstance(clip, RawClip):
        raise UnusableInput(path, "no raw clip", "a raw clip")
    return clip


@cache
def delta_scene() -> Scene:
    """The demo scene under a contract in which the output is ΔR itself: only there does MuY matter."""
    scene = demo_scene()
    return replace(scene, contract=scene.contract.with_conventions({"output_mode": "delta"}))


@cache
def _losing_scene(output_mode: str) -> Scene:
    return losing_scene(demo_scene(), output_mode)


def _scene_of(changes: Changes, mode: Mode) -> Scene:
    """The scene on which the changes matter."""
    if "denorm" in changes:
        return delta_scene()
    if "degenerate_axis" in changes:  # that of a published pose matters only if the network gives poses
        return _losing_scene("absolute" if changes["degenerate_axis"] == "canonical" else "residual")
    return demo_scene(mode)


def _convention(changes: Changes, mode: Mode, _folder: Path) -> Case:
    scene = _scene_of(changes, mode)
    return Case(scene, scene.record(changes))


def _artefact(edit: ArtefactEdit, folder: Path) -> Case:
    """Edit one file, then run the engine with it as far as it goes."""
    paths = {kind: demo_bundle() / name for kind, name in FILES.items()}
    document: dict[str, Any] = json.loads(paths[edit.document].read_text(encoding="utf-8"))
    edit.edit(document)
    paths[edit.document] = folder / paths[edit.document].name
    paths[edit.document].write_text(json.dumps(document), encoding="utf-8")
    edited = {edit.document: paths[edit.document]}
    scene = demo_scene()
    try:
        contract = load_contract(paths[BUNDLE], paths[COMPANION])
        network = OnnxNetwork(demo_bundle() / MODEL, contract)
        ran = replace(scene, contract=contract, network=network, clip=_clip(paths[CLIP])).record()
    except UnusableInput:  # the engine does not start
        return Case(scene, files=edited)
    return Case(scene, _unsigned(ran), files=edited)


def _unsigned(trace: Trace) -> Trace:
    """The trace without the contract's hashes. They would reveal every edit, and engines in the field do not write them."""
    return replace(
        trace,
        header=replace(
            trace.header,
            bundle_sha256=None,
            companion_sha256=None,
            meaning_sha256=None,
            conventions_sha256=None,
            model_sha256=None,
        ),
    )


def _signature(name: str, _folder: Path) -> Case:
    scene = demo_scene()
    honest = read_model_signature(demo_bundle() / MODEL)
    model = SIGNATURES[name](honest)
    own, known = (tuple(entry.name for entry in side.inputs) for side in (model, honest))
    if sorted(own) == sorted(known) and own != known:  # bound by position: the vectors go to the wrong inputs
        return Case(scene, scene.record({"input_order": _bound_as(own, known, scene.contract)}), model=model)
    return Case(scene, honest_trace(scene) if _runs(model, honest) else None, model=model)


def _runs(model: ModelSignature, honest: ModelSignature) -> bool:
    """Whether an engine that binds inputs by position runs such a model without an error."""
    same_shapes = [entry.shape for entry in model.inputs] == [entry.shape for entry in honest.inputs]
    dtypes = {entry.dtype for entry in (*model.inputs, *model.outputs)}
    return same_shapes and bool(model.outputs) and dtypes == {"float32"}


def _bound_as(own: tuple[str, ...], known: tuple[str, ...], contract: Contract) -> tuple[str, ...]:
    order = contract.conventions.input_order
    return tuple(order[known.index(name)] for name in own)


def _weights(name: str, _folder: Path) -> Case:
    scene = synthetic_scene()
    return Case(scene, scene.with_network(reweighted(synthetic_network(), WEIGHTS[name])).record())


def _slip(entry: Slip, _folder: Path) -> Case:
    honest = honest_trace(demo_scene())
    return Case(demo_scene(), replace(honest, stages=slip(demo_scene(), honest.stages, entry.stage, entry.spoil)))


def _free_run(name: str, _folder: Path) -> Case:
    scene = demo_scene("free")
    return Case(scene, replace(honest_trace(scene), stages=record_free_run(scene, FREE_RUN_SLIPS[name])))


def _recording(damage: Damage, folder: Path) -> Case:
    return Case(demo_scene(), recording=damage(honest_trace(demo_scene()), folder))


def _nan_on_both_sides(_folder: Path) -> Case:
    spoilt = both_not_finite(honest_trace(demo_scene()))
    return Case(demo_scene(), spoilt, reference=spoilt)


SURVIVORS: Mapping[str, str] = {
    "reproject=before": (
        "ΔR and the previous pose are both orthonormal when they are composed, so the second Gram–Schmidt moves the product by "
        "rounding only: the same map on any data."
    ),
    "pose_history_start=identity_after_seed": (
        "a clip drives the run, and this value means the seed's pose there, as the contract's; a free run tells them apart."
    ),
    "StdAngVel missing": (
        "the demo bundle carries the same statistics merged in, and they are taken from there: the run is bit for bit the same."
    ),
    "the output renamed": "the engine takes output 0, whatever its name: the run is bit for bit the same.",
}
"""Mutants that survive, and why no check could notice them on this data."""
