"""One defect a rule of the hosted systems, on a sample that is clean without it: NeuraRig's contract, a model, a data set."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import contract_in_memory, contract_to_json
from rigpact.contract.documents import read_document
from rigpact.contract.findings import Finding
from rigpact.contract.model.graph import ModelGraph, Node, Weight
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.model.tensor import TensorSignature
from rigpact.contract.pages.registry import find_system
from rigpact.contract.rules import Subject
from rigpact.contract.rules.catalogue import findings
from rigpact.contract.rules.files import json_text, structure
from rigpact.contract.rules.hosted import system_data, system_loading, systems
from rigpact.contract.rules.views.system_files import BoundModel, RecordedRows, SystemFiles
from rigpact.reference_runtime.recordings.trace import TraceHeader
from rigpact.training.neurarig.poses import random_rows

NEURARIG = find_system("neurarig")
ROWS = 64
FAMILIES = tuple(module.FAMILY for module in (json_text, structure, system_loading, systems, system_data))
"""The model of the sample is a few names: what rules of nodes and weights say of it has its cases elsewhere."""


def _network(act: str, width: int) -> ModelGraph:
    """63 to 24 with two layers between: of 64, as many weights as the published text counts."""
    shapes = ((63, width), (width,), (width, width), (width,), (width, 24), (24,))
    weights = tuple(Weight("", f"w{place}", "float32", shape, 0) for place, shape in enumerate(shapes))
    nodes = tuple(Node("", op, (), ()) for op in ("Gemm", act, "Gemm", act, "Gemm"))
    return ModelGraph(Path("model.onnx"), {}, (), (), nodes, weights)


class Sample:
    """The files that a case damages: `document` (JSON), `model`, `header` and `stages` of a data set."""

    def __init__(self, folder: Path) -> None:
        """Make everything sound."""
        self.folder = folder
        self.document: dict[str, Any] = json.loads(json.dumps(contract_to_json(NEURARIG, NEURARIG.template())))
        self.model = ModelSignature(
            folder / "model.onnx",
            "0" * 64,
            (TensorSignature("frame", "float32", ("B", 63)),),
            (TensorSignature("rotations", "float32", ("B", 24)),),
            graph=_network("Relu", 64),
        )
        self.contract = contract_in_memory(NEURARIG, NEURARIG.template())
        self.header = TraceHeader(60.0, "teacher", system="neurarig")
        self.stages = {"engine_pose": random_rows(5, ROWS).copy()}

    def findings(self) -> list[Finding]:
        """Everything that is said of the sample."""
        path = self.folder / "neurarig.json"
        path.write_text(json.dumps(self.document), encoding="utf-8")
        header = self.header
        rows = RecordedRows(
            self.folder / "clip.trace.jsonl", "", header.system, header.bundle_sha256, None, None, self.stages
        )
        own = replace(self.contract, constants=self.document.get("constants", {}))
        of_the_file = SystemFiles(read_document(path), own, (BoundModel(self.model, NEURARIG),))
        of_the_rows = SystemFiles(contract=self.contract, recordings=(rows,))
        return [each for files in (of_the_file, of_the_rows) for each in findings(Subject(system=files), FAMILIES)]

    def field(self, vector: str, name: str) -> Any:
        """A field of the contract file."""
        return next(each for each in self.document["vectors"][vector]["fields"] if each["name"] == name)

    def graph(self, act: str, width: int) -> None:
        """Give the model another network."""
        self.model = replace(self.model, graph=_network(act, width))

    def tensor(self, what: str, **changes: Any) -> None:
        """Change the model's only input or output."""
        inputs, outputs = self.model.inputs, self.model.outputs
        if what == "inputs":
            self.model = replace(self.model, inputs=(replace(inputs[0], **changes),))
        else:
            self.model = replace(self.model, outputs=(replace(outputs[0], **changes),))


@dataclass(frozen=True)
class SystemCase:
    """A defect: the rule that names it, what it does to the sample, where it is found and a part of the message."""

    code: str
    edit: Callable[[Sample], None]
    pointer: str
    says: str
    beside: frozenset[str] = frozenset()


