"""Every rule about hosted systems names its own defect, at its place, and is silent on a sound contract, model and data set.

golden/ holds the first report of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import contract_in_memory, contract_to_json
from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding
from rigpact.contract.model.graph import ModelGraph, Node, TensorSignature, Weight
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.pages.registry import find_system
from rigpact.contract.rules import contract_files, structure
from rigpact.contract.rules.catalogue import findings
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.rules.system_view import BoundModel, RecordedRows, SystemFiles
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout, json_to_fields
from rigpact.fixtures.clip_format import random_rows as probe_rows
from rigpact.reference_runtime.recordings.trace import TraceHeader
from rigpact.training.neurarig import random_rows

from ..every_case import every_case
from ..golden_findings import check_golden

GOLDEN = Path(__file__).parent / "golden"
NEURARIG, ROWS = find_system("neurarig"), 64
PACKET = NEURARIG.vectors["packet"]
FAMILIES = (structure.FAMILY, contract_files.LOADING, contract_files.HOSTED, contract_files.RECORDED)
"""The model of the sample is a few names: what rules of nodes and weights say of it has its cases elsewhere."""
CONSTANT_BY_NATURE = {"RP725"}
"""Local positions of bones never change: this finding on the sample is correct, and only information."""


def _network(act: str, width: int) -> ModelGraph:
    """63 to 24 with two layers between: of 64, as many weights as the published text counts."""
    shapes = ((63, width), (width,), (width, width), (width,), (width, 24), (24,))
    weights = tuple(Weight("", f"w{place}", "float32", shape, 0) for place, shape in enumerate(shapes))
    nodes = tuple(Node("", op, (), ()) for op in ("Gemm", act, "Gemm", act, "Gemm"))
    return ModelGraph(Path("model.onnx"), {}, (), (), nodes, weights)


class Sample:
    """The files that a case damages, all sound: `document` (JSON), `model`, `header` and `stages` of a data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document: dict[str, Any] = json.loads(json.dumps(contract_to_json(NEURARIG, NEURARIG.template())))
        frame, answer = (
            TensorSignature("frame", "float32", ("B", 63)),
            TensorSignature("rotations", "float32", ("B", 24)),
        )
        self.model = ModelSignature(folder / "model.onnx", "0" * 64, (frame,), (answer,), graph=_network("Relu", 64))
        self.contract = contract_in_memory(NEURARIG, NEURARIG.template())
        self.header = TraceHeader(60.0, "teacher", system="neurarig")
        self.stages = {"engine_pose": random_rows(5, ROWS).copy()}

    def findings(self) -> list[Finding]:
        """Everything that is said of the sample."""
        path, header = self.folder / "neurarig.json", self.header
        path.write_text(json.dumps(self.document), encoding="utf-8")
        clip = self.folder / "clip.trace.jsonl"
        rows = RecordedRows(clip, "", header.system, header.bundle_sha256, None, None, self.stages)
        own = replace(self.contract, constants=self.document.get("constants", {}))
        of_the_file = SystemFiles(read_document(path), own, (BoundModel(self.model, NEURARIG),))
        of_the_rows = SystemFiles(contract=self.contract, recordings=(rows,))
        return [each for files in (of_the_file, of_the_rows) for each in findings(Artefacts(system=files), FAMILIES)]

    def codes(self) -> set[str]:
        return {finding.rule.code for finding in self.findings()} - CONSTANT_BY_NATURE

    def use(self, system: str, **stages: np.ndarray) -> None:
        """Be a data set of another system."""
        self.contract = contract_in_memory(find_system(system), find_system(system).template())
        self.header, self.stages = replace(self.header, system=system), stages


Edit = Callable[[Sample], None]


def older_order(sample: Sample) -> None:
    """The older schema of the same 63 floats: target, normal, hit of each side."""
    parts = (("foot", "_target"), ("ground_normal", ""), ("has_hit", ""))
    names = [field.name for field in PACKET if field.stop <= PACKET["ground_normal_r"].start]
    fields, start = [], 0
    for name in (*names, *(f"{name}_{side}{end}" for side in "rl" for name, end in parts)):
        fields.append(replace(PACKET[name], start=start))
        start += PACKET[name].size
    sample.document["vectors"]["packet"] = FieldLayout(tuple(fields)).to_json()


