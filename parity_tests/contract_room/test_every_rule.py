"""Every rule fires on the one defect it is about, at the right place, and on nothing else of the sample."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rigpact.contract.model_signature import TensorSignature
from rigpact.contract.rules import ALL_RULES, RETIRED

Edit = Callable[[Any], object]


@dataclass(frozen=True)
class Case:
    """One named defect: the rule that must report it, where, and a word that the message must hold."""

    code: str
    artefact: str
    pointer: str
    edit: Edit
    says: str = ""


def put(value: Any, *path: Any) -> Edit:
    """An edit that sets the value at a path of one artefact; the first step names the artefact."""

    def edit(sample: Any) -> None:
        holder = getattr(sample, path[0])
        for key in path[1:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return edit


def drop(*path: Any) -> Edit:
    """An edit that removes what stands at a path."""

    def edit(sample: Any) -> None:
        holder = getattr(sample, path[0])
        for key in path[1:-1]:
            holder = holder[key]
        del holder[path[-1]]

    return edit


def both(*edits: Edit) -> Edit:
    return lambda sample: [edit(sample) for edit in edits]


def text(name: str, old: str, new: str) -> Edit:
    """An edit of a file's text, for what no JSON writer would write."""
    return lambda sample: sample.texts.update({name: lambda content: content.replace(old, new, 1)})


def slice_at(side: str, name: str, start: int, size: int) -> Edit:
    return put({"start": start, "size": size}, "bundle", "meta", f"{side}_layout", name)


def reshape(index: int, **changes: Any) -> Edit:
    """An edit of one input of the model."""

    def edit(sample: Any) -> None:
        inputs = list(sample.model.inputs)
        inputs[index] = replace(inputs[index], **changes)
        sample.model = replace(sample.model, inputs=tuple(inputs))

    return edit


def reorder(*order: int) -> Edit:
    def edit(sample: Any) -> None:
        sample.model = replace(sample.model, inputs=tuple(sample.model.inputs[index] for index in order))

    return edit


def outputs(*signatures: TensorSignature) -> Edit:
    return lambda sample: setattr(sample, "model", replace(sample.model, outputs=signatures))


def residual_prediction(sample: Any) -> None:
    """Record the network's residual: a rotation by one step (0.02 rad about Z), minus the identity, over std 0.25."""
    from math import cos, sin

    step = [(cos(0.02) - 1) / 0.25, sin(0.02) / 0.25, 0.0, 0.0, 0.0, 0.0]
    for row in range(len(sample.prediction["prediction"]["y_norm"])):
        sample.prediction["prediction"]["y_norm"][row] = step * 3
    sample.prediction["prediction"]["y_raw"] = None


def aux_at_root(sample: Any) -> None:
    sample.prediction["aux_inputs"] = sample.prediction["teacher"].pop("aux_inputs")


