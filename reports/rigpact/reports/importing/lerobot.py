"""A LeRobot policy's folder: config.json, its pipelines before and behind the network, the statistics in safetensors files.

The pipelines are lists of steps; the state file of a step is the one that it names. The network answers with a chunk of actions,
of which a queue plays some. Units, zeros and the meaning of the actions are in no file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.draft import Draft, Entry, lower_word, word
from rigpact.reports.importing.values import ImportRequest, PlacedValue, path_inside

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "MEAN_STD": ("mean", "std"), "MIN_MAX": ("min", "max"), "QUANTILES": ("q01", "q99"), "QUANTILE10": ("q10", "q90"),
    "IDENTITY": (),
}  # fmt: skip
"""The modes of a normaliser, and the statistics that each takes."""
_LARGEST_IMAGE = 1 << 14


KEYS = {"type", "input_features", "output_features"}
"""What a LeRobot policy's config.json has."""


def to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of a policy; UnusableInput names the file and the place in it."""
    path, out, network = request.source, request.out, request.file
    kind = root.need("type", "the kind of the policy").word()
    title = f"imported from {path.name}, a policy of the type {kind}"
    draft = Draft(lower_word(path.resolve().parent.name, "policy"), title)
    draft.header = [
        f"Made by `rigpact init` from {path.name} and its pipelines. Search for LEFT OPEN: the gaps of the files.",
        "Not in them: units, zero and sign of each joint, the order of the joints, whether actions are goals or differences.",
        "LEFT OPEN: fps. The rate at which the policy is called; the data set's info.json has it",
    ]
    before, behind = (_Pipeline(path, f"policy_{which}processor.json", out) for which in ("pre", "post"))
    chunk = _Chunk(root, kind)
    features = root.need("input_features", "the features").children()
    inputs = [_input(draft, root, name, node, before, chunk) for name, node in features]
    actions = dict(root.need("output_features", "the features").children())
    if "action" not in actions:
        raise root.get("output_features").wrong("an action", found=", ".join(actions) or "nothing")
    width = _width(actions["action"])
    said = f"{chunk.length} actions of {width} numbers, normalised"
    draft.compute("chunk", "network", None, said, size=chunk.length * width)
    mode, statistics = behind.statistics(draft, "action", str(actions["action"].get("type").value or "ACTION"), width)
    last = "played_action" if mode else "action"
    draft.compute(last, "played", "chunk", length=chunk.length, size=width, **chunk.played)
    if mode:
        draft.compute("action", "range_denormalise", last, "nothing is clipped", mode=mode, **statistics)
    asked = [f"{entry.table['name']}.every" for entry in draft.stages if "every" in entry.table]
    draft.conventions = {"asked_every": {"at": asked}} if asked else {}
    draft.recordings = {name: column for name, column in draft.recordings.items() if name != column}
    unknown = "of the pipelines is not in the contract: write it by hand where it changes numbers"
    draft.notes += [f"a step {step} {unknown}" for step in (*before.others, *behind.others)]
    named = [each for each in inputs if each is not None]
    draft.networks["policy"] = Entry({**dict(network.table), "inputs": named, "outputs": ["chunk"]}, network.comments)
    return draft


class _Chunk:
    """How many frames an answer has, how many of them are played, and how many observations the network takes."""

    def __init__(self, root: PlacedValue, kind: str) -> None:
        key = "horizon" if kind == "diffusion" else "chunk_size"
        self.length = root.need(key, "frames of a chunk").whole(1)
        self.steps = root.need("n_action_steps", "frames of a chunk that are played").whole(1)
        self.observed = root.get("n_obs_steps").whole(1, otherwise=1)
        first = self.observed - 1 if kind == "diffusion" else 0
        if first + self.steps > self.length:
            raise root.get("n_action_steps").wrong(f"at most {self.length - first}, as {key} has")
        weight = root.get("temporal_ensemble_coeff")
        if not weight.is_nothing and self.steps != 1:
            raise root.get("n_action_steps").wrong("1: an ensemble asks in every frame")
        queue = {"every": self.steps} if weight.is_nothing else {"blend": weight.number()}
        self.played: dict[str, Any] = {**queue, "first": first or None}


def _width(node: PlacedValue) -> int:
    size = math.prod(node.need("shape", "numbers of each axis").wholes(1))
    if size > 1 << 24:
        raise node.get("shape").wrong("a shape of at most 2^24 numbers")
    return size


def _input(
    draft: Draft, root: PlacedValue, feature: str, node: PlacedValue, before: _Pipeline, chunk: _Chunk
) -> str | None:
    """The vector that the network takes of a feature; None for an image that is too large to be a vector."""
    width, kind = _width(node), node.need("type", "STATE, VISUAL, ENV").word()
    own = word(feature, "observation")
    if kind == "VISUAL":
        if width > _LARGEST_IMAGE:
            note = f"an image of {width} numbers is not a vector here, so the network is not run; record its chunk"
            draft.notes.append(f"{feature}: {note}")
            return None
        mode = root.get("normalization_mapping").get("VISUAL").value
        comment = f"LEFT OPEN: the image as the network takes it, behind resizing and {mode or 'no'} normalisation"
        source = draft.give(own, comment, size=width, left_open=["operation"])
    else:
        mode, statistics = before.statistics(draft, feature, kind, width)
        source = draft.give(own, size=width)
        if mode:
            name, note = f"{own}_normalised", "nothing is clipped"
            source = draft.compute(name, "range_normalise", source, note, mode=mode, **statistics)
    draft.recordings[own] = before.raw_name(feature)
    if chunk.observed > 1:
        how = {"layout": "frame_major", "order": "oldest_first", "start": "first"}
        note = "the first observation stands for those before it"
        source = draft.compute(f"{own}_kept", "history", [source], note, length=chunk.observed, **how)
    if "every" not in chunk.played or chunk.steps == 1:
        return source
    return draft.compute(f"{own}_asked", "held", source, every=chunk.steps, length=chunk.length)


class _Pipeline:
    """The steps before or behind the network: which names they change, and the statistics that they apply."""

    def __init__(self, config: Path, name: str, out: Path) -> None:
        self.path, self.out = config.with_name(name), out
        root = PlacedValue(bytes_to_json(read_bytes(self.path), self.path).data, self.path)
        self.others: list[str] = []
        self._renamed: dict[str, str] = {}
        self._normaliser: PlacedValue | None = None
        self._arrays: Mapping[str, Any] = {}
        self._file: Path | None = None
        for step in root.need("steps", "the steps of the pipeline").elements():
            kind = str(step.get("registry_name").value or step.get("class").value or "")
            if kind in ("normalizer_processor", "unnormalizer_processor"):
                if self._normaliser is not None:
                    raise step.wrong("one normaliser", found="a second one")
                self._normaliser = step.get("config")
                self._load(step.get("state_file"))
            elif kind.startswith("rename_observations"):
                renamed = step.get("config").get("rename_map")
                self._renamed = {} if renamed.is_nothing else {each.word(): key for key, each in renamed.children()}
            elif kind not in _HARMLESS:
                self.others.append(kind)

    def _load(self, node: PlacedValue) -> None:
        if node.is_nothing:
            return
        name = node.word()
        if re.search(r"[/\\:\0]|^\.", name) or not name.endswith(".safetensors"):
            raise node.wrong("the name of a .safetensors file in this folder")
        self._file = self.path.with_name(name)
        self._arrays = read_arrays(read_bytes(self._file), self._file)

    def raw_name(self, name: str) -> str:
        """The name of a feature before the pipeline renames it."""
        return self._renamed.get(name, name)

    def statistics(self, draft: Draft, name: str, kind: str, width: int) -> tuple[str, Mapping[str, Any]]:
        """The mode of a feature, empty where it passes as it is, and its statistics as names of [numbers]."""
        config = self._normaliser
        if config is None:
            return "", {}
        chosen = config.get("normalize_observation_keys")
        said = config.get("norm_map").get(kind)
        if said.is_nothing or (name != "action" and not chosen.is_nothing and name not in chosen.words()):
            return "", {}
        if said.word() not in _NEEDED:
            raise said.wrong(f"one of {', '.join(_NEEDED)}")
        mode, own = said.value.lower(), word(name, "feature")
        statistics = [key for needed in _NEEDED.values() for key in needed if f"{name}.{key}" in self._arrays]
        held = {key: self._arrays[f"{name}.{key}"] for key in statistics}
        if mode == "identity":
            return "", {}
        if not held:
            draft.notes.append(f"{name}: {said.value}, but no statistics are in the file: LeRobot passes it as it is")
            return "", {}
        missing = next((key for key in _NEEDED[said.value] if key not in held), None)
        if missing is not None:
            raise UnusableInput(f"{self._file}#{name}.{missing}", "nothing", f"the statistics that {said.value} takes")
        found = {key: self._number(draft, f"{own}_{key}", f"{name}.{key}", rows, width) for key, rows in held.items()}
        eps = config.get("eps")
        return mode, found if eps.is_nothing or eps.number() == 1e-8 else {**found, "epsilon": eps.number()}

    def _number(self, draft: Draft, wish: str, key: str, rows: FloatArray, width: int) -> str:
        """A name of [numbers]: in the file of the policy, where the contract's folder holds it."""
        if rows.size not in (1, width) or not np.isfinite(rows).all():
            expected = f"{width} finite ones, as the feature has"
            raise UnusableInput(f"{self._file}#{key}", f"{rows.size} numbers", expected)
        inside = None if self._file is None else path_inside(self._file, self.out)
        in_file = {"file": inside, "at": key}
        draft.numbers[wish] = [float(each) for each in np.ravel(rows)] if inside is None else in_file
        return wish


_HARMLESS = ("to_batch_processor", "device_processor", "newline_processor", "tokenizer_processor", "")