def _set(path: str, value: Any) -> Edit:
    def edit(sample: Sample) -> None:
        *parents, last = path.split("/")
        target: Any = sample.document
        for key in parents:
            target = target[int(key) if isinstance(target, list) else key]
        target[last] = value

    return edit


def _shifted(by: int) -> Edit:
    def edit(sample: Sample) -> None:
        for each in sample.document["vectors"]["joints"]["fields"][1:]:
            each["start"] += by

    return edit


def _rows(place: Any, value: Any) -> Edit:
    return lambda sample: sample.stages["engine_pose"].__setitem__(place, value)


def _unit(sample: Sample) -> None:
    sample.stages["engine_pose"][7, 3:7] *= 2.0


def _other_rig(sample: Sample) -> None:
    """A data set of rig inversion whose meshes are not what its parameters make."""
    random = np.random.default_rng(0)
    vertices = np.array(find_system("rig_inversion").template()["vertices"], np.float32).reshape(1, 24)
    mesh = np.tile(vertices, (ROWS, 1)) * random.uniform(0.5, 1.0, (ROWS, 1)).astype(np.float32)
    sample.use("rig_inversion", mesh=mesh, rig_parameters=random.random((ROWS, 6)).astype(np.float32))


def _half_spread(sample: Sample) -> None:
    parameters = np.random.default_rng(0).random((ROWS, 6)).astype(np.float32)
    parameters[3, 2] = 1.5
    sample.use("rig_inversion", rig_parameters=parameters)


def _model(**changes: Any) -> Edit:
    return lambda sample: setattr(sample, "model", replace(sample.model, **changes))


def _tensor(what: str, **changes: Any) -> Edit:
    return lambda sample: _model(**{what: (replace(getattr(sample.model, what)[0], **changes),)})(sample)


def _header(**changes: Any) -> Edit:
    return lambda sample: setattr(sample, "header", replace(sample.header, **changes))


CASES: tuple[tuple[str, Edit, str, set[str]], ...] = (
    ("RP700", _set("system", "neurarigg"), "/system", set()),
    ("RP701", _set("vectors/reply/layout_hash", "0" * 64), "/vectors/reply/layout_hash", set()),
    ("RP702", older_order, "/vectors/packet/fields/14", set()),
    ("RP703", _set("vectors/packet", FieldLayout(PACKET.fields[:-1]).to_json()), "/vectors/packet/fields/19", set()),
    ("RP704", _shifted(-1), "/vectors/joints/fields/1/start", {"RP701"}),
    ("RP705", _shifted(2), "/vectors/joints/fields/1/start", {"RP701"}),
    ("RP706", _set("vectors/foot_error/fields/1/name", "foot_r"), "/vectors/foot_error/fields/1/name", {"RP701"}),
    ("RP707", lambda sample: sample.document["vectors"].pop("joints"), "/vectors", set()),
    (
        "RP708",
        lambda sample: _set("vectors/packets", sample.document["vectors"]["packet"])(sample),
        "/vectors/packets",
        set(),
    ),
    ("RP709", _set("conventions/handiness", "unreal"), "/conventions/handiness", set()),
    ("RP710", _set("conventions/unit", "inch"), "/conventions/unit", set()),
    ("RP711", _set("constants/femur_cm", [0.4575, 0.4575]), "/constants/femur_cm", set()),
    ("RP712", _set("fps", 30.0), "/fps", set()),
    ("RP713", lambda sample: _model(inputs=sample.model.inputs * 2)(sample), "/inputs", set()),
    ("RP714", _tensor("inputs", shape=("B", 66)), "/frame", set()),
    ("RP715", _tensor("outputs", dtype="float16"), "/rotations", set()),
    ("RP716", _tensor("inputs", shape=(1, 63)), "/frame", set()),
    ("RP717", _model(refusal="no such operator"), "", set()),
    ("RP956", _model(graph=_network("Relu", 32)), "", set()),
    ("RP957", _model(graph=_network("Tanh", 64)), "", set()),
    ("RP720", _rows((7, 60), np.nan), "/stages/engine_pose/60", set()),
    ("RP721", _half_spread, "/stages/rig_parameters/2", set()),
    ("RP722", _unit, "/stages/engine_pose/3", set()),
    ("RP723", _rows((7, 49), 3.0), "/stages/engine_pose/49", set()),
    ("RP724", _rows((7, 52), 0.5), "/stages/engine_pose/52", set()),
    ("RP725", _rows(np.s_[:, 60:61], 12.0), "/stages/engine_pose/7", set()),
    ("RP726", _rows(np.s_[:, 16:63], 0.0), "/stages/engine_pose/15", {"RP722", "RP723"}),
    ("RP727", lambda sample: _rows(np.s_[:], sample.stages["engine_pose"][0])(sample), "/stages/engine_pose", set()),
    ("RP728", _other_rig, "/stages/mesh", set()),
    ("RP729", _header(system="imu_pose"), "/system", set()),
    ("RP730", _header(bundle_sha256="0" * 64), "/contract/bundle_sha256", set()),
)
"""A rule, what it is to find in the sample, where, and what else is then true."""


