"""One defect a rule of declared contracts, on a sample that is clean without it: four joints, their contract, a model."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files

from ..models import floats, saved
from .samples_of_files import sample

Edits = Sequence[tuple[str, str]]
SMALL = sample("two_joints.toml")
STATISTICS = '{"mean": [0.0, 0.0], "std": [0.25, 0.5], "words": ["a"], "empty": []}'

DAMAGES: Mapping[str, Sequence[str]] = yaml.safe_load(sample("damages.yaml"))


def write_small(folder: Path, text: str = SMALL) -> Path:
    """The small contract, or a damaged one, with its statistics beside it."""
    (folder / "stats.json").write_text(STATISTICS, encoding="utf-8")
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    return path


FOUR = sample("four_joints.toml")
MEAN, SPREAD = (tomllib.loads(FOUR)["numbers"][name] for name in ("mean", "spread"))
WIDTH, JOINTS, NORMAL = 17, 4, slice(9, 13)
"""Of `obs`, of `action`; where `normal` stands in `obs`."""
METADATA = {
    "joint_names": "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint", "action_scale": "0.250",
    "default_joint_pos": "0.100,0.150,-0.400,-0.450", "command_names": "twist",
    "observation_names": "base_ang_vel,projected_gravity,command,joint_pos,actions",
    "observation_terms_history_length": "1.000,1.000,1.000,0.000,1.000",
}  # fmt: skip
"""As exporters write it; terms have other names than here."""


@dataclass(frozen=True)
class Network:
    """A small model: metadata, and what stands before and behind its layer, as (operator, numbers)."""

    metadata: dict[str, str]
    before: Sequence[tuple[str, Any]] = ()
    behind: Sequence[tuple[str, Any]] = ()

    def write(self, path: Path) -> Path:
        """Write the file."""
        weights = {"layer": np.full((WIDTH, JOINTS), 0.01), "bias": np.full(JOINTS, 0.02)}
        nodes, last = "", "obs"
        for place, (operator, numbers) in enumerate([*self.before, ("", 0.0), *self.behind]):
            out = f"value_{place}"
            nodes += f"{out} = {operator or 'Gemm'}({last}, {f'number_{place}' if operator else 'layer, bias'}) "
            weights |= {f"number_{place}": np.array(numbers)} if operator else {}
            last = out
        graph = f"({floats('obs', WIDTH)}) => ({floats('actions', JOINTS)}) {{ {nodes} actions = Identity({last}) }}"
        numbers = {name: value.astype(np.float32) for name, value in weights.items()}
        return saved(path, graph, opset=17, said=self.metadata, **numbers)


def said(**changes: str) -> Network:
    return Network({**METADATA, **changes})


def inside(*before: tuple[str, Any], behind: Sequence[tuple[str, Any]] = ()) -> Network:
    return Network(METADATA, before, behind)


def whole(values: Sequence[float], other: float) -> list[float]:
    """Numbers for each number of `obs`: those of `normal`, and another for the rest."""
    full = np.full(WIDTH, other)
    full[NORMAL] = values
    return full.tolist()


SOUND = Network(METADATA)


@dataclass(frozen=True)
class DeclaredCase:
    """A defect: the rule that names it, edits of the text, the model, the place, a part of the message, other rules beside."""

    code: str
    edits: Edits
    pointer: str
    says: str
    model: Network = SOUND
    beside: frozenset[str] = frozenset()

    def findings(self, folder: Path) -> list[dict[str, Any]]:
        """Everything that is said of the damaged sample."""
        return findings_of(folder, edited(FOUR, self.edits), self.model)


def findings_of(folder: Path, text: str, model: Network | None) -> list[dict[str, Any]]:
    """Everything that `rigpact check` says of a contract and a model."""
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    onnx_file = None if model is None else model.write(folder / "policy.onnx")
    report = check_files(CheckRequest([read_document(path)], model=onnx_file))
    return json.loads(json.dumps(report.to_json()["findings"]))


_DEFECTS = yaml.safe_load(sample("defects.yaml"))


def _network(said: Mapping[str, Any] | None = None) -> Network:
    """The model of a case; the sound one where it says none."""
    own = said or {}
    return Network(
        {**own.get("metadata", METADATA), **own.get("said", {})}, own.get("before", ()), own.get("behind", ())
    )


CASES = [
    DeclaredCase(
        code, row.get("edits", ()), row["at"], row["says"], _network(row.get("model")), frozenset(row.get("beside", ()))
    )
    for code, row in _DEFECTS["cases"].items()
]
DAMAGED = {
    "RP740": "operation_unknown", "RP741": "parameter_missing", "RP742": "of_a_later_stage", "RP743": "carried_of_another_width",
    "RP744": "numbers_in_words", "RP745": "source_absent", "RP746": "choice_unknown", "RP747": "stage_twice",
    "RP748": "network_gives_a_sensor",
}  # fmt: skip
"""Cases of the rules about mistakes, among the damages above."""
OPEN = ("RP749", 'direction = "inverse"\n')
"""A convention that the small contract then leaves open."""


def findings_of_damage(code: str, folder: Path) -> list[dict[str, Any]]:
    """What is said of a damaged small contract."""
    text, replacement = (OPEN[1], "") if code == OPEN[0] else DAMAGES[DAMAGED[code]][:2]
    folder = folder / "sample"  # its name stands in an answer
    folder.mkdir()
    path = write_small(folder, SMALL.replace(text, replacement, 1))
    return json.loads(json.dumps(check_files(CheckRequest([read_document(path)])).to_json()["findings"]))


NEAR_MISSES = [
    (row["code"], row["what"], row.get("edits", ()), _network(row.get("model"))) for row in _DEFECTS["near_misses"]
]


@dataclass(frozen=True)
class DeclaredPair:
    """Edits of the sample, the kinds of change and their classes; `before` is what both sides have."""

    name: str
    kinds: str
    classes: str
    edits: Edits
    before: Edits = ()

    @property
    def texts(self) -> tuple[str, str]:
        """The old and the new text."""
        old = edited(FOUR, self.before)
        return old, edited(old, self.edits)


def edited(text: str, edits: Edits) -> str:
    """The text with every edit made once."""
    for old, new in edits:
        assert old in text, f"{old} is not in the text"
        text = text.replace(old, new, 1)
    return text


_PAIRS = yaml.safe_load(sample("pairs.yaml"))
DECLARED_PAIRS = [DeclaredPair(name, *row) for name, row in _PAIRS["pairs"].items()]
SECOND: Edits = _PAIRS["second"]