def _older_order(sample: Sample) -> None:
    """The older schema of the same 63 floats: target, normal, hit of each side."""
    from rigpact.contract.systems.layout import FieldLayout

    packet = NEURARIG.vectors["packet"]
    tail = [
        f"{name}_{side}{end}"
        for side in "rl"
        for name, end in (("foot", "_target"), ("ground_normal", ""), ("has_hit", ""))
    ]
    names = [field.name for field in packet if field.stop <= packet["ground_normal_r"].start] + tail
    fields, start = [], 0
    for name in names:
        fields.append(replace(packet[name], start=start))
        start += packet[name].size
    sample.document["vectors"]["packet"] = FieldLayout(tuple(fields)).to_json()


def _set(path: str, value: Any) -> Callable[[Sample], None]:
    def edit(sample: Sample) -> None:
        *parents, last = path.split("/")
        target = sample.document
        for key in parents:
            target = target[key]
        target[last] = value

    return edit


def _shifted(by: int) -> Callable[[Sample], None]:
    def edit(sample: Sample) -> None:
        for each in sample.document["vectors"]["joints"]["fields"][1:]:
            each["start"] += by

    return edit


def _short_packet(sample: Sample) -> None:
    from rigpact.contract.systems.layout import FieldLayout

    fields = NEURARIG.vectors["packet"].fields[:-1]
    sample.document["vectors"]["packet"] = FieldLayout(fields).to_json()


def _rows(column: int, value: float, row: int = 7) -> Callable[[Sample], None]:
    def edit(sample: Sample) -> None:
        sample.stages["engine_pose"][row, column] = value

    return edit


def _every(start: int, stop: int, value: float) -> Callable[[Sample], None]:
    def edit(sample: Sample) -> None:
        sample.stages["engine_pose"][:, start:stop] = value

    return edit


def _one_pose(sample: Sample) -> None:
    sample.stages["engine_pose"][:] = sample.stages["engine_pose"][0]


def _other_rig(sample: Sample) -> None:
    """A data set of rig inversion whose meshes are not what its parameters make."""
    rig_inversion = find_system("rig_inversion")
    constants = rig_inversion.template()
    sample.contract = contract_in_memory(rig_inversion, constants)
    sample.header = replace(sample.header, system="rig_inversion")
    random = np.random.default_rng(0)
    mesh = np.tile(np.array(constants["vertices"], np.float32).reshape(1, 24), (ROWS, 1))
    mesh *= random.uniform(0.5, 1.0, (ROWS, 1)).astype(np.float32)
    sample.stages = {"mesh": mesh, "rig_parameters": random.random((ROWS, 6)).astype(np.float32)}


def _half_spread(sample: Sample) -> None:
    rig_inversion = find_system("rig_inversion")
    sample.contract = contract_in_memory(rig_inversion, rig_inversion.template())
    sample.header = replace(sample.header, system="rig_inversion")
    parameters = np.random.default_rng(0).random((ROWS, 6)).astype(np.float32)
    parameters[3, 2] = 1.5
    sample.stages = {"rig_parameters": parameters}


def _repeated(sample: Sample) -> None:
    sample.field("foot_error", "foot_l")["name"] = "foot_r"


def _without(vector: str) -> Callable[[Sample], None]:
    return lambda sample: sample.document["vectors"].pop(vector)


def _extra_vector(sample: Sample) -> None:
    sample.document["vectors"]["packets"] = sample.document["vectors"]["packet"]


def _two_inputs(sample: Sample) -> None:
    sample.model = replace(sample.model, inputs=sample.model.inputs * 2)


def _unit(sample: Sample) -> None:
    sample.stages["engine_pose"][7, 3:7] *= 2.0


def _header(**changes: Any) -> Callable[[Sample], None]:
    def edit(sample: Sample) -> None:
        sample.header = replace(sample.header, **changes)

    return edit


