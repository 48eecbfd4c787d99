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
from rigpact.reports.importing.model_beside import path_inside
from rigpact.reports.importing.values import Node

_MODES = {
    "MEAN_STD": "mean_std", "MIN_MAX": "min_max", "QUANTILES": "quantiles", "QUANTILE10": "quantile10", "IDENTITY": "identity",
}  # fmt: skip
_STATISTICS = ("mean", "std", "min", "max", "q01", "q99", "q10", "q90")
_NEEDED = {
    "mean_std": ("mean", "std"), "min_max": ("min", "max"), "quantiles": ("q01", "q99"), "quantile10": ("q10", "q90"),
    "identity": (),
}  # fmt: skip
_LARGEST_IMAGE = 1 << 14
_ASKED = {"every": "asked_every"}


def is_policy(root: Any) -> bool:
    """Whether the root of a JSON file is a LeRobot policy's config.json."""
    return isinstance(root, Mapping) and {"type", "input_features", "output_features"} <= root.keys()


def policy_to_draft(path: Path, out: Path, network: Entry) -> Draft:
    """The declaration of a policy; UnusableInput names the file and the place in it."""
    root = Node(bytes_to_json(read_bytes(path), path).data, path)
    kind = root.need("type", "the kind of the policy").word()
    draft = Draft(
        lower_word(path.resolve().parent.name, "policy"), f"imported from {path.name}, a policy of the type {kind}"
    )
    draft.header = [
        f"Imported by `rigpact import` from {path.name} and its pipelines. Search for LEFT OPEN: the gaps of the files.",
        "Not in them: units, zero and sign of each joint, the order of the joints, whether actions are goals or differences.",
        "LEFT OPEN: fps. The rate at which the policy is called; the data set's info.json has it",
    ]
    before, behind = (_Pipeline(path, f"policy_{which}processor.json", out) for which in ("pre", "post"))
    chunk = _Chunk(root, kind)
    inputs = [_input(draft, root, name, node, before, chunk) for name, node in _features(root, "input_features")]
    actions = dict(_features(root, "output_features"))
    if "action" not in actions:
        raise root.get("output_features").wrong("an action", found=", ".join(actions) or "nothing")
    width = _width(actions["action"])
    table = {"name": "chunk", "operation": "network", "size": chunk.length * width}
    draft.stages.append(Entry(table, (f"{chunk.length} actions of {width} numbers, normalised",)))
    mode, statistics = behind.statistics(draft, "action", str(actions["action"].get("type").value or "ACTION"), width)
    last = "played_action" if mode else "action"
    draft.compute(last, "played", "chunk", length=chunk.length, size=width, **chunk.played)
    if mode:
        draft.compute("action", "range_denormalise", last, "nothing is clipped", mode=mode, **statistics)
    draft.recordings = {name: column for name, column in draft.recordings.items() if name != column}
    for step in (*before.others, *behind.others):
        draft.notes.append(
            f"a step {step} of the pipelines is not in the contract: write it by hand where it changes numbers"
        )
    named = [each for each in inputs if each is not None]
    draft.networks["policy"] = Entry({**dict(network.table), "inputs": named, "outputs": ["chunk"]}, network.comments)
    return draft


class _Chunk:
    """How many frames an answer has, how many of them are played, and how many observations the network takes."""

    def __init__(self, root: Node, kind: str) -> None:
        key = "horizon" if kind == "diffusion" else "chunk_size"
        self.length = root.need(key, "frames of a chunk").whole(1)
        self.steps = root.need("n_action_steps", "frames of a chunk that are played").whole(1)
        observed = root.get("n_obs_steps")
        self.observed = 1 if observed.is_nothing else observed.whole(1)
        first = self.observed - 1 if kind == "diffusion" else 0
        if first + self.steps > self.length:
            raise root.get("n_action_steps").wrong(f"at most {self.length - first}, as {key} has")
        weight = root.get("temporal_ensemble_coeff")
        if not weight.is_nothing and self.steps != 1:
            raise root.get("n_action_steps").wrong("1: an ensemble asks in every frame")
        queue = {"every": self.steps, "knobs": _ASKED} if weight.is_nothing else {"blend": weight.number()}
        self.played: dict[str, Any] = {**queue, "first": first or None}


def _features(root: Node, key: str) -> list[tuple[str, Node]]:
    return list(root.need(key, "the features").children())


def _width(node: Node) -> int:
    size = math.prod(each.whole(1) for each in node.need("shape", "numbers of each axis").elements())
    if size > 1 << 24:
        raise node.get("shape").wrong("a shape of at most 2^24 numbers")
    return size