def no_aux(prefix: str) -> Edit:
    """Remove one family of auxiliary statistics from the bundle; the companion keeps it."""
    keys = {"PoseHist": ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"), "AngVel": ("MuAngVel", "StdAngVel")}
    return lambda sample: [sample.bundle.pop(key) for key in keys[prefix]]


def no_aux_anywhere(prefix: str) -> Edit:
    def edit(sample: Any) -> None:
        no_aux(prefix)(sample)
        for key in [key for key in sample.companion if key.endswith(prefix) or key == "tanh_scales_pose_hist"]:
            del sample.companion[key]

    return edit


META = ("bundle", "meta")
SPEC = (*META, "rot6d_spec")
SKELETON = (*META, "skeleton")
F32 = "float32"

CASES = (
    Case("RP001", "bundle", "/fps", text("bundle", '"fps": 60', '"fps": 60, "fps": 30'), "fps"),
    Case("RP002", "bundle", "/MuX/2", put(float("nan"), "bundle", "MuX", 2), "nan"),
    Case("RP002", "companion", "/StdPoseHist/5", text("companion", '"StdPoseHist": [0.3, 0.3, 0.3, 0.3, 0.3, 0.3',
         '"StdPoseHist": [0.3, 0.3, 0.3, 0.3, 0.3, 1e999'), "inf"),
    Case("RP003", "bundle", "", text("bundle", '"Raw"', '"Raw", "note": "\\ud800"')),
    Case("RP020", "bundle", "/MuX/0", put([str(n) for n in range(35)], "bundle", "MuX"), "34 more"),
    Case("RP020", "bundle", "/meta", put([], "bundle", "meta"), "an array of 0"),
    Case("RP020", "clip", "/Frames/1", put(None, "clip", "Frames", 1), "null"),
    Case("RP021", "bundle", "", drop("bundle", "MuY"), "'MuY'"),
    Case("RP021", "clip", "/Frames/2", drop("clip", "Frames", 2, "RootYaw"), "'RootYaw'"),
    Case("RP022", "clip", "/Frames/3/BoneRotations/1", put([1, 0, 0, 0, 0], "clip", "Frames", 3, "BoneRotations", 1),
         "5 numbers where 6"),
    Case("RP023", "bundle", "/pose_hist_len", put(0, "bundle", "pose_hist_len"), "at least 1"),
    Case("RP024", "bundle", "/bundle_version", put("two", "bundle", "bundle_version"), "'two'"),
    Case("RP050", "bundle", "/meta/state_layout", drop(*META, "state_layout", "RootYaw"), "RootYaw"),
    Case("RP051", "bundle", "/meta/output_layout", put({}, *META, "output_layout"), "0 entries"),
    Case("RP052", "bundle", "/meta/output_layout/BoneRotations6D", slice_at("output", "BoneRotations6D", 0, 17), "17"),
    Case("RP053", "bundle", "/meta/state_layout/RootYaw", slice_at("state", "RootYaw", 4, 1), "by 1 channels"),
    Case("RP054", "bundle", "/meta/state_layout", drop(*META, "state_layout", "RootPosition"), "[0, 3)"),
    Case("RP055", "bundle", "/meta/state_layout/Contacts", slice_at("state", "Contacts", 34, 2), "[34, 36)"),
    Case("RP055", "bundle", "/meta/state_layout/RootPosition", slice_at("state", "RootPosition", -1, 3), "[-1, 2)"),
    Case("RP056", "bundle", "/meta/output_layout/BoneRotations6D",
         put([0, 18], *META, "output_layout", "BoneRotations6D"), "[0, 18]"),
    Case("RP057", "bundle", "/meta/state_layout/RootPosition", put([33, 35], *META, "state_layout", "Contacts"), "Contacts"),
    Case("RP058", "bundle", "/input_dim", put(36, "bundle", "input_dim"), "36"),
    Case("RP059", "bundle", "/meta/state_layout/RootVelocity", slice_at("state", "RootVelocity", 3, 1), "has 1"),
    Case("RP060", "bundle", "/meta/state_layout", drop(*META, "state_layout", "Contacts")),
    Case("RP061", "bundle", "/meta/state_layout/Contacts", slice_at("state", "Contacts", 33, 0), "0 channels"),
    Case("RP062", "bundle", "/meta/output_layout/RootYaw", slice_at("output", "RootYaw", 18, 2), "has 2"),
    Case("RP070", "bundle", "", drop("bundle", "fps"), "60"),
    Case("RP071", "bundle", "/fps", put(0, "bundle", "fps"), "fps = 0"),
    Case("RP080", "bundle", "/cond_norm_config/mode", put("Adaptive", "bundle", "cond_norm_config", "mode"), "Adaptive"),
    Case("RP081", "bundle", "/cond_norm_config/mode", put("ZScore", "bundle", "cond_norm_config", "mode"), "ZScore"),
    Case("RP100", "bundle", "/StdX", lambda s: s.bundle["StdX"].pop(), "34 numbers"),
    Case("RP100", "bundle", "/tanh_scales_rootvel", put([1.0], "bundle", "tanh_scales_rootvel"), "1 numbers"),
    Case("RP101", "bundle", "/MuX/0", put(1e39, "bundle", "MuX", 0), "1e+39"),
    Case("RP102", "bundle", "/MuX/5", put(57.0, "bundle", "MuX", 5), "RootYaw"),
    Case("RP103", "bundle", "/StdX/4", put(3.0, "bundle", "StdX", 4), "RootVelocity"),
    Case("RP104", "bundle", "/StdX/12", put(0.0, "bundle", "StdX", 12), "BoneRotations6D, thigh_l"),
    Case("RP104", "companion", "/StdAngVel/3", put(-0.4, "companion", "StdAngVel", 3), "thigh_l"),
    Case("RP105", "bundle", "/StdY/6", put(1e-7, "bundle", "StdY", 6), "thigh_l"),
    Case("RP106", "bundle", "/tanh_scales_angvel/8", put(0.0, "bundle", "tanh_scales_angvel", 8), "thigh_r"),
    Case("RP107", "bundle", "/tanh_scales_rootvel/1", put(1e-4, "bundle", "tanh_scales_rootvel", 1), "0.0001"),
    Case("RP200", "bundle", "/meta/rot6d_spec", drop(*SPEC, "columns")),
    Case("RP201", "bundle", "/meta/rot6d_spec/columns", put(["X", "X"], *SPEC, "columns"), "X"),
    Case("RP202", "bundle", "/meta/rot6d_spec", drop(*SPEC, "output_mode"), "speaks against"),
    Case("RP203", "bundle", "/meta/rot6d_spec/output_mode", put("relative", *SPEC, "output_mode"), "relative"),
    Case("RP204", "bundle", "/MuY/12", put("delta", *SPEC, "output_mode"), "thigh_r by 103.1°"),
    Case("RP220", "bundle", "/meta/bone_names", put(["pelvis", "thigh_l"], *META, "bone_names"), "2 bones"),
    Case("RP220", "bundle", "/meta/state_layout/BoneAngularVelocities",
         slice_at("state", "BoneAngularVelocities", 24, 6), "2 bones"),
    Case("RP221", "bundle", "/meta/bone_names/2", put("thigh_l", *META, "bone_names", 2), "1 and 2"),
    Case("RP222", "bundle", "/meta/skeleton/parents/1", put(7, *SKELETON, "parents", 1), "7"),
    Case("RP223", "bundle", "/meta/skeleton/parents/1", put([-1, 2, 1], *SKELETON, "parents"), "thigh_l, thigh_r"),
    Case("RP224", "bundle", "/meta/skeleton/bone_names/1",
         put(["pelvis", "thigh_r", "thigh_l"], *SKELETON, "bone_names"), "1 more bones differ"),
    Case("RP225", "bundle", "/meta/skeleton/parents/2", put(-1, *SKELETON, "parents", 2), "2 bones"),
    Case("RP226", "bundle", "/meta", drop(*META, "bone_names")),
    Case("RP227", "bundle", "/meta", drop(*SKELETON), "parents"),
    Case("RP300", "bundle", "", no_aux_anywhere("PoseHist"), "falls back to scale 1"),
    Case("RP301", "bundle", "", no_aux("PoseHist"), "only in a file the engine does not read"),
    Case("RP302", "bundle", "", no_aux_anywhere("AngVel"), "MuAngVel"),
    Case("RP303", "bundle", "", no_aux("AngVel"), "companion.json"),
    Case("RP304", "bundle", "", drop("bundle", "StdPoseHist"), "without StdPoseHist"),
    Case("RP305", "companion", "/MuPoseHist", lambda s: s.companion["MuPoseHist"].pop(), "35 numbers, 36"),
    Case("RP306", "companion", "/tanh_scales_angvel/4", put(1.0, "companion", "tanh_scales_angvel", 4), "1 of 9"),
    Case("RP307", "companion", "/MuPoseHist/20", put(0.2, "companion", "MuPoseHist", 20), "PoseHistory[1], pelvis"),
    Case("RP400", "model", "/graph/input", reorder(0, 1, 2, 3), "4 inputs"),
    Case("RP401", "model", "/graph/input/1", reshape(1, name="condition"), "'condition'"),
    Case("RP402", "model", "/graph/input", reorder(0, 2, 1, 3, 4), "state, contacts, cond"),
    Case("RP403", "model", "/graph/input/0", reshape(0, shape=("B", 33)), "cut off the last 2 numbers"),
    Case("RP403", "model", "/graph/input/3", reshape(3, shape=("B", 10)), "pad it with 1 zeros"),
    Case("RP404", "model", "/graph/input/2", reshape(2, dtype="float16"), "float16"),
    Case("RP405", "model", "/graph/input/4", reshape(4, shape=("B", 2, 18)), "[B, 2, 18]"),
    Case("RP406", "model", "/graph/input/0", reshape(0, shape=(32, 35)), "32"),
    Case("RP407", "model", "/graph/input/0", reshape(0, shape=("B", None)), "[B, ?]"),
    Case("RP408", "model", "/graph/input/4", reshape(4, shape=(1, 37)), "multiple of 18"),
    Case("RP410", "model", "/graph/output", outputs()),
    Case("RP411", "model", "/graph/output/0", outputs(TensorSignature("y", F32, (1, 12))), "12 wide"),
    Case("RP412", "model", "/graph/output/0", outputs(TensorSignature("y", F32, ("B", "W"))), "[B, W]"),
    Case("RP413", "model", "/graph/output/0", outputs(TensorSignature("y", "float64", ("B", 18))), "float64"),
    Case("RP414", "model", "/graph/output", outputs(*[TensorSignature(n, F32, ("B", 18)) for n in "yz"]), "y, z"),
    Case("RP500", "clip", "/NumFrames", put(9, "clip", "NumFrames"), "9, Frames holds 5"),
    Case("RP501", "clip", "/Frames", both(lambda s: s.clip.update(NumFrames=1, Frames=s.clip["Frames"][:1])), "1 frames"),
    Case("RP502", "clip", "/Frames/2/BoneRotations", lambda s: s.clip["Frames"][2]["BoneRotations"].pop(), "2 bones"),
    Case("RP503", "clip", "/Frames/1/BoneAngularVelocities/2/0",
         put(1e39, "clip", "Frames", 1, "BoneAngularVelocities", 2, 0), "thigh_r"),
    Case("RP505", "clip", "/FPS", put(30, "clip", "FPS"), "30"),
    Case("RP506", "clip", "", drop("clip", "FPS")),
    Case("RP507", "clip", "/FPS", put(-60, "clip", "FPS"), "-60"),
    Case("RP508", "clip", "/FPS", put(30, "clip", "fps"), "fps = 30 and FPS = 60"),
    Case("RP600", "batch", "/teacher/cond", lambda s: s.batch["teacher"]["cond"].pop(), "3 rows, num_pairs is 4"),
    Case("RP601", "batch", "/teacher/cond/1", put([0, 1, 0, 0, 1.0, 0.0], "batch", "teacher", "cond", 1), "6 numbers"),
    Case("RP602", "batch", "/dims/Dx", put(34, "batch", "dims", "Dx"), "34"),
    Case("RP603", "batch", "/layouts/state",
         put({"start": 24, "size": 18}, "batch", "layouts", "state", "BoneRotations6D"), "[24, 42)"),
    Case("RP604", "batch", "/fps", put(30, "batch", "fps"), "30"),
    Case("RP605", "batch", "/teacher/state_norm/2/7", put(-1e39, "batch", "teacher", "state_norm", 2, 7), "[2][7]"),
    Case("RP610", "prediction", "/aux_inputs", aux_at_root, "pose_hist_norm"),
    Case("RP630", "prediction", "/prediction/y_raw/1/6", put(0.5, "prediction", "prediction", "y_raw", 1, 6), "thigh_l"),
    Case("RP631", "prediction", "/prediction/y_norm", residual_prediction, "misses the next teacher pose by 0.00°"),
)  # fmt: skip


def test_the_sample_checks_clean(sample: Any) -> None:
    """A validator that cries wolf on an honest character is switched off within a week."""
    report = sample.check()

    assert [(finding.rule.code, finding.pointer) for finding in report.findings] == []
    assert report.verdict == "pass"
    assert report.ledger.missing == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}{case.pointer.replace('/', '-')}")
def test_the_defect_is_found_where_it_is(sample: Any, case: Case) -> None:
    """Each of these plays on in the game without a word, or keeps the character from moving at all."""
    case.edit(sample)

    found = sample.findings(case.code)

    assert [(finding.file.rpartition("/")[2].partition(".")[0], finding.pointer) for finding in found] == [
        (case.artefact, case.pointer)
    ]
    assert case.says in found[0].message


def test_every_code_is_exercised() -> None:
    """A rule that no file ever triggered may as well not be there."""
    assert {case.code for case in CASES} == {rule.code for rule in ALL_RULES}


def test_codes_and_names_are_unique_and_sorted() -> None:
    """Baselines and suppressions name codes: a code that changes its meaning silences the wrong finding."""
    codes = [rule.code for rule in ALL_RULES]

    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)
    assert not set(codes) & set(RETIRED)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_every_rule_says_what_why_and_how(rule: Any) -> None:
    """An animator who reads the message at midnight needs the number, the reason and the next step."""
    assert re.fullmatch(r"RP\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert "{" not in rule.hint.replace('{"', "")
    assert "{" not in rule.why
    assert all((rule.hint, rule.why, rule.message))