_HASH = frozenset({"RP701"})
SYSTEM_CASES: tuple[SystemCase, ...] = (
    SystemCase("RP700", _set("system", "neurarigg"), "/system", "'neurarigg'"),
    SystemCase("RP701", _set("vectors/reply/layout_hash", "0" * 64), "/vectors/reply/layout_hash", "000000000000"),
    SystemCase("RP702", _older_order, "/vectors/packet/fields/14", "number 49 begins foot_r_target"),
    SystemCase("RP703", _short_packet, "/vectors/packet/fields/19", "60 numbers, expected 63"),
    SystemCase("RP704", _shifted(-1), "/vectors/joints/fields/1/start", "knee_r begins at 2, inside hip_r", _HASH),
    SystemCase("RP705", _shifted(2), "/vectors/joints/fields/1/start", "the numbers 3 to 5, before knee_r", _HASH),
    SystemCase("RP706", _repeated, "/vectors/foot_error/fields/1/name", "two fields are called foot_r", _HASH),
    SystemCase("RP707", _without("joints"), "/vectors", "joints (18 numbers)"),
    SystemCase("RP708", _extra_vector, "/vectors/packets", "packets is not one"),
    SystemCase("RP709", _set("conventions/handiness", "unreal"), "/conventions/handiness", "'handiness'"),
    SystemCase("RP710", _set("conventions/unit", "inch"), "/conventions/unit", "unit is 'inch', not one of cm, m"),
    SystemCase("RP711", _set("constants/femur_cm", [0.4575, 0.4575]), "/constants/femur_cm", "10 to 100 cm"),
    SystemCase("RP712", _set("fps", 30.0), "/fps", "30 frames a second, the system's are 60"),
    SystemCase("RP713", _two_inputs, "/inputs", "2 inputs (frame, frame), expected 1: model_input"),
    SystemCase("RP714", lambda sample: sample.tensor("inputs", shape=("B", 66)), "/frame", "66 wide, model_input has 63"),
    SystemCase("RP715", lambda sample: sample.tensor("outputs", dtype="float16"), "/rotations", "float16"),
    SystemCase("RP716", lambda sample: sample.tensor("inputs", shape=(1, 63)), "/frame", "exactly 1 rows at a time"),
    SystemCase(
        "RP717", lambda sample: setattr(sample, "model", replace(sample.model, refusal="no such operator")), "",
        "no such operator",
    ),
    SystemCase("RP956", lambda sample: sample.graph("Relu", 32), "", "the model has 3896 parameters"),
    SystemCase("RP957", lambda sample: sample.graph("Tanh", 64), "", "the model has Tanh between its layers"),
    SystemCase("RP720", _rows(60, np.nan), "/stages/engine_pose/60", "foot_l_target[0] is nan in row 7"),
    SystemCase("RP721", _half_spread, "/stages/rig_parameters/2", "rotate_z is 1.5 in row 3, declared are 0.0 to 1.0"),
    SystemCase("RP722", _unit, "/stages/engine_pose/3", "pelvis_quat has length 2"),
    SystemCase("RP723", _rows(49, 3.0), "/stages/engine_pose/49", "ground_normal_r has length 3"),
    SystemCase("RP724", _rows(52, 0.5), "/stages/engine_pose/52", "the flag has_hit_r is 0.5 in row 7"),
    SystemCase("RP725", _every(60, 61, 12.0), "/stages/engine_pose/7", "25 of 63 numbers never change in 64 rows"),
    SystemCase(
        "RP726", _every(16, 63, 0.0), "/stages/engine_pose/15", "everything from number 15 (calf_r_pos[1])",
        frozenset({"RP722", "RP723"}),
    ),
    SystemCase("RP727", _one_pose, "/stages/engine_pose", "1 different rows in 64"),
    SystemCase("RP728", _other_rig, "/stages/mesh", "from the reconstruction of row"),
    SystemCase("RP729", _header(system="imu_pose"), "/system", "recorded as imu_pose, the contract is of neurarig"),
    SystemCase("RP730", _header(bundle_sha256="0" * 64), "/contract/bundle_sha256", "under the contract 000000000000"),
)  # fmt: skip
