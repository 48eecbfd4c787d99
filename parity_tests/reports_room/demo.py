"""The demo's files by name, and a JSON file with an edit."""

import json

from rigpact.fixtures import demo_bundle

DEMO = demo_bundle()
BUNDLE, COMPANION, MODEL = (DEMO / name for name in ("norm_template.json", "pretrain_template.json", "model.onnx"))
CLIP, RUN_F = DEMO / "clips" / "Sneak_Turn.json", DEMO / "clips" / "Run_F.json"
PREDICTION = DEMO / "teacher_predictions" / "Sneak_Turn_prediction.json"
CONTRACT = ("--contract", BUNDLE, "--companion", COMPANION)
BUNDLES = {
    "enemy_animation": BUNDLE,
    **{name: DEMO.parent / name / f"{name}.json" for name in ("neurarig", "blender_ik", "rig_inversion", "imu_pose")},
}


def load(path):
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def edited(source, target, edit):
    """A copy of a JSON file with an edit."""
    document = load(source)
    edit(document)
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


def without_contacts(bundle):
    """An edit: a state two columns short."""
    del bundle["meta"]["state_layout"]["Contacts"], bundle["input_dim"]
    bundle["MuX"], bundle["StdX"] = bundle["MuX"][:-2], bundle["StdX"][:-2]