@every_case(("code", "edit", "pointer", "beside"), CASES, ids=lambda each: each if str(each).startswith("RP") else "")
def test_the_defect_is_named_where_it_is(tmp_path: Path, code: str, edit: Edit, pointer: str, beside: set[str]) -> None:
    """Equal size, different meaning: each of these loads, runs and looks wrong, or trains on nothing."""
    sample = Sample(tmp_path)
    edit(sample)
    own = [finding for finding in sample.findings() if finding.rule.code == code]
    assert own[0].pointer == pointer
    assert sample.codes() - {code} <= beside
    check_golden(GOLDEN, code, [finding.to_json() for finding in own], tmp_path)


def test_every_rule_has_its_case() -> None:
    """A rule without a test case may never fire."""
    codes = {rule.code for family in FAMILIES[1:] for rule in family.rules}
    assert {code for code, *_ in CASES} == codes == {path.stem for path in GOLDEN.glob("RP*.json")}


def test_what_is_sound_is_not_reported(tmp_path: Path) -> None:
    """A sound sample; a network of one's own under `constants`; a still recording of six printed digits."""
    sample = Sample(tmp_path)
    assert sample.codes() == set()
    _model(graph=_network("Tanh", 32))(sample)
    sample.document["constants"] |= {"parameters": 3896, "activations": ["Tanh"]}
    assert sample.codes() == set()
    rows = np.round(sample.stages["engine_pose"], 6)
    rows[:, 3:7] *= 1.0004
    sample.stages["engine_pose"] = np.repeat(rows[:1], 12, axis=0)
    assert sample.findings() == []


@pytest.mark.parametrize(("low", "high"), [(1.0, -1.0), (-1e308, 1e308)])
def test_a_range_without_numbers_is_refused_where_numbers_are_drawn_from_it(low: float, high: float) -> None:
    """A contract file states the ends of a field: one from a stranger was an internal error of the probe."""
    layout = FieldLayout((Field("spread", 0, 1, FieldKind.SCALAR, low=low, high=high),))
    with pytest.raises(UnusableInput, match="a range of numbers"):
        probe_rows(layout, 2, np.random.default_rng(0))


def test_a_field_is_read_as_numbers_of_its_file_may_be_written() -> None:
    """3.0 is a whole number of JSON, and an integer may be longer than any float: each was an internal error."""
    entry = {"name": "spread", "start": 3.0, "size": 1.0, "kind": "scalar", "low": -(10**400), "high": 10**400}
    (field,) = json_to_fields([entry])
    assert (list(range(9))[field.range], field.low, field.high) == ([3], -math.inf, math.inf)