def _input(draft: Draft, root: Node, name: str, node: Node, before: _Pipeline, chunk: _Chunk) -> str | None:
    """The vector that the network takes of a feature; None for an image that is too large to be a vector."""
    width, kind = _width(node), node.need("type", "STATE, VISUAL, ENV").word()
    own = word(name, "observation")
    raw = before.raw_name(name)
    if kind == "VISUAL":
        if width > _LARGEST_IMAGE:
            draft.notes.append(
                f"{name}: an image of {width} numbers is not a vector here, so the network is not run; record its chunk"
            )
            return None
        mode = root.get("normalization_mapping").get("VISUAL").value
        comment = f"LEFT OPEN: the image as the network takes it, behind resizing and {mode or 'no'} normalisation"
        source = draft.give(own, comment, size=width)
    else:
        mode, statistics = before.statistics(draft, name, kind, width)
        source = draft.give(own, size=width)
        if mode:
            source = draft.compute(
                f"{own}_normalised", "range_normalise", source, "nothing is clipped", mode=mode, **statistics
            )
    draft.recordings[own] = raw
    if chunk.observed > 1:
        source = draft.compute(
            f"{own}_kept",
            "history",
            [source],
            "the first observation stands for those before it",
            length=chunk.observed,
            layout="frame_major",
            order="oldest_first",
            start="first",
        )
    if "every" not in chunk.played or chunk.steps == 1:
        return source
    return draft.compute(f"{own}_asked", "held", source, every=chunk.steps, length=chunk.length, knobs=_ASKED)


class _Pipeline:
    """The steps before or behind the network: which names they change, and the statistics that they apply."""

    def __init__(self, config: Path, name: str, out: Path) -> None:
        self.path, self.out = config.with_name(name), out
        root = Node(bytes_to_json(read_bytes(self.path), self.path).data, self.path)
        self.others: list[str] = []
        self._renamed: dict[str, str] = {}
        self._normaliser: Node | None = None
        self._arrays: Mapping[str, Any] = {}
        self._file: Path | None = None
        for step in root.need("steps", "the steps of the pipeline").elements():
            self._take(step)

    def _take(self, step: Node) -> None:
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

    def _load(self, node: Node) -> None:
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

    def statistics(self, draft: Draft, name: str, kind: str, width: int) -> tuple[str, dict[str, Any]]:
        """The mode of a feature, empty where it passes as it is, and its statistics as names of [numbers]."""
        config = self._normaliser
        if config is None:
            return "", {}
        chosen = config.get("normalize_observation_keys")
        said = config.get("norm_map").get(kind)
        if said.is_nothing or (name != "action" and not chosen.is_nothing and name not in chosen.words()):
            return "", {}
        if said.value not in _MODES:
            raise said.wrong(f"one of {', '.join(_MODES)}")
        mode, own = _MODES[said.value], word(name, "feature")
        held = {key: self._arrays[f"{name}.{key}"] for key in _STATISTICS if f"{name}.{key}" in self._arrays}
        if mode == "identity" or not held:
            if mode != "identity":
                draft.notes.append(
                    f"{name}: {said.value}, but no statistics are in the file: LeRobot passes it as it is"
                )
            return "", {}
        missing = [key for key in _NEEDED[mode] if key not in held]
        if missing:
            raise UnusableInput(
                f"{self._file}#{name}.{missing[0]}", "nothing", f"the statistics that {said.value} takes"
            )
        found = {key: self._number(draft, f"{own}_{key}", f"{name}.{key}", rows, width) for key, rows in held.items()}
        return mode, {**found, **self._epsilon(config)}

    def _epsilon(self, config: Node) -> dict[str, float]:
        eps = config.get("eps")
        return {} if eps.is_nothing or eps.number() == 1e-8 else {"epsilon": eps.number()}

    def _number(self, draft: Draft, wish: str, key: str, rows: FloatArray, width: int) -> str:
        """A name of [numbers]: in the file of the policy, where the contract's folder holds it."""
        if rows.size not in (1, width) or not np.isfinite(rows).all():
            raise UnusableInput(
                f"{self._file}#{key}", f"{rows.size} numbers", f"{width} finite ones, as the feature has"
            )
        inside = None if self._file is None else path_inside(self._file, self.out)
        if inside is not None:
            draft.numbers[wish] = Entry({"": {"file": inside, "at": key}})
        else:
            draft.numbers[wish] = Entry({"": [float(each) for each in np.ravel(rows)]})
        return wish


_HARMLESS = ("to_batch_processor", "device_processor", "newline_processor", "tokenizer_processor", "")
